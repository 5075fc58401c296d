"""The samplers draw from the stated distribution: exactly, by enumeration, and statistically."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.audit.sampler_battery import (
    laplace_distribution,
    laplace_pmf,
    p_value,
    power,
    two_sample_p_value,
)
from psgraph.errors import BudgetError, InvalidArgument, MissingExtra
from psgraph.privacy import randomness, samplers
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import OpenDPSampler, Sampler
from psgraph_lab.mutants.mutant import mutated

from .interpreted import Rationed, interpret
from .paths import GivesUp, exact_distribution

SCALES = [Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(5, 2), Fraction(21), Fraction(100)]
DRAWS = 400_000


def seeded(seed: int) -> Sampler:
    return Sampler(RandomSource.seeded(seed))


# ---- discrete Laplace against its exact pmf ----


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_discrete_laplace_has_its_pmf(scale):
    draws = seeded(11).discrete_laplace(DRAWS, 1 / scale).tolist()
    distribution = laplace_distribution(1 / scale, DRAWS)
    assert p_value(draws, distribution) > 1e-3
    for factor in (Fraction(95, 100), Fraction(105, 100)):
        wrong = laplace_distribution(1 / (scale * factor), DRAWS)
        # The test has the power to see a scale that is off by five per cent, and does see it.
        assert power(distribution, wrong, draws=DRAWS) > 1 - 1e-9
        assert p_value(draws, wrong) < 1e-6
        off = seeded(12).discrete_laplace(DRAWS, 1 / (scale * factor)).tolist()
        assert p_value(off, distribution) < 1e-6


def test_successive_draws_are_independent():
    draws = np.clip(seeded(3).discrete_laplace(200_000, Fraction(1)), -2, 2)
    pairs = list(zip(draws[:-1:2].tolist(), draws[1::2].tolist(), strict=True))
    edge = laplace_distribution(Fraction(1), 10**6)
    clipped = {
        k: edge[k] if abs(k) < 2 else sum(p for j, p in edge.items() if j * k > 0 and abs(j) >= 2)
        for k in range(-2, 3)
    }
    joint = {(a, b): clipped[a] * clipped[b] for a in clipped for b in clipped}
    assert p_value(pairs, joint) > 1e-3


@pytest.mark.parametrize("rate", [Fraction(2), Fraction(1, 3), Fraction(1, 40)], ids=str)
def test_discrete_laplace_agrees_with_opendp(rate):
    # OpenDP draws from the operating system, so this test is not repeatable: the level is one
    # in a million, and a scale that is off by fifteen per cent is still found with certainty.
    draws = 40_000
    width = max(1, int(1 / (3 * rate)))  # bins as wide as a third of the scale

    def binned(sampler: Sampler, rate: Fraction) -> list[int]:
        return (sampler.discrete_laplace(draws, rate) // width).tolist()

    theirs = binned(OpenDPSampler(RandomSource.secure()), rate)
    assert two_sample_p_value(binned(seeded(5), rate), theirs) > 1e-6
    assert two_sample_p_value(binned(seeded(6), rate * Fraction(115, 100)), theirs) < 1e-6


def test_opendp_rounds_the_scale_up(monkeypatch):
    scales = []
    sampler = OpenDPSampler(RandomSource.secure())
    monkeypatch.setattr(
        sampler._dp.m,
        "make_laplace",
        lambda *_, scale: scales.append(scale) or (lambda values: values),
    )
    for rate in (Fraction(1, 3), Fraction(3), Fraction(7, 11), Fraction(1, 2)):
        assert sampler.discrete_laplace(3, rate).tolist() == [0, 0, 0]
        assert Fraction(scales.pop()) >= 1 / rate


def test_opendp_is_not_asked_for_too_much():
    with pytest.raises(InvalidArgument, match="4,194,304"):
        OpenDPSampler(RandomSource.secure()).discrete_laplace((1 << 22) + 1, Fraction(1))


def test_opendp_must_be_secure_and_installed(monkeypatch):
    with pytest.raises(BudgetError):
        OpenDPSampler(RandomSource.seeded(1))
    monkeypatch.setitem(__import__("sys").modules, "opendp.prelude", None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[opendp\]"):
        OpenDPSampler(RandomSource.secure())


# ---- the kernels, by enumeration of all their random choices ----


def bernoulli(draw, chance: float) -> bool:
    return draw([chance, 1 - chance]) == 0


def test_bernoulli_exp_one_is_exact(monkeypatch):
    """Of the 12! values, exactly 12!/k! outlast coin k; the rest is tossed coin by coin."""
    interpret(monkeypatch)
    words = np.zeros(1, dtype=np.uint64)

    def with_value(value: int) -> bool:
        monkeypatch.setattr(randomness, "uniform_below", lambda *_: (value, (0, 0, 0)))
        return randomness.bernoulli_exp_one(words, (0, np.uint64(0), 0))[0]

    longest = math.factorial(12)
    chance = Fraction(0)
    for run in range(2, 13):
        low, high = longest // math.factorial(run), longest // math.factorial(run - 1)
        for value in {low, high - 1, (low + high) // 2}:
            assert with_value(value) == (run % 2 == 1)
        chance += Fraction(high - low, longest) * (run % 2)

    def tosses(draw):  # all twelve coins held
        monkeypatch.setattr(
            randomness, "one_in", lambda run, *_: (bernoulli(draw, 1 / run), (0, 0, 0))
        )
        return with_value(0)

    after_twelve = exact_distribution(tosses)[True]
    assert float(chance) + after_twelve / longest == pytest.approx(math.exp(-1), abs=1e-15)


@pytest.mark.parametrize(
    ("numerator", "denominator"), [(0, 1), (0, 3), (1, 1), (1, 3), (3, 4), (5, 2), (9, 4), (3, 1)]
)
def test_bernoulli_exp_is_exact(monkeypatch, numerator, denominator):
    interpret(monkeypatch)
    words = np.zeros(1, dtype=np.uint64)

    def toss(draw):
        monkeypatch.setattr(
            randomness, "uniform_below", lambda bound, *_: (draw([1 / bound] * bound), (0, 0, 0))
        )
        monkeypatch.setattr(
            randomness, "one_in", lambda run, *_: (bernoulli(draw, 1 / run), (0, 0, 0))
        )
        monkeypatch.setattr(
            randomness,
            "bernoulli_exp_one",
            lambda *_: (bernoulli(draw, math.exp(-1)), (0, 0, 0)),
        )
        cursor = (0, np.uint64(0), 0)
        return randomness.bernoulli_exp(numerator, denominator, 3, words, cursor)[0]

    distribution = exact_distribution(toss, smallest=1e-9)
    assert distribution.get(True, 0) == pytest.approx(math.exp(-numerator / denominator), abs=1e-5)
    assert distribution.get(False, 0) == pytest.approx(
        1 - math.exp(-numerator / denominator), abs=1e-5
    )


@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 2), (2, 3), (3, 2), (5, 4), (7, 1)])
def test_discrete_laplace_is_exact(monkeypatch, a, b):
    interpret(monkeypatch)
    words = np.zeros(1, dtype=np.uint64)

    def one_try(draw):
        tries = 0

        def below(bound, *_):
            nonlocal tries
            tries += 1
            if tries > 1:  # rejected; what comes next is independent of this try
                raise GivesUp
            return draw([1 / bound] * bound), (0, 0, 0)

        monkeypatch.setattr(samplers, "uniform_below", below)
        monkeypatch.setattr(
            samplers,
            "bernoulli_exp",
            lambda x, y, *_: (bernoulli(draw, math.exp(-x / y)), (0, 0, 0)),
        )
        monkeypatch.setattr(
            samplers, "bernoulli_exp_one", lambda *_: (bernoulli(draw, math.exp(-1)), (0, 0, 0))
        )
        monkeypatch.setattr(samplers, "random_bits", lambda *_: (draw([0.5, 0.5]), (0, 0, 0)))
        return samplers._discrete_laplace(a, b, 3, words, (0, np.uint64(0), 0))[0]

    distribution = exact_distribution(one_try)
    accepted = math.fsum(distribution.values())
    for k in range(-5, 6):
        expected = float(laplace_pmf(np.array(k), a / b))
        assert distribution.get(k, 0) / accepted == pytest.approx(expected, abs=1e-9)


def test_the_enumeration_notices_a_doubled_zero(monkeypatch):
    monkeypatch.setattr(
        samplers,
        "_discrete_laplace",
        mutated(samplers._discrete_laplace, "and magnitude == 0", "and magnitude < 0"),
    )
    with pytest.raises(AssertionError):
        test_discrete_laplace_is_exact(monkeypatch, 1, 2)


# ---- uniform draws ----


def test_every_order_is_equally_likely():
    sampler = seeded(21)
    draws = [tuple(sampler.permutation(4).tolist()) for _ in range(24_000)]
    assert p_value(draws, dict.fromkeys(permutations(range(4)), 1 / 24)) > 1e-3


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 64, 1000])
def test_integers_are_uniform(bound):
    draws = seeded(31).integers(60_000, bound).tolist()
    assert p_value(draws, dict.fromkeys(range(bound), 1 / bound)) > 1e-3


def test_integers_reach_large_bounds():
    draws = seeded(32).integers(20_000, 3 << 60)
    assert p_value((draws // (1 << 60)).tolist(), dict.fromkeys(range(3), 1 / 3)) > 1e-3
    assert draws.min() >= 0


# ---- running out of words ----


@pytest.mark.parametrize("ration", [3, 17, 64, 10_000])
@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1, 7)], ids=str)
def test_draws_do_not_depend_on_how_words_are_handed_out(ration, rate):
    plenty, short = seeded(9), Sampler(Rationed.of(9, ration))
    for _ in range(3):
        assert np.array_equal(plenty.discrete_laplace(500, rate), short.discrete_laplace(500, rate))
        assert np.array_equal(plenty.permutation(50), short.permutation(50))
        assert np.array_equal(plenty.integers(50, 1000), short.integers(50, 1000))


def test_running_out_of_words_does_not_bias():
    rate = Fraction(1, 2)
    draws = Sampler(Rationed.of(1, 10_000)).discrete_laplace(60_000, rate).tolist()
    assert p_value(draws, laplace_distribution(rate, 60_000)) > 1e-3


def test_throwing_words_away_on_running_out_would_bias(monkeypatch):
    """The mistake that starting again on the *same* words avoids shows up in the same test."""
    # A draw that ran out is dropped with its words, so draws that need many words are rarer.
    careless = mutated(
        Sampler.run,
        "self.source.consume(used)",
        "self.source.consume(used if done > before else self.source.peek(wanted).size)",
    )
    monkeypatch.setattr(Sampler, "run", careless)
    rate = Fraction(1, 2)
    draws = Sampler(Rationed.of(1, 10_000)).discrete_laplace(60_000, rate).tolist()
    assert p_value(draws, laplace_distribution(rate, 60_000)) < 1e-6


def test_kernels_agree_with_their_source(monkeypatch):
    """Compiled and interpreted, the same words give the same draws."""
    compiled = seeded(17)
    expected = (
        compiled.discrete_laplace(300, Fraction(2, 7)),
        compiled.permutation(40),
        compiled.integers(40, 5),
    )
    interpret(monkeypatch)
    for ration in (1, 10_000):
        plain = Sampler(Rationed.of(17, ration))
        assert np.array_equal(plain.discrete_laplace(300, Fraction(2, 7)), expected[0])
        assert np.array_equal(plain.permutation(40), expected[1])
        assert np.array_equal(plain.integers(40, 5), expected[2])


def test_empty_draws():
    sampler = seeded(1)
    assert sampler.discrete_laplace(0, Fraction(1)).size == 0
    assert sampler.permutation(0).size == 0
    assert sampler.integers(0, 5).size == 0
    assert sampler.integers(0, 0).size == 0


@pytest.mark.parametrize("bound", [0, -3, (1 << 62) + 1, 1 << 64])
def test_bounds_that_cannot_be_drawn_below_are_refused(bound):
    with pytest.raises(InvalidArgument):
        seeded(1).integers(3, bound)


def test_the_largest_bound():
    """Uniform by its leading three bits; the last bit is drawn as well."""
    draws = seeded(2).integers(8000, 1 << 62)
    assert p_value((draws >> 59).tolist(), dict.fromkeys(range(8), 1 / 8)) > 1e-3
    assert p_value((draws & 1).tolist(), dict.fromkeys(range(2), 1 / 2)) > 1e-3


# ---- rates ----


@given(st.fractions(min_value=Fraction(1, 1 << 39), max_value=1 << 21, max_denominator=10**15))
def test_rates_are_rounded_down_and_hardly(rate):
    if rate == 0:
        return
    used = Fraction(*Sampler.rounded_rate(rate))
    assert used <= rate
    if rate <= 1 << 20:
        assert rate - used < Fraction(1, 1 << 40)
    else:
        assert used == 1 << 20
    if rate.denominator <= 1 << 40 and rate <= 1 << 20:
        assert used == rate
    assert used.denominator <= 1 << 40


@pytest.mark.parametrize("rate", [Fraction(1, 1 << 41), Fraction(1, 10**30)])
def test_a_rate_too_small_to_draw_is_refused(rate):
    with pytest.raises(BudgetError):
        seeded(1).discrete_laplace(1, rate)


def test_extreme_rates_can_be_drawn():
    assert not seeded(1).discrete_laplace(1000, Fraction(10**9)).any()
    wide = seeded(1).discrete_laplace(4000, Fraction(1, 1 << 40))
    assert 0.9 < np.abs(wide).mean() / 2**40 < 1.1


# ---- a forked child must not repeat its parent's noise ----


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_draws_other_noise():
    sampler = Sampler(RandomSource.secure())
    sampler.discrete_laplace(10, Fraction(1, 1000))
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        try:
            os.write(writer, sampler.discrete_laplace(20, Fraction(1, 1000)).tobytes())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        theirs = np.frombuffer(pipe.read(), dtype=np.int64)
    os.waitpid(child, 0)
    ours = sampler.discrete_laplace(20, Fraction(1, 1000))
    assert theirs.size == 20
    assert not np.array_equal(ours, theirs)
