"""Density against networkx."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings

from psgraph.metrics import density_error, edge_density

from .graphs import as_networkx, pairs


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_agrees_with_networkx(pair):
    assert edge_density(pair[1]) == pytest.approx(nx.density(as_networkx(pair[1])))


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_error_is_that_of_the_edge_count(pair):
    original, synthetic = pair
    before, after = original.u.size, synthetic.u.size
    error = density_error(original, synthetic)
    if before:
        assert error == pytest.approx(abs(after - before) / before)
    else:
        assert (error == 0) == (after == 0)
