"""Degree assortativity against networkx."""

from __future__ import annotations

import math
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from psgraph.graph import Roster, SyntheticGraph
from psgraph.metrics import assortativity, assortativity_error, degrees, relative_error

from .graphs import as_networkx, from_networkx, pairs, random_graph


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_agrees_with_networkx_and_is_zero_where_that_is_nan(pair):
    graph = pair[1]
    value = assortativity(graph)
    if not graph.edge_count:
        assert value == 0
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = nx.degree_pearson_correlation_coefficient(as_networkx(graph))
    ends = np.bincount(np.concatenate([graph.u, graph.v]))
    if np.unique(ends[ends > 0]).size == 1:  # regular: networkx gives NaN, or rounding noise
        assert value == 0
    else:
        assert not math.isnan(expected)
        assert value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_networkx_on_a_graph_with_hubs(seed):
    graph = random_graph(1500, 6000, seed=seed)
    expected = nx.degree_assortativity_coefficient(as_networkx(graph))
    assert assortativity(graph) == pytest.approx(expected, abs=1e-10)


def test_blocks_make_no_difference(monkeypatch):
    graph = random_graph(500, 3000, seed=9)
    whole = assortativity(graph)
    monkeypatch.setattr(degrees, "_BLOCK", 7)
    assert assortativity(graph) == whole


def test_sums_beyond_64_bits_stay_exact():
    # The cubes of a star this large overflow int64, and its assortativity is exactly −1.
    leaves = 3_000_000
    star = SyntheticGraph(Roster.range(leaves + 1), np.zeros(leaves, int), np.arange(1, leaves + 1))
    assert assortativity(star) == -1.0


def test_error_divides_by_the_absolute_value():
    star, path = from_networkx(nx.star_graph(3)), from_networkx(nx.path_graph(4))
    assert assortativity_error(star, path) == pytest.approx(0.5)
    assert relative_error(-0.25, 0.25) == pytest.approx(2)
    assert relative_error(0.0, 0.5) == pytest.approx(0.5e15)
