"""Who the nodes of each snapshot of a stream are, as the user declared."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from psgraph.errors import DataError, InvalidArgument, OutsideRoster, RosterError
from psgraph.graph import Kind, Roster, Snapshot, TwoSidedRoster
from psgraph.graph.formats.columns import as_numpy, find_column
from psgraph.graph.formats.files import TableFile
from psgraph.graph.formats.tables import column_positions, from_columns, is_text
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.roster import ID_TYPES, Declared, IdType, as_roster, declare
from psgraph.privacy.unit import Owner
from psgraph.streams.options import DROPPING
from psgraph.streams.overflow import Gathering, InMemory, InStore, Rows, SnapshotStore
from psgraph.streams.owners import OwnedRows, Owners
from psgraph.streams.rosters import TimedRoster, TimedSides, read_roster
from psgraph.streams.rows import write_curator_file

__all__ = ["Nodes", "RosterLike", "UnknownNodes", "build_snapshot", "two_sided"]

RosterLike = str | PathLike[str] | Roster | TimedRoster | Iterable[Any]


@dataclass(frozen=True)
class Nodes:
    """Where the roster of every snapshot comes from: one of the three declarations, or none yet.

    None is enough for snapshots, which carry a roster that was declared when they were built.

    Attributes
    ----------
    ids
        Whether ids are text or integers; "auto" follows the roster, or the first row without one.
    unknown
        What happens to edges with an end outside the roster; they are refused unless given.
    store
        Where the edges of snapshots go; they stay in memory unless given.
    kind
        The kind of all snapshots.
    owners
        Whose edges they are, and how many of an owner are used; None if edges have no owner.
    """

    roster: Roster | TimedRoster | None
    declared: Declared | None
    ids: IdType = "auto"
    unknown: UnknownNodes | None = None
    store: SnapshotStore | None = None
    kind: Kind = UNDIRECTED
    owners: Owners | None = None

    @classmethod
    def choose(
        cls,
        roster: RosterLike | None,
        roster_from_edges: bool = False,
        nodes_are_public: bool = False,
        *,
        ids: str = "auto",
        unknown: str = "refuse",
        unknown_to: str | PathLike[str] | None = None,
        store: SnapshotStore | None = None,
        sides: tuple[RosterLike, RosterLike] | None = None,
        kind: Kind = UNDIRECTED,
        unit: Owner | None = None,
    ) -> Nodes:
        """Return what the user declared; `sides` are the rosters of two-sided graphs."""
        if ids not in ID_TYPES:
            raise InvalidArgument(f"ids={ids!r} is unknown\nGive one of: {', '.join(ID_TYPES)}.")
        if sides is not None:
            roster = two_sided(*(_roster(side, ids) for side in sides))
        declared: Declared | None = None
        if roster is not None or roster_from_edges or nodes_are_public:
            declared = declare(
                roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
            )
        roster = None if roster is None else _roster(roster, ids)
        drop, listing = unknown == "drop", None if unknown_to is None else Path(unknown_to)
        if (drop or listing is not None) and roster is None:
            raise InvalidArgument(
                "unknown_nodes and unknown_nodes_to (--unknown-nodes, --unknown-nodes-to) are for "
                "ids that are not on the roster\nGive a roster (--roster FILE) as well."
            )
        collected = UnknownNodes(listing, drop=drop) if drop or listing is not None else None
        if drop:
            warnings.warn(DROPPING, stacklevel=2)
        owners = None if unit is None else Owners(unit, kind)
        chosen = cls(roster, declared, ids, collected, store, kind, owners)
        for side in set(chosen.everyone.sides) if roster is not None and ids != "auto" else ():
            if side.strings != (ids == "text"):
                raise InvalidArgument(
                    f"ids={ids!r} (--ids {ids}), but the ids of the roster are "
                    f"{'text' if side.strings else 'integers'}\nBring both to one type."
                )
        return chosen

    def checked(self, snapshots: Iterator[Snapshot]) -> Iterator[Snapshot]:
        """Yield snapshots up to the first with an unknown id; then find the others, and refuse.

        If edges with an unknown id are dropped, all snapshots are yielded.
        """
        if self.unknown is None:
            yield from snapshots
            return
        self.unknown.begin()
        for snapshot in snapshots:
            if not self.unknown.refused:
                yield snapshot
        self.unknown.finish()

    @property
    def from_edges(self) -> bool:
        """Whether the roster comes from the edges."""
        return self.declared == "edges"

    def require_declaration(self) -> None:
        """Refuse to guess who the nodes are."""
        if self.declared is None:
            declare(None)

    def require(self, *, of: str = "a file") -> None:
        """Refuse input that lists edges only, unless a roster or `roster_from_edges` was given."""
        self.require_declaration()
        if self.declared == "nodes":
            raise RosterError(
                f"nodes_are_public was given, but {of} lists edges and no nodes\n"
                "Give the public list of nodes (roster=…), or roster_from_edges=True, which "
                "makes public which nodes have an edge at each timestamp."
            )

    @cached_property
    def everyone(self) -> Roster:
        """All nodes that are on the roster at any time."""
        if isinstance(self.roster, TimedRoster):
            return self.roster.everyone
        assert self.roster is not None
        return self.roster

    @property
    def count(self) -> int | None:
        """How many nodes are on the roster at any time; None unless one was given."""
        return None if self.roster is None else len(self.everyone)

    def at(self, time: str | None) -> Roster | None:
        """Return the roster at a time, or None unless one was given."""
        return self.roster.at(time) if isinstance(self.roster, TimedRoster) else self.roster

    def gather(self, time: str, types: tuple[pa.DataType, pa.DataType]) -> Gathering:
        """Start a snapshot of two columns of ids of these types.

        A roster from the edges needs all of them in memory.
        """
        roster = self.at(time)
        prepare = partial(self._prepared, roster=roster, time=time)
        if self.owners is not None:
            return OwnedRows(
                self.owners,
                types,
                roster=self._with_edges if roster is None else roster,
                prepare=prepare,
                time=time,
                begin=None
                if self.store is None or roster is None
                else partial(self.store.begin, time=time),
            )
        if self.store is not None and roster is not None:
            return InStore(self.store, roster, time=time, prepare=prepare)

        return InMemory(
            types, lambda rows: build_snapshot(prepare(rows), roster, time=time, kind=self.kind)
        )

    def _with_edges(self, rows: Rows) -> Roster:
        return edge_roster(rows.heads, rows.tails, self.kind)

    def _prepared(self, rows: Rows, *, roster: Roster | None, time: str) -> Rows:
        """Read ids as text if that was chosen, and leave out edges with an unknown one."""
        if self.ids == "text":
            rows = rows._replace(heads=_as_text(rows.heads), tails=_as_text(rows.tails))
        if self.unknown is not None and roster is not None:
            return self.unknown.collect(rows, roster, time)
        return rows

    def id_columns(
        self,
        table: TableFile,
        ends: tuple[int, int],
        *,
        text: bool | None = None,
        fixed: bool = False,
    ) -> dict[str, tuple[int, pa.DataType]]:
        """Return how to read the two columns of ids.

        A text file has no types. The type is the one that was chosen, that of the roster, or that
        of earlier files (`text`); only without all these the first row decides, and where it must
        not (`fixed`) the table is refused.
        """
        types = [table.type_of(index) for index in ends]
        if not table.typed:
            sides = self.everyone.sides if self.roster is not None else (None, None)
            if self.kind.two_sided:  # each side has ids of its own
                types = [
                    self._type(table, [first], self._text(side), fixed=fixed)
                    for first, side in zip(types, sides, strict=True)
                ]
            else:
                known = self._text(sides[0])
                known = text if known is None else known
                types = [self._type(table, types, known, fixed=fixed)] * 2
        return {"u": (ends[0], types[0]), "v": (ends[1], types[1])}

    def further_columns(
        self, table: TableFile, weight: int | None, *taken: int
    ) -> dict[str, tuple[int, Any]]:
        """Return how to read the columns of weights and of owners, if they are used.

        Parameters
        ----------
        weight
            The column of weights; None if the table has none.
        taken
            The other columns that are read.
        """
        return {**self._weight_column(table, weight), **self._owner_column(table, taken)}

    def _owner_column(self, table: TableFile, taken: tuple[int, ...]) -> dict[str, tuple[int, Any]]:
        if self.owners is None or self.owners.unit.side is not None or not table.width:
            return {}
        name = self.owners.unit.column
        index = find_column(table.names or [], name.strip().lower())
        if index is None:
            raise DataError(
                f"{table.name}: there is no column {name!r}, which should say whose row it is\n"
                "Check the column of the owners: owner=… (--owner).",
                code="owner",
            )
        if index in taken:
            raise InvalidArgument(
                f"the column {name!r} of the owners is one of the ends, the time or the weight\n"
                "If an end of each edge is its owner, say which: owner='u' or owner='v' "
                "(--owner u).",
                code="owner",
            )
        if not table.typed:
            return {"owner": (index, pa.string())}
        found = table.type_of(index)
        if not (pa.types.is_integer(found) or is_text(found) or table.empty):
            raise DataError(
                f"{table.name}: owners are integers or text, not {found}\n"
                "Write them as one of the two.",
                code="owner",
            )
        return {"owner": (index, found)}

    def _weight_column(self, table: TableFile, index: int | None) -> dict[str, tuple[int, Any]]:
        if index is None or not self.kind.weighted or self.kind.flows:
            return {}
        if not table.typed:
            return {"weight": (index, pa.int64())}
        found = table.type_of(index)
        if not (pa.types.is_integer(found) or pa.types.is_floating(found) or table.empty):
            raise DataError(f"{table.name}: weights must be integers, not {found}", code="weights")
        return {"weight": (index, found)}

    def _text(self, side: Roster | None) -> bool | None:
        """Whether ids of a side are text, if that does not depend on a row."""
        if self.ids != "auto":
            return self.ids == "text"
        if side is not None and len(side):
            return side.strings
        return None

    @staticmethod
    def _type(
        table: TableFile, first: list[pa.DataType], text: bool | None, *, fixed: bool
    ) -> pa.DataType:
        if text is None and fixed:
            raise InvalidArgument(
                f"{table.name}: without a roster the first row decides whether ids are integers\n"
                "bad_rows='skip' (--bad-rows skip) needs ids='text' or 'integer' (--ids)."
            )
        integers = [type_ == pa.int64() for type_ in first]
        if text is None and len({*integers}) > 1 and not table.empty:
            raise DataError(
                f"{table.name}: node ids mix types in the first row\n"
                "Use integers throughout or strings throughout. If some names look like "
                "numbers, read all as text: ids='text' (--ids text).",
                code="mixed_ids",
            )
        return pa.int64() if (all(integers) if text is None else not text) else pa.string()


def _roster(roster: RosterLike, ids: str) -> Roster | TimedRoster:
    """Return the roster that a user gave: read from a file, or made of a list of ids."""
    if isinstance(roster, str | PathLike):
        return read_roster(roster, ids=ids)
    if isinstance(roster, Roster | TimedRoster):
        return roster
    made = as_roster(roster)  # type: ignore[arg-type]
    assert made is not None
    return made


def two_sided(left: Roster | TimedRoster, right: Roster | TimedRoster) -> Roster | TimedRoster:
    """Return the roster of two-sided graphs."""
    if isinstance(left, TimedRoster) or isinstance(right, TimedRoster):
        return TimedSides(left, right)
    return TwoSidedRoster(left, right)


def build_snapshot(
    rows: Rows, roster: Roster | None, *, time: str | None, kind: Kind = UNDIRECTED
) -> Snapshot:
    """Build a snapshot of rows in memory; without a roster its nodes are those with an edge."""
    heads, tails, weight, _ = rows
    if kind == UNDIRECTED:
        return from_columns(
            heads,
            tails,
            graph_type=Snapshot,
            roster=roster,
            roster_from_edges=roster is None,
            time=time,
        )
    known = edge_roster(heads, tails, kind) if roster is None else roster
    u, v = column_positions(heads, tails, known)
    weights = None if weight is None or not kind.weighted else as_numpy(weight)
    return Snapshot(known, u, v, time=time, kind=kind, weight=weights)


def edge_roster(heads: pa.ChunkedArray, tails: pa.ChunkedArray, kind: Kind) -> Roster:
    """Return the nodes that have an edge; a node with only a self-loop has none."""
    if kind.two_sided:
        return TwoSidedRoster(
            *(Roster(pc.unique(column), declared="edges") for column in (heads, tails))
        )
    if is_text(heads.type) != is_text(tails.type):
        raise DataError("node ids mix types\nUse integers throughout or strings throughout.")
    apart = pc.not_equal(heads, tails)
    ends = [*heads.filter(apart).chunks, *tails.filter(apart).chunks]
    return Roster(pc.unique(pa.chunked_array(ends, heads.type)), declared="edges")


def _as_text(ids: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert integer ids of a typed file to text."""
    return ids if is_text(ids.type) or not pa.types.is_integer(ids.type) else ids.cast(pa.string())


class UnknownNodes:
    """Leaves out edges with an end outside the roster, and refuses the input unless told to drop.

    Whether an edge is left out depends on its two ends and the roster of its timestamp alone.

    Parameters
    ----------
    path
        The file to write, if any: every unknown id with the first time at which it has an edge.
        Only its owner can read it. One run finds them all.
    drop
        Whether the input is used without such edges; otherwise it is refused.
    """

    def __init__(self, path: Path | None, *, drop: bool = False) -> None:
        self._path, self._drop = path, drop
        self._first: dict[str, str] = {}
        self.rows = 0
        """The number of rows left out since the stream was last started. Curator only."""

    @property
    def refused(self) -> bool:
        """Whether the input is to be refused, as far as it was read."""
        return bool(self.rows) and not self._drop

    def begin(self) -> None:
        """Forget what an earlier reading found."""
        self._first.clear()
        self.rows = 0

    def collect(self, rows: Rows, roster: Roster, time: str) -> Rows:
        """Return the edges between nodes of the roster; remember the ends of the others.

        If the input is refused, what is left after the first unknown id must not be published;
        see `Nodes.checked`.
        """
        known = []
        for column, side in zip((rows.heads, rows.tails), roster.sides, strict=True):
            if len(side) and is_text(column.type) != side.strings:
                return rows  # refused by type
            nodes = side.arrow_ids
            if not len(side):
                nodes = pa.array([], column.type)
            try:
                column = column.cast(nodes.type)
            except pa.ArrowInvalid:  # beyond 64 signed bits; the message would quote the id
                return rows  # refused by type
            inside = pc.is_in(column, value_set=nodes)
            if self._path is not None:
                for unknown in pc.unique(column.filter(pc.invert(inside))).to_pylist():
                    self._first.setdefault(str(unknown), time)
            known.append(inside)
        both = pc.and_(*known)
        kept = Rows(*(None if column is None else column.filter(both) for column in rows))
        self.rows += len(rows.heads) - len(kept.heads)
        return kept

    def finish(self) -> None:
        """Write the list, and refuse the input unless such edges are dropped."""
        if self.rows and self._path is not None:
            write_curator_file(self._path, ("id", "first_time"), self._first.items())
        if self.refused:
            raise OutsideRoster(
                "edges have ends outside the roster\n"
                f"{self._path} lists them (for the curator only). Add the missing nodes to the "
                "roster, or leave such edges out: unknown_nodes='drop' (--unknown-nodes drop)."
            )
