"""Does a query keep what it states? Brute force on all small graphs of every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psgraph.engines.threads import LocalEngine
from psgraph.graph import Snapshot
from psgraph.graph.kind import Kind, find_kind
from psgraph.graph.parts import MemoryParts
from psgraph.methods.private import PrivateEdges
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import Query
from psgraph.privacy.unit import Edge, Unit
from psgraph.testing.cases import all_graphs, neighbouring_pairs, reweighted_pairs

__all__ = ["QueryConformance", "check_query"]

Make = Callable[..., Query[Any] | Iterable[Query[Any]]]
Pair = tuple[Snapshot, Snapshot]

ENGINE = LocalEngine(threads=1)  # graphs are tiny
DIRECTED_NODES, SIDE_NODES = 4, 3  # in all directed graphs, on each side of all two-sided ones
WEIGHTED_NODES = 3  # in all graphs with weights; one more if they have two sides
FEW = 64  # graphs at most where two snapshots are enumerated, and all ways to divide them
SOME = 37  # of more graphs than that, each 37th is divided into parts


@dataclass(frozen=True)
class QueryConformance:
    """That a query passed, and what was compared.

    Attributes
    ----------
    label
        The query.
    pairs
        How many pairs of neighbouring graphs were compared.
    largest
        The largest distance found, as a share of the stated sensitivity: 1.
    kinds
        How many pairs of each kind.
    """

    label: str
    pairs: int
    largest: float
    kinds: Mapping[str, int]


def check_query(
    make: Make,
    *,
    nodes: int = 5,
    units: Sequence[Unit] = (Edge(),),
    pairs: Sequence[Pair] = (),
    kinds: Sequence[str] = (),
    largest_weight: int = 2,
    flows: bool = False,
) -> QueryConformance:
    """Check a query on all small graphs of every kind it supports, without and with weights.

    The answers of neighbouring graphs are never further apart than the stated sensitivity, which
    is attained somewhere in every kind; another weight of one edge moves them by no more than the
    stated `weight_sensitivity`; the shape and the mechanism are the stated ones whatever the edges;
    and answering in 1, 2 or 3 parts gives the same. A query that reads the timestamp before is
    compared for one changed edge of either snapshot.

    Parameters
    ----------
    make
        Returns the query for a roster of that size, or several with different parameters. For
        two-sided graphs it is called with the sizes of both sides, left first.
    nodes
        The largest undirected graphs. Directed ones have up to four nodes, two-sided ones up to
        three on each side.
    units
        The units of privacy to check the sensitivity for. An owner is an end of its edges here.
    pairs
        More neighbouring graphs, where only larger ones attain the sensitivity.
    kinds
        Names of the kinds to check; by default all that the query for two nodes names.
    largest_weight
        The largest weight that `make` makes queries for. A query with a `weight_sensitivity` is
        checked on graphs with weights only.
    flows
        Whether to check it on flows instead, where a step of an edge is a row.

    Raises
    ------
    AssertionError
        What the query states does not hold, in a sentence.

    Examples
    --------
    >>> from psgraph.methods.queries import Degrees
    >>> found = check_query(lambda nodes: Degrees(), nodes=4, kinds=["undirected"])
    >>> found.label, found.largest, found.kinds
    ('degrees', 1.0, {'undirected': 205, 'undirected, with weights up to 2': 84})
    """
    label, compared = "", dict[str, int]()
    named = kinds or [name for query in _several(make(2))[:1] for name in query.kinds]
    for name in sorted(named, reverse=True):
        plain = find_kind(name)
        found = _Largest()
        for kind in _forms(plain, largest_weight, flows=flows):
            for sizes in _all_sizes(kind, nodes):
                for query in _several(make(*sizes)):
                    label = query.label
                    _check_statement(query)
                    if query.weight_sensitivity and not kind.weighted:
                        continue
                    if not _enumerable(query, kind, sizes):
                        continue
                    for unit in units:
                        count = _compare_neighbours(query, kind, sizes, unit, found)
                        compared[str(kind)] = compared.get(str(kind), 0) + count
                    _check_parts(query, kind, sizes)
        for pair in pairs:
            if pair[0].kind.name == name:
                for query in _several(make(*pair[0].roster.sizes)):
                    found.compare(query, query.sensitivity, *(_mechanism(query, s) for s in pair))
                    compared[str(pair[0].kind)] = compared.get(str(pair[0].kind), 0) + 1
        found.check_attained(label, plain)
    assert label, "there is no query to check"
    return QueryConformance(label, sum(compared.values()), 1.0, compared)


def _forms(plain: Kind, largest_weight: int, *, flows: bool) -> list[Kind]:
    return [plain.with_flows()] if flows else [plain, plain.with_weights(largest_weight)]


class _Largest:
    """The largest distances found on graphs of one kind, as shares of what is stated."""

    def __init__(self) -> None:
        self.share = self.weight_share = 0.0
        self.reads_weights = False

    def compare(
        self, query: Query[Any], stated: int, one: Mechanism[Any], other: Mechanism[Any]
    ) -> None:
        """Compare answers that differ by one step of a unit."""
        distance = one.distance(other)
        assert distance <= stated, (
            f"{query.label}: the sensitivity is stated as {stated}, but the answers of two "
            f"neighbouring graphs are {distance} apart"
        )
        self.share = max(self.share, distance / stated)

    def compare_weights(
        self, query: Query[Any], one: Mechanism[Any], other: Mechanism[Any]
    ) -> None:
        """Compare answers that differ by the weight of one edge."""
        distance, stated = one.distance(other), query.weight_sensitivity
        assert distance <= stated, (
            f"{query.label}: the sensitivity to another weight of an edge is stated as {stated}, "
            f"but the answers of two such graphs are {distance} apart"
        )
        self.reads_weights |= stated > 0
        self.weight_share = max(self.weight_share, distance / max(stated, 1))

    def check_attained(self, label: str, kind: Kind) -> None:
        assert self.share == 1, (
            f"{label}: no pair of neighbouring {kind.name} graphs attains the stated sensitivity; "
            f"the largest share of it is {self.share:.3g}. State less, or give pairs of larger "
            "graphs that attain it."
        )
        assert self.weight_share == self.reads_weights, (
            f"{label}: no other weight of an edge moves it by the stated weight sensitivity; the "
            f"largest share of it is {self.weight_share:.3g}. State less."
        )


def _all_sizes(kind: Kind, nodes: int) -> Iterator[tuple[int, ...]]:
    """Sizes of rosters, from the smallest to the largest that all graphs are made for."""
    if kind.two_sided:
        sides = range(SIDE_NODES + 1)
        yield from ((left, right) for left in sides for right in sides)
    else:
        most = min(nodes, DIRECTED_NODES) if kind.directed else nodes
        yield from ((size,) for size in range(most + 1))


def _enumerable(query: Query[Any], kind: Kind, sizes: tuple[int, ...]) -> bool:
    base = 1 + (2 if kind.flows else kind.largest_weight or 1)
    if query.reads_previous and base ** kind.pairs(*sizes) > FEW:
        return False
    return not kind.weighted or sum(sizes) <= WEIGHTED_NODES + kind.two_sided


def _several(made: Query[Any] | Iterable[Query[Any]]) -> list[Query[Any]]:
    return [made] if isinstance(made, Query) else list(made)


def _check_statement(query: Query[Any]) -> None:
    name = type(query).__name__
    parameters = getattr(query, "__dataclass_params__", None)
    assert parameters is not None, f"{name} is not a dataclass"
    assert parameters.frozen, f"{name} is not frozen"
    for what in ("label", "noise", "proof"):
        text = getattr(query, what, None)
        assert isinstance(text, str), f"{name} states no {what}"
        assert text, f"{name} states an empty {what}"
    assert isinstance(query.sensitivity, int), f"{name}: the sensitivity is not an integer"
    assert query.sensitivity >= 1, f"{name}: the sensitivity is below 1"
    weights = query.weight_sensitivity
    assert isinstance(weights, int), f"{name}: the weight sensitivity is not an integer"
    assert weights >= 0, f"{name}: the weight sensitivity is below 0"
    assert query.kinds, f"{name} supports no kind of graph"


def _mechanism(
    query: Query[Any], snapshot: Snapshot, previous: Snapshot | None = None
) -> Mechanism[Any]:
    mechanism = query.mechanism(query.answer(PrivateEdges(snapshot, ENGINE, previous=previous)))
    stated = query.noise, query.sensitivity, tuple(query.shape(len(snapshot.roster)))
    found = mechanism.name, mechanism.sensitivity, tuple(mechanism.shape)
    assert stated == found, f"{query.label}: states {stated}, but the mechanism has {found}"
    return mechanism


def _compare_neighbours(
    query: Query[Any], kind: Kind, sizes: tuple[int, ...], unit: Unit, found: _Largest
) -> int:
    """Compare all neighbouring graphs on these rosters; return how many pairs there are."""
    stated = query.sensitivity_for(unit)
    graphs = all_graphs(*sizes, kind=kind, unit=unit)
    befores = graphs if query.reads_previous else [None]
    answers = [[_mechanism(query, now, before) for before in befores] for now in graphs]
    compared = 0

    def sides(one: int, other: int) -> list[tuple[Mechanism[Any], Mechanism[Any]]]:
        now = list(zip(answers[one], answers[other], strict=True))
        before = [(row[one], row[other]) for row in answers] if query.reads_previous else []
        return now + before

    for one, other in neighbouring_pairs(*sizes, kind=kind, unit=unit):
        for mine, theirs in sides(one, other):
            found.compare(query, stated, mine, theirs)
            compared += 1
    for one, other in reweighted_pairs(*sizes, kind=kind) if not kind.flows else ():
        for mine, theirs in sides(one, other):
            found.compare_weights(query, mine, theirs)
            compared += 1
    return compared


def _check_parts(query: Query[Any], kind: Kind, sizes: tuple[int, ...]) -> None:
    """Answers must not depend on how the edges are divided into parts."""
    graphs, nodes = all_graphs(*sizes, kind=kind), sum(sizes)
    for snapshot in graphs[:: 1 if len(graphs) <= FEW else SOME] if nodes > 1 else ():
        before = snapshot if query.reads_previous else None
        whole = _mechanism(query, snapshot, before)
        for parts in (2, 3):
            edges = MemoryParts(
                *(snapshot.u, snapshot.v, snapshot.weight),
                nodes=nodes,
                part_nodes=-(-nodes // parts),
                kind=kind,
            )
            divided = Snapshot.from_parts(snapshot.roster, edges, owner_sizes=snapshot.owner_sizes)
            other = _mechanism(query, divided, before and divided)
            assert whole.distance(other) == 0, (
                f"{query.label}: answered in {parts} parts it is different"
            )
