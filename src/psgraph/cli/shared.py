"""Options that several commands have, checked as soon as they are read."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph.errors import InvalidArgument
from psgraph.privacy.budget import WEventPrivacy, exact_epsilon

if TYPE_CHECKING:
    from psgraph.streams import Stream

__all__ = [
    "Checked",
    "epsilon_option",
    "json_option",
    "open_stream",
    "stream_options",
    "window_option",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class Checked(click.ParamType[Any]):
    """A value read by one of psgraph's own functions; what that refuses is a usage error."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name, self._read = name, read

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
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


EPSILON: Checked = Checked("number", exact_epsilon)
WINDOW: Checked = Checked("w", _window)


def epsilon_option(default: str | None = None) -> Callable[[Function], Function]:
    """``--epsilon``, read exactly."""
    return click.option(
        "--epsilon",
        type=EPSILON,
        metavar="E",
        required=default is None,
        default=default,
        show_default=default is not None,
        help="ε, the privacy budget of a window: 1, 0.5 or 1/3.",
    )


def window_option(default: int | None = None) -> Callable[[Function], Function]:
    """``--window``."""
    return click.option(
        "--window",
        type=WINDOW,
        metavar="W",
        required=default is None,
        default=default,
        show_default=default is not None,
        help="w, the number of consecutive timestamps the budget is for.",
    )


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


def stream_options(function: Function) -> Function:
    """INPUT and what says how to read it."""
    for decorate in reversed(
        [
            click.argument("source", metavar="INPUT"),
            click.option(
                "--roster",
                metavar="FILE",
                help="The public list of nodes: one id a row, with columns 'from' and 'until' "
                "if it changes over time.",
            ),
            click.option(
                "--roster-from-edges",
                is_flag=True,
                help="Instead of a roster: the nodes of a timestamp are those that have an edge. "
                "This makes node presence public: everyone learns who has an edge at each "
                "timestamp. It is what the paper does.",
            ),
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
        ]
    ):
        function = decorate(function)
    return function


def check_stream_options(
    *, roster: str | None, roster_from_edges: bool, every: str | None, cumulative: bool
) -> None:
    """What can be said of the options together, before any file is opened."""
    if roster is None and not roster_from_edges:
        raise click.UsageError(
            "who are the nodes? That must not be guessed from private edges. Give one of\n"
            "  --roster FILE         the public list of nodes, also of those without an edge\n"
            "  --roster-from-edges   the nodes that have an edge, which makes public who is "
            "present\n"
            "                        at each timestamp (this is what the paper does)"
        )
    if roster is not None and roster_from_edges:
        raise click.UsageError(
            "--roster and --roster-from-edges contradict each other\n"
            "Keep --roster, unless node presence is public."
        )
    if cumulative and every is None:
        raise click.UsageError(
            "--cumulative adds up the periods of a table of events\nGive --every as well."
        )


def open_stream(
    source: str, *, roster: str | None, roster_from_edges: bool, every: str | None, cumulative: bool
) -> Stream:
    """Open INPUT; its head and the roster are read, the snapshots only when iterating."""
    from psgraph.streams import read_stream

    return read_stream(
        source,
        roster=roster,
        roster_from_edges=roster_from_edges,
        every=every,
        cumulative=cumulative,
    )


def guarantee_of(epsilon: Fraction, window: int) -> WEventPrivacy:
    """The guarantee two checked options stand for."""
    return WEventPrivacy(epsilon, window=window)
