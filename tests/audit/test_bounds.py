"""Lower bounds of ε are valid, and close to the truth where it is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from psgraph.audit.black_box import bound_mechanism, bound_phases, bound_stream, claimed_mechanisms
from psgraph.audit.bounds import Bound, best_cuts, epsilon_bound, probability_bounds
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.tmf import TmF
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.privacy.mechanisms.top import LargestCells


@pytest.mark.parametrize(("hits", "runs"), [(0, 50), (50, 50), (7, 40)])
def test_probability_bounds_are_those_of_clopper_and_pearson(hits, runs):
    low, high = probability_bounds(hits, runs, alpha=0.01)
    exact = stats.binomtest(hits, runs).proportion_ci(0.98, method="exact")
    assert (low, high) == pytest.approx((exact.low, exact.high))


def test_the_bound_is_rarely_above_the_truth():
    # Randomised response at ε = 1; of 200 bounds at 80 % confidence at most 40 may exceed it, and
    # more than 60 have a probability below 10⁻³.
    rng = np.random.default_rng(1)
    kept = math.e / (1 + math.e)
    above = 0
    for _ in range(200):
        one, other = rng.random((2, 400)) < [[kept], [1 - kept]]
        above += epsilon_bound(one, other, alpha=0.2) > 1
    assert above <= 60


def test_a_leak_of_the_whole_value_is_seen():
    ones = np.zeros(1000, dtype=int)
    assert epsilon_bound(ones, ones + 1, alpha=0.01) > 4


@pytest.mark.parametrize(
    ("lower", "leaking", "wanted", "verdict"),
    [
        (0.4, 1.1, 0.0, "held"),
        (0.4, 1.0, 0.0, "not tested"),  # a leak would not have exceeded the charge
        (0.4, 1.1, 0.5, "not tested"),  # less than the worst event shows without a leak
        (1.1, 0.0, 0.0, "failed"),  # a violation counts, however blind the attack
    ],
)
def test_a_bound_holds_only_if_a_leak_would_have_shown(lower, leaking, wanted, verdict):
    assert Bound(1.0, lower, 100, 4, leaking, wanted).verdict == verdict


def test_cuts_are_made_where_two_samples_differ():
    noise = np.random.default_rng(2).integers(-3, 4, size=(2, 400, 30)).astype(float)
    noise[1, :, 7] += 2
    noise[1, :, 21] -= 2
    cuts = best_cuts(*noise)
    assert sorted(cuts.columns.tolist()) == [7, 21]
    assert set(cuts.outcomes(noise[0]).tolist()) == {0, 1, 2, 3}


def test_the_edge_count_spends_at_least_95_percent_of_its_charge():
    bound = bound_mechanism("an edge count", draws=10**6, seconds=30, alpha=0.001)
    assert bound.runs == 10**6
    assert 0.95 <= bound.lower <= 1
    assert bound.verdict == "held"


def test_a_few_draws_test_nothing():
    bound = bound_mechanism("an edge count", draws=20, seconds=30, alpha=0.001)
    assert bound.verdict == "not tested"


@pytest.mark.parametrize("name", claimed_mechanisms())
def test_no_mechanism_spends_more_than_its_charge(name):
    assert bound_mechanism(name, draws=2_000, seconds=2, alpha=1e-6).holds


def test_an_unproven_mechanism_is_not_among_those_that_claim_privacy():
    assert claimed_mechanisms(TmF()) == []
    (name,) = TmF().audit_cases().mechanisms
    assert not bound_mechanism(name, TmF(), draws=3_000, seconds=5, alpha=1e-6).holds


def test_leaks_of_the_counts_of_the_default_method_would_show():
    phases = bound_phases(PSGraphPlus(), runs=500, seconds=10, alpha=0.01)
    tested = {label for label, bound in phases.items() if bound.verdict == "held"}
    assert all(bound.holds for bound in phases.values())
    counts = {"edges", "degree curve", "degrees", "edges of hubs", "edges kept"}
    assert counts | {"edges between degree classes"} <= tested


def _sharpen(monkeypatch, mechanism, times):
    real = mechanism.draw
    monkeypatch.setattr(mechanism, "draw", lambda self, s, epsilon: real(self, s, times * epsilon))


def test_a_phase_with_a_quarter_of_its_noise_fails(monkeypatch):
    _sharpen(monkeypatch, LaplaceCount, 4)
    phases = bound_phases(TmF(), runs=500, seconds=10, alpha=1e-6)
    assert phases["edges"].verdict == "failed"
    assert phases["cells"].holds


def test_releases_are_bounded_as_a_whole(monkeypatch):
    def bound():
        return bound_stream(TmF(), window=2, epsilon=1, runs=400, seconds=120, alpha=0.001)

    assert bound().verdict == "held"
    _sharpen(monkeypatch, LaplaceCount, 16)
    _sharpen(monkeypatch, LargestCells, 16)
    assert bound().verdict == "failed"
