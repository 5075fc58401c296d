from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from psgraph.engines.rank_one import Blocks
from psgraph.engines.sampling import sample
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.ldpgen import LDPGen
from psgraph.methods.privgraph import PrivGraph
from psgraph.methods.privhrg import PrivHRG
from psgraph.methods.psgraph import PSGraph
from psgraph.methods.queries import Degrees, EdgeCount
from psgraph.methods.tmf import TmF
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.query import CountQuery, Query
from psgraph.testing import check_method
from psgraph.testing.conformance import CHECKS
from tests.insides import budget_of, snapshot_of


@pytest.mark.parametrize(
    "method",
    [
        TmF(),
        TmF(count_share="1/3", filter="linear"),
        PrivGraph(),
        PrivGraph(supernode_size=3, choice_constant="reference"),
        LDPGen(),
        LDPGen(first_groups=3, consistent=True, ldp_scale=True),
        PSGraph(),
        PSGraph(threshold="0.01", fusion=False, postprocess=False, between="symmetric"),
    ],
    ids=lambda method: f"{method.name}-{'-'.join(map(str, method.parameters().values()))}",
)
def test_psgraphs_own_methods_keep_the_protocol(method):
    report = check_method(method)
    assert report.method == method.name
    assert report.checks == tuple(CHECKS)
    assert str(report).count("✓") == len(CHECKS)


# ---- one good method, and one that breaks each rule ----


@dataclass(frozen=True)
class Learned:
    roster: Roster
    noisy_edge_count: int
    noisy_degrees: np.ndarray
    extra: int = 0


class Good(Method):
    """Degrees with noise, and a random graph with such degrees."""

    name = "good"
    records = (Learned,)
    queries = (EdgeCount, Degrees)

    def __init__(self, *, share: str = "1/2") -> None:
        self.share = Fraction(share)

    def parameters(self):
        return {"share": str(self.share)}

    def plan(self, guarantee, *, nodes):
        epsilon = guarantee.per_timestamp
        edges = epsilon * self.share
        return [
            NoisePlan.of("always", EdgeCount, edges),
            NoisePlan.of("always", Degrees, epsilon - edges),
        ]

    def measure(self, private, state):
        edges = private.ask(EdgeCount(), epsilon=private.remaining * self.share)
        return Learned(private.roster, edges, self._degrees(private))

    def _degrees(self, private):
        return private.ask(Degrees(), epsilon=private.remaining)

    def update(self, state, measurement):
        return measurement

    def synthesise(self, state, previous, rng, engine):
        weights = np.maximum(state.noisy_degrees, 0).astype(float)
        total = weights.sum()
        block = np.zeros(1 if total else 0, dtype=np.int32)
        labels = np.zeros(weights.size, dtype=np.int32)
        rates = np.full(block.size, 1 / max(total, 1))
        blocks = Blocks(weights, labels, block, block, rates)
        parts = sample(engine, blocks, seed=int(rng.integers(1 << 63)))
        return SyntheticGraph.from_parts(state.roster, parts)

    def summary(self, state):
        return {"noisy_edges": state.noisy_edge_count}


def test_a_good_method_passes():
    check_method(Good())


def changed(learned: Learned, **fields) -> Learned:
    return Learned(**{**learned.__dict__, **fields})


class WithoutPlan(Good):
    plan = None


class MutableRecord(Good):
    @dataclass
    class Loose:
        value: int

    records = (Learned, Loose)


class CaveatAsText(Good):
    caveat = "be careful"


class ByPosition(Good):
    def __init__(self, share: str = "1/2") -> None:
        super().__init__(share=share)


class FractionAsParameter(Good):
    def parameters(self):
        return {"share": self.share}


class RoundsItsParameter(Good):
    def parameters(self):
        return {"share": str(self.share / 2)}


class DividesByEdges(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        1 / snapshot_of(private).u.size
        return learned


class NeedsTwoNodes(Good):
    def synthesise(self, state, previous, rng, engine):
        assert len(state.roster) >= 2, "too few nodes"
        return super().synthesise(state, previous, rng, engine)


class KeepsTheFirstRoster(Good):
    def update(self, state, measurement):
        return measurement if state is None else changed(measurement, roster=state.roster)

    def synthesise(self, state, previous, rng, engine):
        return SyntheticGraph(state.roster, [], [])


class ReturnsASnapshot(Good):
    def synthesise(self, state, previous, rng, engine):
        return Snapshot(state.roster, [], [])


class SummaryOfArrays(Good):
    def summary(self, state):
        return {"degrees": state.noisy_degrees}


class Thrifty(Good):
    def _degrees(self, private):
        return private.ask(Degrees(), epsilon=private.remaining / 2)


class Spendthrift(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        private.ask(EdgeCount(), epsilon=Fraction(1))
        return learned


@dataclass(frozen=True)
class Guess(Mechanism[np.ndarray]):
    nodes: int
    name, proof, proven = "guess", "none", False
    sensitivity = 1

    @property
    def shape(self):
        return (self.nodes,)

    def draw(self, sampler, epsilon):
        return sampler.integers(self.nodes, 5)


@dataclass(frozen=True)
class GuessedDegrees(Query[np.ndarray]):
    label, sensitivity, noise, proof = "degrees", 1, Guess.name, Guess.proof

    def shape(self, nodes):
        return (nodes,)

    def answer(self, edges):
        return edges.nodes

    def mechanism(self, answer):
        return Guess(answer)


class UnprovenWithoutCaveat(Good):
    queries = (EdgeCount, GuessedDegrees)

    def plan(self, guarantee, *, nodes):
        edges, degrees = super().plan(guarantee, nodes=nodes)
        return [edges, NoisePlan.of("always", GuessedDegrees, degrees.epsilon)]

    def _degrees(self, private):
        return private.ask(GuessedDegrees(), epsilon=private.remaining)


class UnprovenWithCaveat(UnprovenWithoutCaveat):
    caveat = Caveat(None, "Nothing is proved of it.")


class SilentMarkovChain(PrivHRG):
    name = "good"
    caveat = None


class PlansAnotherSplit(Good):
    def plan(self, guarantee, *, nodes):
        return super().plan(WEventPrivacy(2 * guarantee.epsilon, guarantee.window), nodes=nodes)


class PlansAnotherSensitivity(Good):
    def plan(self, guarantee, *, nodes):
        rows = super().plan(guarantee, nodes=nodes)
        return [NoisePlan(row.case, row.label, row.epsilon, 1) for row in rows]


class OwnNoise(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        return changed(learned, extra=int(np.random.default_rng().integers(1 << 60)))


@dataclass(frozen=True)
class Nothing(CountQuery):
    label, sensitivity, proof = "degrees", 1, "none"

    def answer(self, edges):
        return 0


class BranchesOnTheEdges(Good):
    queries = (EdgeCount, Nothing, Degrees)

    def _degrees(self, private):
        if snapshot_of(private).u.size % 2:
            private.ask(Nothing(), epsilon=private.remaining / 2)
        return super()._degrees(private)

    def plan(self, guarantee, *, nodes):
        half = guarantee.per_timestamp / 2
        lines = [("edges", half, 1), ("degrees", half, 2)]
        lines += [("degrees", half / 2, 1), ("degrees", half / 2, 2)]
        return [NoisePlan("always", *line) for line in lines]


class OneNoiseForEachEdge(Good):
    def _degrees(self, private):
        edges = snapshot_of(private).u.size
        budget_of(private).run(
            LaplaceCounts(np.ones(edges, dtype=np.int64), 1),
            epsilon=private.remaining / 2,
            label="edges again",
        )
        return super()._degrees(private)

    def plan(self, guarantee, *, nodes):
        half = guarantee.per_timestamp / 2
        lines = [("edges", half, 1), ("edges again", half / 2, 1), ("degrees", half / 2, 2)]
        return [NoisePlan("always", *line) for line in lines]


class TellsTheEdgeCount(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        return changed(learned, extra=int(snapshot_of(private).u.size))


class TellsOneDegree(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        degrees = learned.noisy_degrees.copy()
        degrees[3:4] = np.count_nonzero(snapshot_of(private).u == 3)
        return changed(learned, noisy_degrees=degrees)


class TellsTheEdges(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        first = snapshot_of(private).v[:1].astype(np.int64)
        return changed(learned, extra=0, noisy_degrees=first)

    def synthesise(self, state, previous, rng, engine):
        return SyntheticGraph(state.roster, [], [])


class KeepsTheSnapshot(Good):
    def measure(self, private, state):
        self.snapshot = snapshot_of(private)
        return super().measure(private, state)

    def synthesise(self, state, previous, rng, engine):
        return SyntheticGraph(state.roster, self.snapshot.u, self.snapshot.v)


class CountsItsSteps(Good):
    steps = 0

    def update(self, state, measurement):
        self.steps += 1
        return changed(measurement, extra=self.steps)


class StoresAList(Good):
    def measure(self, private, state):
        learned = super().measure(private, state)
        return changed(learned, noisy_degrees=learned.noisy_degrees.tolist())


class UnknownRecord(Good):
    @dataclass(frozen=True)
    class Other:
        roster: Roster
        noisy_degrees: np.ndarray
        noisy_edge_count: int

    def update(self, state, measurement):
        return self.Other(
            measurement.roster, measurement.noisy_degrees, measurement.noisy_edge_count
        )


class OwnDice(Good):
    def synthesise(self, state, previous, rng, engine):
        return super().synthesise(state, previous, np.random.default_rng(), engine)


class PointsAtTheEdges(Good):
    """Holds a view of the edges, of which only the number goes into the noisy count."""

    def measure(self, private, state):
        learned = super().measure(private, state)
        self.view = snapshot_of(private).v
        return learned

    def update(self, state, measurement):
        view = getattr(self, "view", np.empty(0, dtype=np.int32))
        return changed(measurement, extra=int(view.sum()))

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (WithoutPlan, "has the parts of a method"),
        (MutableRecord, "has the parts of a method"),
        (CaveatAsText, "has the parts of a method"),
        (ByPosition, "is made of public parameters"),
        (FractionAsParameter, "is made of public parameters"),
        (RoundsItsParameter, "is made of public parameters"),
        (DividesByEdges, "is defined on every graph"),
        (NeedsTwoNodes, "is defined on every graph"),
        (KeepsTheFirstRoster, "is defined on every graph"),
        (ReturnsASnapshot, "is defined on every graph"),
        (SummaryOfArrays, "is defined on every graph"),
        (Spendthrift, "is defined on every graph"),
        (Thrifty, "charges exactly what it is allowed"),
        (UnprovenWithoutCaveat, "states a caveat for what is not proven"),
        (SilentMarkovChain, "states a caveat for what is not proven"),
        (UnprovenWithCaveat, None),
        (PlansAnotherSplit, "charges what it plans"),
        (PlansAnotherSensitivity, "charges what it plans"),
        (StoresAList, "draws from its budget only"),
        (OwnNoise, "draws from its budget only"),
        (BranchesOnTheEdges, "leaves the same trace on neighbouring graphs"),
        (OneNoiseForEachEdge, "leaves the same trace on neighbouring graphs"),
        (TellsTheEdgeCount, "shows nothing without noise"),
        (TellsOneDegree, "shows nothing without noise"),
        (TellsTheEdges, "shows nothing without noise"),
        (KeepsTheSnapshot, "synthesises from sealed values alone"),
        (CountsItsSteps, "synthesises from sealed values alone"),
        (UnknownRecord, "synthesises from sealed values alone"),
        (OwnDice, "synthesises from sealed values alone"),
        (PointsAtTheEdges, "does not look at the snapshot again"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_method_fails_its_check(broken, check):
    if check is None:
        check_method(broken())
        return
    with pytest.raises(AssertionError) as caught:
        check_method(broken())
    assert f"fails “{check}”" in str(caught.value)
    assert str(caught.value).startswith("method 'good'")


def test_something_that_is_no_method_is_told_so():
    with pytest.raises(AssertionError, match=r"has the parts of a method.*subclass"):
        check_method(object())


def test_the_method_handed_in_is_not_changed():
    method = CountsItsSteps()
    with pytest.raises(AssertionError):
        check_method(method)
    assert method.steps == 0


def test_no_test_framework_is_needed():
    code = "import sys, psgraph.testing; sys.exit('pytest' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
