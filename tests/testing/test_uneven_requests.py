"""Conformance of methods that take uneven shares of a window, or read two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.plus.queries import KeptEdges
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.accountant import Accountant
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
    queries = (EdgeCount, KeptEdges)
    wasted = Fraction(0)

    def request(self, state, spending):
        return spending.remaining / 2

    def plan(self, guarantee, *, nodes):
        rows, spending = [], Accountant(guarantee)
        for timestamp in range(10):  # shares depend on the spends before, which are public
            share = self.request(None, spending)
            rows.append(NoisePlan.of(f"timestamp {timestamp}", EdgeCount, share))
            spending = spending.record(share)
        return rows

    def measure(self, private, state):
        kept = self.kept(private) if private.has_previous else None
        noisy = private.ask(EdgeCount(), epsilon=private.remaining - self.wasted)
        return Counted(private.roster, noisy, kept)

    def kept(self, private):
        return None

    def synthesise(self, state, previous, rng, engine):
        none = np.zeros(0, dtype=np.int32)
        return SyntheticGraph(state.roster, none, none)


class Leaking(Uneven):
    """Shows how many edges were there before without noise."""

    def kept(self, private):
        return KeptEdges().answer(private._edges)


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
