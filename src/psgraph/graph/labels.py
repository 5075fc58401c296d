"""Public labels of nodes: departments, regions, subjects, types of account.

Labels are columns beside the ids of a roster, and public like these. **They must not be computed
from private edges**: communities found in the real graph, the department that somebody writes to
most, "active" or "inactive", a band of degrees. One edge could move many such labels at once, and
labels are published as they are. Facts from outside are fine, and so is what was computed from
earlier releases or from data that are public themselves. Software can't tell which it is, so the
publisher declares it, and every certificate repeats the declaration.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Frozen, Integers, Labels
from psgraph.errors import RosterError

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "NOT_FROM_EDGES",
    "LabelsLike",
    "NodeLabels",
    "label_names",
    "rare_below",
    "read_labels",
    "stay_labels",
    "stored_labels",
]

#: What is said wherever labels are declared or refused.
NOT_FROM_EDGES = (
    "Labels are published as they are. They must not be computed from the edges: communities, "
    "activity or degrees of the private graph would leak."
)

LabelsLike = Any
"""A `NodeLabels`, a data frame, an Arrow table, or a mapping of columns: see `read_labels`."""

_RESERVED = frozenset({"id", "node", "from", "until", "u", "v", "name", "t", "time"})
_FEW, _OF_SMALL, _OF_LARGE = 5, 20, 1000  # nodes of a label that is not rare; see `rare_below`
_MOST_MISSING = 0.9
_MOST_RARE = 0.5


class NodeLabels(Frozen):
    """One or more label columns for the nodes of a roster, in the order of its ids.

    Attributes
    ----------
    columns
        Their names.
    values
        The distinct values of each column, sorted.
    codes
        Nodes × columns: which value a node has, −1 where it is missing.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> labels = Roster(range(4), labels={"team": ["red", None, "blue", "red"]}).labels
    >>> labels
    NodeLabels(team: 2 values)
    >>> labels.column("team")
    ['red', None, 'blue', 'red']
    """

    __slots__ = ("codes", "columns", "values")

    _fields = ("columns", "values", "codes")

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    codes: Labels

    def __init__(
        self, columns: Sequence[str], values: Sequence[Sequence[str]], codes: NDArray[Any]
    ) -> None:
        """Keep the values that occur, sorted."""
        kept, renumbered = [], np.empty(codes.shape, dtype=np.int32)
        for index, names in enumerate(values):
            used = np.unique(codes[codes[:, index] >= 0, index])
            order = sorted(used.tolist(), key=lambda code: names[code])
            place = np.full(len(names) + 1, -1, dtype=np.int32)  # the last one is for −1
            place[order] = np.arange(len(order), dtype=np.int32)
            renumbered[:, index] = place[codes[:, index]]
            kept.append(tuple(names[code] for code in order))
        self._fill(columns=tuple(columns), values=tuple(kept), codes=renumbered)

    def __len__(self) -> int:
        return int(self.codes.shape[0])

    def __repr__(self) -> str:
        return f"NodeLabels({self.listing})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NodeLabels):
            return NotImplemented
        return self is other or (
            self.columns == other.columns
            and self.values == other.values
            and np.array_equal(self.codes, other.codes)
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def listing(self) -> str:
        """The columns, and how many values each has."""
        sizes = zip(self.columns, self.values, strict=True)
        return ", ".join(f"{name}: {_count(len(values), 'value')}" for name, values in sizes)

    @property
    def statement(self) -> str:
        """What the publisher declared about the labels, in one sentence."""
        return (
            f"Its labels ({self.listing}) are public facts that do not come from the edges, as "
            "declared by the publisher."
        )

    def take(self, nodes: NDArray[Any]) -> NodeLabels:
        """Return the labels of some nodes, by their positions or a mask."""
        return NodeLabels(self.columns, self.values, self.codes[nodes])

    def column(self, name: str) -> list[str | None]:
        """Return the label of every node in one column, None where it is missing."""
        index = self.columns.index(name)
        names: list[str | None] = [*self.values[index], None]
        return [names[code] for code in self.codes[:, index].tolist()]

    def to_dict(self) -> dict[str, list[str | None]]:
        """Return all columns by name."""
        return {name: self.column(name) for name in self.columns}

    def combinations(self) -> tuple[list[tuple[str | None, ...]], Labels, Integers]:
        """Return the distinct combinations of values, that of each node, and their sizes.

        Combinations are in ascending order of their codes; a missing value is None.
        """
        key = np.zeros(len(self), dtype=np.int64)
        for index, values in enumerate(self.values):
            key = key * (len(values) + 1) + self.codes[:, index] + 1
        _, first, inverse, sizes = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        names = [
            tuple(
                None if code < 0 else self.values[index][code]
                for index, code in enumerate(self.codes[node].tolist())
            )
            for node in first.tolist()
        ]
        return names, inverse.astype(np.int32), sizes

    def one_label(self) -> Labels:
        """Return a number for the combination of values of each node, missing ones included."""
        return self.combinations()[1]

    # ---- stored forms ----

    @property
    def content(self) -> bytes:
        """Everything as bytes that are the same wherever the labels are."""
        head = json.dumps([self.columns, self.values], ensure_ascii=False, separators=(",", ":"))
        return head.encode() + b"\0" + self.codes.astype("<i4").tobytes()

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.content).digest()

    @classmethod
    def from_content(cls, content: bytes) -> NodeLabels:
        """Read `content` back; a `ValueError` for anything else."""
        head, found, codes = content.partition(b"\0")
        columns, values = json.loads(head)
        numbers = np.frombuffer(codes, dtype="<i4").reshape(-1, max(len(columns), 1))
        if not found or numbers.min(initial=-1) < -1:
            raise ValueError("not labels")
        labels = cls(columns, values, numbers)
        if labels.content != content:
            raise ValueError("not labels")
        return labels

    def arrow_columns(self) -> dict[str, pyarrow.Array]:
        """Return the columns as Arrow arrays of text."""
        import pyarrow as pa

        return {name: pa.array(self.column(name), pa.string()) for name in self.columns}


def label_names(labels: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of label columns, given as ``"department,site"`` or as a list.

    >>> label_names("department, site")
    ('department', 'site')
    """
    if labels is None:
        return ()
    names = labels.split(",") if isinstance(labels, str) else list(labels)
    return _checked_names([str(name).strip() for name in names])


def _checked_names(names: Sequence[str]) -> tuple[str, ...]:
    if not names or not all(names):
        raise RosterError(
            "labels: a label column has no name\nName the columns: department,site.", code="labels"
        )
    lower = [name.lower() for name in names]
    taken = sorted({*lower} & _RESERVED)
    if taken:
        raise RosterError(
            f"labels: a label column can't be called {taken[0]!r}, which stands for ids or times\n"
            "Rename the column.",
            code="labels",
        )
    if len({*lower}) < len(lower):
        raise RosterError(
            "labels: two label columns have the same name\nName each once.", code="labels"
        )
    return tuple(names)


def rare_below(nodes: int) -> float:
    """Return how many nodes a label needs, so that its edges are worth counting.

    Five, or one in a thousand; fewer on a roster of less than a hundred. Rarer labels are pooled.

    >>> rare_below(40), rare_below(500), rare_below(20_000)
    (2.0, 5.0, 20.0)
    """
    return max(min(float(_FEW), nodes / _OF_SMALL), nodes / _OF_LARGE)


def read_labels(
    table: LabelsLike, order: NDArray[Any], *, find: Callable[[Any], NDArray[Any]]
) -> NodeLabels:
    """Read label columns and check them.

    Parameters
    ----------
    table
        A data frame of pandas or polars, an Arrow table, or a mapping from column to values. With
        a column ``id`` (or ``node``) its rows are found by id, and a node without a row has no
        label; otherwise they are in the order of the ids. A value that is None, NaN or blank is
        missing.
    order
        The position in the roster of each id in the order in which they were given.
    find
        Finds the positions of ids, −1 for an unknown one.

    Raises
    ------
    RosterError
        A node has two rows, a row has an id that is not on the roster, or a column can't be used.
    """
    if isinstance(table, NodeLabels):
        _check_length(len(table), order.size)
        return table.take(np.argsort(order))
    columns = _columns(table)
    own = next((name for name in columns if name.lower() in ("id", "node")), None)
    place = order if own is None else _places(find(columns.pop(own)))
    names = _checked_names([*columns])
    values, codes = [], np.full((order.size, len(names)), -1, dtype=np.int32)
    for index, name in enumerate(names):
        found, numbers = _encoded(name, columns[name])
        _check_length(numbers.size, place.size)
        codes[place, index] = numbers
        values.append(found)
    labels = NodeLabels(names, values, codes)
    check_values(labels)
    return labels


def stay_labels(table: LabelsLike, order: NDArray[Any]) -> NodeLabels:
    """Read the labels of stays, of which a node may have several, and put them in an order."""
    place = np.empty(order.size, dtype=np.int64)
    place[order] = np.arange(order.size)
    if not isinstance(table, NodeLabels) and {"id", "node"} & {*map(str.lower, _columns(table))}:
        raise RosterError(
            "labels of stays have no column of ids: a node may have several stays\n"
            "Give one row for each stay, in the same order, and label columns only.",
            code="labels",
        )
    return read_labels(table, place, find=_nobody)


def _nobody(ids: Any) -> NDArray[Any]:
    return np.full(len(ids), -1)


def stored_labels(table: pyarrow.Table) -> NodeLabels:
    """Return the label columns of a stored node list, which were checked when it was made."""
    encoded = [_encoded(name, table.column(name)) for name in table.column_names]
    codes = np.stack([codes for _, codes in encoded], axis=1)
    return NodeLabels(table.column_names, [values for values, _ in encoded], codes)


def check_values(labels: NodeLabels) -> None:
    """Refuse columns that tell nothing apart, or that name single nodes."""
    nodes = len(labels)
    for index, name in enumerate(labels.columns):
        values, codes = labels.values[index], labels.codes[:, index]
        known = int(np.count_nonzero(codes >= 0))
        if nodes and nodes - known > _MOST_MISSING * nodes:
            raise RosterError(
                f"labels: {nodes - known} of {nodes} nodes have no {name}\n"
                "A label that nearly all nodes lack tells little. Leave the column out, or fill it "
                f"in. {NOT_FROM_EDGES}",
                code="labels_missing",
            )
        if len(values) == 1 and known == nodes:  # beside missing labels, one value tells them apart
            raise RosterError(
                f"labels: all nodes have the same {name}, so it tells nothing apart\n"
                "Leave the column out.",
                code="labels_equal",
            )
        sizes = np.bincount(codes[codes >= 0], minlength=len(values))
        rare = sizes[sizes < rare_below(nodes)]
        if rare.sum() > _MOST_RARE * known:
            raise RosterError(
                f"labels: {name} has {len(values)} values for {known} nodes; {rare.size} of them "
                f"have fewer than {rare_below(nodes):g} nodes each, {int(rare.sum())} nodes in "
                "all\nA label stands for a group of nodes: give a coarser column, such as the "
                f"department and not the desk. {NOT_FROM_EDGES}",
                code="labels_rare",
            )


def _check_length(found: int, nodes: int) -> None:
    if found != nodes:
        raise RosterError(
            f"labels: {found} rows for {nodes} nodes\n"
            "Give one row for each id, in the same order, or a column `id`.",
            code="labels",
        )


def _columns(table: LabelsLike) -> dict[str, Any]:
    """Return the columns of a table by name."""
    if isinstance(table, Mapping):
        return {str(name): values for name, values in table.items()}
    if hasattr(table, "column_names"):  # pyarrow
        return {name: table.column(name) for name in table.column_names}
    if hasattr(table, "columns"):
        return {str(name): table[name] for name in table.columns}
    raise RosterError(
        f"labels are a table, not {type(table).__name__}\n"
        "Give a data frame, or a mapping such as {'department': [...]}.",
        code="labels",
    )


def _places(place: NDArray[Any]) -> NDArray[Any]:
    """Refuse rows of unknown nodes, and two rows of one node."""
    unknown = int(np.count_nonzero(place < 0))
    if unknown:
        raise RosterError(
            f"labels: {unknown} of {place.size} rows have an id that is not on the roster\n"
            "Leave such rows out, or add the nodes to the roster.",
            code="labels_unknown",
        )
    twice = int(place.size - np.unique(place).size)
    if twice:
        raise RosterError(
            f"labels: {twice} of {place.size} rows give a node a second label\n"
            "Give every node one row. Two facts about a node are two columns.",
            code="labels_twice",
        )
    return place


def _encoded(name: str, values: Any) -> tuple[list[str], Labels]:
    """Return the distinct values of a column as text, and the number of that of each row."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        column = _as_arrow(values)
        if pa.types.is_floating(column.type):  # what pandas makes of integers with blanks
            column = column.cast(pa.int64())
        text = column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError):
        raise RosterError(
            f"labels: the values of {name} differ in type, or are neither text nor integers\n"
            "Give text throughout, or integers throughout.",
            code="labels_type",
        ) from None
    text = pc.utf8_trim_whitespace(text)
    text = pc.if_else(pc.equal(text, ""), None, text)
    coded = text.dictionary_encode()
    found = [str(value) for value in coded.dictionary.to_pylist()]
    if any("\0" in value for value in found):
        raise RosterError(f"labels: a value of {name} is not plain text\nRemove such characters.")
    codes = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    return found, codes


def _as_arrow(values: Any) -> Any:
    import pyarrow as pa

    if isinstance(values, pa.Array | pa.ChunkedArray):
        column = values
    elif hasattr(values, "to_arrow"):  # polars
        column = values.to_arrow()
    else:
        column = pa.array(values, from_pandas=True)
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    return column


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
