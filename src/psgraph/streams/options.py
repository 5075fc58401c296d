"""The options of an input, each stated once.

A field of `InputOptions` is a parameter of `psgraph.read_stream`. What is written beside it makes
the option of the commands, the key of a configuration file, the line of `psgraph init`, the
checks, and the paragraph in the documentation. To add an option, add a field here and use it in
the readers.

This module imports nothing heavy: ``psgraph publish --help`` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from psgraph.errors import InvalidArgument
from psgraph.streams.option import InputOption, SourceKind, chosen_owner, refuse_contradictions

if TYPE_CHECKING:
    from psgraph.graph.kind import Kind
    from psgraph.privacy.unit import Owner
    from psgraph.streams.nodes import RosterLike
    from psgraph.streams.overflow import SnapshotStore
    from psgraph.streams.times import Time
    from psgraph.streams.timestamps import TimesLike

__all__ = [
    "DROPPING",
    "OPTIONS",
    "InputOptions",
]

#: What is said when edges outside the roster are dropped. It depends on no edge.
DROPPING = (
    "Edges with an end outside the roster are dropped: the roster decides which edges are "
    "published about and protected. It is public, so it must not be chosen by looking at the edges."
)

# ruff: noqa: RUF009 (`_option` returns a field)


_ROWS = frozenset[SourceKind]({"table", "events", "files", "inbox"})
_PERIODS = frozenset[SourceKind]({"events"})
_WATCHED = _PERIODS | {"inbox"}
_NEEDS_PERIODS = {"every": "Only a table of events is cut into periods. Give {every} as well."}


def _option(default: Any, doc: str, **facts: Any) -> Any:
    """Return a field of `InputOptions`."""
    return field(default=default, metadata={"option": InputOption(doc, default=default, **facts)})


@dataclass(frozen=True)
class InputOptions:
    """A source and how to read it: the arguments of `psgraph.read_stream`."""

    source: str | PathLike[str] | Any
    _: KW_ONLY
    roster: RosterLike | None = _option(
        None,
        "The public nodes: a `Roster`, a `TimedRoster`, the path of a file, or ids.",
        flag="--roster",
        metavar="FILE",
        form="path",
        help="The public list of nodes: one id per row; columns 'from' and 'until' if it changes "
        "over time.",
        comment="The public list of nodes, one id per row",
        example="nodes.csv",
    )
    left: RosterLike | None = _option(
        None,
        "Instead of a roster, for two-sided graphs: the public nodes that ``u`` comes from, given "
        "like a roster. Sides are name spaces of their own.",
        flag="--left",
        metavar="FILE",
        form="path",
        help="Two-sided graphs: the public list of the nodes that u comes from, such as users.",
        comment="Two-sided graphs: the nodes that u comes from",
        example="users.csv",
        needs={"right": "Give the nodes of both sides, or {roster} for edges between alike nodes."},
        excludes={"roster": "Two-sided graphs have {left} and {right}, others have {roster}."},
    )
    right: RosterLike | None = _option(
        None,
        "The public nodes that ``v`` comes from; see `left`.",
        flag="--right",
        metavar="FILE",
        form="path",
        help="Two-sided graphs: the public list of the nodes that v comes from, such as items.",
        comment="Two-sided graphs: the nodes that v comes from",
        example="items.csv",
        needs={"left": "Give the nodes of both sides, or {roster} for edges between alike nodes."},
        excludes={"roster": "Two-sided graphs have {left} and {right}, others have {roster}."},
    )
    kind: str | None = _option(
        None,
        '``"undirected"``, ``"directed"`` (u → v and v → u are different edges), or '
        '``"two-sided"``, which goes without saying where `left` and `right` are given. Without '
        "it edges are undirected, and if the input says more, certificates say that it is left "
        "out.",
        flag="--directed",
        config_key="kind",
        form="choice",
        choices=("undirected", "directed", "two-sided"),
        switches={
            "directed": "u → v and v → u are different edges. Without it releases are undirected.",
            "undirected": "Publish who is connected with whom although the input has a direction.",
            "two-sided": "With --roster-from-edges: u and v come from two sides. Not needed with "
            "--left and --right.",
        },
        help="Which pairs of nodes can be edges.",
        comment="undirected, directed or two-sided",
        example="directed",
    )
    weights: int | str | None = _option(
        None,
        "Publish weights from 1 to this integer; larger ones count as this one. The weight of an "
        "edge is the sum of the column ``weight`` over its rows, or the number of its rows. "
        '``"none"`` leaves weights out without a word about it in certificates.',
        flag="--weights",
        metavar="W",
        form="number",
        help="Publish weights up to W: the column 'weight', or the number of rows of an edge. "
        "Without it releases are unweighted; 'none' says that this is meant.",
        comment="Publish weights up to this",
        example="64",
    )
    owner: str | None = _option(
        None,
        "Protect all rows of an owner, such as a person, instead of an edge: the column that says "
        'whose row it is; ``"u"`` or ``"v"`` if an end of each edge is its owner.',
        flag="--owner",
        metavar="COLUMN",
        help="Protect all rows of an owner, such as a person, instead of an edge: the column that "
        "says whose row it is; u or v for an end.",
        comment="Protect all rows of a person: the column that says whose row it is",
        example="rider",
        needs={"at_most": "Say how many edges of an owner are used: {at_most}."},
        excludes={"cumulative": "No window would cover edges of an owner that stay for ever."},
    )
    at_most: int | str | None = _option(
        None,
        "How many distinct edges of an owner are used at a timestamp, with `flows` how many rows. "
        "Which ones depends on the owner and the pair alone. Noise grows with it: 1 or 2 is usual.",
        flag="--at-most",
        metavar="N",
        form="number",
        help="Use at most N distinct edges (with --flows: rows) of an owner at a timestamp; 1 or 2 "
        "is usual. 'psgraph plan' shows what it costs.",
        comment="How many edges of a person are used at a timestamp",
        example="2",
        needs={"owner": "It bounds what an owner contributes. Give {owner} as well."},
    )
    flows: bool = _option(
        False,
        "Publish how many rows go from u to v, of a directed or two-sided stream; no weights.",
        flag="--flows",
        form="flag",
        help="Publish how many rows go from u to v, as for trips between zones.",
        comment="Every row counts: publish how many go from u to v",
        excludes={"weights": "With {flows} the weight of an edge is its number of rows."},
    )
    roster_column: str | None = _option(
        None,
        "For the path of a roster: the column of ids.",
        flag="--roster-column",
        metavar="NAME",
        help="The column of the roster that holds the ids; otherwise 'id', 'node' or the only one.",
        comment="The column of the roster with the ids",
        example="phone",
        needs={"roster": "It says how to read a roster. Give {roster} as well."},
    )
    roster_header: bool | None = _option(
        None,
        "For the path of a roster: False if its first line is a node.",
        flag="--roster-no-header",
        form="flag",
        switches_to=False,
        help="The first line of the roster is a node, even if it looks like a header.",
        comment="The roster has no header",
        needs={"roster": "It says how to read a roster. Give {roster} as well."},
        excludes={"roster_column": "Keep one of them."},
    )
    labels: str | Iterable[str] | None = _option(
        None,
        "For the path of a roster: the columns with public labels of the nodes, such as "
        '``"department,site"``. They are published as they are, and must not be computed from the '
        "edges: communities, activity or degrees of the private graph would leak.",
        flag="--labels",
        metavar="NAME,…",
        help="Columns of the roster with public labels of the nodes, such as department,site. They "
        "are published as they are and must not be computed from the edges.",
        comment="Columns of the roster with public labels, not computed from the edges",
        example="department",
        needs={"roster": "Labels are columns of the roster. Give {roster} as well."},
    )
    roster_from_edges: bool = _option(
        False,
        "Instead of a roster: the nodes of each snapshot are those that have an edge in it. This "
        "makes node presence public. It is what the paper does.",
        flag="--roster-from-edges",
        form="flag",
        help="Instead of a roster: the nodes of a timestamp are those that have an edge. Node "
        "presence is then public: everyone learns who has an edge at each timestamp. It is what "
        "the paper does.",
        comment="Instead of a roster: makes node presence public",
        excludes={
            "roster": "Keep {roster}, unless node presence is public.",
            "left": "Keep {left} and {right}, unless node presence is public.",
        },
    )
    nodes_are_public: bool = _option(
        False,
        "Instead of a roster, for graphs of networkx, igraph, SciPy or PyTorch Geometric: their "
        "nodes are a public list that does not depend on their edges.",
        excludes={
            "roster": "Keep {roster}, unless the nodes of the graphs are public.",
            "roster_from_edges": "Keep one of them.",
        },
    )
    times: TimesLike | None = _option(
        None,
        'The timestamps of a table ``t, u, v``, or of a list of graphs, declared: ``"0..11"``, '
        "the path of a file with one time per row, or times in order. A row of another timestamp "
        "is refused; a timestamp without a row is an empty snapshot. Without it, the first and "
        "the last timestamp of a table (of dates and labels: all) are taken from the edges.",
        flag="--times",
        metavar="A..B|FILE",
        form="times",
        help="The timestamps of a table t, u, v, also of those without an edge: 0..11, or a file "
        "with one per line. Without it the first and the last are taken from the edges.",
        comment="The timestamps of a table t,u,v: 0..11, or a file",
        example="0..11",
        sources={"table", "graphs"},
        excludes={"every": "Declare the ends of a table of events with {start} and {until}."},
    )
    time_label: str | None = _option(
        None,
        "The column of a table ``t, u, v`` whose values are public and name the times instead of "
        "``t``. It has to be equal in all rows of a timestamp.",
        flag="--time-label",
        metavar="COLUMN",
        help="The column of a table t, u, v that names the times. It is public, and equal in all "
        "rows of a timestamp.",
        comment="The column that names the times",
        example="month",
        sources={"table"},
        excludes={"every": "Declare the ends of a table of events with {start} and {until}."},
    )
    every: str | None = _option(
        None,
        "Cut an event table into periods of this length: an integer and ``s``, ``min``, ``h``, "
        "``d``, ``w`` (from Monday), ``mo`` (from the 1st) or ``y``, in `timezone`. A period "
        "without an event is an empty snapshot.",
        flag="--every",
        metavar="PERIOD",
        form="period",
        help="Cut a table of events (u, v, time) into periods: 1d, 1w, 1mo, …. A period is "
        "published when it is over.",
        watch_help="The period of the files, such as 1d; recognised from dates in their names "
        "unless given. A file is published when its period is over.",
        comment="Cut events into periods: 1d, 1w, 1mo",
        example="1mo",
        sources=_WATCHED,
    )
    start: Time | None = _option(
        None,
        "With `every`: where the stream starts, as declared. An event before it is refused. "
        "Without it, the first period is taken from the edges.",
        flag="--from",
        metavar="TIME",
        help="With --every: where the stream starts; with the first event unless given.",
        comment="Where the stream starts",
        example="2024-01-01",
        sources=_PERIODS,
        needs={"every": "Give {every} as well, or declare the timestamps with {times}."},
    )
    until: Time | None = _option(
        None,
        'With `every`: where the stream ends (exclusive), as declared; it can be ``"now"``. '
        "Events after it are left for a later run. A period is published when it is over: it ends "
        "before `until` and before now. Without `until` the last period is taken from the edges, "
        "and the period of the last event is held back.",
        flag="--until",
        metavar="TIME",
        help="With --every: where the stream ends (exclusive), or now. The data are complete up "
        "to then, so all periods before it are published; later events are left for a later "
        "run. Without it the period of the last event is held back.",
        comment="The data are complete up to then: a date, or now",
        example="now",
        sources=_PERIODS,
        needs={"every": "Give {every} as well, or declare the timestamps with {times}."},
    )
    close_last: bool = _option(
        False,
        "With `every`: publish the last period even if it is not over.",
        flag="--close-last",
        form="flag",
        help="With --every: publish the last period even if it is not over.",
        watch_help="Publish a file even if its period is not over.",
        comment="Publish the last period even if it is not over",
        sources=_WATCHED,
        needs=_NEEDS_PERIODS,
    )
    timezone: str | None = _option(
        None,
        "With `every`: the IANA name of the zone of times that have none, and of the calendar by "
        "which days, weeks, months and years are cut; UTC unless given.",
        flag="--timezone",
        metavar="NAME",
        help="With --every: the zone of times that have none, and of the calendar of days, weeks, "
        "months and years, such as Europe/Berlin.  [default: UTC]",
        comment="The zone of times without one, and of the calendar",
        example="Europe/Berlin",
        sources=_WATCHED,
        needs=_NEEDS_PERIODS,
    )
    cumulative: bool = _option(
        False,
        "With `every`: each snapshot keeps the edges of all periods before it.",
        flag="--cumulative",
        form="flag",
        help="With --every: each snapshot keeps the edges of all periods before it.",
        comment="Each snapshot keeps the edges of earlier ones",
        sources=_PERIODS,
        needs=_NEEDS_PERIODS,
    )
    gaps: str | None = _option(
        None,
        'A timestamp of a table without a row is an ``"empty"`` snapshot, or ``"refuse"`` it.',
        flag="--gaps",
        form="choice",
        choices=("empty", "refuse"),
        help="What a timestamp of a table without a row is: an empty snapshot, or an error.  "
        "[default: empty]",
        comment="A timestamp without a row: empty or refuse",
        example="refuse",
        sources={"table", "events", "files"},
    )
    columns: str | Mapping[str, str | int] | None = _option(
        None,
        'Which column is which, where names are not the usual ones: ``"u=caller,v=callee"`` or '
        '``{"u": "caller", "v": "callee", "time": "start"}``. Numbers count columns from 1.',
        flag="--columns",
        metavar="u=NAME,v=NAME,…",
        help="Which columns hold the two ends and the time: u=caller,v=callee,time=start (or t=…). "
        "Numbers count columns from 1. Recognised without it: u and v, source and target, src and "
        "dst, from and to; time, timestamp, date, datetime; t; weight.",
        comment="Which columns hold what: u=caller,v=callee,time=start",
        example="u=caller,v=callee,time=start",
        sources=_ROWS,
    )
    ids: str = _option(
        "auto",
        '``"text"``, ``"integer"``, or ``"auto"``, which follows the roster.',
        flag="--ids",
        form="choice",
        choices=("auto", "integer", "text"),
        help="How ids are read: text keeps leading zeros and numbers of any length; auto follows "
        "the roster.",
        comment="auto, integer or text",
        example="text",
        sources=_ROWS,
    )
    bad_rows: str = _option(
        "refuse",
        'Rows that can\'t be read, or lie outside declared times: ``"refuse"`` the input and '
        'report them all, or ``"skip"`` them.',
        flag="--bad-rows",
        form="choice",
        choices=("refuse", "skip"),
        help="What to do with rows that can't be read: refuse the input and report them all, or "
        "skip them.",
        comment="Rows that can't be read: refuse or skip",
        example="skip",
        sources=_ROWS,
    )
    bad_rows_to: str | PathLike[str] | None = _option(
        None,
        "A file that lists the bad rows, for the curator only.",
        flag="--bad-rows-to",
        metavar="FILE",
        form="curator file",
        help="List the bad rows in a file. Curator only: it holds private rows.",
        comment="Curator only: a list of the bad rows",
        example="bad-rows.csv",
        sources=_ROWS,
    )
    unknown_nodes: str = _option(
        "refuse",
        'Edges with an end that is not on the roster: ``"refuse"`` the input, or ``"drop"`` them. '
        "The roster then decides which edges count.",
        flag="--unknown-nodes",
        form="choice",
        choices=("refuse", "drop"),
        help="What to do with edges that have an end outside the roster: refuse the input, or drop "
        "them.",
        comment="Edges with an end outside the roster: refuse or drop",
        example="drop",
        sources=_ROWS,
        excludes={"roster_from_edges": "Without a roster no id is unknown. Leave it out."},
    )
    unknown_nodes_to: str | PathLike[str] | None = _option(
        None,
        "A file that lists the ids of edges that are not on the roster, for the curator only.",
        flag="--unknown-nodes-to",
        metavar="FILE",
        form="curator file",
        help="List the ids of edges that are not on the roster. Curator only.",
        comment="Curator only: ids that are not on the roster",
        example="unknown-nodes.csv",
        sources=_ROWS,
        excludes={"roster_from_edges": "Without a roster no id is unknown. Leave it out."},
    )
    store: SnapshotStore | None = _option(
        None,
        "Where the edges of snapshots are written while they are read; see `psgraph.prepare`. "
        "They stay in memory unless given. The source is then read once.",
    )

    def graph_kind(self) -> Kind:
        """Return the kind of the graphs, as the options say.

        Raises
        ------
        InvalidArgument
            The options contradict each other, or the largest weight is no integer.
        """
        from psgraph.graph.kind import DIRECTED, KINDS, TWO_SIDED, UNDIRECTED

        sides = self.left is not None
        if sides and self.kind not in (None, "two-sided"):
            raise InvalidArgument(
                f"left and right (--left, --right) were given, and kind={self.kind!r}\n"
                "Two rosters are for two-sided graphs. Leave one of them out."
            )
        if self.kind == "two-sided" and self.roster is not None:
            raise InvalidArgument(
                "two-sided graphs have two rosters\nGive left and right (--left, --right)."
            )
        kind = TWO_SIDED if sides else KINDS.get(self.kind or "undirected", UNDIRECTED)
        assert kind in (UNDIRECTED, DIRECTED, TWO_SIDED)
        if self.flows:
            return kind.with_flows()
        if self.weights is None or self.weights == "none":
            return kind
        text = str(self.weights)
        largest = int(text) if text.isascii() and text.isdecimal() and len(text) < 12 else text
        return kind.with_weights(largest)  # type: ignore[arg-type]

    def unit(self) -> Owner | None:
        """Return the owner whose rows are protected together; None if that is an edge."""
        if self.owner is None or self.at_most is None:
            return None
        facts = {"flows": self.flows, "ordered": self.graph_kind().sides == 2}
        return chosen_owner(self.owner, self.at_most, listed=not self.roster_from_edges, **facts)

    def dropped(self, found: Collection[str]) -> tuple[str, ...]:
        """Return what of the things an input says about edges is left out without a word."""
        ends = self.kind is not None or self.left is not None
        weights = self.weights is not None or self.flows
        said = {"direction": ends, "weights": weights, "sides": ends}
        return tuple(each for each in said if each in found and not said[each])

    def keywords(self) -> dict[str, Any]:
        """Return all options as keywords of `psgraph.read_stream`."""
        return {name: getattr(self, name) for name in OPTIONS}

    def given(self) -> Iterator[InputOption]:
        """Yield the options that were chosen."""
        return (each for each in OPTIONS.values() if each.is_given(getattr(self, each.name)))

    def check(
        self, kind: SourceKind | None = None, *, spell: Callable[[InputOption], str] | None = None
    ) -> None:
        """Refuse options that contradict each other or the source. Nothing is read.

        Parameters
        ----------
        kind
            What the source is, if that is known.
        spell
            How a message names an option; as a parameter of Python unless given.
        """
        names = {each.name: spell(each) if spell else each.name for each in OPTIONS.values()}
        given = {each.name: (each, getattr(self, each.name)) for each in self.given()}
        refuse_contradictions(given, names, kind)


OPTIONS: Mapping[str, InputOption] = {
    each.name: replace(each.metadata["option"], name=each.name)
    for each in fields(InputOptions)
    if "option" in each.metadata
}
"""All options by their names, in the order of ``--help``."""
