"""Number of triangles and variance of the degrees against networkx and NumPy."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import (
    degree_variance,
    degree_variance_error,
    triangle_count,
    triangle_error,
)

from .graphs import as_networkx, from_networkx, pairs


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_agrees_with_networkx(pair):
    graph, other = pair[1], as_networkx(pair[1])
    assert triangle_count(graph) == sum(nx.triangles(other).values()) // 3
    degrees = [degree for _, degree in other.degree()]
    assert degree_variance(graph) == pytest.approx(np.var(degrees) if degrees else 0.0)


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_a_copy_is_perfect(pair):
    original = pair[0]
    copy = SyntheticGraph(original.roster, original.u, original.v)
    assert triangle_error(original, copy) == degree_variance_error(original, copy) == 0


def test_regular_graphs_have_no_variance_at_all():
    assert degree_variance(from_networkx(nx.cycle_graph(1001))) == 0.0


def test_errors_are_measured_in_the_original():
    original = Snapshot(Roster.range(4), *np.triu_indices(4, 1))  # four triangles
    one = SyntheticGraph(original.roster, [0, 1, 0], [1, 2, 2])
    assert triangle_error(original, one) == 0.75
    assert triangle_error(one, original) == 3.0
