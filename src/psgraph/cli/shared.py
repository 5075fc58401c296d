"""Options that several commands have, checked before any file is opened."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph.errors import InvalidArgument
from psgraph.methods import DEFAULT_METHOD
from psgraph.privacy.guarantee import WEventPrivacy, exact_epsilon

if TYPE_CHECKING:
    from psgraph.streams import Stream

__all__ = [
    "Checked",
    "Source",
    "epsilon_option",
    "json_option",
    "method_option",
    "report_option",
    "roster_options",
    "seed_option",
    "source_options",
    "window_option",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class Checked(click.ParamType[Any]):
    """A value read by one of psgraph's own functions; what that refuses is a usage error."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except InvalidArgument as error:
            self.fail(str(error), param, ctx)


def _window(text: str | int) -> int:
    """A window, or the refusal of `WEventPrivacy` with the text as it was written."""
    try:
        number: Any = int(text)
    except ValueError:
        number = text
    return WEventPrivacy(1, window=number).window


def _period(text: str) -> str:
    from psgraph.streams.periods import Period

    return str(Period.parse(text))


def _required_or(default: object) -> dict[str, Any]:
    """For click even a default of None is one, so where there is none it must not be named."""
    if default is None:
        return {"required": True}
    return {"default": default, "show_default": True}


def epsilon_option(default: str | None = None) -> Callable[[Function], Function]:
    """``--epsilon``, read exactly; required where it has no default."""
    return click.option(
        "--epsilon",
        type=Checked("epsilon", exact_epsilon),
        metavar="E",
        help="ε, the privacy budget of a window: 1, 0.5 or 1/3.",
        **_required_or(default),
    )


def window_option(default: int | None = None) -> Callable[[Function], Function]:
    """``--window``; required where it has no default."""
    return click.option(
        "--window",
        type=Checked("window", _window),
        metavar="W",
        help="w, the number of consecutive timestamps the budget is for.",
        **_required_or(default),
    )


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else."
)


def _report_path(text: str) -> Path:
    """Where a page can be written; anything else is refused before any work is done."""
    from psgraph.reports.page import check_writable

    path = Path(text)
    check_writable(path)
    return path


report_option = click.option(
    "--report",
    type=Checked("file", _report_path),
    metavar="FILE.html",
    help="Write a page with pictures too: one HTML file, to be opened in any browser.",
)

method_option = click.option(
    "--method",
    metavar="NAME",
    default=DEFAULT_METHOD,
    show_default=True,
    help="How graphs are made; `psgraph methods` lists those installed.",
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="For research: makes the run repeatable. Its releases are NOT private and say so.",
)


@dataclass(frozen=True)
class Source:
    """INPUT and how to read it."""

    path: str
    roster: str | None
    roster_from_edges: bool
    every: str | None
    cumulative: bool

    def __post_init__(self) -> None:
        if self.roster is None and not self.roster_from_edges:
            raise click.UsageError(
                "who are the nodes? That must not be guessed from private edges. Give one of\n"
                "  --roster FILE         the public list of nodes, also of those without an edge\n"
                "  --roster-from-edges   the nodes that have an edge; this makes node presence "
                "public\n"
                "                        at every timestamp (it is what the paper does)"
            )
        if self.roster is not None and self.roster_from_edges:
            raise click.UsageError(
                "--roster and --roster-from-edges contradict each other\n"
                "Keep --roster, unless node presence is public."
            )
        if self.cumulative and self.every is None:
            raise click.UsageError(
                "--cumulative adds up the periods of a table of events\nGive --every as well."
            )

    def open(self) -> Stream:
        """Look at the roster and the head of INPUT; snapshots are read while iterating."""
        from psgraph.streams import read_stream

        return read_stream(
            self.path,
            roster=self.roster,
            roster_from_edges=self.roster_from_edges,
            every=self.every,
            cumulative=self.cumulative,
        )


_ROSTER_OPTIONS = (
    click.option(
        "--roster",
        metavar="FILE",
        help="The public list of nodes: one id a row; columns 'from' and 'until' if it changes "
        "over time.",
    ),
    click.option(
        "--roster-from-edges",
        is_flag=True,
        help="Instead of a roster: the nodes of a timestamp are those that have an edge. Node "
        "presence is then public: everyone learns who has an edge at each timestamp. It is what "
        "the paper does.",
    ),
)

_SOURCE_OPTIONS = (
    click.argument("path", metavar="INPUT"),
    *_ROSTER_OPTIONS,
    click.option(
        "--every",
        type=Checked("period", _period),
        metavar="PERIOD",
        help="Cut a table of events (u, v, time) into periods: 1d, 1w, 1mo, ….",
    ),
    click.option(
        "--cumulative",
        is_flag=True,
        help="With --every: each snapshot keeps the edges of all periods before it.",
    ),
)


def roster_options(function: Function) -> Function:
    """``--roster`` and ``--roster-from-edges``, handed to the command by their names."""
    for decorate in reversed(_ROSTER_OPTIONS):
        function = decorate(function)
    return function


def source_options(function: Function) -> Callable[..., Any]:
    """INPUT and its options, handed to the command as one `Source`."""

    @functools.wraps(function)
    def with_source(
        *,
        path: str,
        roster: str | None,
        roster_from_edges: bool,
        every: str | None,
        cumulative: bool,
        **others: Any,
    ) -> Any:
        return function(source=Source(path, roster, roster_from_edges, every, cumulative), **others)

    decorated: Callable[..., Any] = with_source
    for decorate in reversed(_SOURCE_OPTIONS):
        decorated = decorate(decorated)
    return decorated
