"""Every method survives the replay of hard neighbours; deliberate bugs do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest

from psgraph.audit.boundaries import boundary_pairs
from psgraph.audit.neighbours import (
    EPSILONS,
    PATTERNS,
    SIZES,
    WINDOWS,
    attaining_streams,
    neighbouring_streams,
    unrelated_streams,
)
from psgraph.audit.places import PLACES
from psgraph.audit.reach import all_reached
from psgraph.audit.replay import pairs_for, replay_all
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.registry import find_method, method_names
from psgraph.methods.tmf import TmFMeasurement
from psgraph.privacy.budget import Budget, Charge, composed
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.privacy.query import CountQuery
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from tests.insides import snapshot_of

PAIRS = len(PLACES) * len(PATTERNS)


def _edges(snapshot):
    ids = snapshot.roster.ids
    return {*zip(ids[snapshot.u].tolist(), ids[snapshot.v].tolist(), strict=True)}


def test_neighbours_share_everything_public_and_differ_by_an_edge_inside_one_window():
    for pair in (*neighbouring_streams(PAIRS), *attaining_streams()):
        differing = set()
        for timestamp, (one, other) in enumerate(zip(pair.one, pair.other, strict=True)):
            assert one.roster == other.roster
            edges, others = _edges(one), _edges(other)
            assert len(edges ^ others) == (timestamp in pair.differing)
            if edges != others:
                differing.add(timestamp)
        assert differing == pair.differing
        assert max(differing) - min(differing) < pair.guarantee.window


def test_every_place_pattern_and_setting_occurs():
    pairs = list(neighbouring_streams(4 * PAIRS))
    assert {pair.name for pair in pairs} == {
        f"{place} ({pattern})" for place in PLACES for pattern in PATTERNS
    }
    assert {pair.guarantee.window for pair in pairs} == set(WINDOWS)
    assert {pair.guarantee.epsilon for pair in pairs} == set(EPSILONS)
    assert {pair.roster for pair in pairs} == {"same", "growing", "changing"}
    assert {pair.answers.manner for pair in pairs} == {"drawn", "large", "none", "wild"}
    assert max(len(pair.one[0].roster) for pair in pairs) > 200
    assert any(pair.restarts for pair in pairs)


# Answers that an auditor chooses may be of any size: no estimate overflows.
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", method_names())
def test_no_method_diverges_between_neighbours(name):
    method = find_method(name)()
    replayed = replay_all(method, pairs_for(method, PAIRS, thorough=False))
    assert replayed.divergences == ()
    assert replayed.pairs > PAIRS
    # All methods spend what they are charged on some pair: the replay sees the edge.
    assert 0.8 < replayed.largest_loss <= 1
    # Every query, branch, setting and line was reached, and every sensitivity attained.
    assert [row for row in all_reached(method, replayed.reach) if not row.held] == []


def test_what_is_never_reached_is_told():
    method = PSGraphPlus()
    replayed = replay_all(method, neighbouring_streams(2, sizes=SIZES[:1], plain=True))
    missing = {(row.kind, row.name) for row in all_reached(method, replayed.reach) if not row.held}
    assert {
        ("query", "GrowthRows"),
        ("branch", "communities are used"),
        ("setting", "w = 7"),
        ("setting", "a restart"),
    } <= missing
    assert any(kind == "code" and "PSGraphPlus.measure" in name for kind, name in missing)


def test_a_sensitivity_that_is_never_attained_is_told():
    method = find_method("tmf")()
    replayed = replay_all(method, unrelated_streams(2))
    rows = {row.name: row for row in all_reached(method, replayed.reach) if row.kind == "query"}
    assert rows["EdgeCount"].times["replay"] > 0
    assert rows["EdgeCount"].attained is None  # distances of unrelated streams prove nothing
    pair = next(neighbouring_streams(1, plain=True))
    apart = replay_all(method, [replace(pair, other=pair.one, differing=frozenset())])
    [row] = [row for row in all_reached(method, apart.reach) if row.name == "EdgeCount"]
    assert row.attained == 0
    assert not row.held


def test_pairs_that_attain_a_sensitivity_are_replayed_without_variants():
    method = PSGraphPlus()
    [_, *pairs] = attaining_streams()  # whether a pair comes first or second makes no difference
    reach = replay_all(method, pairs, traced=False).reach
    assert not [name for name in reach.kinds("setting") if name.startswith("variant")]
    assert reach.attained["CappedTriangleCount"] == 1


def test_boundaries_of_decisions_are_where_the_path_changes():
    threshold = 40  # PSGraph keeps communities if the count changes by at most one per node
    [*pairs] = boundary_pairs(find_method("psgraph")(), [(6, 1, threshold)], most=9)
    later = [pair for pair in pairs if pair.differing == {1}]
    counts = sorted({min(pair.answers.fixed.values()) for pair in later})
    before = [pair for pair in pairs if pair.differing == {0}]
    assert before
    assert len(counts) >= 4  # m and m + 1 at both ends of the range in which they are kept
    low, high = counts[0], counts[-1]
    assert high - low - 1 == 2 * threshold + 1


def test_a_decision_by_the_true_count_diverges_between_unrelated_streams():
    class Peeking(PSGraphPlus):
        def measure(self, private, state):
            if snapshot_of(private).u.size > 500:
                private.random_order(1)
            return super().measure(private, state)

    replayed = replay_all(Peeking(), unrelated_streams(6), most=1)
    assert replayed.codes == ("queries",)


def test_arguments_of_a_query_that_are_read_off_the_edges_diverge():
    @dataclass(frozen=True)
    class Above(CountQuery):
        least: int
        label = "nodes above"
        sensitivity = 2
        proof = "none"

        def answer(self, edges):
            return 0

    tmf = find_method("tmf")

    class Leaky(tmf):
        def measure(self, private, state):
            truth = int(snapshot_of(private).u.size)
            private.ask(Above(truth), epsilon=private.remaining / 2)
            return super().measure(private, state)

    assert set(replay_all(Leaky(), neighbouring_streams(2, plain=True)).codes) == {"queries"}


def test_a_method_that_shows_its_snapshot_diverges():
    tmf = find_method("tmf")

    class Leaky(tmf):
        def measure(self, private, state):
            if snapshot_of(private).u.size % 2:
                private.random_order(1)
            return super().measure(private, state)

    replayed = replay_all(Leaky(), neighbouring_streams(9), most=1)
    assert replayed.codes == ("queries",)


def test_noise_that_bypasses_the_budget_diverges():
    tmf = find_method("tmf")

    class Bypass(tmf):
        def synthesise(self, state, previous, rng, engine):
            graph = super().synthesise(state, previous, rng, engine)
            keep = np.random.default_rng().random(graph.u.size) < 0.5
            return type(graph)(graph.roster, graph.u[keep], graph.v[keep])

    assert not replay_all(Bypass(), neighbouring_streams(45), most=1).holds


# ---- what a trace costs ----


def _budget(epsilon: int) -> Budget:
    return Budget(Fraction(epsilon), Sampler(RandomSource.seeded(1)))


def _count(budget: Budget, epsilon: int = 1) -> None:
    budget.run(LaplaceCount(3, 1), epsilon=Fraction(epsilon), label="edges")


@pytest.mark.parametrize("names", [("a", "b", "c", "d"), ("a", "b", "a", "b")])
def test_two_sequential_splits_add_up(names):
    budget = _budget(2)
    for pair in (names[:2], names[2:]):
        for part in budget.parallel(Fraction(1), *pair):
            _count(part)
    assert composed(budget.trace) == budget.spent == 2


def test_of_the_parts_of_one_split_the_most_expensive_counts():
    budget = _budget(4)
    _count(budget)
    one, other = budget.parallel(Fraction(3), "one", "other")
    _count(one, 3)
    _count(other, 2)
    assert composed(budget.trace) == budget.spent == 4


def test_a_split_inside_a_part_adds_to_what_the_part_spends_itself():
    budget = _budget(5)
    whole, rest = budget.parallel(Fraction(5), "whole", "rest")
    _count(rest, 4)
    _count(whole)
    for _ in range(2):
        for part in whole.parallel(Fraction(2), "inner", "outer"):
            _count(part, 2)
    assert composed(budget.trace) == 5


def test_splits_survive_a_certificate_and_first_splits_leave_no_trace_in_it():
    budget = _budget(3)
    for _ in range(2):
        for part in budget.parallel(Fraction(1), "a", "b"):
            _count(part)
    written = [charge.to_dict() for charge in budget.trace]
    assert ["split" in line for line in written] == [False, False, True, True]
    assert tuple(map(Charge.from_dict, written)) == budget.trace


@dataclass(frozen=True)
class Constant(CountQuery):
    label = "nothing"
    sensitivity = 1
    proof = "none"

    def answer(self, edges):
        return 0


def test_a_method_that_splits_twice_and_pays_once_is_found():
    tmf = find_method("tmf")

    class Twice(tmf):
        def measure(self, private, state):
            for number in range(2):
                private._budget.spent = Fraction(0)  # the bug
                for part in private.parallel(private.epsilon, f"a{number}", f"b{number}"):
                    part.ask(Constant(), epsilon=part.epsilon)
            return TmFMeasurement(private.roster, 0, np.zeros(0, dtype=np.int64))

    replayed = replay_all(Twice(), neighbouring_streams(1))
    assert replayed.codes == ("charge",)
