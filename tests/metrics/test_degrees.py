"""Divergence of degree distributions against scipy and a plain re-computation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.graph import Roster, SyntheticGraph
from psgraph.metrics import degree_divergence, node_degrees, smoothed_degree_divergence
from psgraph.metrics.degrees import _bin_starts

from .graphs import as_networkx, pairs, random_graph


def reference(original, synthetic):
    """PrivGraph's formula, term by term."""
    n = len(original.roster)
    p, q = (Counter(dict(as_networkx(graph).degree).values()) for graph in (original, synthetic))
    epsilon = 2.0**-52
    return sum(
        p[degree] / n * math.log((p[degree] / n + epsilon) / (q[degree] / n + epsilon))
        for degree in p
    )


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_agrees_with_the_reference_formula(pair):
    assert degree_divergence(*pair) == pytest.approx(reference(*pair), abs=1e-12)


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_smoothed_is_finite_never_negative_and_zero_with_itself(pair):
    original, synthetic = pair
    assert smoothed_degree_divergence(original, original) == 0
    value = smoothed_degree_divergence(original, synthetic)
    assert 0 <= value < 10
    same = np.array_equal(np.sort(node_degrees(original)), np.sort(node_degrees(synthetic)))
    # Up to degree 8 every degree has its own bin, so different counts must show.
    if node_degrees(original).max(initial=0) <= 8 and node_degrees(synthetic).max(initial=0) <= 8:
        assert (value < 1e-12) == same


@given(pairs())
@settings(max_examples=50, deadline=None)
def test_degrees_agree_with_networkx(pair):
    expected = [degree for _, degree in as_networkx(pair[1]).degree]
    assert node_degrees(pair[1]).tolist() == expected


@given(st.integers(1, 10**6))
@settings(max_examples=200, deadline=None)
def test_bins_begin_at_zero_rise_and_stay_narrow(size):
    starts = _bin_starts(size)
    assert starts[0] == 0
    ends = np.append(starts[1:], size)
    assert (ends > starts).all()
    assert (ends[starts < 8] - starts[starts < 8] == 1).all()
    assert (ends - starts <= np.maximum(1, 0.2 * starts + 1)).all()


def test_holes_dominate_the_reference_and_not_the_smoothed_one():
    # Two graphs of one law: the reference sees holes in the tail, the smoothed one does not.
    first, second = (random_graph(5000, 20_000, seed=seed) for seed in (1, 2))
    weights_moved = SyntheticGraph(Roster.range(5000), np.arange(0, 4999), np.arange(1, 5000))
    assert degree_divergence(first, second) > 5 * smoothed_degree_divergence(first, second)
    assert smoothed_degree_divergence(first, weights_moved) > 0.5


def test_isolated_nodes_count():
    few, many = (SyntheticGraph(Roster.range(n), [0], [1]) for n in (2, 4))
    assert node_degrees(many).tolist() == [1, 1, 0, 0]
    empty = SyntheticGraph(many.roster, [], [])
    assert degree_divergence(few, few) == 0
    assert degree_divergence(many, empty) == pytest.approx(
        0.5 * math.log(0.5) + 0.5 * 35.35, rel=0.02
    )
