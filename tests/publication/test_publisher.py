"""The publisher: measure, account, synthesise, certify; and nothing beyond the guarantee."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

import psgraph as pg
from psgraph.errors import (
    BudgetError,
    BudgetExceeded,
    InvalidArgument,
    MethodError,
    OutOfOrder,
    PsgraphError,
)
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import Query
from psgraph.publication.publisher import Publisher
from tests.insides import budget_of
from tests.refusals import refused

GUARANTEE = WEventPrivacy("1", window=5)


def snapshot(*, nodes: int = 60, edges: int = 150, seed: int = 1, time: str | None = None):
    ends = np.random.default_rng(seed).integers(0, nodes, size=(2, edges))
    return Snapshot(Roster.range(nodes), *ends, time=time)


class CountingEdges(Method):
    """A method of one noisy number; what it does can be changed by a test."""

    name = "counting"
    records = ()

    caveat = None

    def __init__(self) -> None:
        self.measured = 0

    def parameters(self):
        return {}

    def plan(self, guarantee, *, nodes):
        return [NoisePlan.of("always", EdgeCount, guarantee.per_timestamp)]

    def measure(self, private, state):
        self.measured += 1
        return private.roster, private.ask(EdgeCount(), epsilon=private.remaining)

    def update(self, state, measurement):
        return measurement

    def synthesise(self, state, previous, rng, engine):
        return SyntheticGraph(state[0], [], [])

    def summary(self, state):
        return {"noisy_edges": state[1]}


# ---- accounting ----


@pytest.mark.parametrize("window", [1, 2, 5])
@pytest.mark.parametrize("epsilon", ["1", "1/3", "0.07"])
def test_every_window_stays_within_epsilon(window, epsilon):
    guarantee = WEventPrivacy(epsilon, window)
    spends = []
    with Publisher(PSGraph(), guarantee, seed=1) as publisher:
        for index in range(2 * window + 1):
            certificate = publisher.publish(snapshot(seed=index)).certificate
            spends.append(certificate.spent)
            assert certificate.timestamp == index
            assert certificate.window_spent == sum(spends[-window:])
            assert publisher.spending.spent == certificate.window_spent
    for first in range(len(spends)):
        assert sum(spends[first : first + window]) <= guarantee.epsilon
    assert sum(spends[:window]) == guarantee.epsilon


def test_the_trace_of_every_timestamp_adds_up_to_its_share():
    with Publisher(PSGraph(), GUARANTEE, seed=1) as publisher:
        for index in range(3):
            certificate = publisher.publish(snapshot(seed=index)).certificate
            parts: dict[str, Fraction] = {}
            for charge in certificate.charges:
                parts[charge.part] = parts.get(charge.part, Fraction(0)) + charge.epsilon
            sequential = parts.pop("")
            assert sequential + max(parts.values()) == certificate.spent == Fraction(1, 5)


def test_a_method_can_not_spend_more_than_its_share():
    class Greedy(CountingEdges):
        def measure(self, private, state):
            super().measure(private, state)
            return super().measure(private, state)

    class Forger(CountingEdges):
        def measure(self, private, state):
            budget_of(private).epsilon *= 10
            return super().measure(private, state)

    class Hungry(CountingEdges):
        def measure(self, private, state):
            return private.ask(EdgeCount(), epsilon=Fraction(1, 4))

    refusals = {Greedy: MethodError, Forger: MethodError, Hungry: BudgetExceeded}
    for kind, error in refusals.items():
        publisher = Publisher(kind(), GUARANTEE, seed=1)
        with pytest.raises(error):
            publisher.publish(snapshot())
        assert publisher.spending.timestamps == 0
        assert publisher.spending.spent == 0


def test_a_share_that_is_not_used_is_booked_all_the_same():
    class Modest(CountingEdges):
        def measure(self, private, state):
            private.ask(EdgeCount(), epsilon=Fraction(1, 100))
            return private.roster, 0

    publisher = Publisher(Modest(), GUARANTEE, seed=1)
    assert publisher.publish(snapshot()).certificate.spent == Fraction(1, 5)
    assert publisher.spending.spent == Fraction(1, 5)


@dataclass(frozen=True)
class Guess(Mechanism[int]):
    name, proof, proven = "guess", "none", False
    sensitivity = 1
    shape = (1,)

    def draw(self, sampler, epsilon):
        return int(sampler.integers(1, 9)[0])


@dataclass(frozen=True)
class GuessedEdges(Query[int]):
    label, sensitivity, noise, proof = "edges", 1, Guess.name, Guess.proof

    def shape(self, nodes):
        return (1,)

    def answer(self, edges):
        return None

    def mechanism(self, answer):
        return Guess()


class Guessing(CountingEdges):
    def measure(self, private, state):
        return private.roster, private.ask(GuessedEdges(), epsilon=private.remaining)


def test_an_unproven_mechanism_without_a_caveat_is_not_published(tmp_path):
    publisher = Publisher(Guessing(), GUARANTEE, ledger=tmp_path / "ledger.sqlite")
    with publisher, pytest.raises(MethodError, match=r"\(guess\)"):
        publisher.publish(snapshot())
    assert publisher.spending.timestamps == 0

    class Honest(Guessing):
        caveat = Caveat(None, "It guesses.")

    certificate = Publisher(Honest(), GUARANTEE, not_private=True).publish(snapshot()).certificate
    assert certificate.private is False
    assert certificate.charges[0].proven is False


def test_a_failure_while_measuring_leaves_no_mark():
    class Fragile(CountingEdges):
        def measure(self, private, state):
            if self.measured == 1:
                self.measured += 1
                raise MethodError("out of order")
            return super().measure(private, state)

    publisher = Publisher(Fragile(), GUARANTEE, seed=1)
    first = publisher.publish(snapshot())
    with pytest.raises(MethodError):
        publisher.publish(snapshot())
    assert publisher.spending.timestamps == 1
    assert publisher.publish(snapshot()).timestamp == first.timestamp + 1


def test_a_changed_roster_is_refused():
    class Wanderer(CountingEdges):
        def synthesise(self, state, previous, rng, engine):
            return SyntheticGraph(Roster.range(3), [], [])

    with refused(MethodError, "roster"):
        Publisher(Wanderer(), GUARANTEE, seed=1).publish(snapshot())


# ---- releases and certificates ----


def test_the_certificate_says_it_all():
    with Publisher(PSGraph(), GUARANTEE) as publisher:
        release = publisher.publish(snapshot(time="2024-05-01"))
    content = json.loads(release.certificate.to_json())
    assert content["private"] is True
    assert content["promise"] == GUARANTEE.text
    assert content["unit"] == GUARANTEE.unit.text
    assert (content["epsilon"], content["window"]) == ("1", 5)
    assert content["spent"]["timestamp"] == content["spent"]["window"] == "0.2"
    assert [line["label"] for line in content["spent"]["mechanisms"]] == [
        "edges",
        "super-graph edges",
        "community choice",
        "inner degrees",
        "outer degrees",
        "community edges",
    ]
    assert content["method"] == "psgraph"
    assert content["version"] == pg.__version__
    assert content["parameters"] == PSGraph().parameters()
    assert content["time"] == "2024-05-01"
    assert content["noise"] == "exact"
    assert content["nodes"] == 60
    assert content["edges"] == release.graph.edge_count
    assert content["summary"]["noisy_edges"] == max(release.graph.edge_count, 0) or (
        content["summary"]["noisy_edges"] < 0
    )
    assert "given from outside" in content["roster"]


def test_a_roster_from_edges_is_stated():
    graph = Snapshot.from_edges([(1, 2), (2, 3)], roster_from_edges=True)
    release = Publisher(PSGraph(), GUARANTEE, seed=1).publish(graph)
    assert "is public and not protected" in release.certificate.roster


def test_a_seeded_run_promises_nothing_and_repeats():
    def run(seed: int | None) -> list[pg.Release]:
        with Publisher(PSGraph(), GUARANTEE, seed=seed) as publisher:
            return list(publisher.publish_all(snapshot(seed=index) for index in range(3)))

    one, same, other = run(4), run(4), run(5)
    assert all(not release.certificate.private for release in one)
    assert one[0].certificate.promise.text.startswith("No privacy is promised")
    assert [r.certificate.to_json() for r in one] == [r.certificate.to_json() for r in same]
    assert all(a.graph == b.graph for a, b in zip(one, same, strict=True))
    assert any(a.graph != b.graph for a, b in zip(one, other, strict=True))
    secret = run(None)
    assert all(release.certificate.private for release in secret)
    assert any(a.graph != b.graph for a, b in zip(secret, run(None), strict=True))


def test_a_caveat_is_certified():
    method = CountingEdges()
    method.caveat = Caveat(None, "It is a sketch.")  # type: ignore[attr-defined]
    certificate = Publisher(method, GUARANTEE, not_private=True).publish(snapshot()).certificate
    assert not certificate.private
    assert certificate.promise.text == "No privacy is promised: It is a sketch."
    method.caveat = Caveat(Fraction(2), "Twice as much.")  # type: ignore[attr-defined]
    certificate = Publisher(method, GUARANTEE, not_private=True).publish(snapshot()).certificate
    assert certificate.promise.provides == WEventPrivacy("2", 5)
    assert certificate.private


def test_nothing_private_is_in_a_certificate_or_a_text_form():
    graph = snapshot(nodes=90, edges=333)
    true_edges = str(graph.u.size)
    release = Publisher(PSGraph(), GUARANTEE, seed=12).publish(graph)
    assert true_edges not in release.certificate.to_json()
    assert true_edges not in repr(graph)


def test_opendp_noise():
    with Publisher(PSGraph(), GUARANTEE, noise="opendp") as publisher:
        release = publisher.publish(snapshot())
    assert release.certificate.private
    assert release.certificate.noise == "opendp"
    with refused(PsgraphError, "noise_seed"):
        Publisher(PSGraph(), GUARANTEE, noise="opendp", seed=1)


# ---- order and wrong input ----


def test_publish_all_is_lazy():
    method = CountingEdges()
    releases = Publisher(method, GUARANTEE, seed=1).publish_all(snapshot() for _ in range(10))
    assert method.measured == 0
    next(releases)
    assert method.measured == 1


def test_timestamps_come_in_order():
    publisher = Publisher(PSGraph(), GUARANTEE, seed=1)
    with pytest.raises(OutOfOrder):
        publisher.publish(snapshot(), timestamp=1)
    with pytest.raises(OutOfOrder):
        publisher.publish(snapshot(), timestamp=-1)
    publisher.publish(snapshot(), timestamp=0)
    with refused(OutOfOrder, "already_published"):
        publisher.publish(snapshot(), timestamp=0)
    assert publisher.spending.timestamps == 1


@pytest.mark.parametrize("wrong", [None, [(1, 2)], "edges.csv"])
def test_only_snapshots_are_published(wrong):
    with refused(InvalidArgument, "snapshot"):
        Publisher(PSGraph(), GUARANTEE, seed=1).publish(wrong)


def test_a_synthetic_graph_is_no_snapshot():
    graph = SyntheticGraph(Roster.range(2), [0], [1])
    with refused(InvalidArgument, "snapshot"):
        Publisher(PSGraph(), GUARANTEE, seed=1).publish(graph)


def test_wrong_arguments_fail_before_data_is_touched():
    with refused(InvalidArgument, "noise"):
        Publisher(PSGraph(), GUARANTEE, noise="gaussian")
    with pytest.raises(InvalidArgument, match="seed"):
        Publisher(PSGraph(), GUARANTEE, seed=-1)


def test_an_epsilon_too_small_to_draw_noise_for_is_refused():
    publisher = Publisher(PSGraph(), WEventPrivacy("1e-30", window=5), seed=1)
    with pytest.raises(BudgetError):
        publisher.publish(snapshot())
    assert publisher.spending.timestamps == 0
