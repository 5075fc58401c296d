"""Every query of psgraph keeps what it states, on all small graphs; broken ones are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from psgraph.graph import DIRECTED, TWO_SIDED, Kind, Roster, Snapshot
from psgraph.graph.kind import find_kind
from psgraph.methods.der.areas import (
    Area,
    Arrangement,
    RectangleCounts,
    SplitPoints,
    WholeMatrix,
)
from psgraph.methods.ldpgen import GroupDegrees
from psgraph.methods.plus.kept_edges import KeptWeights
from psgraph.methods.plus.kind_queries import ActiveNodes, ReciprocatedPairs, WeightClassEdges
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.label_queries import AgreeingEdges, LabelEdges
from psgraph.methods.plus.labelling import Plan
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.owner_queries import (
    OwnClassEdges,
    OwnerCount,
    OwnersBySize,
    SideCurveCounts,
    SideDegrees,
)
from psgraph.methods.plus.queries import (
    CappedTriangleCount,
    ClassEdges,
    DegreeCurveCounts,
    FoundCommunityEdges,
    GrowthRows,
    HubEdges,
    KeptEdges,
    TriangleCount,
)
from psgraph.methods.plus.sampled_edges import Sample
from psgraph.methods.plus.triangles import Cap
from psgraph.methods.privhrg.dendrogram import find_blocks, random_dendrogram
from psgraph.methods.privhrg.method import DendrogramEdges, LikelyDendrogram
from psgraph.methods.queries import (
    CommunityChoices,
    CommunityEdges,
    Degrees,
    EdgeCount,
    InnerDegrees,
    OuterDegrees,
    SuperGraphEdges,
    degrees,
)
from psgraph.methods.registry import find_method, method_names
from psgraph.methods.tmf import FilteredPairs, LargestPairs
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.query import CountQuery, CountsQuery, Query
from psgraph.testing import check_query


def labels(nodes: int, blocks: int) -> np.ndarray:
    return (np.arange(nodes) % blocks).astype(np.int32)


def areas(nodes: int) -> Iterator[Area]:
    whole = WholeMatrix(np.arange(nodes)[::-1].copy())
    yield whole
    if nodes >= 3:
        quarters = whole.quartered(np.array([[1, nodes - 1]]))
        yield quarters
        yield quarters.selected(np.arange(len(quarters)) > 0)


def growth(nodes: int) -> GrowthRows:
    evidence = np.zeros((nodes, 2), dtype=np.float32)
    return GrowthRows(Plan(np.arange(nodes)[::-1].copy(), np.ones(nodes), evidence, dealt=2))


def tree(nodes: int) -> Any:
    return random_dendrogram(np.arange(nodes), np.arange(max(nodes - 1, 0)))


def with_drawn(area: Area) -> Arrangement:
    return Arrangement(area, np.minimum(area.cells, 1))


Sizes = tuple[int, ...]


def labelled(query: Any, *blocks: int) -> Any:
    """Make a query about nodes in blocks, for each of several numbers of them."""
    return lambda sizes, kind: [query(labels(sum(sizes), k), kind=kind) for k in blocks]


def filtered(query: Any) -> Any:
    return lambda sizes, kind: query(2 if sum(sizes) > 2 else 0, sizes, kind=kind)


def classes(sizes: Sizes, kind: Kind) -> ClassEdges:
    """V, with classes of their own for second ends if edges have two sides."""
    nodes = sum(sizes)
    if kind.sides == 1:
        return ClassEdges(labels(nodes, 3), CLASSES, kind=kind)
    tails = labels(nodes, 2)[::-1].copy()
    return ClassEdges(labels(nodes, 3), 3, kind=kind, tail_labels=tails, tail_blocks=2)


LARGEST_WEIGHT = 2

#: Makes each query for rosters of some sizes, and graphs of a kind.
QUERIES: dict[type[Query[Any]], Callable[[Sizes, Kind], Any]] = {
    EdgeCount: lambda _, __: EdgeCount(),
    Degrees: lambda _, kind: Degrees(kind=kind),
    InnerDegrees: labelled(InnerDegrees, 1, 2),
    OuterDegrees: labelled(OuterDegrees, 2, 3),
    CommunityEdges: lambda sizes, kind: CommunityEdges(labels(sum(sizes), 3), 3, kind=kind),
    SuperGraphEdges: lambda sizes, kind: SuperGraphEdges(labels(sum(sizes), 2), 2, kind=kind),
    CommunityChoices: lambda sizes, _: [
        CommunityChoices(labels(sum(sizes), 2), strength)
        for strength in (Fraction(1, 2), Fraction(1, 4))
    ],
    LargestPairs: filtered(LargestPairs),
    FilteredPairs: filtered(FilteredPairs),
    KeptEdges: lambda _, __: KeptEdges(),
    DegreeCurveCounts: lambda sizes, kind: DegreeCurveCounts(sizes, kind=kind),
    ClassEdges: classes,
    ActiveNodes: lambda _, __: ActiveNodes(),
    ReciprocatedPairs: lambda _, __: ReciprocatedPairs(),
    WeightClassEdges: lambda _, __: WeightClassEdges(LARGEST_WEIGHT),
    KeptWeights: lambda _, __: KeptWeights(LARGEST_WEIGHT),
}

# Two labels, and all others.
BOOK = LabelBook(("team",), (("a",), ("b",)), (0, 0))

UNDIRECTED_QUERIES: dict[type[Query[Any]], Any] = {
    GroupDegrees: lambda nodes: GroupDegrees("degrees into groups", labels(nodes, 2), 2),
    RectangleCounts: lambda nodes: [RectangleCounts(area, 1) for area in areas(nodes)],
    SplitPoints: lambda nodes: [SplitPoints(area, 0, least=1, grid=4) for area in areas(nodes)],
    Arrangement: lambda nodes: [with_drawn(area) for area in areas(nodes)],
    LikelyDendrogram: lambda nodes: LikelyDendrogram(tree(nodes), steps=5),
    DendrogramEdges: lambda nodes: [
        DendrogramEdges(find_blocks(tree(nodes), epsilon))
        for epsilon in (Fraction(1), Fraction(99))
    ],
    HubEdges: lambda nodes: HubEdges(labels(nodes, 3), np.arange(min(nodes, 2))),
    GrowthRows: growth,
    FoundCommunityEdges: lambda nodes: FoundCommunityEdges(labels(nodes, 2), 2),
    TriangleCount: lambda _: [TriangleCount(), TriangleCount(Sample(0.8, 7))],
    LabelEdges: lambda nodes: LabelEdges(labels(nodes, 3), BOOK.count),
    AgreeingEdges: lambda nodes: AgreeingEdges(labels(nodes, 3), BOOK),
}

# Checked with owners for neighbours: tests/methods/plus/test_people.py.
OWNER_QUERIES = {OwnClassEdges, OwnerCount, OwnersBySize, SideCurveCounts, SideDegrees}


@pytest.mark.parametrize(
    ("query", "kind"),
    [(query, kind) for query in QUERIES for kind in sorted(query.kinds)],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_no_edge_moves_a_query_further_than_it_states(query: type[Query[Any]], kind: str) -> None:
    make = QUERIES[query]
    assert check_query(lambda *sizes: make(sizes, find_kind(kind)), kinds=[kind]).largest == 1


@pytest.mark.parametrize("query", UNDIRECTED_QUERIES, ids=lambda query: query.__name__)
def test_no_edge_moves_a_query_of_undirected_graphs_further_than_it_states(
    query: type[Query[Any]],
) -> None:
    assert query.kinds == {"undirected"}
    assert check_query(UNDIRECTED_QUERIES[query]).largest == 1


def displacing(cap: int) -> tuple[Snapshot, Snapshot]:
    """Two graphs in which one edge {a, b} displaces an edge of a and an edge of b.

    The displaced ones, to x and to y, are in cap − 1 triangles each.
    """
    a, b = 0, 1
    left, right = range(2, cap + 1), range(cap + 1, 2 * cap)
    x, y = 2 * cap, 2 * cap + 1
    edges = [(a, node) for node in left] + [(node, x) for node in left] + [(a, x)]
    edges += [(b, node) for node in right] + [(node, y) for node in right] + [(b, y)]
    roster = Roster.range(2 * cap + 2)
    return tuple(
        Snapshot(roster, [u for u, _ in held], [v for _, v in held])
        for held in (edges, [*edges, (a, b)])
    )  # type: ignore[return-value]


@pytest.mark.parametrize("cap", [2, 3, 5])
def test_no_edge_moves_the_capped_triangles_further_than_stated(cap: int) -> None:
    def make(nodes: int) -> CappedTriangleCount:
        return CappedTriangleCount(Cap(cap, 1.0), np.arange(nodes, dtype=np.uint64))

    check_query(make, pairs=[displacing(cap)])


def test_every_query_of_every_method_is_checked() -> None:
    asked = {query for name in method_names() for query in find_method(name).queries}
    assert asked <= {*QUERIES, *UNDIRECTED_QUERIES, CappedTriangleCount, *OWNER_QUERIES}


# ---- queries that state what does not hold ----


@dataclass(frozen=True)
class HalfTheDegrees(Degrees):
    sensitivity = 1


@dataclass(frozen=True)
class TwiceTheEdges(EdgeCount):
    sensitivity = 2


@dataclass(frozen=True)
class DegreesOfActiveNodes(CountsQuery):
    """Its shape depends on the edges."""

    label = "degrees of active nodes"
    sensitivity = 2
    proof = "none"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (nodes,)

    def answer(self, edges: Any) -> Any:
        found = degrees(edges)
        return found[found > 0]


@dataclass(frozen=True)
class OneNoise(Degrees):
    """Draws with less noise than it states."""

    def mechanism(self, answer: Any) -> Mechanism[Any]:
        return LaplaceCounts(answer, 1)


@dataclass(frozen=True)
class FirstPart(CountQuery):
    label = "edges of the first part"
    sensitivity = 1
    proof = "none"

    def answer(self, edges: Any) -> int:
        return edges.parts.edges()[0]().u.size if edges.nodes else 0


@dataclass(frozen=True)
class KeptTwice(KeptEdges):
    """Right for the snapshot of now, wrong for the one before."""

    def answer(self, edges: Any) -> int:
        before = edges.previous
        return super().answer(edges) + before.parts.edge_count


@dataclass
class NotFrozen(CountQuery):
    label = "edges"
    sensitivity = 1
    proof = "none"

    def answer(self, edges: Any) -> int:
        return edges.parts.edge_count


@pytest.mark.parametrize(
    "broken",
    [
        HalfTheDegrees,
        TwiceTheEdges,
        DegreesOfActiveNodes,
        OneNoise,
        FirstPart,
        KeptTwice,
        NotFrozen,
    ],
    ids=lambda broken: broken.__name__,
)
def test_a_broken_query_fails(broken: Any) -> None:
    with pytest.raises(AssertionError):
        check_query(lambda _: broken())


# ---- directed, two-sided and weighted graphs ----

SIDED = frozenset({"directed", "two-sided"})
LARGEST = {"directed": (DIRECTED, (4,)), "two-sided": (TWO_SIDED, (3, 3))}


@dataclass(frozen=True)
class EndDegrees(CountsQuery):
    """The degrees of both ends of edges: out and in, or left and right."""

    label = "degrees of both sides"
    sensitivity = 2
    proof = "none"
    kinds = SIDED

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (2 * nodes,)

    def answer(self, edges: Any) -> Any:
        ends = edges.parts.whole()
        return np.concatenate([np.bincount(end, minlength=edges.nodes) for end in ends])


@dataclass(frozen=True)
class EndDegreesOfOneEnd(EndDegrees):
    sensitivity = 1


@dataclass(frozen=True)
class Reciprocated(CountQuery):
    """Pairs of nodes with edges in both directions."""

    label = "reciprocated pairs"
    sensitivity = 1
    proof = "none"
    kinds = frozenset({"directed"})

    def answer(self, edges: Any) -> int:
        u, v = edges.parts.whole()
        back = {*zip(v.tolist(), u.tolist(), strict=True)}
        return sum(edge in back for edge in zip(u.tolist(), v.tolist(), strict=True)) // 2


@dataclass(frozen=True)
class ReciprocatedEdges(Reciprocated):
    """Edges whose reverse is there: one edge adds two of them."""

    def answer(self, edges: Any) -> int:
        return 2 * super().answer(edges)


@dataclass(frozen=True)
class WeightCounts(CountsQuery):
    """Edges of each weight, up to two."""

    label = "weights"
    sensitivity = 1
    weight_sensitivity = 2
    proof = "none"
    kinds = SIDED | {"undirected"}

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (2,)

    def answer(self, edges: Any) -> Any:
        return np.bincount(edges.parts.whole().weight - 1, minlength=2)


@dataclass(frozen=True)
class WeightCountsOfOneCell(WeightCounts):
    weight_sensitivity = 1


@dataclass(frozen=True)
class WeightCountsOfFourCells(WeightCounts):
    weight_sensitivity = 4


@dataclass(frozen=True)
class Strengths(EndDegrees):
    """Sums of weights, as if an edge had weight 1."""

    def answer(self, edges: Any) -> Any:
        ends, weight = edges.parts.whole(), edges.parts.whole().weight
        return np.concatenate(
            [np.bincount(end, weight, edges.nodes).astype(np.int64) for end in ends]
        )


@dataclass(frozen=True)
class WeightOfKept(KeptEdges):
    """Kept edges and, without saying so, their weight before."""

    def answer(self, edges: Any) -> int:
        before = edges.previous.parts.whole().weight
        return super().answer(edges) + (0 if before is None else int(before.sum() // 2))


@pytest.mark.parametrize("query", [EndDegrees, Reciprocated, WeightCounts])
def test_a_query_is_checked_on_every_kind_it_names_with_all_weights(query: Any) -> None:
    found = check_query(lambda *_: query(), nodes=4)
    unweighted = {kind for kind in found.kinds if "weights" not in kind}
    assert unweighted == (frozenset() if query.weight_sensitivity else query.kinds)
    assert {f"{kind}, with weights up to 2" for kind in query.kinds} <= found.kinds.keys()


def test_all_directed_graphs_of_four_nodes_and_two_sided_ones_of_three_by_three() -> None:
    graphs = {name: kind.pairs(*sizes) for name, (kind, sizes) in LARGEST.items()}
    found = check_query(lambda *_: EndDegrees()).kinds
    for name, pairs in graphs.items():
        assert found[name] >= pairs * 2 ** (pairs - 1)


@pytest.mark.parametrize(
    "broken",
    [
        EndDegreesOfOneEnd,
        ReciprocatedEdges,
        WeightCountsOfOneCell,
        WeightCountsOfFourCells,
        Strengths,
        WeightOfKept,
    ],
    ids=lambda broken: broken.__name__,
)
def test_a_query_that_is_broken_on_directed_two_sided_or_weighted_graphs_fails(broken: Any) -> None:
    with pytest.raises(AssertionError):
        check_query(lambda *_: broken())


def test_a_capped_count_with_half_the_sensitivity_is_found() -> None:
    class Half(Cap):
        @property
        def sensitivity(self) -> int:
            return self.edges - 1

    def make(nodes: int) -> CappedTriangleCount:
        return CappedTriangleCount(Half(3, 1.0), np.arange(nodes, dtype=np.uint64))

    with pytest.raises(AssertionError):
        check_query(make, pairs=[displacing(3)])


def test_all_labellings_of_four_nodes() -> None:
    def make(nodes: int) -> list[InnerDegrees]:
        return [
            InnerDegrees(np.array(each, dtype=np.int32)) for each in product(range(2), repeat=nodes)
        ]

    assert check_query(make, nodes=4).pairs > 1000
