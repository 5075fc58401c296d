"""Every method survives the replay of hard neighbours; deliberate bugs do not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from psgraph.audit.neighbours import PATTERNS, PLACES, neighbouring_streams
from psgraph.audit.replay import replay_all
from psgraph.audit.transcripts import Recorder
from psgraph.methods.base import find_method, method_names
from psgraph.methods.plus import PSGraphPlus, communities
from psgraph.methods.plus.triangles import Cap
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
        labels.add(call.facts[1] if call.mechanism is not None else "")
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
    assert "neighbours ask differently" in replayed.divergences[0]


def test_noise_that_bypasses_the_budget_diverges():
    tmf = find_method("tmf")

    class Bypass(tmf):
        def synthesise(self, state, previous, rng, engine):
            graph = super().synthesise(state, previous, rng, engine)
            keep = np.random.default_rng().random(graph.u.size) < 0.5
            return type(graph)(graph.roster, graph.u[keep], graph.v[keep])

    assert not replay_all(Bypass(), neighbouring_streams(45), most=1).holds
