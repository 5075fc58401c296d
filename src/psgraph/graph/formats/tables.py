"""Edges as two columns: of ids (Arrow, pandas, polars), or of numbers of nodes.

Strings stay in Arrow in both directions: only the distinct ids ever become Python objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psgraph._runtime.arrays import Positions
from psgraph.errors import DataError, MissingExtra
from psgraph.graph import UNDIRECTED, Dropped, Graph, Roster
from psgraph.graph.formats.columns import as_arrow, as_numpy, list_names
from psgraph.graph.parts import Pairs
from psgraph.graph.roster import RosterOrIds, as_roster, declare

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = [
    "column_positions",
    "edge_columns",
    "from_columns",
    "from_positions",
    "from_table",
    "is_text",
    "to_arrow",
    "to_pandas",
    "to_polars",
]

GraphType = TypeVar("GraphType", bound=Graph)


def to_arrow(graph: Graph) -> pa.Table:
    """Write the edges as an Arrow table with columns ``u``, ``v`` of original ids. O(m).

    Edges with weights have a column ``weight`` as well.

    >>> from psgraph.graph import SyntheticGraph
    >>> to_arrow(SyntheticGraph(Roster("abc"), [0], [1])).to_pylist()
    [{'u': 'a', 'v': 'b'}]
    """
    return edge_columns(graph.roster, graph.parts.whole())


def edge_columns(roster: Roster, pairs: Pairs) -> pa.Table:
    """Look up the ids of edges given as positions; columns ``u``, ``v`` and ``weight`` if any."""
    first, second = roster.sides
    u, v = pairs.u, pairs.v - np.int32(roster.offset) if roster.offset else pairs.v
    columns = {"u": _taken(first, u), "v": _taken(second, v)}
    if pairs.weight is not None:
        columns["weight"] = as_arrow(pairs.weight)
    return pa.table(columns)


def _taken(roster: Roster, positions: Positions) -> pa.Array:
    """The ids at some positions."""
    if roster.strings:
        return roster.arrow_ids.take(as_arrow(positions))
    return as_arrow(roster.ids[positions])


def to_pandas(graph: Graph) -> pandas.DataFrame:
    """Write the edges as a pandas data frame with columns ``u`` and ``v``."""
    try:
        import pandas  # noqa: F401  (Arrow would fail later, and less clearly)
    except ImportError:
        raise MissingExtra("pandas", "pandas") from None
    return to_arrow(graph).to_pandas()


def to_polars(graph: Graph) -> polars.DataFrame:
    """Write the edges as a polars data frame with columns ``u`` and ``v``."""
    try:
        import polars
    except ImportError:
        raise MissingExtra("polars", "polars") from None
    return polars.from_arrow(to_arrow(graph))


def from_table(
    table: Any,
    *,
    graph_type: type[GraphType],
    roster: Roster | None = None,
    roster_from_edges: bool = False,
    columns: tuple[str, str] | None = None,
) -> GraphType:
    """Read two id columns of a pandas, polars or pyarrow table; other columns are ignored.

    >>> from psgraph.graph import Snapshot
    >>> table = pa.table({"u": [1, 2], "v": [2, 3], "weight": [0.5, 0.1]})
    >>> from_table(table, graph_type=Snapshot, roster=Roster.range(4))
    Snapshot(4 nodes, edges private)
    """
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):
        table = table.collect()  # a lazy polars query
    heads, tails = columns or ("u", "v")
    names = table.column_names if hasattr(table, "column_names") else getattr(table, "columns", ())
    names = [str(name) for name in names]
    if names.count(heads) != 1 or names.count(tails) != 1:
        raise DataError(
            f"expected columns {heads!r} and {tails!r}, found {list_names(names)}\n"
            "Rename them, or name the two with columns=(…, …)."
        )
    try:
        arrow = pa.table(table[[heads, tails]] if hasattr(table, "loc") else table)
    except (pa.ArrowException, TypeError, ValueError):
        # Arrow quotes the cell it stumbled over; that text must not be shown.
        raise DataError(
            "node ids mix types\nUse integers throughout or strings throughout."
        ) from None
    return from_columns(
        arrow[heads],
        arrow[tails],
        graph_type=graph_type,
        roster=roster,
        roster_from_edges=roster_from_edges,
    )


def from_columns(
    heads: pa.ChunkedArray,
    tails: pa.ChunkedArray,
    *,
    graph_type: type[GraphType],
    roster: Roster | None = None,
    roster_from_edges: bool = False,
    time: str | None = None,
) -> GraphType:
    """Read two Arrow columns of integers or of text."""
    heads, tails = _checked(heads, tails)
    if heads.type == _TEXT:
        return _from_text(heads, tails, graph_type, roster, roster_from_edges, time)
    return graph_type.from_ids(
        as_numpy(heads),
        as_numpy(tails),
        roster=roster,
        roster_from_edges=roster_from_edges,
        time=time,
    )


def column_positions(
    heads: pa.ChunkedArray, tails: pa.ChunkedArray, roster: Roster
) -> tuple[Positions, Positions]:
    """Return the positions in a roster of two Arrow columns of ids, −1 for ids outside it."""
    if len(roster.sizes) == 2:
        first, second = roster.sides
        u, _ = column_positions(heads, heads.slice(0, 0), first)
        v, _ = column_positions(tails, tails.slice(0, 0), second)
        return u, np.where(v < 0, v, v + np.int32(roster.offset))
    heads, tails = _checked(heads, tails)
    if heads.type == _TEXT:
        names, a, b = _coded(heads, tails)
        positions = _name_positions(names, roster)
        return positions[a], positions[b]
    if len(heads):
        roster.expect(strings=False)
    return roster.positions(as_numpy(heads)), roster.positions(as_numpy(tails))


_TEXT = pa.large_string()


def _checked(
    heads: pa.ChunkedArray, tails: pa.ChunkedArray
) -> tuple[pa.ChunkedArray, pa.ChunkedArray]:
    """Bring two columns to one of the two forms of ids; refuse missing values and mixtures."""
    heads, tails = _plain(heads), _plain(tails)
    if heads.null_count or tails.null_count:
        raise DataError("node ids have missing values\nDrop or repair those rows.")
    if _TEXT in (heads.type, tails.type) and heads.type != tails.type:
        raise DataError("node ids mix types\nUse integers throughout or strings throughout.")
    return heads, tails


def _coded(
    heads: pa.ChunkedArray, tails: pa.ChunkedArray
) -> tuple[pa.Array, NDArray[Any], NDArray[Any]]:
    """Number the distinct strings of two columns; return them, and the two columns as numbers."""
    coded = pa.chunked_array([*heads.chunks, *tails.chunks], _TEXT).dictionary_encode()
    coded = coded.combine_chunks()
    codes = as_numpy(coded.indices)
    return coded.dictionary, codes[: len(heads)], codes[len(heads) :]


def _name_positions(names: pa.Array, roster: Roster) -> Positions:
    if len(names):
        roster.expect(strings=True)
    if not len(names) or not len(roster):
        return np.full(len(names), -1, dtype=np.int32)
    found = pc.index_in(names, value_set=roster.arrow_ids).fill_null(-1)
    return as_numpy(found)


def is_text(type_: pa.DataType) -> bool:
    """Whether a type is one of Arrow's three kinds of strings."""
    return pa.types.is_string(type_) or type_ in (_TEXT, pa.string_view())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bring a column to numbers or large strings, the two forms that can be ids."""
    plain = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if is_text(plain):
        return column.cast(_TEXT)
    if pa.types.is_integer(plain) or pa.types.is_floating(plain) or pa.types.is_null(plain):
        return column.cast(plain)
    raise DataError(f"node ids must be integers or strings, not {plain}")


def _from_text(
    heads: pa.ChunkedArray,
    tails: pa.ChunkedArray,
    graph_type: type[GraphType],
    roster: Roster | None,
    roster_from_edges: bool,
    time: str | None,
) -> GraphType:
    """Number the distinct strings, and continue with the numbers."""
    names, a, b = _coded(heads, tails)
    dropped = Dropped()
    declare(roster, roster_from_edges=roster_from_edges)
    if roster is None:
        a, b, loops = UNDIRECTED.without_loops(a, b)
        dropped = Dropped(loops)
        present = np.zeros(len(names), dtype=bool)
        present[a] = True
        present[b] = True
        ids = names.filter(pa.array(present))
        ids = ids.take(pc.sort_indices(ids))
        roster = Roster(ids, declared="edges")
    positions = _name_positions(names, roster)
    return graph_type(roster, positions[a], positions[b], time=time, dropped=dropped)


def from_positions(
    heads: NDArray[np.int64],
    tails: NDArray[np.int64],
    nodes: int,
    *,
    graph_type: type[GraphType],
    roster: RosterOrIds | None = None,
    nodes_are_public: bool = False,
    roster_from_edges: bool = False,
    source: str = "the matrix does not have one row",
) -> GraphType:
    """Build a graph of edges between the nodes 0, …, nodes − 1: a matrix, or an edge index.

    With a roster, node *i* is roster position *i*; with a list of ids, node *i* is the i-th of
    them; otherwise the numbers are the ids. Who the nodes are has to be declared, see
    `psgraph.graph.roster`.

    >>> from psgraph.graph import Snapshot
    >>> ends = np.array([0, 1]), np.array([1, 2])
    >>> from_positions(*ends, 3, graph_type=Snapshot, roster=["c", "a", "b"]).to_edges()
    [('a', 'b'), ('a', 'c')]
    """
    declared = declare(
        roster, roster_from_edges=roster_from_edges, nodes_are_public=nodes_are_public
    )
    if declared == "edges":
        return graph_type.from_ids(heads, tails, roster_from_edges=True)
    if declared == "nodes":
        return graph_type(Roster(np.arange(nodes), declared="nodes"), heads, tails)
    ids = None if isinstance(roster, Roster) else roster
    roster = as_roster(roster)
    assert roster is not None
    if len(roster) != nodes:
        # The number of nodes may come from the largest id of an edge, so no message shows it.
        raise DataError(f"{source} for every node of the roster\nGive one each, in its order.")
    if ids is not None:  # a roster is sorted, a list of ids need not be
        order = roster.positions(ids)
        return graph_type(roster, order[heads], order[tails])
    return graph_type(roster, heads, tails)
