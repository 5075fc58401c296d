"""Conformance of methods that take uneven shares of a window, or read two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.base import Method, NoisePlan
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.testing import check_method


@dataclass(frozen=True)
class Counted:
    roster: Roster
    noisy_edge_count: int
    noisy_kept: int | None


class Uneven(Method):
    """Takes half of what is left of the window, and is handed the snapshot before."""

    name = "uneven"
    records = (Counted,)
    remembers_snapshot = True
    wasted = Fraction(0)

    def request(self, state, spending):
        return spending.remaining / 2

    def plan(self, guarantee, *, nodes):
        return [NoisePlan("every timestamp", "edges", guarantee.epsilon / 2, 1)]

    def measure(self, snapshot, state, budget, engine, *, previous=None):
        count = LaplaceCount(engine.edge_count(snapshot), 1)
        kept = None if previous is None else self.kept(snapshot, previous, engine)
        noisy = budget.run(count, epsilon=budget.remaining - self.wasted, label="edges")
        return Counted(snapshot.roster, noisy, kept)

    def kept(self, snapshot, previous, engine):
        return None

    def synthesise(self, state, previous, rng, engine):
        none = np.zeros(0, dtype=np.int32)
        return SyntheticGraph(state.roster, none, none)


class Leaking(Uneven):
    """Shows how many edges were there before without noise."""

    def kept(self, snapshot, previous, engine):
        return engine.common_edges(snapshot, previous)


class Wasting(Uneven):
    """Leaves a little of what it requested."""

    wasted = Fraction(1, 1000)


class Greedy(Uneven):
    """Requests the whole window at every timestamp."""

    def request(self, state, spending):
        return spending.guarantee.epsilon


def test_uneven_shares_keep_the_protocol():
    assert check_method(Uneven()).method == "uneven"


def test_a_share_that_is_requested_and_not_spent_is_found():
    with pytest.raises(AssertionError, match="charges exactly what it is allowed"):
        check_method(Wasting())


def test_a_request_beyond_the_window_is_found():
    with pytest.raises(AssertionError, match="BudgetExceeded"):
        check_method(Greedy())


def test_a_count_of_two_snapshots_without_noise_is_found():
    with pytest.raises(AssertionError, match="noisy_kept"):
        check_method(Leaking())
