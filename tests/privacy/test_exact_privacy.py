"""Differential privacy by exact enumeration: on all small graphs, the distribution of everything
PSGraph sees of the edges moves by no more than was charged when one edge is added or removed.

`transcripts` explains how the distributions are obtained from the real code. The mutants at the end
show that the comparison notices the mistakes known from published code.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from psgraph.audit.enumeration import (
    Distribution,
    ScriptedBudget,
    Verdict,
    compare,
    explore,
    extremes,
)
from psgraph.engines.threads import LocalEngine
from psgraph.graph import DIRECTED, TWO_SIDED, UNDIRECTED, Kind, Roster, Snapshot
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import PSGraph, PSGraphState
from psgraph.methods.psgraph import method as psgraph_method
from psgraph.methods.psgraph.method import STRUCTURE, measure_structure
from psgraph.methods.queries import CommunityChoices, CommunityEdges, InnerDegrees, OuterDegrees
from psgraph.methods.steps import communities
from psgraph.methods.steps.communities import find_communities
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget, composed
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms import exponential
from psgraph.privacy.mechanisms.laplace import LaplaceCount, LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.testing.cases import all_graphs, neighbouring_pairs
from psgraph_lab.mutants.mutant import mutated
from tests.insides import budget_of, snapshot_of

ENGINE = LocalEngine()
EVERYTHING = STRUCTURE | {"edges"}
BEYOND = extremes(-1, 11)  # no value of a graph on five nodes is below 0 or above 10


def labellings(nodes, prefix=()):
    """Every way to put nodes into communities 0, …, H − 1, up to the names of these."""
    if len(prefix) == nodes:
        yield list(prefix)
        return
    for label in range(max(prefix, default=-1) + 2):
        yield from labellings(nodes, (*prefix, label))


@pytest.fixture(autouse=True)
def _remember_louvain(monkeypatch):
    """Louvain sees noisy values only and few different ones; asking it once each is enough."""
    known: dict[object, np.ndarray] = {}
    louvain = communities._louvain

    def remembered(noisy, groups, **options):
        key = (noisy.cells.tobytes(), noisy.values.tobytes(), noisy.threshold, groups)
        key += tuple(options.values())
        if key not in known:
            known[key] = louvain(noisy, groups, **options)
        return known[key]

    monkeypatch.setattr(communities, "_louvain", remembered)


def worst(distributions: dict[int, Distribution], pairs) -> Verdict:
    verdicts = [compare(distributions[one], distributions[other]) for one, other in pairs]
    return max(verdicts, key=lambda verdict: verdict.excess)


def distributions_of(run, graphs, **options) -> dict[int, Distribution]:
    """``run(snapshot, budget)`` explored on every graph."""
    return {number: explore(partial(run, graph), **options) for number, graph in graphs.items()}


def every_graph(
    *sizes: int, kind: Kind = UNDIRECTED
) -> tuple[dict[int, Snapshot], list[tuple[int, int]]]:
    graphs = dict(enumerate(all_graphs(*sizes, kind=kind)))
    return graphs, list(neighbouring_pairs(*sizes, kind=kind))


def some_graphs(
    nodes: int, pairs: int, *, seed: int
) -> tuple[dict[int, Snapshot], list[tuple[int, int]]]:
    graphs = all_graphs(nodes)
    chosen = random.Random(seed).sample(list(neighbouring_pairs(nodes)), pairs)
    return {number: graphs[number] for pair in chosen for number in pair}, chosen


def state_of(labels, *, edges: int, roster: Roster | None = None) -> PSGraphState:
    labels = np.array(labels, dtype=np.int32)
    nothing = np.zeros(0, dtype=np.int32)
    return PSGraphState(
        roster=Roster.range(labels.size) if roster is None else roster,
        noisy_edge_count=edges,
        found=True,
        labels=labels,
        fused_inner_degrees=np.zeros(labels.size),
        fused_outer_degrees=np.zeros(labels.size),
        community_pairs=(nothing, nothing),
        community_edges=np.zeros(0),
        degree_epsilon=Fraction(1, 2),
    )


def asking(snapshot: Snapshot, budget: Budget) -> PrivateSnapshot:
    return PrivateSnapshot(snapshot, budget, ENGINE)


def measuring(method: PSGraph, state: PSGraphState | None = None):
    return lambda snapshot, budget: method.measure(asking(snapshot, budget), state)


def dividing(*, epsilon: Fraction, supernode_size: int, strength: Fraction = Fraction(1, 2)):
    return lambda snapshot, budget: find_communities(
        asking(snapshot, budget),
        epsilon=epsilon,
        supernode_size=supernode_size,
        strength=strength,
    )


def choosing(labels, *, epsilon: Fraction, strength: Fraction = Fraction(1, 2)):
    labels = np.array(labels, dtype=np.int32)
    return lambda snapshot, budget: asking(snapshot, budget).ask(
        CommunityChoices(labels, strength), epsilon=epsilon
    )


def structuring(labels, *, epsilon: Fraction):
    labels = np.array(labels, dtype=np.int32)
    return lambda snapshot, budget: measure_structure(
        asking(snapshot, budget), labels, epsilon=epsilon
    )


# ---- the measuring instrument itself ----


def test_transcript_probabilities_add_up_to_one():
    graph = all_graphs(4)[0b101101]
    window = {"edges": [(k,) for k in range(-60, 70)]}
    distribution = explore(
        lambda budget: budget.run(LaplaceCount(4, 1), epsilon=Fraction(1), label="edges"),
        epsilon=Fraction(1),
        window=lambda label, _size: window[label],
    )
    assert math.fsum(math.exp(o.log_probability) for o in distribution.values()) == pytest.approx(1)
    sweep = explore(
        partial(choosing([0, 1, 2, 0], epsilon=Fraction(2)), graph),
        epsilon=Fraction(2),
        window=BEYOND,
    )
    assert math.fsum(math.exp(o.log_probability) for o in sweep.values()) == pytest.approx(1)


def test_one_choice_has_the_probability_of_the_exponential_mechanism():
    # Node 0 knows nodes 1 and 2, which are in communities 1 and 2; nodes 3, 4 are in 1.
    star = Snapshot(Roster.range(5), [0, 0], [1, 2])
    distribution = explore(
        partial(choosing([0, 1, 2, 1, 1], epsilon=Fraction(2)), star),
        epsilon=Fraction(2),
        window=BEYOND,
    )
    into = dict.fromkeys(range(3), 0.0)
    for events, outcome in distribution.items():
        first = next(event for event in events if event[0] == "community choice")
        into[first[1]] += math.exp(outcome.log_probability)
    total = 1 + 2 * math.e
    assert into == pytest.approx({0: 1 / total, 1: math.e / total, 2: math.e / total})


@pytest.mark.parametrize("labels", [[0, 0, 0], [0, 0, 1], [0, 1, 2]])
def test_closed_form_of_terminal_outputs_agrees_with_their_enumeration(labels):
    graphs, pairs = every_graph(3)
    run = structuring(labels, epsilon=Fraction(1))
    closed = distributions_of(run, graphs, epsilon=Fraction(1), window=BEYOND, terminal=STRUCTURE)
    listed = distributions_of(run, graphs, epsilon=Fraction(1), window=BEYOND)
    for one, other in pairs:
        enumerated = compare(listed[one], listed[other])
        assert compare(closed[one], closed[other]).loss == pytest.approx(enumerated.loss)


def test_a_window_whose_grants_are_given_back_by_noisy_counts_loses_epsilon_and_no_more():
    """Two timestamps, each granted all that is free: what the first gives back the second buys."""

    def publish(counts, budget):
        spending = Accountant(WEventPrivacy("1", window=2))
        for count in counts:
            if not spending.remaining:
                break
            own = ScriptedBudget(spending.remaining, budget._sampler)
            if noisy := own.run(LaplaceCount(count, 1), epsilon=own.remaining / 4, label="edges"):
                own.give_back(own.remaining / (2 if noisy > 0 else 1))
            if own.remaining:
                own.run(LaplaceCount(count, 1), epsilon=own.remaining, label="edges")
            spending = spending.record(own.booked)

    streams = list(product((0, 1), repeat=2))
    found = {
        counts: explore(
            partial(publish, counts),
            epsilon=Fraction(1),
            window=lambda _label, _size: [(k,) for k in range(-2, 4)],
        )
        for counts in streams
    }
    losses = [compare(found[one], found[other]).loss for one, other in product(streams, streams)]
    assert max(losses) == pytest.approx(1)


# ---- phase by phase ----


@pytest.mark.parametrize("nodes", [2, 3, 4, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(7, 3)])
def test_edge_count(nodes, epsilon, monkeypatch):
    # With communities kept and the structure left out, only the edge count is measured.
    monkeypatch.setattr(psgraph_method, "measure_structure", lambda *_, **__: (None,) * 3)
    graphs, pairs = every_graph(nodes)
    method, state = PSGraph(threshold=100), state_of([0] * nodes, edges=0)
    outputs = [(k,) for k in range(-3, 14)]
    distributions = distributions_of(
        measuring(method, state), graphs, epsilon=epsilon, window=lambda _label, _size: outputs
    )
    verdict = worst(distributions, pairs)
    assert verdict.holds
    assert verdict.loss == pytest.approx(min(0.01, float(epsilon) / 2))


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(3)])
def test_structure_given_any_communities(nodes, epsilon):
    graphs, pairs = every_graph(nodes)
    for labels in labellings(nodes):
        run = structuring(labels, epsilon=epsilon)
        distributions = distributions_of(
            run, graphs, epsilon=epsilon, window=BEYOND, terminal=STRUCTURE
        )
        for one, other in pairs:
            verdict = compare(distributions[one], distributions[other])
            assert verdict.holds
            # An edge inside a community and one between two use up all of it, both of them.
            assert verdict.loss == pytest.approx(float(epsilon))


@pytest.mark.parametrize("labels", [[0, 0, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 2, 0, 1]])
def test_structure_on_five_nodes(labels):
    graphs, pairs = every_graph(5)
    run = structuring(labels, epsilon=Fraction(1, 3))
    distributions = distributions_of(
        run, graphs, epsilon=Fraction(1, 3), window=BEYOND, terminal=STRUCTURE
    )
    assert worst(distributions, pairs).holds


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(4)])
@pytest.mark.parametrize("nodes", [2, 3])
def test_community_choice_from_any_communities(nodes, epsilon):
    graphs, pairs = every_graph(nodes)
    for labels in labellings(nodes):
        distributions = distributions_of(
            choosing(labels, epsilon=epsilon), graphs, epsilon=epsilon, window=BEYOND
        )
        assert worst(distributions, pairs).holds


@pytest.mark.parametrize("labels", list(labellings(4)), ids=str)
def test_community_choice_on_four_nodes(labels):
    # All graphs in one order are the same as one graph in all orders.
    graphs, pairs = every_graph(4)
    epsilon = Fraction(4)
    distributions = distributions_of(
        choosing(labels, epsilon=epsilon), graphs, epsilon=epsilon, window=BEYOND
    )
    verdict = worst(distributions, pairs)
    assert verdict.holds
    if max(labels):  # the constant is not wastefully small either
        assert verdict.loss > 0.6 * epsilon


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 1], [0, 1, 0, 2, 1]])
def test_community_choice_on_five_nodes(labels):
    graphs, pairs = some_graphs(5, 12, seed=8)
    epsilon = Fraction(1)
    distributions = distributions_of(
        choosing(labels, epsilon=epsilon), graphs, epsilon=epsilon, window=BEYOND
    )
    assert worst(distributions, pairs).holds


def test_reference_constant_costs_half():
    graphs, pairs = every_graph(3)
    epsilon = Fraction(4)
    run = choosing([0, 1, 2], epsilon=epsilon, strength=Fraction(1, 4))
    assert (
        worst(distributions_of(run, graphs, epsilon=epsilon, window=BEYOND), pairs).loss
        <= epsilon / 2
    )


@pytest.mark.parametrize(
    ("nodes", "supernode_size"), [(2, 1), (2, 2), (3, 1), (3, 2), (4, 2), (4, 4)]
)
def test_community_division(nodes, supernode_size):
    graphs, pairs = every_graph(nodes)
    epsilon = Fraction(2)
    run = dividing(epsilon=epsilon, supernode_size=supernode_size)
    distributions = distributions_of(run, graphs, epsilon=epsilon, window=BEYOND)
    assert worst(distributions, pairs).holds


def test_community_division_on_five_nodes():
    graphs, pairs = some_graphs(5, 25, seed=4)
    epsilon = Fraction(2)
    run = dividing(epsilon=epsilon, supernode_size=3)
    assert worst(distributions_of(run, graphs, epsilon=epsilon, window=BEYOND), pairs).holds


# ---- the whole timestamp ----


@pytest.mark.parametrize("constant", ["tight", "reference"])
@pytest.mark.parametrize(("nodes", "supernode_size"), [(2, 1), (3, 2), (4, 2)])
def test_first_timestamp(nodes, supernode_size, constant):
    graphs, pairs = every_graph(nodes)
    method = PSGraph(supernode_size=supernode_size, choice_constant=constant)
    epsilon = Fraction(1)
    distributions = distributions_of(
        measuring(method), graphs, epsilon=epsilon, window=BEYOND, terminal=EVERYTHING
    )
    verdict = worst(distributions, pairs)
    assert verdict.holds
    assert verdict.loss > 0.75
    for distribution in distributions.values():
        for outcome in distribution.values():
            assert outcome.spent == composed(outcome.trace) == epsilon


@pytest.mark.parametrize(
    ("kind", "sizes"), [(DIRECTED, (3,)), (TWO_SIDED, (2, 2)), (TWO_SIDED, (1, 3))], ids=str
)
def test_first_timestamp_of_directed_and_two_sided_graphs(kind, sizes):
    graphs, pairs = every_graph(*sizes, kind=kind)
    distributions = distributions_of(
        measuring(PSGraph(supernode_size=2)),
        graphs,
        epsilon=Fraction(1),
        window=BEYOND,
        terminal=EVERYTHING,
    )
    verdict = worst(distributions, pairs)
    assert verdict.holds
    assert verdict.loss > 0.75
    labels = {charge.label for outcome in distributions[0].values() for charge in outcome.trace}
    assert labels == EVERYTHING | {"super-graph edges", "community choice"}


@pytest.mark.parametrize(
    ("nodes", "graphs_and_pairs"),
    [(3, every_graph(3)), (4, some_graphs(4, 20, seed=1)), (5, some_graphs(5, 2, seed=5))],
)
def test_later_timestamp_with_both_branches(nodes, graphs_and_pairs):
    graphs, pairs = graphs_and_pairs
    method = PSGraph(supernode_size=2 if nodes < 5 else 3)
    state = state_of([0, 1, 0, 1, 2][:nodes], edges=2)
    edge_counts = [(-6,), (2,), (13,)]  # below and above the threshold, and as before

    def window(label, size):
        return edge_counts if label == "edges" else BEYOND(label, size)

    distributions = distributions_of(
        measuring(method, state),
        graphs,
        epsilon=Fraction(3),
        window=window,
        terminal=STRUCTURE,
    )
    assert worst(distributions, pairs).holds
    a_distribution = next(iter(distributions.values()))
    branches = {frozenset(charge.label for charge in o.trace) for o in a_distribution.values()}
    assert branches == {EVERYTHING, EVERYTHING | {"super-graph edges", "community choice"}}


def test_later_timestamp_after_the_roster_changed():
    graphs, pairs = every_graph(4)
    state = state_of([0, 1, 1], edges=2, roster=Roster([0, 2, 9]))  # 9 left, 1 and 3 are new
    method = PSGraph(threshold=100)
    distributions = distributions_of(
        measuring(method, state),
        graphs,
        epsilon=Fraction(1),
        window=BEYOND,
        terminal=EVERYTHING,
    )
    verdict = worst(distributions, pairs)
    assert verdict.holds
    assert verdict.loss == pytest.approx(1)
    assert {event[0] for events in distributions[0] for event in events} == EVERYTHING | {"labels"}


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(50)])
def test_any_epsilon(epsilon):
    graphs, pairs = every_graph(3)
    distributions = distributions_of(
        measuring(PSGraph(supernode_size=2)),
        graphs,
        epsilon=epsilon,
        window=BEYOND,
        terminal=EVERYTHING,
    )
    assert worst(distributions, pairs).holds


# ---- mutants: mistakes the enumeration must notice ----


def violated(run, nodes, *, epsilon=Fraction(2), terminal=EVERYTHING, window=BEYOND) -> bool:
    graphs, pairs = every_graph(nodes)
    distributions = distributions_of(run, graphs, epsilon=epsilon, window=window, terminal=terminal)
    return not worst(distributions, pairs).holds


def test_mutant_degree_sensitivity_one(monkeypatch):
    run = measuring(PSGraph(supernode_size=2))
    assert not violated(run, 3)
    for query in (InnerDegrees, OuterDegrees):
        monkeypatch.setattr(query, "sensitivity", 1)
    assert violated(run, 3)
    assert violated(structuring([0, 0, 0], epsilon=Fraction(2)), 3)  # inner degrees
    assert violated(structuring([0, 1, 2], epsilon=Fraction(2)), 3)  # outer degrees


def test_mutant_communities_not_charged(monkeypatch):
    def free(private, **options):
        gift = ScriptedBudget(Fraction(9), budget_of(private)._sampler)
        return find_communities(asking(snapshot_of(private), gift), **options)

    run = measuring(PSGraph(supernode_size=2))
    assert not violated(run, 3)
    monkeypatch.setattr(psgraph_method, "find_communities", free)
    assert violated(run, 3)


def test_mutant_choice_constant_doubled(monkeypatch):
    run = choosing([0, 1, 2], epsilon=Fraction(2))
    assert not violated(run, 3)
    exact = exponential.round_down
    monkeypatch.setattr(
        exponential, "round_down", lambda value, **limits: exact(2 * value, **limits)
    )
    assert violated(run, 3)
    assert violated(dividing(epsilon=Fraction(8), supernode_size=1), 3, epsilon=Fraction(8))


def test_mutant_branch_on_the_true_edge_count(monkeypatch):
    def guarded(private, **options):
        if snapshot_of(private).u.size == 0:
            return np.arange(len(private.roster), dtype=np.int32)
        return find_communities(private, **options)

    run = measuring(PSGraph(supernode_size=2))
    monkeypatch.setattr(psgraph_method, "find_communities", guarded)
    assert violated(run, 3)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "if kept or ran_out(words, after):",
            "if kept and (score[choice] > 0 or best == 0):",
            id="only neighbouring communities are candidates",
        ),
        pytest.param(
            "        best = 0\n",
            "        best = 0\n"
            "        if begin == end:\n"
            "            chosen[done] = 0\n"
            "            done += 1\n"
            "            continue\n",
            id="nodes without edges are left out",
        ),
        pytest.param(
            "(best - score[choice]) * a",
            "(best - score[choice]) * (best - score[choice]) * a",
            id="squared scores",
        ),
        pytest.param(
            "score[communities[at]] = counts[at]\n            best = max(best, counts[at])",
            "score[communities[at]] = 2 * counts[at]\n            best = max(best, 2 * counts[at])",
            id="scores counted twice",
        ),
    ],
)
def test_mutant_choice_kernel(monkeypatch, old, new):
    runs = [choosing(labels, epsilon=Fraction(4)) for labels in ([0, 1, 2], [0, 1, 1])]
    assert not any(violated(run, 3, epsilon=Fraction(4)) for run in runs)
    monkeypatch.setattr(exponential, "_choose", mutated(exponential._choose, old, new))
    assert any(violated(run, 3, epsilon=Fraction(4)) for run in runs)


@pytest.mark.parametrize("mechanism", [LaplaceCounts, SparseLaplaceCounts])
def test_mutant_noise_forgets_the_sensitivity(monkeypatch, mechanism):
    mutant = mutated(mechanism.draw, "epsilon / self.sensitivity", "2 * epsilon")
    monkeypatch.setattr(mechanism, "draw", mutant)
    assert violated(structuring([0, 1, 2], epsilon=Fraction(2)), 3)


def test_mutant_parts_that_overlap():
    # All degrees go into the part "inside", and the community edges into the other.
    labels = np.array([0, 1, 1], dtype=np.int32)
    everyone = np.zeros(3, dtype=np.int32)

    def overlapping(snapshot, budget, *, degrees):
        inside, between = asking(snapshot, budget).parallel(Fraction(2), "inside", "between")
        inside.ask(InnerDegrees(degrees), epsilon=Fraction(2))
        between.ask(CommunityEdges(labels, 2), epsilon=Fraction(2))

    assert not violated(partial(overlapping, degrees=labels), 3)
    assert violated(partial(overlapping, degrees=everyone), 3)


def test_mutant_threshold_from_nodes_that_have_an_edge(monkeypatch):
    class Mutant(PSGraph):
        def measure(self, private, state):
            snapshot = snapshot_of(private)
            self.active = np.unique([snapshot.u, snapshot.v])
            return super().measure(private, state)

        def _keeps(self, state, noisy_edge_count, roster):
            return super()._keeps(state, noisy_edge_count, Roster(self.active))

    state = state_of([0, 1, 0], edges=0)

    def window(label, size):
        return [(k,) for k in range(-1, 5)] if label == "edges" else BEYOND(label, size)

    options = {"terminal": STRUCTURE, "window": window}
    assert not violated(measuring(PSGraph(supernode_size=3), state), 3, **options)
    assert violated(measuring(Mutant(supernode_size=3), state), 3, **options)
