"""Does a query keep what it states? Brute force on all small graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
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
from psgraph.testing.cases import all_graphs, neighbouring_pairs

__all__ = ["QueryConformance", "check_query"]

Make = Callable[[int], Query[Any] | Iterable[Query[Any]]]
Pair = tuple[Snapshot, Snapshot]

ENGINE = LocalEngine()
WITH_PREVIOUS = 4  # nodes at most where two snapshots are enumerated


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
    """

    label: str
    pairs: int
    largest: float


def check_query(
    make: Make,
    *,
    nodes: int = 5,
    units: Sequence[Unit] = (Edge(),),
    pairs: Sequence[Pair] = (),
) -> QueryConformance:
    """Check a query on all graphs of up to `nodes` nodes, for every kind it supports.

    The answers of neighbouring graphs are never further apart than the stated sensitivity, which
    is attained somewhere; the shape and the mechanism are the stated ones whatever the edges; and
    answering in 1, 2 or 3 parts gives the same. A query that reads the timestamp before is
    compared for one changed edge of either snapshot.

    Parameters
    ----------
    make
        Returns the query for a roster of that size, or several with different parameters.
    units
        The units of privacy to check the sensitivity for.
    pairs
        More neighbouring graphs, where only larger ones attain the sensitivity.

    Raises
    ------
    AssertionError
        What the query states does not hold, in a sentence.

    Examples
    --------
    >>> from psgraph.methods.queries import Degrees
    >>> check_query(lambda nodes: Degrees(), nodes=4)
    QueryConformance(label='degrees', pairs=205, largest=1.0)
    """
    largest, compared, label = 0.0, 0, ""
    for size in range(nodes + 1):
        for query in _several(make(size)):
            label = query.label
            _check_statement(query)
            for name in sorted(query.kinds):
                kind = find_kind(name)
                for unit in units:
                    found, count = _largest_distance(query, kind, size, unit)
                    largest, compared = max(largest, found), compared + count
                _check_parts(query, kind, size)
    for pair in pairs:
        for query in _several(make(len(pair[0].roster))):
            one, other = (_mechanism(query, snapshot) for snapshot in pair)
            share = one.distance(other) / query.sensitivity
            assert share <= 1, f"{label}: an edge moves it further than stated"
            largest, compared = max(largest, share), compared + 1
    assert label, "there is no query to check"
    assert largest == 1, (
        f"{label}: no pair of neighbours attains the stated sensitivity; the largest share of it "
        f"is {largest:.3g}. State less, or give pairs of larger graphs that attain it."
    )
    return QueryConformance(label, compared, largest)


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
    assert query.kinds, f"{name} supports no kind of graph"


def _mechanism(
    query: Query[Any], snapshot: Snapshot, previous: Snapshot | None = None
) -> Mechanism[Any]:
    mechanism = query.mechanism(query.answer(PrivateEdges(snapshot, ENGINE, previous=previous)))
    stated = query.noise, query.sensitivity, tuple(query.shape(len(snapshot.roster)))
    found = mechanism.name, mechanism.sensitivity, tuple(mechanism.shape)
    assert stated == found, f"{query.label}: states {stated}, but the mechanism has {found}"
    return mechanism


def _largest_distance(query: Query[Any], kind: Kind, nodes: int, unit: Unit) -> tuple[float, int]:
    """The largest distance between neighbours, as a share of the sensitivity, and how many."""
    stated = query.sensitivity_for(unit)
    if query.reads_previous and nodes > WITH_PREVIOUS:
        return 0.0, 0
    graphs = all_graphs(nodes, kind)
    befores = graphs if query.reads_previous else [None]
    answers = [[_mechanism(query, now, before) for before in befores] for now in graphs]
    largest = compared = 0
    for one, other in neighbouring_pairs(nodes, kind, unit):
        sides = list(zip(answers[one], answers[other], strict=True))
        if query.reads_previous:
            sides += [(row[one], row[other]) for row in answers]
        for mine, theirs in sides:
            distance = mine.distance(theirs)
            assert distance <= stated, (
                f"{query.label}: the sensitivity for {unit.text} is stated as {stated}, but two "
                f"neighbouring graphs of {nodes} nodes are {distance} apart"
            )
            largest, compared = max(largest, distance), compared + 1
    return largest / stated, compared


def _check_parts(query: Query[Any], kind: Kind, nodes: int) -> None:
    """Answers must not depend on how the edges are divided into parts."""
    if nodes < 2 or nodes > WITH_PREVIOUS:
        return
    for snapshot in all_graphs(nodes, kind):
        before = snapshot if query.reads_previous else None
        whole = _mechanism(query, snapshot, before)
        for parts in (2, 3):
            divided = Snapshot.from_parts(
                snapshot.roster,
                MemoryParts(snapshot.u, snapshot.v, nodes=nodes, part_nodes=-(-nodes // parts)),
            )
            other = _mechanism(query, divided, before and divided)
            assert whole.distance(other) == 0, (
                f"{query.label}: answered in {parts} parts it is different"
            )
