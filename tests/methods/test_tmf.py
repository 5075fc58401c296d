from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from psgraph.errors import BudgetError, InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.methods.tmf import TmF, UnprovenLinearFilter, passing_chance
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms import top
from psgraph.privacy.mechanisms.top import largest_cells
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher
from tests.methods.real import as733, mean_fidelity


def sampler(seed: int = 0) -> Sampler:
    return Sampler(RandomSource.seeded(seed))


# ---- the textbook definition, worked out exactly ----


def noise_distribution(rate: float, reach: int) -> dict[int, float]:
    q = math.exp(-rate)
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)}


def distribution_by_enumeration(
    ones: set[int], size: int, keep: int, rate: float, reach: int
) -> dict:
    """Add every possible noise to every cell; keep the largest; share ties out evenly."""
    distribution = dict.fromkeys(combinations(range(size), keep), 0.0)
    noise = noise_distribution(rate, reach)
    for noises in product(noise, repeat=size):
        chance = math.prod(noise[k] for k in noises)
        values = [(i in ones) + k for i, k in enumerate(noises)]
        level = sorted(values, reverse=True)[keep - 1]
        above = [i for i in range(size) if values[i] > level]
        tied = [i for i in range(size) if values[i] == level]
        ways = list(combinations(tied, keep - len(above)))
        for way in ways:
            distribution[tuple(sorted([*above, *way]))] += chance / len(ways)
    return distribution


def distribution_of_top(ones: set[int], size: int, keep: int, rate: float, reach: int = 60) -> dict:
    """The same, by counting at each level: quick enough for six cells."""
    noise = noise_distribution(rate, reach)
    levels = range(-reach, reach + 2)
    at = {one: np.array([noise.get(v - one, 0.0) for v in levels]) for one in (0, 1)}
    above = {
        one: np.array([sum(p for k, p in noise.items() if k + one > v) for v in levels])
        for one in (0, 1)
    }
    distribution = {}
    for kept in combinations(range(size), keep):
        total = 0.0
        left = [i for i in range(size) if i not in kept]
        # Which of the kept and of the left cells lie exactly at the level of the smallest kept.
        for kept_tied in _subsets(kept, smallest=1):
            for left_tied in _subsets(left, smallest=0):
                chance = np.ones(len(levels))
                for i in range(size):
                    one = int(i in ones)
                    if i in kept_tied or i in left_tied:
                        chance = chance * at[one]
                    elif i in kept:
                        chance = chance * above[one]
                    else:
                        chance = chance * (1 - above[one] - at[one])
                ways = math.comb(len(kept_tied) + len(left_tied), len(kept_tied))
                total += chance.sum() / ways
        distribution[kept] = total
    return distribution


def _subsets(items, *, smallest: int):
    for count in range(smallest, len(items) + 1):
        yield from combinations(items, count)


def test_the_counting_form_of_the_distribution_is_the_definition():
    for ones, keep in ((set(), 1), ({0}, 1), ({0, 2}, 2)):
        counted = distribution_of_top(ones, 3, keep, 1.5, reach=10)
        enumerated = distribution_by_enumeration(ones, 3, keep, 1.5, reach=10)
        assert counted == pytest.approx(enumerated, abs=1e-6)


@pytest.mark.parametrize("common", [0, 1 << 13], ids=["histogram", "one by one"])
@pytest.mark.parametrize(
    ("ones", "keep", "rate"),
    [({0, 4}, 2, Fraction(1, 2)), ({1, 2, 3}, 2, Fraction(2)), ({5}, 4, Fraction(1))],
)
def test_the_cells_kept_have_the_distribution_of_the_definition(
    monkeypatch, common, ones, keep, rate
):
    monkeypatch.setattr(top, "COMMON", common)
    distribution = distribution_of_top(ones, 6, keep, float(rate))
    assert sum(distribution.values()) == pytest.approx(1)
    draws, source = 3000, sampler(3)
    cells = np.array(sorted(ones))
    seen = dict.fromkeys(distribution, 0)
    for _ in range(draws):
        seen[tuple(largest_cells(source, cells, size=6, keep=keep, rate=rate).tolist())] += 1
    expected = np.array([distribution[kept] for kept in distribution]) * draws
    assert stats.chisquare(list(seen.values()), expected).pvalue > 1e-4
    # The test can tell: the distribution of other noise does not fit.
    other = distribution_of_top(ones, 6, keep, float(rate) * 1.5)
    wrong = np.array([other[kept] for kept in distribution]) * draws
    assert stats.chisquare(list(seen.values()), wrong).pvalue < 1e-2


def test_many_cells_keep_as_many_true_ones_as_the_dense_form():
    size, ones, keep, rate = 20_000, 400, 400, Fraction(3)
    cells = np.arange(0, size, size // ones)
    source, dense_rng = sampler(5), np.random.default_rng(5)
    sparse_kept, dense_kept = [], []
    q = math.exp(-float(rate))
    for _ in range(150):
        kept = largest_cells(source, cells, size=size, keep=keep, rate=rate)
        sparse_kept.append(np.isin(kept, cells).sum())
        noise = dense_rng.geometric(1 - q, size) - dense_rng.geometric(1 - q, size)
        noise[cells] += 1
        order = np.lexsort((dense_rng.random(size), noise))
        dense_kept.append(np.isin(order[-keep:], cells).sum())
    assert stats.ks_2samp(sparse_kept, dense_kept).pvalue > 1e-3


@given(st.data())
def test_exactly_so_many_distinct_cells_are_kept(data):
    size = data.draw(st.integers(0, 40))
    ones = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    keep = data.draw(st.integers(0, size))
    rate = Fraction(data.draw(st.integers(1, 40)), 10)
    source = sampler(data.draw(st.integers(0, 2**32)))
    kept = largest_cells(source, ones, size=size, keep=keep, rate=rate)
    assert kept.size == keep
    assert (np.diff(kept) > 0).all()
    assert keep == 0 or (kept[0] >= 0 and kept[-1] < size)


def test_kept_cells_are_exact_where_noise_is_next_to_nothing():
    cells = np.array([3, 70_000, 10**11])
    kept = largest_cells(sampler(), cells, size=10**12, keep=3, rate=Fraction(1000))
    assert kept.tolist() == cells.tolist()


# ---- what it gives away, exactly ----


def loss(distribution: dict, other: dict) -> float:
    return max(abs(math.log(distribution[kept] / other[kept])) for kept in distribution)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_choice_of_cells_tells_more_than_epsilon(epsilon):
    most = 0.0
    for count in range(3):
        for keep in range(1, 6):
            ones = set(range(count))
            one = distribution_of_top(ones, 6, keep, epsilon)
            other = distribution_of_top({*ones, 5}, 6, keep, epsilon)
            most = max(most, loss(one, other))
    assert most <= epsilon + 1e-9
    assert most > epsilon / 2  # and the bound is not an idle one


def test_the_linear_filter_tells_more_than_epsilon():
    """So its caveat is deserved: the exact distribution of its result without and with an edge."""
    epsilon, size, keep = 0.5, 20, 4
    chance = passing_chance(size=size, keep=keep, epsilon=epsilon)

    def probability(hits: int, edges: int) -> float:
        kept = chance**hits * (1 - chance) ** (edges - hits)
        return kept / math.comb(size - edges, keep - hits)

    # All four cells shown are edges; in the neighbouring graph only three of them are.
    assert math.log(probability(4, 4) / probability(3, 3)) > 2 * epsilon


def test_the_linear_filter_follows_the_published_threshold():
    # θ is chosen so that as many cells pass as are wanted, where so many hold a one.
    for size, keep, epsilon in ((1000, 100, 1.0), (1000, 100, 4.0), (1000, 300, 9.0)):
        passing = passing_chance(size=size, keep=keep, epsilon=epsilon)
        zero = passing * math.exp(-epsilon)
        if passing > 0.5:
            theta = 1 + math.log(2 * (1 - passing)) / epsilon
            zero = 0.5 * math.exp(-epsilon * theta)
        assert keep * passing + (size - keep) * zero == pytest.approx(keep)
    ones = np.arange(0, 4000, 2)
    kept = UnprovenLinearFilter(ones, size=100_000, keep=2000).draw(sampler(1), Fraction(3))
    hits = np.isin(kept, ones).sum()
    chance = passing_chance(size=100_000, keep=2000, epsilon=3.0)
    assert kept.size == 2000
    assert stats.binomtest(int(hits), 2000, chance).pvalue > 1e-4


@given(st.data())
def test_the_linear_filter_fills_up_with_other_pairs(data):
    size = data.draw(st.integers(1, 40))
    ones = np.flatnonzero(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    keep = data.draw(st.integers(0, size))
    source = sampler(data.draw(st.integers(0, 99)))
    kept = UnprovenLinearFilter(ones, size=size, keep=keep).draw(source, Fraction(1, 2))
    assert np.unique(kept).size == kept.size
    assert kept.size == 0 or (kept.min() >= 0 and kept.max() < size)
    hits = np.isin(kept, ones).sum()
    assert kept.size - hits == min(max(keep - hits, 0), size - ones.size)


# ---- as a method ----


def ring(nodes: int) -> Snapshot:
    around = np.arange(nodes)
    return Snapshot(Roster.range(nodes), around, (around + 1) % nodes)


def test_much_epsilon_gives_the_graph_back():
    snapshot = ring(300)
    with Publisher(TmF(), WEventPrivacy("500", window=1), seed=1) as publisher:
        graph = publisher.publish(snapshot).graph
    assert graph.u.tolist() == snapshot.u.tolist()
    assert graph.v.tolist() == snapshot.v.tolist()


def test_the_number_of_edges_is_the_noisy_count():
    with Publisher(TmF(), WEventPrivacy("1", window=2), seed=4) as publisher:
        release = publisher.publish(ring(80))
    assert release.graph.edge_count == release.certificate.summary["noisy_edges"]
    rate = Fraction(1, 10) * Fraction(1, 2)
    assert release.certificate.charges[0].epsilon == rate


def test_which_edges_come_out_does_not_depend_on_where_they_are():
    """Every pair of a graph without edges is kept equally often."""
    counts = np.zeros(10)
    budget_sampler = sampler(8)
    for _ in range(1500):
        kept = largest_cells(
            budget_sampler, np.empty(0, dtype=np.int64), size=10, keep=3, rate=Fraction(1, 2)
        )
        counts[kept] += 1
    assert stats.chisquare(counts).pvalue > 1e-4


def test_the_certificate_of_the_linear_filter_promises_nothing():
    with Publisher(
        TmF(filter="linear"), WEventPrivacy("1", window=2), not_private=True
    ) as publisher:
        certificate = publisher.publish(ring(40)).certificate
    assert certificate.private is False
    assert certificate.promise.provides is None
    assert certificate.promise.text.startswith("No privacy is promised")
    assert certificate.to_dict()["provides_epsilon"] is None
    charges = [(charge.mechanism, charge.proven) for charge in certificate.charges]
    assert charges == [("discrete Laplace", True), ("linear filter", False)]
    with Publisher(TmF(), WEventPrivacy("1", window=2)) as publisher:
        honest = publisher.publish(ring(40)).certificate
    assert honest.private is True
    assert honest.to_dict()["provides_epsilon"] == "1"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"count_share": 0}, BudgetError),
        ({"count_share": 1}, InvalidArgument),
        ({"count_share": "nonsense"}, BudgetError),
        ({"filter": "quick"}, InvalidArgument),
    ],
)
def test_wrong_parameters_are_refused_before_any_data(wrong, error):
    with pytest.raises(error):
        TmF(**wrong)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_facts_of_the_paper(real_data, epsilon):
    found = mean_fidelity(TmF(), as733(real_data), epsilon=epsilon)
    assert found.density_error < 0.05
    assert found.assortativity_error == pytest.approx(1, abs=0.2)


def test_the_plan_has_the_count_and_the_cells():
    rows = TmF().plan(WEventPrivacy("1", window=5), nodes=10)
    found = [(row.label, row.epsilon, row.sensitivity, row.noise) for row in rows]
    assert found == [
        ("edges", Fraction(1, 50), 1, "discrete Laplace"),
        ("cells", Fraction(9, 50), 1, "discrete Laplace"),
    ]


def test_the_auditor_gets_neighbours_for_the_linear_filter():
    (case,) = TmF().audit_cases().mechanisms.values()
    one, other = case(1).pair
    assert one.distance(other) == one.sensitivity
    assert not one.proven
