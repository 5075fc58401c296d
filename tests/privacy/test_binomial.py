"""Exact binomial counts: the digits of exp(−r), fair coins by two routes, biased coins."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from psgraph.audit.sampler_battery import p_value
from psgraph.privacy import binomial as binomial_module
from psgraph.privacy.binomial import BinaryDigits, _accept_exactly, binomial, fair_binomial
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

LARGE = 1 << 14  # above it, fair coins are drawn by rejection


def seeded(seed: int) -> Sampler:
    return Sampler(RandomSource.seeded(seed))


# ---- digits ----


@given(
    st.fractions(min_value=0, max_value=1 << 20, max_denominator=1 << 40),
    st.booleans(),
)
@example(Fraction(1, 1 << 40), False)
@example(Fraction(1, 1 << 40), True)
@example(Fraction(1 << 20), True)
@example(Fraction(19, 800), False)
@settings(max_examples=150)
def test_digits_are_those_of_the_exponential(rate, odds):
    if rate == 0:
        return
    digits = BinaryDigits(rate, odds=odds)
    count = 300  # beyond the first 256 bits, so that refining is needed
    with localcontext() as context:
        context.prec = 250
        context.Emin = -(10**9)
        p = (-Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
        value = 2 * p / (1 + p) if odds else p
        expected = int(value * 2**count)
    shown = 0
    for index in range(count):
        shown = shown << 1 | digits[index]
    assert shown == expected


def test_digits_that_are_hard_to_tell_are_refined(monkeypatch):
    """With two bits of precision to begin with, the first digits already need more."""
    refine = BinaryDigits._refine
    asked = []

    def starting_small(self, precision):
        asked.append(precision)
        refine(self, 2 if precision == 256 else precision)

    monkeypatch.setattr(BinaryDigits, "_refine", starting_small)
    digits = BinaryDigits(Fraction(1))
    assert [digits[i] for i in range(8)] == [0, 1, 0, 1, 1, 1, 1, 0]
    assert len(asked) > 2


# ---- fair coins ----


def binned(draws: list[int], n: int, chance: float, bins: int = 40) -> float:
    """Chi-square of binomial draws on bins of about equal probability."""
    distribution = stats.binom(n, chance)
    if n <= 60:
        return p_value(draws, dict(enumerate(distribution.pmf(np.arange(n + 1)).tolist())))
    edges = np.unique(distribution.ppf(np.linspace(0, 1, bins + 1)[1:-1]))
    masses = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]]))
    places = np.searchsorted(edges, draws)
    return p_value(places.tolist(), dict(enumerate(masses.tolist())))


@pytest.mark.parametrize(
    "n", [1, 2, 7, 60, 1000, LARGE - 1, LARGE, LARGE + 1, LARGE + 2, 10**6, 10**6 + 1, 10**13]
)
def test_fair_binomial(n):
    sampler = seeded(n)
    draws = [fair_binomial(sampler, n) for _ in range(5000)]
    assert binned(draws, n, 0.5) > 1e-3
    # The sample is large enough to see a mean that is off by a sixth of a deviation.
    off = 0.5 + 0.16 * 0.5 / math.sqrt(n)
    assert binned(draws, n, off) < 1e-3


def test_an_odd_number_of_coins_is_one_coin_more():
    """Too small a difference for a statistical test, so on the same words."""
    differences = [
        fair_binomial(seeded(seed), LARGE + 3) - fair_binomial(seeded(seed), LARGE + 2)
        for seed in range(300)
    ]
    assert p_value(differences, {0: 0.5, 1: 0.5}) > 1e-3


def test_no_coins():
    assert fair_binomial(seeded(1), 0) == 0
    assert binomial(seeded(1), 0, BinaryDigits(Fraction(1))) == 0


def test_the_float_short_cut_changes_nothing(monkeypatch):
    """Deciding every case in exact arithmetic gives the same numbers from the same words."""
    sizes = [LARGE + 2, LARGE + 3, 10**5, 10**7]
    quick, exact = seeded(4), seeded(4)
    expected = [fair_binomial(quick, n) for n in sizes for _ in range(60)]
    asked = []

    def counted(*arguments, **options):
        asked.append(1)
        return _accept_exactly(*arguments, **options)

    monkeypatch.setattr(binomial_module, "_RELATIVE_ERROR", 1e300)
    monkeypatch.setattr(binomial_module, "_accept_exactly", counted)
    assert [fair_binomial(exact, n) for n in sizes for _ in range(60)] == expected
    assert len(asked) >= len(expected)


def test_the_distribution_holds_by_exact_arithmetic_alone(monkeypatch):
    monkeypatch.setattr(binomial_module, "_RELATIVE_ERROR", 1e300)
    sampler = seeded(2)
    draws = [fair_binomial(sampler, LARGE + 2) for _ in range(1500)]
    assert binned(draws, LARGE + 2, 0.5, bins=20) > 1e-3


class _Chosen:
    """A source of chosen bits."""

    def __init__(self, *values: int) -> None:
        self.values = list(values)

    def bits(self, count: int) -> int:
        return self.values.pop(0)


@pytest.mark.parametrize(("next_bits", "accepted"), [(0, True), ((1 << 64) - 1, False)])
@pytest.mark.parametrize("k", [0, 40, 300])
def test_a_draw_on_the_very_edge_asks_for_more_bits(k, next_bits, accepted):
    half = LARGE
    scale = math.isqrt(half)
    with localcontext() as context:
        context.prec = 80
        ratio = Decimal(1)
        for i in range(1, k + 1):
            ratio *= Decimal(half - i + 1) / Decimal(half + i)
        chance = ratio * (Decimal(k) / scale - Decimal(half) / (2 * scale * scale)).exp()
        draw = int(chance * 2**53)  # the 53 bits that agree with those of the chance itself
    sampler = Sampler(_Chosen(next_bits))  # type: ignore[arg-type]
    assert _accept_exactly(sampler, draw, half=half, k=k, scale=scale) is accepted
    assert not sampler.source.values  # type: ignore[attr-defined]


def test_offsets_beyond_the_float_formula_are_decided_exactly(monkeypatch):
    """The formula is used up to a quarter of the coins; beyond, and at no coins, exactly."""
    sampler = seeded(8)
    n = LARGE + 2
    half = n // 2
    offsets = iter([half + 1, -half, half // 2 + 1, 3])  # impossible, one in 2^n, hardly, likely
    monkeypatch.setattr(sampler, "discrete_laplace", lambda _size, _rate: np.array([next(offsets)]))
    asked = []

    def decided(sampler, draw, *, half, k, scale):
        asked.append(k)
        return False

    monkeypatch.setattr(binomial_module, "_accept_exactly", decided)
    monkeypatch.setattr(sampler.source, "bits", lambda _count: 0)
    assert fair_binomial(sampler, n) == half + 3
    assert asked == [half, half // 2 + 1]


# ---- biased coins ----


@pytest.mark.parametrize("odds", [False, True])
@pytest.mark.parametrize("rate", [Fraction(5), Fraction(1), Fraction(1, 20)], ids=str)
@pytest.mark.parametrize("n", [1, 10, 1000, 30_000, 10**7])
def test_binomial(n, rate, odds):
    p = math.exp(-rate)
    chance = 2 * p / (1 + p) if odds else p
    sampler, digits = seeded(3), BinaryDigits(rate, odds=odds)
    draws = [binomial(sampler, n, digits) for _ in range(1000)]
    assert binned(draws, n, chance, bins=20) > 1e-3
