"""What noise means for a graph: both rules against simulations, and all methods."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import psgraph as pg
from psgraph.errors import InvalidArgument
from psgraph.methods.base import NoisePlan
from psgraph.methods.registry import method_names
from psgraph.publication.planning import effects_of, plan
from tests.refusals import refused

GUARANTEE = pg.WEventPrivacy("1", window=5)


def row(**changes: object) -> NoisePlan:
    given = {"case": "always", "label": "counts", "epsilon": Fraction(1, 5), "sensitivity": 2}
    return NoisePlan(**{**given, **changes})  # type: ignore[arg-type]


def test_noise_lifts_no_average_node_to_the_smallest_degree_in_19_of_20_runs():
    found = effects_of([row(counts="degree")], GUARANTEE, nodes=500, edges=2500)
    noise = np.random.default_rng(1).laplace(scale=10, size=(4000, 500))
    lifted = (10 + noise.max(axis=1) >= found.degree[0]).mean()
    assert lifted == pytest.approx(0.05, abs=0.012)


def test_parts_of_a_degree_add_up_to_more_noise_than_each():
    parts = [row(counts="degree"), row(counts="degree", epsilon=Fraction(1, 10))]
    together = effects_of(parts, GUARANTEE, nodes=100, edges=0)
    apart = [effects_of([part], GUARANTEE, nodes=100, edges=0).degree[0] for part in parts]
    assert together.degree[0] == pytest.approx(np.hypot(*apart))


def test_cases_are_not_added_but_give_a_range():
    cases = [row(counts="edges"), row(counts="edges", epsilon=Fraction(1, 10), case="sometimes")]
    assert effects_of(cases, GUARANTEE, nodes=100, edges=1000).edge_error == (0.01, 0.02)


@pytest.mark.parametrize("name", method_names())
def test_every_method_says_what_its_noise_means(name):
    made = plan(GUARANTEE, nodes=1000, edges=10_000, method=name)
    here, half_epsilon, twice_epsilon, half_window, twice_window = made.effects
    assert here.guarantee == GUARANTEE
    assert [each.guarantee.window for each in (half_window, twice_window)] == [3, 10]
    for value in ("degree", "edge_error"):
        chosen = getattr(here, value)
        if chosen is not None:
            assert max(getattr(twice_epsilon, value)) <= max(chosen)
            assert max(chosen) <= max(getattr(half_epsilon, value))
            assert max(chosen) <= max(getattr(twice_window, value))


def test_some_method_measures_each():
    effects = [
        plan(GUARANTEE, nodes=1000, edges=9, method=name).effects[0] for name in method_names()
    ]
    for value in ("degree", "edge_error"):
        assert any(getattr(each, value) is not None for each in effects)


@pytest.mark.parametrize("name", method_names())
@pytest.mark.parametrize(("nodes", "edges"), [(0, 0), (1, 0), (2, 1)])
def test_the_smallest_graphs(name, nodes, edges):
    assert plan(pg.WEventPrivacy("1", 1), nodes=nodes, edges=edges, method=name).to_dict()


def test_without_edges_nothing_is_said_and_too_many_are_refused():
    assert plan(GUARANTEE, nodes=10).effects == ()
    with refused(InvalidArgument, "too_many_edges"):
        plan(GUARANTEE, nodes=10, edges=46)
    with refused(InvalidArgument, "not_a_count"):
        plan(GUARANTEE, nodes=10, edges=4.5)  # type: ignore[arg-type]
