"""Exact samplers on machine integers: discrete Laplace, Bernoulli(exp(−x)), uniform choice.

The discrete Laplace sampler is Algorithm 2 of Canonne, Kamath and Steinke, "The Discrete
Gaussian for Differential Privacy" (2020). No floating-point number is involved, so the law is
the stated one and not something near it. It is written by hand because the vetted library with
the same law (OpenDP, the reference in the tests) needs about ten seconds for a million draws;
this needs less than a tenth of one. It does not run in constant time.

The compiled functions read bits from an array of random words. Where they stand is a tuple
``(next word, what is left of the last one, how many bits that is)`` that goes in and comes out,
so that the compiler keeps it in registers. A draw that runs out of words leaves the next word
beyond their end (`_ran_out`); its caller starts it again on the same bits, with more words behind
them (see `randomness`).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.errors import BudgetError, InvalidArgument, MissingExtra
from psgraph.privacy.guarantee import round_down
from psgraph.privacy.randomness import RandomSource

__all__ = ["OpenDPSampler", "Sampler"]

Words = NDArray[np.uint64]
Place = tuple[int, np.uint64, int]
_TWELVE_FACTORIAL = 479_001_600
MOST_FOR_OPENDP = 1 << 22
Step = Callable[[int, Words, Place], tuple[int, Place]]


@kernel
def _ran_out(words: Words, place: Place) -> bool:
    return place[0] > words.size


@kernel
def _bits(count: int, words: Words, place: Place) -> tuple[int, Place]:
    """`count` ≤ 62 fresh random bits as an integer."""
    index, held, left = place
    if left < count:
        # What is left of a word is dropped rather than joined to the next: cheaper, and a
        # choice made without looking at the bits.
        if index >= words.size:
            return 0, (words.size + 1, held, left)
        held, left = words[index], 64
        index += 1
    value = np.int64(held & ((np.uint64(1) << np.uint64(count)) - np.uint64(1)))
    return value, (index, held >> np.uint64(count), left - count)  # type: ignore[return-value]


@kernel
def _width(bound: int) -> int:
    """How many bits hold 0, …, bound − 1."""
    width = 0
    while (1 << width) < bound:
        width += 1
    return width


@kernel
def _below(bound: int, width: int, words: Words, place: Place) -> tuple[int, Place]:
    """A uniform integer in [0, bound), by rejection from 2^width."""
    while True:
        value, place = _bits(width, words, place)
        if value < bound or _ran_out(words, place):
            return value, place


@kernel
def _one_in(run: int, words: Words, place: Place) -> tuple[bool, Place]:
    """True with probability 1/run."""
    if run == 2:
        value, place = _bits(1, words, place)
    else:
        value, place = _below(run, _width(run), words, place)
    return value == 0, place


@kernel
def _bernoulli_exp_one(words: Words, place: Place) -> tuple[bool, Place]:
    """True with probability exp(−1): a run of coins 1, 1/2, 1/3, … breaks at an odd place.

    The run outlasts coin k with probability 1/k!, so one uniform integer below 12! settles the
    first twelve coins; in the one case of 12! where they all hold, the next are tossed singly.
    """
    value, place = _below(_TWELVE_FACTORIAL, 29, words, place)
    bound, run = _TWELVE_FACTORIAL // 2, 2
    while value < bound and run < 12:
        run += 1
        bound //= run
    if value >= bound or _ran_out(words, place):
        return run % 2 == 1, place
    while True:
        run += 1
        goes_on, place = _one_in(run, words, place)
        if not goes_on or _ran_out(words, place):
            return run % 2 == 1, place


@kernel
def _bernoulli_exp(
    numerator: int, denominator: int, width: int, words: Words, place: Place
) -> tuple[bool, Place]:
    """True with probability exp(−numerator/denominator), for any non-negative rational.

    `width` is the number of bits that hold 0, …, denominator − 1.
    """
    while numerator > denominator:
        whole, place = _bernoulli_exp_one(words, place)
        if not whole:
            return False, place
        numerator -= denominator
    run = 1
    while True:
        value, place = _below(denominator, width, words, place)
        goes_on = value < numerator
        if goes_on and run > 1:
            goes_on, place = _one_in(run, words, place)
        if not goes_on or _ran_out(words, place):
            return run % 2 == 1, place
        run += 1


@kernel
def _discrete_laplace(a: int, b: int, width: int, words: Words, place: Place) -> tuple[int, Place]:
    """One integer k with probability proportional to exp(−|k|·a/b)."""
    while True:
        remainder, place = _below(b, width, words, place)
        kept, place = _bernoulli_exp(remainder, b, width, words, place)
        if _ran_out(words, place):
            return 0, place
        if not kept:
            continue
        quotient = 0
        while True:
            more, place = _bernoulli_exp_one(words, place)
            if not more or _ran_out(words, place):
                break
            quotient += 1
        magnitude = (remainder + b * quotient) // a
        negative, place = _bits(1, words, place)
        if negative and magnitude == 0 and not _ran_out(words, place):
            continue  # otherwise zero would count twice
        return -magnitude if negative else magnitude, place


@kernel
def _fill_discrete_laplace(
    out: NDArray[np.int64], done: int, a: int, b: int, words: Words, place: Place
) -> tuple[int, Place]:
    """Draw into out[done:] until the words run out; how many entries are done."""
    width = _width(b)
    while done < out.size:
        value, after = _discrete_laplace(a, b, width, words, place)
        if _ran_out(words, after):
            break
        out[done] = value
        done += 1
        place = after
    return done, place


@kernel
def _shuffle(items: NDArray[np.int64], done: int, words: Words, place: Place) -> tuple[int, Place]:
    """Fisher–Yates from the front; how many places are settled."""
    while done < items.size:
        choices = items.size - done
        step, after = _below(choices, _width(choices), words, place)
        if _ran_out(words, after):
            break
        items[done], items[done + step] = items[done + step], items[done]
        done += 1
        place = after
    return done, place


@kernel
def _fill_below(
    out: NDArray[np.int64], done: int, bound: int, words: Words, place: Place
) -> tuple[int, Place]:
    """Uniform integers below `bound` into out[done:]."""
    width = _width(bound)
    while done < out.size:
        value, after = _below(bound, width, words, place)
        if _ran_out(words, after):
            break
        out[done] = value
        done += 1
        place = after
    return done, place


class Sampler:
    """Draws from a random source, exactly.

    Parameters
    ----------
    source
        Where the random words come from.
    """

    histograms = True
    """Whether the noise of many equal counts may be drawn as a histogram of it."""

    def __init__(self, source: RandomSource) -> None:
        self.source = source

    @property
    def private(self) -> bool:
        """Whether the words are secret, so that what is drawn protects anything."""
        return self.source.private

    def run(self, size: int, step: Step, *, words: int = 2) -> None:
        """Call ``step(done, words, place)`` with more and more words until `size` are done.

        `words` is a first guess of the words one item takes.
        """
        done, held, left = 0, np.uint64(0), 0
        wanted = min(size * words, 1 << 16) + 64
        while done < size:
            before = done
            done, (used, held, left) = step(done, self.source.peek(wanted), (0, held, left))
            held = np.uint64(held)
            self.source.consume(used)
            # Where not a single item fitted, its draw needs more words than were offered.
            wanted = wanted * 2 if done == before else min((size - done) * words, 1 << 16) + 64

    def discrete_laplace(self, size: int, rate: Fraction) -> NDArray[np.int64]:
        """`size` independent integers k with probability proportional to exp(−|k|·rate).

        The rate is rounded down to a multiple of 2⁻⁴⁰ (and to 2²⁰ at most), never up.

        >>> Sampler(RandomSource.seeded(1)).discrete_laplace(5, Fraction(1, 2)).shape
        (5,)
        """
        a, b = self.rounded_rate(rate)
        out = np.empty(size, dtype=np.int64)
        self.run(size, lambda done, w, s: _fill_discrete_laplace(out, done, a, b, w, s))
        return out

    @staticmethod
    def rounded_rate(rate: Fraction) -> tuple[int, int]:
        """The rate that is really used, as numerator and denominator."""
        a, b = round_down(rate, denominator=1 << 40, largest=1 << 20)
        if a == 0:
            raise BudgetError(
                "epsilon is too small: noise of a scale beyond 2^40 can't be drawn\n"
                "Give the window more epsilon, or fewer timestamps."
            )
        return a, b

    def permutation(self, size: int) -> NDArray[np.int64]:
        """A uniformly random order of 0, …, size − 1."""
        items = np.arange(size, dtype=np.int64)
        self.run(size, lambda done, w, s: _shuffle(items, done, w, s))
        return items

    def integers(self, size: int, bound: int) -> NDArray[np.int64]:
        """`size` independent uniform integers in [0, bound), for a bound of 2⁶² at most.

        Where none are wanted the bound doesn't matter.
        """
        if size and not 1 <= bound <= 1 << 62:
            raise InvalidArgument(f"uniform whole numbers need a bound from 1 to 2^62, not {bound}")
        out = np.empty(size, dtype=np.int64)
        self.run(size, lambda done, w, s: _fill_below(out, done, bound, w, s))
        return out


class OpenDPSampler(Sampler):
    """The same, with every discrete Laplace noise drawn by the OpenDP library.

    For those who want the vetted library in their trust base; about a hundred times slower.
    OpenDP draws from the operating system itself, so the source must be a secure one. It has no
    way to draw a histogram of noise, so vectors of counts are drawn cell by cell: up to some
    millions of cells, which the super-graph of 40,000 nodes has.
    """

    histograms = False

    def __init__(self, source: RandomSource) -> None:
        if not source.private:
            raise BudgetError("OpenDP draws from the operating system and can't be seeded")
        try:
            import opendp.prelude as dp
        except ImportError:
            raise MissingExtra("OpenDP", "opendp") from None
        dp.enable_features("contrib")
        self._dp = dp
        super().__init__(source)

    def discrete_laplace(self, size: int, rate: Fraction) -> NDArray[np.int64]:
        if size > MOST_FOR_OPENDP:
            raise InvalidArgument(
                f"OpenDP would have to draw {size:,} noises one by one, more than "
                f"{MOST_FOR_OPENDP:,}\nUse psgraph's own sampler (noise 'exact') for this stream."
            )
        a, b = self.rounded_rate(rate)
        dp = self._dp
        # The scale must be rounded up where the rate is rounded down.
        scale = float(np.nextafter(b / a, np.inf)) if Fraction(b / a) < Fraction(b, a) else b / a
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
        return np.array(mechanism([0] * size), dtype=np.int64).reshape(size)
