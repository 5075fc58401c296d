"""The growth pass: one edge moves one cell of one row by 1, whatever was released before."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from psgraph.errors import MethodError
from psgraph.methods.plus import growth, labelling
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.labelling import Plan, follow, rehearse
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import adjacency
from psgraph.privacy.budget import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.testing.cases import all_graphs, neighbouring_pairs
from psgraph_lab.mutants.mutant import mutated

from .snapshots import ENGINE, Silent, planted, silent_budget

KERNELS = ("_label", "_place")


def plan_of(nodes: int, labels: int, *, dealt: int = 0, seed: int = 0) -> Plan:
    rng = np.random.default_rng(seed)
    evidence = rng.normal(size=(nodes, labels)).astype(np.float32)
    return Plan(rng.permutation(nodes), 1 + rng.random(nodes), evidence, dealt)


def noisy_rows(snapshot, plan, epsilon, *, seed=1, sampler=Sampler):
    budget = Budget(Fraction(100), sampler(RandomSource.seeded(seed)))
    drawn = GrowthPass(*adjacency(PrivateEdges(snapshot, ENGINE)), plan)
    return budget.run(drawn, epsilon=epsilon, label="rows")


@pytest.fixture
def interpreted(monkeypatch):
    for name in KERNELS:
        kernel = getattr(labelling, name)
        monkeypatch.setattr(labelling, name, getattr(kernel, "py_func", kernel))


def counts_along(snapshot, plan, released, monkeypatch) -> np.ndarray:
    """What each row counts if the rows before it come out as in `released`."""
    place, counts = labelling._place, np.zeros_like(released)

    def forced(node, rows, *rest):
        counts[node] = rows[node]
        rows[node] = released[node]
        place(node, rows, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(labelling, "_place", forced)
        GrowthPass(*adjacency(PrivateEdges(snapshot, ENGINE)), plan).draw(
            Silent(RandomSource.seeded(1)), Fraction(1)
        )
    return counts


def largest_change(monkeypatch, *, dealt: int, every: int) -> int:
    """The most that one edge moves all rows together, over all graphs of four nodes."""
    plan, graphs, most = plan_of(4, 2, dealt=dealt), all_graphs(4), 0
    for cells in list(product((-1, 2), repeat=8))[::every]:
        released = np.array(cells, dtype=np.int32).reshape(4, 2)
        counts = [counts_along(graph, plan, released, monkeypatch) for graph in graphs]
        for one, other in neighbouring_pairs(4):
            most = max(most, int(np.abs(counts[one] - counts[other]).sum()))
    return most


@pytest.mark.parametrize("dealt", [0, 3])
def test_one_edge_moves_all_rows_together_by_one_along_every_transcript(
    dealt, interpreted, monkeypatch
):
    assert largest_change(monkeypatch, dealt=dealt, every=5) == 1


def test_mutant_that_counts_an_edge_at_both_ends_is_caught(interpreted, monkeypatch):
    both = mutated(labelling._label, "if label >= 0:", "if True:")
    monkeypatch.setattr(labelling, "_label", both)
    assert largest_change(monkeypatch, dealt=0, every=50) == 2


def test_rows_count_edges_to_earlier_nodes_by_the_labels_that_were_released():
    snapshot, _ = planted(300, 4, 12)
    plan = plan_of(300, 5, dealt=10)
    rows = noisy_rows(snapshot, plan, Fraction(1), sampler=Silent)
    labels, place = follow(plan, rows, 1.0).found, np.argsort(plan.order)
    expected = np.zeros_like(rows)
    for u, v in zip(snapshot.u, snapshot.v, strict=True):
        earlier, later = (u, v) if place[u] < place[v] else (v, u)
        expected[later, labels[earlier]] += 1
    assert (rows == expected).all()
    assert (labels[plan.order[:10]] == np.arange(10) % 5).all()


def test_the_noise_has_the_rate_that_was_paid_in_every_chunk(monkeypatch):
    monkeypatch.setattr(growth, "CHUNK", 1000)
    empty = all_graphs(2)[0].__class__.from_edges([], roster=planted(4000, 2, 1)[0].roster)
    rows = noisy_rows(empty, plan_of(4000, 6), Fraction(1, 2))
    zeros, expected = np.mean(rows == 0), math.tanh(1 / 4)
    assert abs(zeros - expected) < 4 * math.sqrt(expected / rows.size)
    assert abs(np.abs(rows).mean() - 1 / math.sinh(1 / 2)) < 0.05
    assert len({chunk.tobytes() for chunk in np.split(rows, 8)}) == 8


def test_compiled_and_interpreted_passes_agree(request):
    snapshot, _ = planted(120, 3, 10)
    plan = plan_of(120, 4, dealt=8)

    def everything():
        rows = noisy_rows(snapshot, plan, Fraction(2))
        progress = follow(plan, rows, 2.0)
        rng = np.random.default_rng(1)
        there = rehearse(plan, *adjacency(PrivateEdges(snapshot, ENGINE)), 2.0, rng)
        return rows.tolist(), progress.found.tolist(), progress.evidence.tobytes(), there.tolist()

    compiled = everything()
    request.getfixturevalue("interpreted")
    assert everything() == compiled


def test_counts_too_large_to_store_are_cut_off_after_noise_is_added():
    class Loud(Silent):
        def discrete_laplace(self, size, rate):
            return np.full(size, 1 << 40, dtype=np.int64)

    snapshot, _ = planted(40, 2, 4)
    rows = noisy_rows(snapshot, plan_of(40, 2), Fraction(1), sampler=Loud)
    assert (rows == labelling.LARGEST).all()


def test_a_pass_finds_planted_communities():
    snapshot, truth = planted(600, 3, 30)
    degrees = np.bincount(np.concatenate([snapshot.u, snapshot.v]), minlength=600)
    evidence = np.zeros((600, 4), dtype=np.float32)
    plan = Plan(np.argsort(-degrees), np.maximum(degrees, 0.1), evidence, 16)
    labels = follow(plan, noisy_rows(snapshot, plan, Fraction(4)), 4.0).found
    shares = np.zeros((3, 4))
    np.add.at(shares, (truth, labels), 1)
    assert shares.max(axis=0).sum() > 0.75 * 600


@pytest.mark.parametrize(
    ("order", "message"), [([0, 1], "one entry per node"), ([0, 1, 1], "every node once")]
)
def test_a_pass_that_does_not_visit_every_node_once_is_refused(order, message):
    plan = Plan(np.array(order), np.ones(3), np.zeros((3, 2), dtype=np.float32), 0)
    starts, neighbours = np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32)
    with pytest.raises(MethodError, match=message):
        GrowthPass(starts, neighbours, plan)


def test_a_pass_over_no_nodes_is_charged_and_returns_no_rows():
    budget = silent_budget()
    starts, neighbours = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
    drawn = GrowthPass(starts, neighbours, plan_of(0, 3))
    assert budget.run(drawn, epsilon=Fraction(1), label="rows").shape == (0, 3)
    assert budget.spent == 1
