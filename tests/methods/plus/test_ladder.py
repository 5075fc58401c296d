"""The ladder mechanism: exact probabilities, and e^ε between all neighbouring small graphs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from psgraph.errors import MethodError
from psgraph.graph.kind import Edges
from psgraph.methods.plus import noisy_triangles
from psgraph.methods.plus.clustering import ladder_log_likelihood
from psgraph.methods.plus.noisy_triangles import Interval, Ladder, Rungs
from psgraph.methods.plus.triangles import count_triangles, largest_common_neighbours
from psgraph.privacy.budget import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

BITS = 200
LADDERS = [(0, 1), (0, 5), (1, 1), (2, 4), (3, 3), (4, 40)]
RATES = [Fraction(1, 7), Fraction(1), Fraction(5, 2)]


def width_by_definition(rungs: Rungs, rung: int) -> int:
    """The integers of a rung, on both sides together."""
    return 1 if rung == 0 else 2 * min(rungs.reach + rung - 1, rungs.widest)


def weight_up_to(rungs: Rungs, last: int) -> float:
    rate = float(rungs.rate)
    return sum(width_by_definition(rungs, j) * math.exp(-rate * j) for j in range(last + 1))


@pytest.mark.parametrize(("reach", "widest"), LADDERS)
@pytest.mark.parametrize("rate", RATES)
def test_closed_forms_are_the_sums_over_rungs(reach, widest, rate):
    rungs = Rungs(reach, widest, rate)
    weights = rungs.weights(BITS)
    scale = (1 - math.exp(-float(rate))) ** 2
    everything = weight_up_to(rungs, 800)
    assert float(weights.total.low) == pytest.approx(scale * everything, rel=1e-9)
    for rung in range(12):
        beyond = everything - weight_up_to(rungs, rung)
        assert float(weights.beyond(rung).low) == pytest.approx(scale * beyond, abs=1e-12)


@pytest.mark.parametrize(("reach", "widest"), LADDERS)
def test_enclosures_are_tight_and_contain_each_other(reach, widest):
    rungs = Rungs(reach, widest, Fraction(1, 3))
    for rung in (0, 1, 7, 60):
        coarse, fine = (rungs.weights(bits).beyond(rung) for bits in (100, 300))
        assert coarse.low <= fine.low <= fine.high <= coarse.high
        assert fine.high - fine.low < Fraction(1, 2**250)


def test_rungs_cover_every_integer_once():
    rungs = Rungs(reach=1, widest=3, rate=Fraction(1))
    covered = [
        offset
        for rung in range(1, 9)
        for offset in range(rungs.inside(rung) + 1, rungs.inside(rung) + rungs.width(rung) + 1)
    ]
    assert covered == list(range(1, len(covered) + 1))


def rung_of(value: int, centre: int, rungs: Rungs) -> int:
    rung = 0
    while abs(value - centre) > rungs.inside(rung + 1):
        rung += 1
    return rung


def graphs(nodes: int) -> list[frozenset]:
    pairs = list(combinations(range(nodes), 2))
    return [
        frozenset(pair for index, pair in enumerate(pairs) if code >> index & 1)
        for code in range(1 << len(pairs))
    ]


def counted(graph: frozenset, nodes: int) -> tuple[int, int]:
    u, v = np.array(sorted(graph), dtype=np.int32).reshape(-1, 2).T
    edges = Edges(np.ascontiguousarray(u), np.ascontiguousarray(v))
    return count_triangles(edges, nodes), largest_common_neighbours(edges, nodes)


@pytest.mark.parametrize("nodes", [3, 4, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 9), Fraction(3)])
def test_no_output_tells_neighbouring_graphs_apart_by_more_than_epsilon(nodes, epsilon):
    """Exactly, over all graphs: outputs near the counts, and one far out in the tail."""
    facts = {graph: counted(graph, nodes) for graph in graphs(nodes)}
    half = Interval.exp(epsilon / 2, BITS)  # e^(−ε/2)
    neighbouring = {
        (facts[graph], facts[graph ^ {pair}])
        for graph in facts
        for pair in combinations(range(nodes), 2)
    }
    for (count, reach), (other_count, other_reach) in neighbouring:
        one, other = (Rungs(r, nodes - 2, epsilon / 2) for r in (reach, other_reach))
        for value in [*range(-8, 20), 10**4]:
            steps = rung_of(value, count, one) - rung_of(value, other_count, other)
            # pmf/pmf′ = e^(−steps·ε/2)·total′/total, and each factor is at most e^(ε/2).
            assert abs(steps) <= 1
        ours, theirs = one.weights(BITS).total, other.weights(BITS).total
        assert theirs.high * half.high <= ours.low * (1 + Fraction(1, 10**30))


@pytest.mark.parametrize(("count", "reach", "nodes"), [(4, 2, 6), (1, 0, 9), (10, 3, 5)])
def test_draws_have_the_probabilities_of_the_definition(count, reach, nodes):
    epsilon, draws = Fraction(3), 3000
    sampler = Sampler(RandomSource.seeded(5))
    drawn = [Ladder(count, reach, nodes).draw(sampler, epsilon) for _ in range(draws)]
    rungs = Rungs(reach, nodes - 2, epsilon / 2)
    total = weight_up_to(rungs, 200)
    statistic, cells = 0.0, 0
    for value in range(count - 6, count + 7):
        chance = math.exp(-1.5 * rung_of(value, count, rungs)) / total
        if draws * chance < 8:
            continue
        cells += 1
        statistic += (drawn.count(value) - draws * chance) ** 2 / (draws * chance)
    assert statistic < cells + 4.5 * math.sqrt(2 * cells) + 5


def test_a_rung_is_decided_bit_by_bit(monkeypatch):
    """From one bit at first, so that nearly every draw has to ask for more."""
    monkeypatch.setattr(noisy_triangles, "FIRST_BITS", 1)
    sampler = Sampler(RandomSource.seeded(8))
    rungs = Rungs(reach=1, widest=1, rate=Fraction(1, 2))  # P(0) = (1 − q)/(1 + q)
    drawn = [noisy_triangles._draw_rung(sampler, rungs) for _ in range(3000)]
    ratio = math.exp(-0.5)
    expected = (1 - ratio) / (1 + ratio)
    assert drawn.count(0) / 3000 == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 3000))
    beyond = 2 * ratio**4 / (1 + ratio)  # P(rung ≥ 4)
    assert sum(rung >= 4 for rung in drawn) / 3000 == pytest.approx(beyond, abs=0.03)


@pytest.mark.parametrize(("reach", "nodes"), [(4, 40), (1, 3), (37, 40), (1, 9)])
def test_the_likelihood_of_the_estimator_is_that_of_the_mechanism(reach, nodes):
    offsets = np.arange(-3000, 3001)
    logs = [
        ladder_log_likelihood(
            50, np.array([50.0 - offset]), np.array([float(reach)]), nodes=nodes, epsilon=1.0
        )[0]
        for offset in offsets
    ]
    chance = np.exp(np.array(logs))
    assert chance.sum() == pytest.approx(1)
    sampler = Sampler(RandomSource.seeded(3))
    drawn = [Ladder(50, reach, nodes).draw(sampler, Fraction(1)) - 50 for _ in range(1500)]
    for limit in (0, reach, 5 * reach):
        expected = chance[np.abs(offsets) <= limit].sum()
        assert np.mean(np.abs(drawn) <= limit) == pytest.approx(expected, abs=0.05)


def test_two_nodes_have_no_triangle_and_still_pay():
    budget = Budget(Fraction(1), Sampler(RandomSource.seeded(1)))
    assert budget.run(Ladder(0, 0, 2), epsilon=Fraction(1), label="triangles") == 0
    assert budget.remaining == 0


def test_a_tiny_epsilon_is_drawn_exactly_too():
    noisy = Ladder(10, 3, 10**6).draw(Sampler(RandomSource.seeded(2)), Fraction(1, 10**5))
    assert abs(noisy - 10) > 10**6


@pytest.mark.parametrize("reach", [-1, 5])
def test_an_impossible_reach_is_refused(reach):
    with pytest.raises(MethodError, match="reach"):
        Ladder(0, reach, 6)


def test_nothing_private_shows_when_a_ladder_is_printed():
    assert "7777" not in repr(Ladder(7777, 3, 100))
