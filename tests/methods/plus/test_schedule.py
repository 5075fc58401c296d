"""The schedule never exceeds a window, whatever released values say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.methods.plus.nodes import Drift
from psgraph.methods.plus.schedule import NONE, Components, next_mode, shares_of
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

MODES = ("undecided", "periodic", "steady")


def spends(parts, guarantee, modes):
    spending, rows = Accountant(guarantee), []
    for mode in modes:
        shares = shares_of(parts, spending, mode)
        spending = spending.record(shares.total)  # refuses what exceeds the window
        rows.append(shares)
    return rows


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(MODES), min_size=1, max_size=25),
    st.integers(1, 9),
    st.fractions(Fraction(1, 100), 50),
    st.builds(Components, st.booleans(), st.booleans(), st.booleans(), st.booleans()),
)
def test_no_window_exceeds_epsilon_whatever_the_modes_are(modes, window, epsilon, parts):
    rows = spends(parts, WEventPrivacy(epsilon, window=window), modes)
    totals, nodes = [row.total for row in rows], [row.nodes + row.hubs for row in rows]
    for start in range(len(rows)):
        assert sum(totals[start : start + window]) <= epsilon
        assert sum(nodes[start : start + window]) <= rows[0].node_window


@pytest.mark.parametrize("mode", ["periodic", "steady"])
@pytest.mark.parametrize("window", [1, 2, 5, 20])
def test_a_window_in_a_lasting_mode_is_spent_to_the_last_bit(mode, window):
    rows = spends(Components(), WEventPrivacy("1", window=window), [mode] * (4 * window))
    assert sum(row.total for row in rows[-window:]) == 1


def test_edges_kept_are_paid_half_by_each_of_two_timestamps():
    rows = spends(Components(), WEventPrivacy("1", window=4), ["periodic"] * 12)
    for row, after in pairwise(rows):
        assert row.reserved == after.persistence
        assert row.reserved == (Fraction(1, 100) if row.timestamp % 4 == 0 else NONE)


def test_structure_is_asked_once_per_window():
    rows = spends(Components(), WEventPrivacy("2", window=3), ["steady"] * 7)
    assert [row.timestamp for row in rows if row.mixing] == [0, 3, 6]
    assert [row.timestamp for row in rows if row.triangles] == [0, 3, 6]


def test_a_window_of_one_asks_everything_and_pays_for_edges_kept_in_halves():
    first, second = spends(Components(), WEventPrivacy("1", window=1), ["undecided"] * 2)
    assert first.persistence == 0  # there is no snapshot before
    assert first.reserved == second.persistence == second.reserved == Fraction(1, 100)
    assert min(second.edges, second.curve, second.nodes, second.mixing, second.triangles) > 0
    assert second.total == 1


def test_long_windows_and_small_budgets_give_more_to_the_number_of_edges():
    shares = [
        spends(Components(), WEventPrivacy(epsilon, window=window), ["undecided"])[0].edges
        for epsilon, window in (("1", 1), ("1", 5), ("1/2", 5), ("1", 50))
    ]
    assert [share * 1000 for share in shares] == [80, 16, 16, Fraction(16, 5)]


def test_hub_rows_are_asked_only_where_the_budget_is_large():
    (poor,) = spends(Components(), WEventPrivacy("1", window=1), ["undecided"])
    (rich,) = spends(Components(), WEventPrivacy("4", window=1), ["undecided"])
    assert poor.hubs == 0
    assert rich.hubs == rich.nodes > 0


@pytest.mark.parametrize("off", ["curve", "hubs", "persistence", "clustering"])
def test_what_is_switched_off_leaves_its_share_to_the_others(off):
    parts = replace(Components(), **{off: False})
    rows = spends(parts, WEventPrivacy("4", window=5), ["periodic"] * 20)
    asked = {"clustering": "triangles"}.get(off, off)
    assert all(getattr(row, asked) == 0 for row in rows)
    assert sum(row.total for row in rows[-5:]) == 4


def drift(first: float, second: float) -> Drift:
    """A drift known from very many pairs of measurements."""
    information = np.diag([1e9, 1e15])
    return replace(
        Drift.start(), information=information, rates=np.array([first, second]), known=True
    )


def mode_of(drift, *, mode="undecided", new_share=0.0, window=5, node_window=Fraction(2)):
    return next_mode(
        mode,
        top=np.array([50.0, 200.0]),
        drift=drift,
        new_share=new_share,
        node_window=node_window,
        window=window,
    )


def test_degrees_that_hardly_change_are_asked_once_per_window():
    assert mode_of(drift(0.01, 0)) == "periodic"


def test_degrees_that_change_fast_are_asked_at_every_timestamp():
    assert mode_of(drift(0, 0.2)) == "steady"
    assert mode_of(drift(0.01, 0), new_share=0.5) == "steady"


def test_the_mode_changes_back_later_than_it_came():
    between = drift(0, 0.02)
    assert mode_of(between, mode="periodic") == "periodic"
    assert mode_of(between, mode="steady") == "steady"


def test_drift_is_followed_at_every_timestamp_where_the_budget_is_large():
    """Once per window is compared with every timestamp, not with a fixed error."""
    slow = drift(0, 0.0005)
    assert mode_of(slow, node_window=Fraction(1, 4)) == "periodic"
    assert mode_of(slow, node_window=Fraction(30)) == "steady"


def test_hub_rows_are_not_given_up_for_a_small_error():
    slow = drift(0, 0.01)
    assert mode_of(slow, node_window=Fraction(2)) == "periodic"  # 0.4 at a time: no hub rows
    assert mode_of(slow, node_window=Fraction(5)) == "steady"


def test_nothing_is_decided_before_drift_is_known():
    assert mode_of(Drift.start()) == "undecided"
