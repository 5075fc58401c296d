"""What the noisy edge count says about older estimates, and what becomes of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.degrees import kept_share
from psgraph.methods.plus.jumps import Verdict, judge, prior_state, recounts
from psgraph.methods.plus.queries import DegreeCurveCounts, KeptEdges
from psgraph.methods.plus.schedule import shares_of
from psgraph.methods.plus.shares import Components, Occasion
from psgraph.methods.plus.state import Jumps
from psgraph.methods.queries import Degrees
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

from .snapshots import hubs_and_leaves, publish

NODES, WINDOW = 3_000, 6
WHOLE = hubs_and_leaves(NODES)
EDGES = WHOLE.u.size


def thinned(share: float) -> Snapshot:
    chosen = np.random.default_rng(3).random(EDGES) < share
    return Snapshot(WHOLE.roster, WHOLE.u[chosen], WHOLE.v[chosen])


THIN = thinned(0.1)


def run(*stream: Snapshot):
    """The charges' labels, measurement and state of every timestamp."""
    rows = publish(PSGraphPlus(), stream, epsilon="2", window=WINDOW)
    return [({charge.label for charge in row[1].trace}, *row[2:]) for row in rows]


@pytest.fixture(scope="module")
def calm():
    """The state after eight timestamps without a jump."""
    return run(*[WHOLE] * 8)[-1][2]


def shares(timestamp: int):
    spending = Accountant(WEventPrivacy("2", window=WINDOW))
    for _ in range(timestamp):
        spending = spending.record(Fraction(0))
    return shares_of(Components(), spending, Occasion(due=False))


def verdict(state, edges: float, *, timestamp: int = 8, nodes: int = NODES) -> Verdict:
    return judge(state, nodes=nodes, noisy_edges=round(edges), shares=shares(timestamp))


def test_noise_and_drift_are_no_jump(calm):
    assert verdict(calm, EDGES * 1.02) == verdict(calm, EDGES * 0.98) == Verdict()
    assert verdict(None, EDGES) == Verdict()


def test_a_rise_is_bought_at_once_and_a_fall_at_the_next_timestamp(calm):
    rise, fall = verdict(calm, 5 * EDGES), verdict(calm, EDGES / 5)
    assert (rise.kind, rise.buys, rise.waits) == ("rise", True, False)
    assert (fall.kind, fall.buys, fall.waits) == ("fall", False, True)
    assert rise.size == pytest.approx(np.log(5), abs=0.1)
    assert fall.factor == pytest.approx(1 / 5, rel=0.1)


def test_a_second_fall_within_a_window_does_not_wait(calm):
    again = replace(calm, jumps=Jumps(last=5))
    assert verdict(again, EDGES / 5).buys
    assert verdict(again, EDGES / 5).restless
    assert verdict(again, EDGES / 5, timestamp=30).waits


def test_a_roster_that_explodes_with_its_edges_is_a_jump(calm):
    assert verdict(calm, 2 * EDGES, nodes=2 * NODES).kind == "none"
    assert verdict(calm, 5 * EDGES, nodes=5 * NODES).size == pytest.approx(np.log(5), abs=0.1)


def test_after_a_part_period_everything_is_as_before():
    rows = run(*[WHOLE] * 8, THIN, *[WHOLE] * 2)
    labels, _, fallen = rows[8]
    assert labels.isdisjoint({Degrees.label, DegreeCurveCounts.label})
    assert fallen.before_fall is rows[7][2]
    assert fallen.edge_count < 0.2 * EDGES
    back = rows[9][2]
    assert back.before_fall is None
    assert np.array_equal(back.nodes.mean, rows[7][2].nodes.mean)
    assert back.edge_count == pytest.approx(EDGES, rel=0.05)


def test_a_fall_that_lasts_is_bought_one_timestamp_later():
    rows = run(*[WHOLE] * 8, *[THIN] * 2)
    assert {Degrees.label, DegreeCurveCounts.label} <= rows[9][0]
    true = np.bincount(np.concatenate([THIN.u, THIN.v]), minlength=NODES)
    degrees = rows[9][2].degrees
    assert degrees.max() < 2 * true.max()


def test_a_first_period_that_is_partial_is_made_up_for_at_the_second():
    rows = run(THIN, WHOLE)
    assert {Degrees.label, DegreeCurveCounts.label} <= rows[1][0]
    true = np.bincount(np.concatenate([WHOLE.u, WHOLE.v]), minlength=NODES)
    assert np.corrcoef(rows[1][2].degrees, true)[0, 1] > 0.7


def test_after_a_partial_first_period_edges_kept_are_counted_once_more():
    rows = run(thinned(0.01), *[WHOLE] * 3)
    assert [KeptEdges.label in row[0] for row in rows] == [False, True, True, False]
    assert [kept_share(row[2].persistence) > 0.9 for row in rows] == [False, False, True, True]


def test_edges_kept_are_counted_once_more_only_if_that_tells_something_new(calm):
    unknown = replace(calm, persistence=replace(calm.persistence, variance=np.array([0.08])))
    rise = Verdict("rise", size=1.0, factor=3.0, buys=True)

    def counted(state, found, *, edges=3 * EDGES, timestamp=8):
        share = Fraction(2, 100)
        return recounts(state, found, noisy_edges=edges, shares=shares(timestamp), share=share)

    assert counted(unknown, rise)
    assert not counted(calm, rise)
    assert not counted(unknown, Verdict())
    assert not counted(unknown, rise, edges=100)  # the noise has a scale of 50
    assert not counted(unknown, rise, timestamp=WINDOW + 1)  # a count is scheduled there
    assert not counted(replace(unknown, jumps=Jumps(recounts=True)), rise)


def test_a_state_before_a_fall_is_kept_for_a_window_and_never_nested():
    rows = run(*[WHOLE] * 8, *[THIN] * 9)
    kept = [row[2].before_fall is not None for row in rows[8:]]
    assert kept == [True] * (WINDOW + 1) + [False] * 2
    assert rows[8][2].before_fall.before_fall is None
    rows = run(*[WHOLE] * 8, THIN, thinned(0.01), thinned(0.02))
    assert rows[-1][2].before_fall is rows[7][2]


def test_structure_is_forgotten_only_where_it_is_bought_again(calm):
    jump = Verdict("rise", size=1.6, factor=5.0, buys=True)
    bought = shares_of(Components(), Accountant(WEventPrivacy("2", window=WINDOW)), Occasion())
    assert not prior_state(calm, jump, bought).mixing.seen.any()
    unbought = prior_state(calm, jump, shares(8))
    assert unbought.mixing is calm.mixing
    assert unbought.curve_track is calm.curve_track
    assert unbought.curve is None


def test_node_degrees_are_scaled_and_doubted(calm):
    after = prior_state(calm, Verdict("rise", size=1.6, factor=5.0, buys=True), shares(8)).nodes
    assert np.allclose(after.mean, 5 * calm.nodes.mean)
    assert (after.variance >= 25 * calm.nodes.variance).all()


def test_an_empty_roster_in_between_is_no_jump():
    empty = Snapshot(Roster.range(0), [], [])
    assert [row[2].edge_count for row in run(WHOLE, empty, WHOLE)][1] == 0
