"""Checks that a metric keeps what `psgraph.metrics.metric.Metric` says about it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import isclose, isfinite

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph import Graph, Roster, Snapshot, SyntheticGraph, TwoSidedRoster
from psgraph.graph.kind import KINDS, UNDIRECTED, Kind
from psgraph.graph.parts import MemoryParts
from psgraph.metrics.metric import Metric, Pair
from psgraph.testing.conformance import Conformance

__all__ = ["check_metric"]

_NODES = 6
_UNITS = ("%", "nats", "steps", "")
_TOLERANCE = 1e-9  # of sums in a different order
_ORDERS = 3
_LABELS = ("a", "a", "b", "b", "b", "c")  # by node: for metrics of public labels
#: Edge lists over six nodes, by name.
_GRAPHS: dict[str, list[tuple[int, int]]] = {
    "a graph without edges": [],
    "a complete graph": [(x, y) for x in range(_NODES) for y in range(x + 1, _NODES)],
    "a path": [(x, x + 1) for x in range(_NODES - 1)],
    "a star": [(0, x) for x in range(1, _NODES)],
    "two triangles": [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5)],
    "a graph with an isolated node": [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4)],
}


#: The edges of a two-sided graph of three nodes on each side, by name.
_TWO_SIDED: dict[str, list[tuple[int, int]]] = {
    "a graph without edges": [],
    "a complete graph": [(x, y) for x in range(3) for y in range(3, 6)],
    "a star": [(0, 3), (0, 4), (0, 5)],
    "a matching": [(0, 3), (1, 4), (2, 5)],
    "a graph with isolated nodes": [(0, 3), (0, 4), (1, 3)],
}
#: The same as the first ones in one direction, and two in both.
_DIRECTED = {
    **_GRAPHS,
    "a path in both directions": [edge for x in range(5) for edge in ((x, x + 1), (x + 1, x))],
    "a star in both directions": [edge for x in range(1, 6) for edge in ((0, x), (x, 0))],
}
_LARGEST_WEIGHT = 9


def check_metric(metric: Metric) -> Conformance:
    """Check a metric on all pairs of a few small graphs of its kinds; takes about a second.

    Raises
    ------
    AssertionError
        At the first check that fails, saying which and what was found.

    Examples
    --------
    >>> from psgraph.metrics import density_error
    >>> print(check_metric(density_error))
    metric 'density_error':
      ✓ says what it is
      ✓ is finite on every pair
      ✓ is best for identical graphs
      ✓ does not depend on the parts of a graph
      ✓ does not depend on the names of nodes
    """
    for title, check in _CHECKS.items():
        name = getattr(metric, "name", type(metric).__name__)
        try:
            check(metric)
        except AssertionError as error:
            raise AssertionError(f"metric {name!r} fails “{title}”: {error}") from None
        except Exception as error:
            raise AssertionError(
                f"metric {name!r} fails “{title}”: {type(error).__name__}: {error}"
            ) from error
    return Conformance(metric.name, tuple(_CHECKS), subject="metric")


def _says_what_it_is(metric: Metric) -> None:
    assert isinstance(metric, Metric), "it is not a psgraph.metrics.Metric"
    assert metric.name.isidentifier(), "the name is not an identifier"
    assert metric.name == metric.name.lower(), "the name is not in lower case"
    assert metric.unit in _UNITS, f"its unit is none of {_UNITS}"
    assert metric.better in ("lower", "higher"), "better is neither lower nor higher"
    assert metric.reading.strip(), "it does not say how to read it"
    assert metric.kinds, "it names no kind of graph"
    ascending = metric.limits.close < metric.limits.fair
    assert ascending == (metric.better == "lower"), "the thresholds are in the wrong order"


def _is_finite(metric: Metric) -> None:
    for case, value, _ in _values(metric):
        assert value is None or isfinite(value), f"it is {value} for {case}"


def _is_best_for_identical_graphs(metric: Metric) -> None:
    best = 0.0 if metric.better == "lower" else 1.0
    for case, value, pair in _values(metric):
        if value is None:
            continue
        if _edges(pair.original.graph) == _edges(pair.synthetic.graph):
            assert isclose(value, best, abs_tol=_TOLERANCE), f"it is {value} for {case}, twice"
        beyond = best - value if metric.better == "lower" else value - best
        assert beyond <= _TOLERANCE, f"it is {value} for {case}, better than for identical graphs"


def _does_not_depend_on_parts(metric: Metric) -> None:
    whole = [value for _, value, _ in _values(metric)]
    for parts in (2, 3):
        cut = list(_values(metric, part_nodes=-(-_NODES // parts)))
        for (case, value, _), expected in zip(cut, whole, strict=True):
            assert value == expected, f"in {parts} parts it is {value}, not {expected}, for {case}"


def _does_not_depend_on_names(metric: Metric) -> None:
    if metric.breaks_ties:
        return
    before = [value for _, value, _ in _values(metric)]
    rng = np.random.default_rng(0)
    orders = [np.arange(_NODES)[::-1], *(rng.permutation(_NODES) for _ in range(_ORDERS))]
    for order in orders:
        renamed = _values(metric, order=order)
        for (case, value, _), expected in zip(renamed, before, strict=True):
            same = value == expected or (
                value is not None
                and expected is not None
                and isclose(value, expected, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
            )
            assert same, (
                f"with renamed nodes it is {value}, not {expected}, for {case}; a metric that "
                "breaks ties by the order of nodes states breaks_ties=True"
            )


_CHECKS = {
    "says what it is": _says_what_it_is,
    "is finite on every pair": _is_finite,
    "is best for identical graphs": _is_best_for_identical_graphs,
    "does not depend on the parts of a graph": _does_not_depend_on_parts,
    "does not depend on the names of nodes": _does_not_depend_on_names,
}


def _values(
    metric: Metric, *, part_nodes: int = _NODES, order: Integers | None = None
) -> Iterator[tuple[str, float | None, Pair]]:
    """Compute the metric for every pair, at the first timestamp and after every other one."""
    groups = np.array(_LABELS)
    groups = groups if order is None else groups[np.argsort(order)]
    for name in sorted(metric.kinds):
        kind = KINDS[name].with_weights(_LARGEST_WEIGHT if metric.of_weights else None)
        graphs = _TWO_SIDED if kind.two_sided else _DIRECTED if kind.directed else _GRAPHS
        roster: Roster = Roster(range(_NODES), labels={"group": groups})
        if kind != UNDIRECTED:
            roster = (TwoSidedRoster if kind.two_sided else Roster).range(_NODES)
        originals, made = (
            {
                each: _graph(graph_type, roster, kind, edges, part_nodes, order)
                for each, edges in graphs.items()
            }
            for graph_type in (Snapshot, SyntheticGraph)
        )
        previous = [None, *(Pair.of(originals[each], made[each]) for each in graphs)]
        for (one, other), before in product(product(graphs, graphs), previous):
            pair = Pair.of(originals[one], made[other], before=before)
            yield f"{one} and {other} ({kind})", metric.compute(pair), pair


def _graph(
    graph_type: type[Graph],
    roster: Roster,
    kind: Kind,
    edges: list[tuple[int, int]],
    part_nodes: int,
    order: Integers | None,
) -> Graph:
    u, v = np.array(edges, dtype=np.int32).reshape(-1, 2).T
    weight = 1 + (3 * u + v) % _LARGEST_WEIGHT if kind.weighted else None
    if order is not None:
        if kind.two_sided:  # nodes are renamed within their side
            left, right = np.split(order, [roster.offset])
            order = np.append(np.argsort(left), roster.offset + np.argsort(right))
        u, v = order[u].astype(np.int32), order[v].astype(np.int32)
    whole = graph_type(roster, u, v, kind=kind, weight=weight)
    parts = MemoryParts(
        whole.u, whole.v, whole.weight, nodes=len(roster), part_nodes=part_nodes, kind=kind
    )
    return graph_type.from_parts(roster, parts)


def _edges(graph: Graph) -> list[tuple[int, ...]]:
    weight = [] if graph.weight is None else [graph.weight.tolist()]
    return list(zip(graph.u.tolist(), graph.v.tolist(), *weight, strict=True))
