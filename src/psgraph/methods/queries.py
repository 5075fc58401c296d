"""Queries that more than one method asks: edges, degrees, and edges between blocks of nodes.

Every answer is a sum or a map over the parts of a graph, and does not depend on the parts.

All of them are defined on every kind of graph. A query whose shape depends on the kind is made for
one `kind`: degrees are those per side (`psgraph.engines.sides`), and pairs of blocks are ordered if
edges have two sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.kernels import adjacency as neighbour_lists
from psgraph._runtime.kernels import sort_keys
from psgraph.engines import counting
from psgraph.engines.runner import Job
from psgraph.engines.sides import Sides, degree_count
from psgraph.graph.kind import KINDS, UNDIRECTED, Kind
from psgraph.methods.steps.consistency import norm_sub_threshold
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.exponential import CommunityChoice, Scores
from psgraph.privacy.mechanisms.sparse import NoisyCounts, SparseLaplaceCounts
from psgraph.privacy.query import CountQuery, CountsQuery, Query

if TYPE_CHECKING:
    from psgraph.graph.parts import Pairs, Rows
    from psgraph.methods.private import PrivateEdges

__all__ = [
    "EVERY_KIND",
    "BlockEdges",
    "CommunityChoices",
    "CommunityEdges",
    "Degrees",
    "EdgeCount",
    "InnerDegrees",
    "OuterDegrees",
    "QueryOfKind",
    "SparseBlockEdges",
    "SuperGraphEdges",
    "adjacency",
    "block_counts",
    "degrees",
]

MOST_CELLS = 1 << 24  # that are counted in an array of all cells, by every task

EVERY_KIND = frozenset(KINDS)

Output = TypeVar("Output", covariant=True)


@dataclass(frozen=True, eq=False)
class QueryOfKind(Query[Output]):
    """A query that is made for the graphs of one kind.

    Its class says on which kinds it can be asked, an object only the one it was made for.
    """

    kind: Kind = field(default=UNDIRECTED, kw_only=True)

    kinds = EVERY_KIND

    def __post_init__(self) -> None:
        object.__setattr__(self, "kinds", frozenset({self.kind.name}))


@dataclass(frozen=True)
class EdgeCount(CountQuery):
    """The number of edges.

    Privacy: one edge moves it by 1.
    """

    label = "edges"
    sensitivity = 1
    proof = "proofs/psgraph.md"
    subject = "the number of edges"
    counts = "edges"
    kinds = EVERY_KIND

    def answer(self, edges: PrivateEdges) -> int:
        return edges.parts.edge_count


@dataclass(frozen=True)
class Degrees(CountsQuery, QueryOfKind[Integers]):
    """The degree of every node; on two sides first those of first ends, then of second ends.

    Privacy: one edge moves one degree of each of its two ends by 1.
    """

    label = "degrees"
    sensitivity = 2
    proof = "proofs/perturbation.md"
    subject = "a node's degree"
    counts = "degree"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (degree_count(self.kind, nodes),)

    def answer(self, edges: PrivateEdges) -> Integers:
        return degrees(edges)


@dataclass(frozen=True, eq=False)
class InnerDegrees(CountsQuery, QueryOfKind[Integers]):
    """Every node's neighbours inside its own community, per side.

    Privacy: an edge inside a community moves two of them by 1 each, any other edge none; `labels`
    are released.
    """

    labels: Labels

    label = "inner degrees"
    sensitivity = 2
    proof = "proofs/perturbation.md"
    subject = "a node's inner degree"
    counts = "degree"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (degree_count(self.kind, nodes),)

    def answer(self, edges: PrivateEdges) -> Integers:
        return _split_degrees(edges, self.labels)[0]


@dataclass(frozen=True, eq=False)
class OuterDegrees(CountsQuery, QueryOfKind[Integers]):
    """Every node's neighbours outside its own community, per side.

    Privacy: an edge between communities moves two of them by 1 each, any other edge none;
    `labels` are released.
    """

    labels: Labels

    label = "outer degrees"
    sensitivity = 2
    proof = "proofs/perturbation.md"
    subject = "a node's outer degree"
    counts = "degree"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (degree_count(self.kind, nodes),)

    def answer(self, edges: PrivateEdges) -> Integers:
        return _split_degrees(edges, self.labels)[1]


@dataclass(frozen=True, eq=False)
class BlockEdges(CountsQuery, QueryOfKind[Integers]):
    """The edges of every pair of blocks, also inside one; every cell is released.

    Privacy: an edge is in one cell, which it moves by 1; `labels` are public or released. A
    subclass states what the blocks are.

    Parameters
    ----------
    labels, blocks
        The block of every node, and the number of blocks.
    tail_labels, tail_blocks
        Those of second ends, where they differ and edges have two sides.
    """

    labels: Labels
    blocks: int
    tail_labels: Labels | None = field(default=None, kw_only=True)
    tail_blocks: int | None = field(default=None, kw_only=True)

    sensitivity = 1
    proof = "proofs/psgraph-plus.md"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (self.kind.cell_count(self.blocks, self.tail_blocks, inside=True),)

    def answer(self, edges: PrivateEdges) -> Integers:
        cells, found = block_counts(
            edges,
            self.labels,
            self.blocks,
            inside=True,
            tail_labels=self.tail_labels,
            tail_blocks=self.tail_blocks,
        )
        counts = np.zeros(self.shape(edges.nodes), dtype=np.int64)
        counts[cells] = found
        return counts


@dataclass(frozen=True, eq=False)
class SparseBlockEdges(QueryOfKind[NoisyCounts]):
    """The edges of pairs of blocks, of which only the cells that NormSub keeps are returned.

    Privacy: an edge is in one cell, which it moves by 1; `labels` are public or released. Leaving
    out small cells is post-processing of all noisy cells. A subclass states what the blocks are.
    """

    labels: Labels
    blocks: int

    sensitivity = 1
    noise = SparseLaplaceCounts.name
    proof = "proofs/sparse-noise.md"
    inside: ClassVar[bool]

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (self.kind.cell_count(self.blocks, inside=self.inside),)

    def answer(self, edges: PrivateEdges) -> tuple[Integers, Integers]:
        return block_counts(edges, self.labels, self.blocks, inside=self.inside)

    def mechanism(self, answer: tuple[Integers, Integers]) -> Mechanism[NoisyCounts]:
        cells, counts = answer
        return SparseLaplaceCounts(
            cells,
            counts,
            size=self.kind.cell_count(self.blocks, inside=self.inside),
            threshold=norm_sub_threshold,
            sensitivity=self.sensitivity,
        )


@dataclass(frozen=True, eq=False)
class CommunityEdges(SparseBlockEdges):
    """The edges between every two different communities, per direction if there are two sides.

    Privacy: an edge between two communities moves one cell by 1, any other edge none.
    """

    label = "community edges"
    proof = "proofs/perturbation.md"
    subject = "the edges between two communities"
    inside = False


@dataclass(frozen=True, eq=False)
class SuperGraphEdges(SparseBlockEdges):
    """The edges between super-nodes, which are drawn without looking at edges.

    Privacy: an edge is in one cell, which it moves by 1.
    """

    label = "super-graph edges"
    proof = "proofs/community-division.md"
    subject = "the edges between two super-nodes"
    inside = True


@dataclass(frozen=True, eq=False)
class CommunityChoices(Query[Labels]):
    """A community for every node, by the exponential mechanism on its neighbours there.

    In a directed graph its out-neighbours and its in-neighbours there are added up.

    Privacy: an edge moves one score of each of its two ends by 1, which counts as a distance of
    1; `labels` are released, and all communities are candidates.

    Parameters
    ----------
    labels
        The community of every node before the choice.
    strength
        See `psgraph.privacy.mechanisms.exponential.CommunityChoice`.
    """

    labels: Labels
    strength: Fraction = Fraction(1, 2)

    label = "community choice"
    sensitivity = 1
    noise = CommunityChoice.name
    proof = "proofs/community-choice.md"
    subject = "a node's community"
    kinds = EVERY_KIND

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (nodes,)

    def answer(self, edges: PrivateEdges) -> _CommunityScores:
        return _CommunityScores(edges, self.labels)

    def mechanism(self, answer: Any) -> Mechanism[Labels]:
        return CommunityChoice(answer, self.labels, strength=self.strength)


# ---- counts that queries share; all of them private ----


def degrees(edges: PrivateEdges) -> Integers:
    """Count the neighbours of every node, per side, once for all queries of a timestamp."""

    def count() -> Integers:
        everyone = np.zeros(edges.nodes, dtype=np.int32)
        return _count_split_degrees(edges, everyone)[0]

    return edges.once("degrees", count)


def _split_degrees(edges: PrivateEdges, labels: Labels) -> tuple[Integers, Integers]:
    """Count neighbours inside and outside the own block, once for the same array of labels."""
    _, counted = edges.once(
        ("split degrees", id(labels)),
        lambda: (labels, _count_split_degrees(edges, labels)),  # holds the array the key names
    )
    return counted


def _count_split_degrees(edges: PrivateEdges, labels: Labels) -> tuple[Integers, Integers]:
    sides = Sides(edges.kind, edges.sizes)
    job = Job(_add_split_degrees, edges.parts.edges(), (labels, sides.shift))
    inner, outer = edges.engine.sum(job, sizes=(sides.degrees, sides.degrees))
    return inner, outer


def block_counts(
    edges: PrivateEdges,
    labels: Labels,
    blocks: int,
    *,
    inside: bool,
    tail_labels: Labels | None = None,
    tail_blocks: int | None = None,
) -> tuple[Integers, Integers]:
    """Count edges per pair of blocks: the cells that are not zero, and their counts.

    The cell of a pair has the number that `psgraph.graph.kind.Kind.cell_of` gives it. Second ends
    may have blocks of their own if edges have two sides.
    """
    kind = edges.kind
    size = kind.cell_count(blocks, tail_blocks, inside=inside)
    tails = labels if tail_labels is None else tail_labels
    columns = blocks if tail_blocks is None else tail_blocks
    shared = (labels, tails, columns, kind.sides == 2, inside)
    parts = edges.parts.edges()
    # Which of the two forms runs changes the time it takes, not the answer.
    if size <= min(MOST_CELLS, max(1 << 16, 4 * edges.parts.edge_count)):
        (counts,) = edges.engine.sum(Job(_add_block_counts, parts, shared), sizes=(size,))
        cells = np.flatnonzero(counts)
        return cells, counts[cells]
    job = Job(_sparse_block_counts, parts, (*shared, size))
    found: tuple[Integers, Integers] = edges.engine.reduce(job, merge_counts)
    return found


def adjacency(edges: PrivateEdges) -> tuple[Integers, Positions]:
    """Return neighbour lists: those of x are ``neighbours[starts[x]:starts[x + 1]]``.

    Takes all edges in the memory of one machine.
    """
    return edges.once("adjacency", lambda: neighbour_lists(*edges.parts.whole(), edges.nodes))


@dataclass(frozen=True, eq=False)
class _CommunityScores:
    """The scores of all nodes, counted again whenever they are read."""

    edges: PrivateEdges
    labels: Labels

    def __iter__(self) -> Iterator[Scores]:
        communities = int(self.labels.max(initial=-1)) + 1
        rows = self.edges.parts.rows()
        job = Job(_community_scores, rows, (self.labels, communities))
        return self.edges.engine.map(job)


# ---- tasks: what is done with each part ----


def merge_counts(pieces: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """Add up counts of cells, each piece with its cells in ascending order.

    >>> cells, counts = merge_counts([(np.array([1, 4]), np.array([1, 1])),
    ...                               (np.array([4, 7]), np.array([2, 5]))])
    >>> cells.tolist(), counts.tolist()
    ([1, 4, 7], [1, 3, 5])
    """
    if len(pieces) == 1:
        return pieces[0]
    nothing = np.empty(0, dtype=np.int64)
    cells = np.concatenate([nothing, *(cells for cells, _ in pieces)])
    counts = np.concatenate([nothing, *(counts for _, counts in pieces)])
    order = np.argsort(cells, kind="stable")
    cells, counts = cells[order], counts[order]
    begins = np.flatnonzero(np.append(True, cells[1:] != cells[:-1])) if cells.size else nothing
    return cells[begins], np.add.reduceat(counts, begins) if cells.size else nothing


def _add_block_counts(
    read: Callable[[], Pairs],
    labels: Labels,
    tails: Labels,
    columns: int,
    ordered: bool,
    inside: bool,
    counts: Integers,
) -> None:
    u, v = read()
    counting.add_block_counts(u, v, labels, tails, columns, ordered, inside, counts)


def _sparse_block_counts(
    read: Callable[[], Pairs],
    labels: Labels,
    tails: Labels,
    columns: int,
    ordered: bool,
    inside: bool,
    size: int,
) -> tuple[Integers, Integers]:
    u, v = read()
    keys = counting.block_keys(u, v, labels, tails, columns, ordered, inside)
    return counting.run_lengths(sort_keys(keys, largest=size))


def _add_split_degrees(
    read: Callable[[], Pairs], labels: Labels, shift: int, inner: Integers, outer: Integers
) -> None:
    u, v = read()
    counting.add_split_degrees(u, v, labels, shift, inner, outer)


def _community_scores(read: Callable[[], Rows], labels: Labels, communities: int) -> Scores:
    rows = read()
    counted = counting.community_counts(rows.starts, rows.neighbours, labels, communities)
    return Scores(rows.first, *counted)
