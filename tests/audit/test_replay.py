"""Every method survives the replay of hard neighbours; deliberate bugs do not."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from psgraph.audit.neighbours import PATTERNS, PLACES, neighbouring_streams
from psgraph.audit.replay import composed, replay_all
from psgraph.audit.transcripts import Recorder
from psgraph.methods.plus import PSGraphPlus, communities
from psgraph.methods.plus.triangles import Cap
from psgraph.methods.registry import find_method, method_names
from psgraph.methods.tmf import TmFMeasurement
from psgraph.privacy.budget import Budget, Charge
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.privacy.query import CountQuery
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from tests.insides import snapshot_of

PAIRS = 504  # eight times every combination of place and pattern


def test_neighbours_share_everything_public_and_differ_by_an_edge_inside_one_window():
    for pair in neighbouring_streams(len(PLACES) * len(PATTERNS)):
        differing = set()
        for timestamp, (one, other) in enumerate(zip(pair.one, pair.other, strict=True)):
            assert one.roster == other.roster
            edges, others = ({*zip(s.u.tolist(), s.v.tolist(), strict=True)} for s in (one, other))
            assert len(edges ^ others) == (timestamp in pair.differing)
            if edges != others:
                differing.add(timestamp)
        assert differing == pair.differing
        assert max(differing) - min(differing) < pair.window


def test_every_place_and_pattern_occurs():
    names = {pair.name for pair in neighbouring_streams(len(PLACES) * len(PATTERNS))}
    assert names == {f"{place} ({pattern})" for place in PLACES for pattern in PATTERNS}


@pytest.mark.parametrize("name", method_names())
def test_no_method_diverges_between_neighbours(name):
    replayed = replay_all(find_method(name)(), neighbouring_streams(PAIRS), epsilon=Fraction(6))
    assert replayed.divergences == ()
    assert replayed.pairs == PAIRS
    # All methods spend what they are charged on some pair: the replay sees the edge.
    assert 0.8 < replayed.largest_loss <= 1


def test_the_search_for_communities_does_not_diverge(monkeypatch):
    # Tiny graphs are never searched by rule; here all are.
    monkeypatch.setattr(communities, "ENOUGH", 0.0)
    monkeypatch.setattr(communities, "MOST_DOUBT", np.inf)
    labels = set()
    real = Recorder.add

    def add(self, call):
        labels.add(call.facts[1] if call.query is not None else "")
        real(self, call)

    monkeypatch.setattr(Recorder, "add", add)
    replayed = replay_all(
        find_method("psgraph-plus")(), neighbouring_streams(126), epsilon=Fraction(6)
    )
    assert replayed.divergences == ()
    assert {"edges to labelled nodes", "edges between communities"} <= labels


def test_a_capped_count_of_triangles_does_not_diverge(monkeypatch):
    # Tiny graphs have no cap by rule; here all have.
    monkeypatch.setattr("psgraph.methods.plus.method.best_cap", lambda *_: Cap(2, 1.0))
    replayed = replay_all(PSGraphPlus(), neighbouring_streams(16))
    assert replayed.divergences == ()
    assert replayed.largest_loss <= 1


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
