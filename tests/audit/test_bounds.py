"""Lower bounds of ε are valid, and close to the truth where it is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from psgraph.audit.black_box import bound_mechanism, bound_phases, bound_stream, claimed_mechanisms
from psgraph.audit.bounds import epsilon_bound, probability_bounds
from psgraph.methods.tmf import TmF


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


def test_the_edge_count_spends_at_least_95_percent_of_its_charge():
    bound = bound_mechanism("an edge count", draws=10**6, seconds=30, alpha=0.001)
    assert bound.runs == 10**6
    assert 0.95 <= bound.lower <= 1


@pytest.mark.parametrize("name", claimed_mechanisms())
def test_no_mechanism_spends_more_than_its_charge(name):
    assert bound_mechanism(name, draws=2_000, seconds=2, alpha=1e-6).holds


def test_an_unproven_mechanism_is_not_among_those_that_claim_privacy():
    assert claimed_mechanisms(TmF()) == []
    (name,) = TmF().audit_cases().mechanisms
    assert not bound_mechanism(name, TmF(), draws=3_000, seconds=5, alpha=1e-6).holds


def test_phases_and_whole_streams_are_bounded():
    phases = bound_phases(TmF(), runs=100, seconds=10, alpha=1e-6)
    assert set(phases) == {"edges", "cells"}
    assert all(bound.holds for bound in phases.values())
    assert bound_stream(TmF(), window=2, epsilon=4, runs=30, seconds=10, alpha=1e-6).holds
