"""The schedule never exceeds a window, whatever released values say."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.methods.plus.method import PSGraphPlus
from psgraph.methods.plus.modes import Largest, next_mode
from psgraph.methods.plus.nodes import Drift
from psgraph.methods.plus.schedule import (
    fixed_shares,
    purchase,
    typical_shares,
    with_few_edges,
)
from psgraph.methods.plus.shares import NONE, Components, Occasion
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.planning import plan

MODES = ("undecided", "periodic", "steady")


def spends(parts, guarantee, modes):
    """A calm stream: a window opens w timestamps after the last one."""
    occasions = [Occasion(mode, due=t % guarantee.window == 0) for t, mode in enumerate(modes)]
    return spends_on(parts, guarantee, occasions)


def spends_on(parts, guarantee, occasions):
    spending, rows = Accountant(guarantee), []
    for occasion in occasions:
        fixed, free = fixed_shares(parts, spending)
        spending.check(fixed.total + free)  # what is requested
        before = rows[-1] if rows else fixed
        reserved = before.reserved if before.timestamp % guarantee.window else NONE
        shares = purchase(parts, fixed, free, replace(occasion, counts=bool(reserved)))
        spending = spending.record(shares.total)
        counts = shares.persistence + shares.reserved - fixed.persistence - fixed.reserved
        assert 0 <= shares.bought == shares.total - fixed.total - counts <= free - counts
        assert shares.persistence == (before.reserved if rows else NONE)
        rows.append(shares)
    return rows


occasions = st.builds(
    Occasion,
    st.sampled_from(MODES),
    due=st.booleans(),
    waits=st.booleans(),
    jump=st.sampled_from([0.0, 0.15, 0.5, 1.0, 4.0]),
    searches=st.booleans(),
    recounts=st.booleans(),
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(occasions, min_size=1, max_size=25),
    st.integers(1, 9),
    st.fractions(Fraction(1, 100), 50),
    st.builds(Components, st.booleans(), st.booleans(), st.booleans(), st.booleans()),
)
def test_no_window_exceeds_epsilon_whatever_released_values_say(found, window, epsilon, parts):
    rows = spends_on(parts, WEventPrivacy(epsilon, window=window), found)
    for start in range(len(rows)):
        assert sum(row.total for row in rows[start : start + window]) <= epsilon
        assert sum(row.bought for row in rows[start : start + window]) <= rows[0].pool


def test_one_more_count_of_edges_kept_is_paid_half_by_each_of_two_timestamps():
    calm, jump = Occasion(due=False), Occasion(due=False, jump=1.0, recounts=True)
    rows = spends_on(Components(), WEventPrivacy("1", window=5), [Occasion(), jump, calm, calm])
    half = Fraction(1, 100)
    assert [row.reserved for row in rows] == [half, half, NONE, NONE]
    assert [row.persistence for row in rows] == [NONE, half, half, NONE]
    assert sum(row.total for row in rows) <= 1


def test_edges_kept_are_not_counted_once_more_where_they_are_off_or_counted_next_anyway():
    jump = Occasion(due=False, jump=1.0, recounts=True)
    guarantee, off = WEventPrivacy("1", window=5), Components(persistence=False)
    assert not any(row.reserved for row in spends_on(off, guarantee, [Occasion(), jump]))
    rows = spends_on(Components(), guarantee, [Occasion(), *[Occasion(due=False)] * 4, jump])
    assert rows[-1].reserved == Fraction(1, 100)


@pytest.mark.parametrize(("mode", "left"), [("periodic", "0.2"), ("steady", "0.08")])
@pytest.mark.parametrize("window", [2, 5, 20])
def test_a_calm_window_leaves_its_reserve_and_a_jump_spends_it(mode, left, window):
    guarantee, calm = WEventPrivacy("1", window=window), [Occasion(mode, due=False)] * window
    rows = spends(Components(), guarantee, [mode] * (4 * window))
    reserve = Fraction(left) * rows[0].pool
    assert sum(row.total for row in rows[-window:]) == 1 - reserve
    modes = [Occasion(mode, due=t % window == 0) for t in range(4 * window)]
    jumped = spends_on(Components(), guarantee, [*modes, *calm[:1], Occasion(mode, False, jump=1)])
    assert sum(row.total for row in jumped[-window:]) == 1


def test_a_window_after_a_jump_has_as_much_as_any_other():
    for mode in ("periodic", "steady"):
        calm = [Occasion(mode, due=t % 5 == 0) for t in range(30)]
        jump = [*calm[:23], Occasion(mode, due=False, jump=2.0), *calm[24:]]
        one, other = (
            spends_on(Components(), WEventPrivacy("1", window=5), found) for found in (calm, jump)
        )
        assert other[23].curve > one[23].curve == 0
        assert other[24:] == one[24:]


def test_nothing_is_bought_at_the_first_timestamp_of_a_fall_even_where_a_window_opens():
    found = [Occasion("steady", due=t % 5 == 0) for t in range(10)]
    rows = spends_on(
        Components(), WEventPrivacy("1", window=5), [*found, Occasion("steady", waits=True)]
    )
    assert rows[-1].total == rows[-1].fixed
    assert not rows[-1].opens


def test_a_small_jump_takes_part_of_what_is_free():
    guarantee, parts = WEventPrivacy("1", window=5), Components()
    small, large = (
        spends_on(parts, guarantee, [Occasion(), Occasion("periodic", due=False, jump=jump)])[-1]
        for jump in (0.2, 0.7)
    )
    assert 0 < small.bought == Fraction(3, 10) * large.bought


def test_edges_kept_are_paid_half_by_each_of_two_timestamps():
    rows = spends(Components(), WEventPrivacy("1", window=4), ["periodic"] * 12)
    for row, after in pairwise(rows):
        assert row.reserved == after.persistence
        assert row.reserved == (Fraction(1, 100) if row.timestamp % 4 == 0 else NONE)


def test_structure_is_asked_once_per_window():
    rows = spends(Components(), WEventPrivacy("2", window=3), ["undecided", *["steady"] * 6])
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
    assert sum(row.bought for row in rows[-5:]) == Fraction(4, 5) * rows[0].pool


def drift(first: float, second: float) -> Drift:
    """A drift known from very many pairs of measurements."""
    information = np.diag([1e9, 1e15])
    return replace(
        Drift.start(), information=information, rates=np.array([first, second]), known=True
    )


UNKNOWN = (0.0, 0.08)


def mode_of(
    drift, *, mode="undecided", new_share=0.0, window=5, node_window=Fraction(2), kept=UNKNOWN
):
    return next_mode(
        mode,
        [Largest(np.array([50.0, 200.0]), drift, new_share)],
        node_window=node_window,
        window=window,
        kept=kept,
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


def test_where_the_share_of_edges_that_stay_is_known_it_decides():
    slow, fast = drift(0.01, 0), drift(0, 0.2)
    assert mode_of(slow, kept=(0.3, 0.01)) == "steady"
    assert mode_of(fast, kept=(0.9, 0.01)) == "periodic"
    assert mode_of(fast, kept=(0.78, 0.01), mode="periodic") == "periodic"
    assert mode_of(fast, kept=(0.78, 0.01), mode="steady") == "steady"
    drowned = Fraction(1, 20)  # at every timestamp: noise of scale 200 on degrees of 50 to 200
    assert mode_of(slow, kept=(0.3, 0.01), node_window=drowned) == "periodic"


def test_nothing_is_decided_before_drift_is_known():
    assert mode_of(Drift.start()) == "undecided"


@pytest.mark.parametrize("epsilon", ["1/10", "1", "40"])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 9, 30, 61])
def test_what_a_plan_lists_is_what_a_stream_spends(epsilon, window):
    guarantee, parts, first = WEventPrivacy(epsilon, window=window), Components(), Occasion()
    between, jump = Occasion(due=False), Occasion(due=False, jump=1.0)
    if window == 1:
        rows = spends_on(parts, guarantee, [first, first])
        expected = {"first timestamp": rows[0], "every later timestamp": rows[1]}
        assert typical_shares(parts, guarantee) == expected
        return
    second, jumped = (spends_on(parts, guarantee, [first, after])[1] for after in (between, jump))
    expected = {
        "first timestamp": spends_on(parts, guarantee, [first])[0],
        "second timestamp": second,
        "a jump of the edge count at the second timestamp": jumped,
    }
    for mode, words in (("steady", "every timestamp"), ("periodic", "once per window")):
        calm = [Occasion(mode, due=t % window == 0) for t in range(1, 3 * window + 1)]
        rows = spends_on(parts, guarantee, [first, *calm, replace(jump, mode=mode)])
        expected[f"a window begins, degrees {words}"] = rows[2 * window]
        if window > 2:
            expected[f"after a window begins, degrees {words}"] = rows[2 * window + 1]
        expected[f"a window ends, degrees {words}"] = rows[3 * window - 1]
        expected[f"a jump of the edge count, degrees {words}"] = rows[-1]
    cases = typical_shares(parts, guarantee)
    assert cases == expected
    assert list(cases) == list(expected)


def test_a_plan_takes_no_longer_for_a_long_window():
    started = process_time()
    plan(WEventPrivacy("1", window=1_000_000), nodes=1000, edges=5000, method=PSGraphPlus())
    assert process_time() - started < 0.5


@settings(max_examples=100, deadline=None)
@given(
    st.lists(occasions, min_size=1, max_size=8),
    st.sampled_from([Components(two_sides=True), Components(two_sides=True, reciprocity=True)]),
    st.booleans(),
    st.sampled_from(["0.05", "1", "40"]),
    st.floats(min_value=-1e3, max_value=1e7),
    st.integers(min_value=0, max_value=100_000),
)
def test_few_edges_move_shares_and_not_their_sum(found, parts, weights, epsilon, edges, nodes):
    parts = replace(parts, weights=weights, hubs=False, clustering=False)
    for shares in spends_on(parts, WEventPrivacy(epsilon, window=3), found):
        moved = with_few_edges(shares, edges=edges, nodes=nodes)
        assert moved.total == shares.total
        assert all(getattr(moved, each) >= 0 for each in ("mixing", "active", "nodes", "curve"))
        assert moved.reciprocity >= shares.reciprocity
        assert moved.weights == shares.weights


def test_what_would_drown_is_given_up_where_edges_are_few_and_kept_where_they_are_many():
    parts = Components(two_sides=True, reciprocity=True, hubs=False, clustering=False)
    fixed, free = fixed_shares(parts, Accountant(WEventPrivacy("1", window=5)))
    shares = purchase(parts, fixed, free, Occasion())
    assert with_few_edges(shares, edges=1e6, nodes=100_000) == shares
    few = with_few_edges(shares, edges=300, nodes=300)
    assert few.mixing == few.active == 0
    assert few.reciprocity > shares.reciprocity
    assert few.curve > shares.curve
