"""Metrics of directed and two-sided graphs: by hand, against networkx, and their properties."""

from __future__ import annotations

import math
import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import (
    DIRECTED,
    TWO_SIDED,
    UNDIRECTED,
    Kind,
    Roster,
    Snapshot,
    SyntheticGraph,
    TwoSidedRoster,
)
from psgraph.metrics import (
    METRICS,
    compare,
    compute_fidelity,
    default_metrics,
    density_error,
    edge_density,
    headline_metrics,
    joint_degrees,
    pagerank,
    reciprocity,
    side_assortativity,
    side_degrees,
)
from psgraph.metrics.metric import UNDEFINED
from psgraph.metrics.tops import highest, top_count

from .graphs import sided_pairs


def directed(nodes: int, *edges: tuple[int, int]) -> SyntheticGraph:
    u, v = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return SyntheticGraph(Roster.range(nodes), u, v, kind=DIRECTED)


def two_sided(left: int, right: int, *edges: tuple[int, int]) -> SyntheticGraph:
    u, v = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return SyntheticGraph(TwoSidedRoster(Roster.range(left), Roster.range(right)), u, left + v)


def as_digraph(graph: SyntheticGraph) -> nx.DiGraph:
    other = nx.DiGraph()
    other.add_nodes_from(range(len(graph.roster)))
    other.add_edges_from(zip(graph.u.tolist(), graph.v.tolist(), strict=True))
    return other


def value(name: str, original: Any, synthetic: Any) -> float | None:
    return METRICS[name](original, synthetic)


# ---- by hand ----

TRIO = directed(3, (0, 1), (1, 0), (0, 2))
CHAIN = directed(3, (0, 1), (1, 2))


def test_density_counts_the_pairs_of_the_kind():
    assert edge_density(TRIO) == 3 / 6
    assert edge_density(two_sided(2, 5, (0, 0), (1, 4))) == 2 / 10
    assert density_error(TRIO, CHAIN) == pytest.approx(1 / 3)


def test_degrees_of_a_side_are_those_of_its_nodes():
    assert [each.tolist() for each in side_degrees(TRIO)] == [[2, 1, 0], [1, 1, 1]]
    graph = two_sided(2, 3, (0, 0), (0, 2), (1, 2))
    assert [each.tolist() for each in side_degrees(graph)] == [[2, 1], [1, 0, 2]]


def test_divergence_of_one_side_ignores_the_other():
    # Out-degrees 2, 1, 0 and 1, 1, 0; in-degrees 1, 1, 1 and 0, 1, 1.
    found = {
        name: value(f"{name}_degree_divergence_smoothed", TRIO, CHAIN) for name in ("out", "in")
    }
    third = 1.5 / 4.5  # one node and a half in each of three bins
    expected = third * (
        math.log(third / (1.5 / 4.5))
        + math.log(third / (2.5 / 4.5))
        + math.log(third / (0.5 / 4.5))
    )
    assert found["out"] == pytest.approx(expected)
    share = np.array([0.5, 3.5]) / 4
    other = np.array([1.5, 2.5]) / 4
    assert found["in"] == pytest.approx(float(np.sum(share * np.log(share / other))))


def test_joint_degrees_see_who_sends_and_receives():
    # The same out- and in-degrees; in one graph the sender receives, in the other it does not.
    one, other = directed(4, (0, 1), (1, 0)), directed(4, (0, 1), (2, 3))
    other = directed(4, (0, 2), (1, 3))
    assert joint_degrees(one).tolist() == [[2, 0], [0, 2]]
    assert joint_degrees(other).tolist() == [[0, 2], [2, 0]]
    assert value("out_degree_divergence", one, other) == pytest.approx(0, abs=1e-12)
    assert value("in_degree_divergence", one, other) == pytest.approx(0, abs=1e-12)
    # Two cells of 2½ and ½ of six in all, exchanged.
    expected = 2 * (2.5 / 6 * math.log(5) + 0.5 / 6 * math.log(1 / 5))
    assert value("joint_degree_divergence", one, other) == pytest.approx(expected)


def test_reciprocity_error_is_absolute():
    assert reciprocity(TRIO) == pytest.approx(2 / 3)
    assert value("reciprocity_error", TRIO, CHAIN) == pytest.approx(2 / 3)
    assert value("reciprocity_error", CHAIN, TRIO) == pytest.approx(2 / 3)


def test_clustering_is_that_of_the_skeleton():
    cycle = directed(3, (0, 1), (1, 2), (2, 0))
    assert value("skeleton_clustering_error", cycle, directed(3, (1, 0), (1, 2), (0, 2))) == 0
    assert value("skeleton_clustering_error", cycle, CHAIN) == 1


def test_the_top_of_a_side_is_one_per_cent_and_at_least_five():
    assert [top_count(nodes) for nodes in (0, 3, 499, 600)] == [0, 3, 4 + 1, 6]
    senders = directed(10, *((x, 9) for x in range(5)))
    receivers = directed(10, *((9, x) for x in range(5)))
    assert value("top_out_overlap", senders, senders) == 1
    # Of the release, 9 sends, and ties are broken by position: 0 to 3.
    assert value("top_out_overlap", senders, receivers) == pytest.approx(4 / 5)


def test_ties_go_to_the_nodes_that_come_first():
    assert highest(np.array([1, 2, 2, 2]), 2).tolist() == [1, 2]
    assert highest(np.array([3, 1]), 7).tolist() == [0, 1]
    assert highest(np.array([]), 3).tolist() == []


# ---- against networkx ----


@given(sided_pairs(DIRECTED))
@settings(max_examples=100, deadline=None)
def test_reciprocity_agrees_with_networkx(pair):
    graph = pair[1]
    expected = nx.reciprocity(as_digraph(graph)) if graph.edge_count else 0.0
    assert reciprocity(graph) == pytest.approx(expected)


@given(sided_pairs(DIRECTED))
@settings(max_examples=100, deadline=None)
def test_pagerank_agrees_with_networkx(pair):
    graph = pair[1]
    expected = nx.pagerank(as_digraph(graph), tol=1e-13, max_iter=1000) if len(graph.roster) else {}
    assert pagerank(graph) == pytest.approx(np.array(list(expected.values())), abs=1e-9)


@given(sided_pairs(DIRECTED))
@settings(max_examples=100, deadline=None)
def test_assortativity_agrees_with_networkx_and_is_zero_where_that_is_undefined(pair):
    graph = pair[1]
    if not graph.edge_count:
        assert side_assortativity(graph) == 0
        return
    out, into = side_degrees(graph)
    if np.ptp(out[graph.u]) and np.ptp(into[graph.v]):
        expected = nx.degree_pearson_correlation_coefficient(as_digraph(graph), x="out", y="in")
        assert side_assortativity(graph) == pytest.approx(expected, abs=1e-9)
    else:
        assert side_assortativity(graph) == 0


@given(sided_pairs(TWO_SIDED))
@settings(max_examples=100, deadline=None)
def test_two_sided_assortativity_agrees_with_numpy(pair):
    graph = pair[1]
    left, right = side_degrees(graph)
    first, second = left[graph.u], right[graph.v - graph.roster.offset]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.corrcoef(first, second)[0, 1] if graph.edge_count > 1 else np.nan
    assert side_assortativity(graph) == pytest.approx(np.nan_to_num(expected), abs=1e-9)


# ---- properties, and which metrics there are ----

KINDS = [
    kind.with_weights(largest)
    for kind in (UNDIRECTED, DIRECTED, TWO_SIDED)
    for largest in (None, 20)
    if kind.sides == 2 or largest
]


@given(st.data(), st.sampled_from(KINDS))
@settings(max_examples=150, deadline=None)
def test_a_copy_is_perfect_and_no_value_is_enormous(data: st.DataObject, kind: Kind):
    original, synthetic = data.draw(sided_pairs(kind))
    copy = SyntheticGraph(
        original.roster, original.u, original.v, kind=kind, weight=original.weight
    )
    for metric in default_metrics(kind):
        assert metric(original, copy) in (None, float(metric.better == "higher"))
        found = metric(original, synthetic)
        if kind.sides == 2:
            assert found is None or -1 <= found < UNDEFINED


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_metrics_of_a_kind_are_defined_for_it(kind: Kind):
    always = default_metrics(kind)
    assert all(metric.defined_for(kind) for metric in always)
    assert always[: len(headline_metrics(kind))] == headline_metrics(kind)
    assert len({metric.name for metric in always}) == len(always)


def test_an_original_without_edges_gives_no_relative_error():
    empty, made = directed(4), directed(4, (0, 1))
    comparison = compare(
        [Snapshot(empty.roster, empty.u, empty.v, kind=DIRECTED)] * 2 + [_snapshot(TRIO_OF_4)],
        [made, made, TRIO_OF_4],
    )
    assert [row.fidelity.density_error for row in comparison.rows] == [None, None, 0.0]
    assert comparison.mean.density_error == comparison.std.density_error == 0.0
    assert comparison.table()[1][0][2 + 3] == "–"


TRIO_OF_4 = directed(4, (0, 1), (1, 0), (0, 2))


def _snapshot(graph: SyntheticGraph) -> Snapshot:
    return Snapshot(graph.roster, graph.u, graph.v, kind=graph.kind)


def test_graphs_of_different_kinds_are_not_compared():
    plain = SyntheticGraph(TRIO.roster, TRIO.u, TRIO.v)
    with pytest.raises(DataError):
        compute_fidelity(TRIO, plain)
    with pytest.raises(InvalidArgument):
        compare([_snapshot(TRIO)], [plain])
    with pytest.raises(InvalidArgument):
        METRICS["clustering_error"](TRIO, TRIO)


def test_a_group_without_a_metric_for_the_kind_is_refused_and_others_are_cut():
    with pytest.raises(InvalidArgument):
        compare([_snapshot(TRIO)], [TRIO], groups=["paths"])
    found = compare([_snapshot(TRIO)], [TRIO], groups=["spreading"])
    assert list(found.more_mean) == ["largest_component_error"]


def test_the_kind_is_found_where_neither_side_states_it():
    comparison = compare(iter([_snapshot(TRIO)]), iter([TRIO]))
    assert comparison.kind == DIRECTED
    assert comparison.to_dict()["kind"] == "directed"
    assert comparison.mean.reciprocity_error == 0
