"""Metrics of weights: by hand, against scipy, and their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import ks_2samp

from psgraph.errors import InvalidArgument
from psgraph.graph import DIRECTED, UNDIRECTED, Roster, Snapshot, SyntheticGraph
from psgraph.metrics import METRICS, Pair, compare, side_strengths, weight_distance
from psgraph.metrics.weights import same_class_share

from .graphs import sided_pairs

KIND = DIRECTED.with_weights(20)


def weighted(*edges: tuple[int, int, int], nodes: int = 4) -> SyntheticGraph:
    u, v, weight = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    return SyntheticGraph(Roster.range(nodes), u, v, kind=KIND, weight=weight)


ONE = weighted((0, 1, 1), (0, 2, 4), (1, 0, 20))
OTHER = weighted((0, 1, 2), (0, 2, 3), (2, 3, 5))


@pytest.mark.filterwarnings("ignore:divide by zero")  # in the p-value of scipy
@given(sided_pairs(KIND))
@settings(max_examples=100, deadline=None)
def test_the_distance_is_that_of_kolmogorov_and_smirnov(pair):
    original, made = pair
    if original.u.size and made.u.size:
        expected = ks_2samp(original.weight, made.weight, method="asymp").statistic
    else:
        expected = float(original.u.size != made.u.size)
    assert weight_distance(original, made) == pytest.approx(expected)


def test_totals_and_strengths_are_sums_of_weights():
    assert METRICS["total_weight_error"](ONE, OTHER) == pytest.approx(15 / 25)
    assert [each.tolist() for each in side_strengths(ONE)] == [[5, 20, 0, 0], [20, 1, 4, 0]]


@given(sided_pairs(KIND))
@settings(max_examples=100, deadline=None)
def test_the_cosine_is_that_of_the_matrices(pair):
    tables = np.zeros((2, 400))
    for table, graph in zip(tables, pair, strict=True):
        table[graph.u.astype(np.int64) * 20 + graph.v] = graph.weight
    found = METRICS["weight_cosine"](*pair)
    if not tables[0].any():
        assert found is None
        return
    lengths = np.linalg.norm(tables, axis=1)
    assert found == pytest.approx(tables[0] @ tables[1] / max(lengths.prod(), 1e-300))


def test_the_top_of_flows_has_the_most_rows_and_not_the_most_partners():
    roster, many, few = Roster.range(600), np.full(6, 50), np.ones(30, dtype=np.int64)
    u = np.concatenate([np.arange(6), np.repeat(np.arange(100, 106), 5)])
    v = np.concatenate([np.full(6, 7), np.tile(np.arange(200, 205), 6)])
    weights = np.concatenate([many, few]), np.concatenate([few[:6], np.repeat(many, 5)])
    for kind, expected in ((DIRECTED.with_flows(), 0), (DIRECTED.with_weights(50), 1)):
        one, other = (SyntheticGraph(roster, u, v, kind=kind, weight=each) for each in weights)
        assert METRICS["top_out_overlap"](one, other) == expected


def test_strengths_are_correlated_on_a_logarithmic_scale():
    expected = np.corrcoef(np.log1p([5, 20, 0, 0]), np.log1p([5, 0, 5, 0]))[0, 1]
    assert METRICS["out_strength_correlation"](ONE, OTHER) == pytest.approx(expected)
    even = weighted((0, 1, 2), (1, 0, 2), (2, 3, 2), (3, 2, 2))
    assert METRICS["out_strength_correlation"](ONE, even) == 0
    assert METRICS["out_strength_correlation"](even, ONE) is None


def test_strengths_of_undirected_graphs_have_one_side():
    kind = UNDIRECTED.with_weights(9)
    graph = SyntheticGraph(Roster.range(3), [0, 1], [1, 2], kind=kind, weight=[4, 2])
    assert [each.tolist() for each in side_strengths(graph)] == [[4, 6, 2]]
    assert METRICS["strength_correlation"](graph, graph) == 1


def test_kept_edges_stay_in_their_class_of_weights():
    # 4 and 3 are of one class, 1 and 2 are not; the third edge is not kept.
    assert same_class_share(ONE, OTHER) == 0.5
    assert same_class_share(ONE, weighted((3, 0, 1))) is None
    persistence = METRICS["weight_class_persistence_error"]
    assert persistence(OTHER, ONE, before=Pair.of(ONE, ONE)) == 0.5
    assert persistence(OTHER, ONE) is None


def test_ids_match_kept_edges_where_the_roster_changes():
    before = SyntheticGraph(Roster(["a", "c"]), [1], [0], kind=KIND, weight=[7])
    after = SyntheticGraph(Roster(["a", "b", "c"]), [0, 2], [1, 0], kind=KIND, weight=[1, 8])
    assert same_class_share(before, after) == 1


def test_metrics_of_weights_are_left_out_or_refused_without_weights():
    plain = SyntheticGraph(ONE.roster, ONE.u, ONE.v, kind=DIRECTED)
    original = Snapshot(ONE.roster, ONE.u, ONE.v, kind=DIRECTED)
    found = compare([original] * 2, [plain] * 2, groups=["stream"])
    assert not [name for name in (*found.mean.to_dict(), *found.more_mean) if "weight" in name]
    with pytest.raises(InvalidArgument):
        weight_distance(original, plain)
