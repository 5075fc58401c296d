"""Options that several commands have, checked before any file is opened."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph.cli.reading import READING_OPTIONS, silence_warnings, timezone_option
from psgraph.errors import InvalidArgument
from psgraph.methods import DEFAULT_METHOD
from psgraph.privacy.guarantee import WEventPrivacy, exact_epsilon

if TYPE_CHECKING:
    from psgraph.streams import Stream
    from psgraph.streams.gathering import SnapshotStore

__all__ = [
    "Checked",
    "Source",
    "epsilon_option",
    "json_option",
    "method_option",
    "period_option",
    "report_option",
    "roster_options",
    "seed_option",
    "source_options",
    "trust_option",
    "window_option",
]

Function = TypeVar("Function", bound=Callable[..., Any])


class Checked(click.ParamType[Any]):
    """A value parsed by one of psgraph's own functions; what that refuses is a usage error."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except InvalidArgument as error:
            self.fail(str(error), param, ctx)


def _window(text: str | int) -> int:
    """Parse a window; `WEventPrivacy` refuses others, quoting the text as it was written."""
    try:
        number: Any = int(text)
    except ValueError:
        number = text
    return WEventPrivacy(1, window=number).window


def _period(text: str) -> str:
    from psgraph.streams.times import Period

    return str(Period.parse(text))


def _required_or(default: object, required: bool) -> dict[str, Any]:
    """Return the keywords of a default; click takes even None for one, so none is passed."""
    if default is None:
        return {"required": required}
    return {"default": default, "show_default": True}


def epsilon_option(
    default: str | None = None, *, required: bool = True
) -> Callable[[Function], Function]:
    """``--epsilon``, read exactly; required where it has no default."""
    return click.option(
        "--epsilon",
        type=Checked("epsilon", exact_epsilon),
        metavar="E",
        help="ε, the privacy budget of a window: 1, 0.5 or 1/3.",
        **_required_or(default, required),
    )


def window_option(
    default: int | None = None, *, required: bool = True
) -> Callable[[Function], Function]:
    """``--window``; required where it has no default."""
    return click.option(
        "--window",
        type=Checked("window", _window),
        metavar="W",
        help="w, the number of consecutive timestamps the budget is for.",
        **_required_or(default, required),
    )


def period_option(words: str) -> Callable[[Function], Function]:
    """``--every``."""
    return click.option("--every", type=Checked("period", _period), metavar="PERIOD", help=words)


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else."
)


def _report_path(text: str) -> Path:
    """Check that a page can be written there, before any work is done."""
    from psgraph._runtime.extras import require_report
    from psgraph.reports.page import check_writable

    path = Path(text)
    check_writable(path)
    require_report()
    return path


report_option = click.option(
    "--report",
    type=Checked("file", _report_path),
    metavar="FILE.html",
    help="Also write a page with pictures: one HTML file for any browser.",
)

trust_option = click.option(
    "--trust-seconds",
    type=click.FloatRange(min=0),
    metavar="S",
    default=5.0,
    show_default=True,
    help="Time for predicting how far the releases can be trusted; 0 leaves it out.",
)

method_option = click.option(
    "--method",
    metavar="NAME",
    default=DEFAULT_METHOD,
    show_default=True,
    help="How graphs are generated; `psgraph methods` lists those installed.",
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="For research: makes the run reproducible. Its releases are NOT private and say so.",
)


@dataclass(frozen=True)
class Source:
    """INPUT and how to read it."""

    path: str
    roster: str | None
    roster_from_edges: bool
    every: str | None = None
    cumulative: bool = False
    times: str | None = None
    time_label: str | None = None
    start: str | None = None
    until: str | None = None
    roster_column: str | None = None
    roster_no_header: bool = False
    timezone: str | None = None
    close_last: bool = False
    gaps: str | None = None
    columns: str | None = None
    ids: str = "auto"
    bad_rows: str = "refuse"
    bad_rows_to: str | None = None
    unknown_nodes_to: str | None = None

    def __post_init__(self) -> None:
        if self.roster is None and not self.roster_from_edges and not self.prepared:
            self._refuse_unfinished_store()
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
        self._refuse_options_of_rosters()
        if self.every is None:
            self._refuse_options_of_periods()
        elif self.times is not None or self.time_label is not None:
            raise click.UsageError(
                "--times and --time-label are for a table with a column t, --every for one of "
                "events\nDeclare the ends of a table of events with --from and --until."
            )

    @property
    def prepared(self) -> bool:
        """Whether INPUT is a store, which knows its nodes; an address always is one."""
        return "://" in self.path or (Path(self.path) / "psgraph-store.json").is_file()

    def _refuse_unfinished_store(self) -> None:
        """Say that a store is not complete, instead of asking for a roster it does not need."""
        if Path(self.path).is_dir():
            from psgraph.stores import refuse_unfinished

            refuse_unfinished(Path(self.path))

    def _refuse_options_of_rosters(self) -> None:
        if self.roster is None and (self.roster_column or self.roster_no_header):
            raise click.UsageError(
                "--roster-column and --roster-no-header say how to read a roster\n"
                "Give --roster as well."
            )
        if self.roster_column and self.roster_no_header:
            raise click.UsageError(
                "--roster-column and --roster-no-header contradict each other\nKeep one of them."
            )

    def _refuse_options_of_periods(self) -> None:
        if self.cumulative:
            raise click.UsageError(
                "--cumulative adds up the periods of a table of events\nGive --every as well."
            )
        if self.start is not None or self.until is not None:
            raise click.UsageError(
                "--from and --until are the ends of a table of events\n"
                "Give --every as well, or declare the timestamps with --times."
            )
        if self.close_last or self.timezone is not None:
            raise click.UsageError(
                "--close-last and --timezone are for a table of events that is cut into periods\n"
                "Give --every as well."
            )

    def open(self, store: SnapshotStore | None = None) -> Stream:
        """Read the roster and the head of INPUT; snapshots are read while iterating."""
        from psgraph.streams import read_stream

        silence_warnings()
        return read_stream(self.path, store=store, **self.reading())

    def reading(self) -> dict[str, Any]:
        """Return the options of `psgraph.read_stream`."""
        plain = {each.name: getattr(self, each.name) for each in fields(self)}
        del plain["path"]
        no_header = plain.pop("roster_no_header")
        return {**plain, "roster_header": False if no_header else None}

    def options(self) -> list[str]:
        """Return the options as they are written on a command line."""
        words = []
        for name, value in (
            ("--roster", self.roster),
            ("--roster-column", self.roster_column),
            ("--roster-no-header", self.roster_no_header),
            ("--roster-from-edges", self.roster_from_edges),
            ("--times", self.times),
            ("--time-label", self.time_label),
            ("--every", self.every),
            ("--from", self.start),
            ("--until", self.until),
            ("--cumulative", self.cumulative),
            ("--timezone", self.timezone),
            ("--close-last", self.close_last),
            ("--gaps", self.gaps),
            ("--columns", self.columns),
            ("--ids", None if self.ids == "auto" else self.ids),
            ("--bad-rows", None if self.bad_rows == "refuse" else self.bad_rows),
        ):
            if value is True:
                words.append(name)
            elif isinstance(value, str):
                words += [name, value]
        return words


_ROSTER_OPTIONS = (
    click.option(
        "--roster",
        metavar="FILE",
        help="The public list of nodes: one id per row; columns 'from' and 'until' if it changes "
        "over time.",
    ),
    click.option(
        "--roster-column",
        metavar="NAME",
        help="The column of the roster that holds the ids; otherwise 'id', 'node' or the only one.",
    ),
    click.option(
        "--roster-no-header",
        is_flag=True,
        help="The first line of the roster is a node, though it looks like a header.",
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
        "--times",
        metavar="A..B|FILE",
        help="The timestamps of a table t, u, v, also of those without an edge: 0..11, or a file "
        "with one per line. Without it the first and the last are read off the edges.",
    ),
    click.option(
        "--time-label",
        metavar="COLUMN",
        help="The column of a table t, u, v that names the times. It is public, and equal in all "
        "rows of a timestamp.",
    ),
    period_option(
        "Cut a table of events (u, v, time) into periods: 1d, 1w, 1mo, …. A period is published "
        "when it is over."
    ),
    click.option(
        "--from",
        "start",
        metavar="TIME",
        help="With --every: where the stream begins; otherwise with the first event.",
    ),
    click.option(
        "--until",
        metavar="TIME",
        help="With --every: where the stream ends (exclusive), or now. The data are complete up "
        "to then, so all periods before it are published. Without it the period of the last "
        "event is held back.",
    ),
    click.option(
        "--close-last",
        is_flag=True,
        help="With --every: publish the last period although it is not over.",
    ),
    timezone_option,
    click.option(
        "--cumulative",
        is_flag=True,
        help="With --every: each snapshot keeps the edges of all periods before it.",
    ),
    click.option(
        "--gaps",
        type=click.Choice(["empty", "refuse"]),
        help="What a timestamp of a table without a row is: an empty snapshot, or an error.  "
        "[default: empty]",
    ),
    *READING_OPTIONS,
)


def roster_options(function: Function) -> Function:
    """Add ``--roster`` and ``--roster-from-edges``, passed to the command by their names."""
    for decorate in reversed(_ROSTER_OPTIONS):
        function = decorate(function)
    return function


def source_options(function: Function) -> Callable[..., Any]:
    """Add INPUT and its options, passed to the command as one `Source`."""
    names = [each.name for each in fields(Source)]

    @functools.wraps(function)
    def with_source(**given: Any) -> Any:
        source = Source(**{name: given.pop(name) for name in names})
        return function(source=source, **given)

    decorated: Callable[..., Any] = with_source
    for decorate in reversed(_SOURCE_OPTIONS):
        decorated = decorate(decorated)
    return decorated
