"""Exact samplers on machine integers: discrete Laplace, uniform orders, choices and subsets.

The discrete Laplace sampler is Algorithm 2 of Canonne, Kamath and Steinke, "The Discrete
Gaussian for Differential Privacy" (2020). No floating-point number is involved, so the
distribution is exactly the stated one. It is written by hand because the vetted library with the
same distribution (OpenDP, the reference in the tests) needs about ten seconds for a million
draws; this needs less than a tenth of one. It does not run in constant time.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Words
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import KeySet, add_key, key_set
from psgraph.errors import BudgetError, InvalidArgument, MissingExtra
from psgraph.privacy.guarantee import round_down
from psgraph.privacy.randomness import (
    Cursor,
    RandomSource,
    bernoulli_exp,
    bernoulli_exp_one,
    bit_width,
    ran_out,
    random_bits,
    uniform_below,
)

__all__ = [
    "OpenDPSampler",
    "Sampler",
    "random_free_cells",
    "random_subset",
]

MOST_FOR_OPENDP = 1 << 22
Step = Callable[[int, Words, Cursor], tuple[int, Cursor]]


@kernel
def _discrete_laplace(
    a: int, b: int, width: int, words: Words, cursor: Cursor
) -> tuple[int, Cursor]:
    """One integer k with probability proportional to exp(−|k|·a/b)."""
    while True:
        remainder, cursor = uniform_below(b, width, words, cursor)
        kept, cursor = bernoulli_exp(remainder, b, width, words, cursor)
        if ran_out(words, cursor):
            return 0, cursor
        if not kept:
            continue
        quotient = 0
        while True:
            more, cursor = bernoulli_exp_one(words, cursor)
            if not more or ran_out(words, cursor):
                break
            quotient += 1
        magnitude = (remainder + b * quotient) // a
        negative, cursor = random_bits(1, words, cursor)
        if negative and magnitude == 0 and not ran_out(words, cursor):
            continue  # otherwise zero would count twice
        return -magnitude if negative else magnitude, cursor


@kernel
def _fill_discrete_laplace(
    out: NDArray[np.int64], done: int, a: int, b: int, words: Words, cursor: Cursor
) -> tuple[int, Cursor]:
    """Draw into out[done:] until the words run out; return how many entries are done."""
    width = bit_width(b)
    while done < out.size:
        value, after = _discrete_laplace(a, b, width, words, cursor)
        if ran_out(words, after):
            break
        out[done] = value
        done += 1
        cursor = after
    return done, cursor


@kernel
def _shuffle(
    items: NDArray[np.int64], done: int, words: Words, cursor: Cursor
) -> tuple[int, Cursor]:
    """Fisher–Yates shuffle from the front; return how many items are in their final position."""
    while done < items.size:
        choices = items.size - done
        step, after = uniform_below(choices, bit_width(choices), words, cursor)
        if ran_out(words, after):
            break
        items[done], items[done + step] = items[done + step], items[done]
        done += 1
        cursor = after
    return done, cursor


@kernel
def _fill_below(
    out: NDArray[np.int64], done: int, bound: int, words: Words, cursor: Cursor
) -> tuple[int, Cursor]:
    """Draw uniform integers below `bound` into out[done:]."""
    width = bit_width(bound)
    while done < out.size:
        value, after = uniform_below(bound, width, words, cursor)
        if ran_out(words, after):
            break
        out[done] = value
        done += 1
        cursor = after
    return done, cursor


class Sampler:
    """Draws from a random source, exactly.

    Parameters
    ----------
    source
        Where the random words come from.
    """

    name: ClassVar[str] = "exact"
    """What the terms of a publication call it."""

    histograms: ClassVar[bool] = True
    """Whether the noise of many equal counts may be drawn as a histogram of it."""

    def __init__(self, source: RandomSource) -> None:
        self.source = source

    @property
    def private(self) -> bool:
        """Whether the words are secret: without that, noise protects nothing."""
        return self.source.private

    def run(self, size: int, step: Step, *, words: int = 2) -> None:
        """Call ``step(done, words, cursor)`` with more and more words until `size` are done.

        `words` is a first guess of the words one item takes.
        """
        done, held, left = 0, np.uint64(0), 0
        wanted = min(size * words, 1 << 16) + 64
        while done < size:
            before = done
            done, (used, held, left) = step(done, self.source.peek(wanted), (0, held, left))
            held = np.uint64(held)
            self.source.consume(used)
            # If not even one item was finished, it needs more words than were offered.
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
        """The rate that is used after rounding, as numerator and denominator."""
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

        With size 0 the bound does not matter.
        """
        if size and not 1 <= bound <= 1 << 62:
            raise InvalidArgument(f"uniform integers need a bound from 1 to 2^62, not {bound}")
        out = np.empty(size, dtype=np.int64)
        self.run(size, lambda done, w, s: _fill_below(out, done, bound, w, s))
        return out


class OpenDPSampler(Sampler):
    """A sampler that draws discrete Laplace noise with the OpenDP library.

    For those who want the vetted library in their trust base; about a hundred times slower.
    OpenDP draws from the operating system itself, so the source must be a secure one. It can't
    draw a histogram of noise, so vectors of counts are drawn cell by cell, up to about four
    million cells. The super-graph of 40,000 nodes has half of that.
    """

    name: ClassVar[str] = "opendp"
    histograms: ClassVar[bool] = False

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
                f"OpenDP would have to draw {size:,} noise values one by one, more than "
                f"{MOST_FOR_OPENDP:,}\nUse psgraph's own sampler (noise 'exact') for this stream."
            )
        a, b = self.rounded_rate(rate)
        dp = self._dp
        # The scale must be rounded up where the rate is rounded down.
        scale = float(np.nextafter(b / a, np.inf)) if Fraction(b / a) < Fraction(b, a) else b / a
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
        return np.array(mechanism([0] * size), dtype=np.int64).reshape(size)


# ---- uniform sets of distinct cells, in time proportional to the cells drawn ----


def random_subset(sampler: Sampler, size: int, count: int) -> Integers:
    """Draw `count` distinct indices below `size`, uniformly and in random order."""
    if 2 * count > size:
        return sampler.permutation(size)[:count]
    return random_free_cells(sampler, np.empty(0, dtype=np.int64), size=size, count=count)


def random_free_cells(sampler: Sampler, cells: Integers, *, size: int, count: int) -> Integers:
    """Draw `count` distinct cells below `size`, uniformly among those not in `cells` (ascending).

    The caller ensures that enough of them are free: the number of tries grows with the share taken.
    """
    found = np.empty(count, dtype=np.int64)
    taken = key_set(count)
    sampler.run(count, lambda done, w, c: _fill_free_cells(found, done, taken, cells, size, w, c))
    return found


@kernel
def _fill_free_cells(
    found: Integers,
    done: int,
    taken: KeySet,
    cells: Integers,
    size: int,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    """Draw cells into found[done:], skipping those in `cells` and those in `taken`."""
    width = bit_width(size)
    while done < found.size:
        cell, after = uniform_below(size, width, words, cursor)
        if ran_out(words, after):
            break
        cursor = after
        if _listed(cell, cells, size) or not add_key(taken, cell):
            continue
        found[done] = cell
        done += 1
    return done, cursor


@kernel
def _listed(cell: int, cells: Integers, size: int) -> bool:
    """Whether a sorted list of cells below `size` has a cell.

    Begins where the cell would be if the cells were spread evenly, and widens from there: few
    steps for a random super-graph, never many more than a plain binary search.
    """
    at = min(int(cell / size * cells.size), cells.size - 1)
    left, right, step = max(at, 0), at + 1, 1
    while left > 0 and cells[left] > cell:
        left, step = max(left - step, 0), 2 * step
    step = 1
    while right < cells.size and cells[right] <= cell:
        right, step = min(right + step, cells.size), 2 * step
    while right - left > 1:
        middle = (left + right) // 2
        if cells[middle] <= cell:
            left = middle
        else:
            right = middle
    return left < cells.size and cells[left] == cell
