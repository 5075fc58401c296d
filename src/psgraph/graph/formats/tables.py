"""Edges as columns of ids, and of weights: Arrow, pandas, polars.

Strings stay in Arrow in both directions: only the distinct ids ever become Python objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph.errors import DataError, InvalidArgument, MissingExtra
from psgraph.graph import Dropped, Graph, Kind, Roster, TwoSidedRoster
from psgraph.graph.blueprint import Blueprint, checked_weights
from psgraph.graph.formats.columns import as_arrow, as_numpy, list_names
from psgraph.graph.parts import Pairs
from psgraph.graph.roster import as_ids, distinct_ids

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = [
    "FLOW_COLUMNS",
    "column_positions",
    "column_weights",
    "edge_columns",
    "from_columns",
    "from_table",
    "is_text",
    "to_arrow",
    "to_pandas",
    "to_polars",
]

GraphType = TypeVar("GraphType", bound=Graph)


def to_arrow(graph: Graph) -> pa.Table:
    """Write the edges as an Arrow table with columns ``u``, ``v`` of original ids. O(m).

    Edges with weights have a column ``weight`` as well; flows have `FLOW_COLUMNS`.

    >>> from psgraph.graph import SyntheticGraph
    >>> to_arrow(SyntheticGraph(Roster("abc"), [0], [1])).to_pylist()
    [{'u': 'a', 'v': 'b'}]
    """
    table = edge_columns(graph.roster, graph.parts.whole())
    return table.rename_columns([*FLOW_COLUMNS]) if graph.kind.flows else table


FLOW_COLUMNS = ("origin", "destination", "count")
"""The columns of flows, as people who work with such tables call them."""


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
    table: Any, blueprint: Blueprint[GraphType], *, columns: tuple[str, ...] | None = None
) -> GraphType:
    """Read two id columns of a pandas, polars or pyarrow table, and the column ``weight``.

    Weights are read if the graph has them; without that column each row counts 1. Other columns
    are ignored.

    >>> from psgraph.graph import Snapshot
    >>> table = pa.table({"u": [1, 2], "v": [2, 3], "weight": [0.5, 0.1]})
    >>> from_table(table, Blueprint.of(Snapshot, roster=Roster.range(4)))
    Snapshot(4 nodes, edges private)
    """
    if hasattr(table, "collect") and not hasattr(table, "__arrow_c_stream__"):
        table = table.collect()  # a lazy polars query
    weighted = blueprint.kind.weighted
    if columns is not None and not 2 <= len(columns) <= (3 if weighted else 2):
        raise InvalidArgument(
            "columns names the two columns of ids, and that of weights if the graph has weights\n"
            "Give columns=(…, …), or columns=(…, …, …) with weights=…."
        )
    heads, tails, *named = columns or ("u", "v")
    names = table.column_names if hasattr(table, "column_names") else getattr(table, "columns", ())
    names = [str(name) for name in names]
    if weighted and not named and "weight" in names:
        named = ["weight"]
    wanted = [heads, tails, *named]
    if any(names.count(name) != 1 for name in wanted):
        expected = f"{', '.join(map(repr, wanted[:-1]))} and {wanted[-1]!r}"
        raise DataError(
            f"expected columns {expected}, found {list_names(names)}\n"
            "Rename them, or name them with columns=(…, …)."
        )
    ends = _selected(table, [heads, tails])
    weight = None
    if named:
        column = _selected(table, named, MIXED_WEIGHTS)[named[0]]
        weight = column_weights(column)
    return _from_arrow(ends[heads], ends[tails], weight, blueprint)


MIXED_IDS = "node ids mix types\nUse integers throughout or strings throughout."
MIXED_WEIGHTS = "weights must be integers of at least 1\nBin amounts to a public grid of integers."


def _selected(table: Any, names: list[str], mixed: str = MIXED_IDS) -> pa.Table:
    try:
        return pa.table(table[names] if hasattr(table, "loc") else table).select(names)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        # Arrow quotes the cell it stumbled over; that text must not be shown.
        raise DataError(mixed, code="weights" if mixed is MIXED_WEIGHTS else "") from None


def column_weights(column: pa.Array | pa.ChunkedArray) -> Integers:
    """Check a column of weights: integers of at least 1, of any type that holds them.

    >>> column_weights(pa.array([1.0, 10.0**18]))
    array([         1, 2147483647])
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return checked_weights(as_numpy(column), len(column))


def from_columns(
    heads: pa.ChunkedArray,
    tails: pa.ChunkedArray,
    weight: pa.ChunkedArray | None = None,
    *,
    graph_type: type[GraphType],
    roster: Roster | None = None,
    roster_from_edges: bool = False,
    time: str | None = None,
    kind: Kind | None = None,
) -> GraphType:
    """Read two Arrow columns of integers or of text, and one of weights if the kind has them."""
    blueprint = Blueprint.of(
        graph_type, roster=roster, roster_from_edges=roster_from_edges, kind=kind
    )
    read = weight is not None and blueprint.kind.weighted
    weights = column_weights(weight) if read else None
    return _from_arrow(heads, tails, weights, blueprint, time=time)


def _from_arrow(
    heads: pa.ChunkedArray,
    tails: pa.ChunkedArray,
    weight: Integers | None,
    blueprint: Blueprint[GraphType],
    time: str | None = None,
) -> GraphType:
    """Build from two columns; strings are numbered, and stay in Arrow."""
    if blueprint.kind.two_sided:
        return _from_sides(heads, tails, weight, blueprint, time)
    heads, tails = _checked(heads, tails)
    if heads.type != _TEXT:
        return blueprint.from_ids(as_numpy(heads), as_numpy(tails), weight, time=time)
    names, a, b = _coded(heads, tails)
    roster, dropped = blueprint.roster, None
    weights = blueprint.read_weights(weight, a.size)
    if roster is None:
        blueprint.refuse_nodes()
        apart = blueprint.apart(a, b)
        dropped = Dropped(int(apart.size - np.count_nonzero(apart)))
        a, b = a[apart], b[apart]
        weights = None if weights is None else weights[apart]
        present = np.zeros(len(names), dtype=bool)
        present[a] = True
        present[b] = True
        roster = _sorted_roster(names.filter(pa.array(present)))
    positions = _name_positions(names, roster)
    u, v = positions[a], positions[b]
    return blueprint.built(roster, u, v, weights, time=time, dropped=dropped)


def _from_sides(
    heads: pa.ChunkedArray,
    tails: pa.ChunkedArray,
    weight: Integers | None,
    blueprint: Blueprint[GraphType],
    time: str | None,
) -> GraphType:
    """Build a two-sided graph: each column has a roster of its own."""
    roster = blueprint.roster
    if roster is None:
        blueprint.refuse_nodes()
        sides = []
        for column in (heads, tails):
            ids, nothing = _checked(column, column.slice(0, 0))
            if ids.type == _TEXT:
                sides.append(_sorted_roster(_coded(ids, nothing)[0]))
            else:
                found = as_ids(as_numpy(ids))
                sides.append(Roster(distinct_ids(found, found), declared="edges"))
        roster = TwoSidedRoster(*sides)
    u, v = column_positions(heads, tails, roster)
    return blueprint.built(roster, u, v, blueprint.read_weights(weight, u.size), time=time)


def _sorted_roster(names: pa.Array) -> Roster:
    return Roster(names.take(pc.sort_indices(names)), declared="edges")


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
