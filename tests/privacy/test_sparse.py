"""Noise on a huge sparse vector has the distribution of noise on the vector written out."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from psgraph.audit.fit import laplace_distribution, p_value, two_sample_p_value
from psgraph.methods.steps.consistency import norm_sub_threshold
from psgraph.privacy import samplers
from psgraph.privacy.mechanisms import sparse
from psgraph.privacy.mechanisms.sparse import noise_histogram, sparse_noise
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler

from .interpreted import Rationed, interpret


def seeded(seed: int) -> Sampler:
    return Sampler(RandomSource.seeded(seed))


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@pytest.fixture
def never_dense(monkeypatch):
    """Take the sparse route on the smallest vectors, with histograms from two cells on."""
    monkeypatch.setattr(sparse, "DENSE_UP_TO", 0)
    monkeypatch.setattr(sparse, "DENSE_AT_MOST", 0)
    monkeypatch.setattr(sparse, "COMMON", 2)


# ---- histograms ----


def test_histogram_of_a_few_noises_has_the_multinomial_distribution():
    rate, cells = Fraction(1), 3
    single = laplace_distribution(rate, 10**9)
    inside = {k: p for k, p in single.items() if abs(k) <= 4}
    distribution: dict[tuple[int, ...], float] = defaultdict(float)
    for noises in product(inside, repeat=cells):
        distribution[tuple(sorted(noises))] += math.prod(inside[k] for k in noises)
    sampler = seeded(1)
    draws = []
    for _ in range(6000):
        values, often = noise_histogram(sampler, cells, rate)
        draws.append(tuple(sorted(np.repeat(values, often).tolist())))
    assert p_value(draws, distribution) > 1e-3


@pytest.mark.parametrize("cells", [0, 1, 50_000, 10**9])
@pytest.mark.parametrize("rate", [Fraction(2), Fraction(1, 15)], ids=str)
def test_histogram_of_many_noises(cells, rate):
    values, often = noise_histogram(seeded(7), cells, rate)
    assert int(often.sum()) == cells
    assert np.unique(values).size == values.size
    assert (often > 0).all()
    if cells > 1:
        distribution = laplace_distribution(rate, cells)
        seen = dict(zip(values.tolist(), often.tolist(), strict=True))
        wanted = {k: p * cells for k, p in distribution.items() if p * cells >= 10}
        inside = [seen.get(k, 0) for k in wanted]
        rest = cells - sum(wanted.values())
        statistic = stats.chisquare(
            [*inside, cells - sum(inside)], [*wanted.values(), rest], sum_check=False
        )
        assert statistic.pvalue > 1e-3


# ---- the whole output ----


def outcome(noisy) -> tuple[object, ...]:
    return (round(noisy.threshold, 9), tuple(noisy.cells.tolist()), tuple(noisy.values.tolist()))


@pytest.mark.usefixtures("never_dense")
@pytest.mark.parametrize("common", [1, 2], ids=["by histogram", "singly"])
def test_output_has_the_exact_distribution(common, monkeypatch):
    """All noisy vectors of five cells, one of them with a count of 3, with NormSub."""
    monkeypatch.setattr(sparse, "COMMON", common)
    rate, size, cells, counts = Fraction(2), 5, integers(3), integers(3)
    single = {k: p for k, p in laplace_distribution(rate, 10**9).items() if abs(k) <= 3}
    distribution: dict[tuple[object, ...], float] = defaultdict(float)
    for noise in product(single, repeat=size):
        vector = np.array(noise)
        vector[cells] += counts
        level = norm_sub_threshold(*np.unique(vector, return_counts=True))
        above = np.flatnonzero(vector > level)
        key = (round(level, 9), tuple(above.tolist()), tuple(vector[above].tolist()))
        distribution[key] += math.prod(single[k] for k in noise)
    sampler = seeded(5)
    draws = [
        outcome(
            sparse_noise(sampler, cells, counts, size=size, rate=rate, threshold=norm_sub_threshold)
        )
        for _ in range(4000)
    ]
    assert p_value(draws, distribution) > 1e-3
    # A count of 2 instead of 3 would be noticed.
    other = [
        outcome(
            sparse_noise(
                sampler, cells, counts - 1, size=size, rate=rate, threshold=norm_sub_threshold
            )
        )
        for _ in range(4000)
    ]
    assert p_value(other, distribution) < 1e-6


def sample(draws: int, seed: int, *, threshold=norm_sub_threshold):
    """Noisy vectors of 40 cells with groups of equal counts and counts that stand alone."""
    sampler = seeded(seed)
    cells = integers(0, 1, 7, 8, 20, 31, 32, 39)
    counts = integers(1, 4, 1, 1, 4, 9, 1, 2)
    return [
        sparse_noise(sampler, cells, counts, size=40, rate=Fraction(1, 2), threshold=threshold)
        for _ in range(draws)
    ]


STATISTICS = {
    "number of survivors": lambda noisy: noisy.cells.size,
    "threshold": lambda noisy: round(noisy.threshold * 4) if noisy.cells.size else None,
    "largest value": lambda noisy: int(noisy.values.max(initial=-1)),
    "sum": lambda noisy: int(noisy.values.sum()) // 5,
    "a cell of a group": lambda noisy: dict(
        zip(noisy.cells.tolist(), noisy.values.tolist(), strict=True)
    ).get(8),
    "a cell that stands alone": lambda noisy: dict(
        zip(noisy.cells.tolist(), noisy.values.tolist(), strict=True)
    ).get(31),
    "a zero cell": lambda noisy: dict(
        zip(noisy.cells.tolist(), noisy.values.tolist(), strict=True)
    ).get(5),
    "two of a group together": lambda noisy: (
        bool((noisy.cells == 0).any()),
        bool((noisy.cells == 7).any()),
    ),
    "a zero cell beside one of a group": lambda noisy: (
        bool((noisy.cells == 6).any()),
        bool((noisy.cells == 20).any()),
    ),
}


def test_sparse_and_dense_agree(monkeypatch):
    dense = sample(3000, 1)
    monkeypatch.setattr(sparse, "DENSE_UP_TO", 0)
    monkeypatch.setattr(sparse, "DENSE_AT_MOST", 0)
    monkeypatch.setattr(sparse, "COMMON", 2)
    by_histogram = sample(3000, 2)
    monkeypatch.setattr(sparse, "COMMON", 100)
    singly = sample(3000, 3)
    for statistic in STATISTICS.values():
        expected = [statistic(noisy) for noisy in dense]
        assert two_sample_p_value(expected, [statistic(noisy) for noisy in by_histogram]) > 1e-3
        assert two_sample_p_value(expected, [statistic(noisy) for noisy in singly]) > 1e-3


@pytest.mark.usefixtures("never_dense")
def test_survivors_among_zero_cells_lie_anywhere():
    places = Counter()
    for noisy in sample(1500, 9, threshold=lambda _values, _how_often: 3.0):
        places.update(noisy.cells.tolist())
    zero_cells = sorted(set(range(40)) - {0, 1, 7, 8, 20, 31, 32, 39})
    seen = [places[cell] for cell in zero_cells]
    assert stats.chisquare(seen).pvalue > 1e-3
    # P(noise > 3) = q⁴/(1+q)
    q = math.exp(-0.5)
    assert sum(seen) / (1500 * len(seen)) == pytest.approx(q**4 / (1 + q), rel=0.05)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("level", [None, 1.0])
def test_survivors_are_in_order_and_above_the_threshold(dense, level, request):
    if not dense:
        request.getfixturevalue("never_dense")
    fixed = {} if level is None else {"threshold": lambda _values, _how_often: level}
    for noisy in sample(200, 4, **fixed):
        assert (np.diff(noisy.cells) > 0).all()
        assert (noisy.values > noisy.threshold).all()
        assert noisy.size == 40


@pytest.mark.usefixtures("never_dense")
@pytest.mark.parametrize("level", [-math.inf, math.inf])
def test_everything_and_nothing_can_survive(level):
    for noisy in sample(20, 6, threshold=lambda _values, _how_often: level):
        assert noisy.cells.tolist() == (list(range(40)) if level < 0 else [])


@pytest.mark.usefixtures("never_dense")
def test_the_threshold_sees_the_histogram_of_the_whole_vector():
    seen = []

    def everything(values, how_often):
        seen.append((values, how_often))
        return -math.inf

    for noisy in sample(50, 8, threshold=everything):
        values, how_often = seen.pop(0)
        expected = np.unique(noisy.values, return_counts=True)
        assert np.array_equal(values, expected[0])
        assert np.array_equal(how_often, expected[1])


def test_no_cells():
    noisy = sparse_noise(
        seeded(1),
        integers(),
        integers(),
        size=0,
        rate=Fraction(1),
        threshold=norm_sub_threshold,
    )
    assert noisy.cells.size == 0
    assert noisy.threshold == math.inf


def test_a_vector_of_a_billion_cells():
    cells = np.arange(0, 100_000, 50, dtype=np.int64)
    counts = np.full(cells.size, 200, dtype=np.int64)
    noisy = sparse_noise(
        seeded(1),
        cells,
        counts,
        size=10**9,
        rate=Fraction(1, 10),
        threshold=lambda _values, _how_often: 150.0,
    )
    # Beyond 150 there are 2 000·(1 − q⁵⁰ʹ…) explicit cells and 10⁹·q¹⁵¹/(1+q) others.
    q = math.exp(-0.1)
    others = 1e9 * q**151 / (1 + q)
    explicit = np.isin(noisy.cells, cells).sum()
    assert explicit == pytest.approx(2000 * (1 - q**50 / (1 + q)), abs=20)
    assert noisy.cells.size - explicit == pytest.approx(others, abs=5 * math.sqrt(others))


def test_wide_noise_is_drawn_singly():
    """A histogram would take as many steps as the noise is wide: here, for ever."""
    noisy = sparse_noise(
        seeded(1),
        integers(5),
        integers(7),
        size=100_000,
        rate=Fraction(1, 10**9),
        threshold=lambda _values, _how_often: 0.0,
    )
    assert noisy.cells.size == pytest.approx(50_000, abs=1000)


def test_opendp_never_draws_a_histogram(monkeypatch):
    monkeypatch.setattr(sparse, "noise_histogram", None)
    monkeypatch.setattr(sparse, "DENSE_UP_TO", 0)
    monkeypatch.setattr(sparse, "DENSE_AT_MOST", 0)
    noisy = sparse_noise(
        OpenDPSampler(RandomSource.secure()),
        integers(5),
        integers(1000),
        size=300,
        rate=Fraction(1),
        threshold=lambda _values, _how_often: 500.0,
    )
    assert noisy.cells.tolist() == [5]


@given(st.sets(st.integers(0, 400)), st.integers(0, 400))
@example(set(), 0)
@example({0}, 0)
@example({400}, 400)
@example(set(range(390, 401)), 395)
def test_looking_up_a_cell(cells, cell):
    listed = np.array(sorted(cells), dtype=np.int64)
    assert samplers._listed(cell, listed, 401) == (cell in cells)
    uncompiled = getattr(samplers._listed, "py_func", samplers._listed)
    assert uncompiled(cell, listed, 401) == (cell in cells)


@pytest.mark.parametrize("spread", [1, 10**6])
def test_histogram_of_values(spread):
    values = np.random.default_rng(1).integers(-5, 5, size=100) * spread
    found, often = sparse.histogram(values)
    expected = np.unique(values, return_counts=True)
    assert np.array_equal(found, expected[0])
    assert np.array_equal(often, expected[1])


@pytest.mark.parametrize(("size", "count"), [(5, 5), (5, 3), (9, 2), (4, 0), (1, 1)])
def test_subsets_are_uniform(size, count):
    sampler = seeded(3)
    drawn = [
        tuple(sorted(samplers.random_subset(sampler, size, count).tolist())) for _ in range(4000)
    ]
    ways = math.comb(size, count)
    assert all(len(set(subset)) == count for subset in drawn)
    assert p_value(drawn, dict.fromkeys(set(drawn), 1 / ways)) > 1e-3
    assert len(set(drawn)) == ways


@pytest.mark.usefixtures("never_dense")
def test_words_handed_out_sparingly_and_interpreted_kernels_change_nothing(monkeypatch):
    expected = [outcome(noisy) for noisy in sample(10, 12)]
    monkeypatch.setattr(
        RandomSource, "seeded", classmethod(lambda _cls, seed: Rationed.of(seed, 10_000))
    )
    monkeypatch.setattr(Rationed, "seeded", classmethod(_plain_seeded))
    assert [outcome(noisy) for noisy in sample(10, 12)] == expected
    interpret(monkeypatch)
    with np.errstate(over="ignore"):  # the hash of a cell wraps around
        assert [outcome(noisy) for noisy in sample(10, 12)] == expected


_ORIGINAL_SEEDED = RandomSource.seeded.__func__  # type: ignore[attr-defined]


def _plain_seeded(cls, seed):
    return _ORIGINAL_SEEDED(cls, seed)
