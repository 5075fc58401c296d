"""Fisher's noncentral hypergeometric law, exactly.

Of A cells c hold a one. A set of k cells is drawn with probability proportional to exp(rate·x),
where x is how many ones are in it. Then ::

    P(x) ∝ C(c, x) · C(A − c, k − x) · exp(rate·x)

Going away from the mode, neighbouring probabilities have the ratio ::

    r(x) = P(x + 1) / P(x) = (c − x)(k − x)·exp(rate) / ((x + 1)(A − c − k + x + 1)),

which falls with x. So the weights relative to the mode are running products of ratios, and what
is left out beyond a place where r < 1 is at most a geometric series. x is the place a uniform
number falls into when the weights are laid end to end, first those from the mode upwards, then
those below.

The weights are computed in floating point. Every ratio has a relative error below 8·2⁻⁵³ (seven
roundings, one of them that of exp(rate)), and N of them with their sums are off by less than
N·10⁻¹⁵, what is left out by less than 10⁻¹⁸. Where the uniform number is not farther from a
boundary than four times that, which happens about once in 10¹¹ draws for common sizes, the same
comparison is made in decimal arithmetic with as many digits, and as many more random bits, as it
takes. The law is therefore the stated one, not one near it. Time grows with the standard
deviation of x, not with A.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.privacy.bits import Cursor, Words, ran_out, random_bits
from psgraph.privacy.samplers import Sampler

__all__ = ["noncentral_hypergeometric"]

Integers = NDArray[np.int64]

LARGEST_RATE = 64
_UNIFORM_BITS = 62
_LEFT_OUT = 1e-19  # of the weight so far, on each side
_ERROR = 4e-15  # of a sum, per weight in it
_DOUBTFUL = -1


def noncentral_hypergeometric(
    sampler: Sampler, cells: Integers, ones: Integers, drawn: Integers, *, rate: Fraction
) -> Integers:
    """How many ones are in each set, for many (A, c, k) at once.

    Parameters
    ----------
    cells, ones, drawn
        A, c and k, with c ≤ A and 0 ≤ k ≤ A.
    rate
        Used as it is, but not above 64.

    >>> from psgraph.privacy.randomness import RandomSource
    >>> sampler = Sampler(RandomSource.seeded(1))
    >>> a, c, k = (np.full(5, size) for size in (10, 10, 4))
    >>> noncentral_hypergeometric(sampler, a, c, k, rate=Fraction(1, 2))
    array([4, 4, 4, 4, 4])
    """
    rate = min(rate, Fraction(LARGEST_RATE))
    odds = float(_exp(rate, digits=40))
    hits, uniforms = np.empty((2, cells.size), dtype=np.int64)
    sampler.run(
        cells.size,
        lambda done, w, p: _draw(hits, uniforms, done, cells, ones, drawn, odds, w, p),
    )
    for index in np.flatnonzero(hits == _DOUBTFUL):
        hits[index] = _settle(
            sampler,
            int(uniforms[index]),
            cells=int(cells[index]),
            ones=int(ones[index]),
            drawn=int(drawn[index]),
            rate=rate,
        )
    return hits


@kernel
def _draw(
    hits: Integers,
    uniforms: Integers,
    done: int,
    cells: Integers,
    ones: Integers,
    drawn: Integers,
    odds: float,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    while done < hits.size:
        uniform, after = random_bits(_UNIFORM_BITS, words, cursor)
        if ran_out(words, after):
            break
        uniforms[done] = uniform
        hits[done] = _locate(cells[done], ones[done], drawn[done], odds, uniform, _ERROR)
        done += 1
        cursor = after
    return done, cursor


@kernel
def _ratio(x: int, cells: int, ones: int, drawn: int, odds: float) -> float:
    """r(x)."""
    up = float(ones - x) * float(drawn - x) * odds
    return up / (float(x + 1) * float(cells - ones - drawn + x + 1))


@kernel
def _locate(cells: int, ones: int, drawn: int, odds: float, uniform: int, error: float) -> int:
    """The x a uniform number falls on, or `_DOUBTFUL`."""
    low, high = max(0, drawn - (cells - ones)), min(ones, drawn)
    mode, beyond = low, high + 1  # r ≥ 1 below the mode, and < 1 from it on
    while beyond - mode > 1:
        middle = (mode + beyond) // 2
        if _ratio(middle - 1, cells, ones, drawn, odds) >= 1.0:
            mode = middle
        else:
            beyond = middle

    total, weight, x = 1.0, 1.0, mode
    while x < high:
        ratio = _ratio(x, cells, ones, drawn, odds)
        if ratio < 1.0 and weight * ratio <= _LEFT_OUT * (1.0 - ratio) * total:
            break
        weight *= ratio
        total += weight
        x += 1
    top, weight, x = x, 1.0, mode
    while x > low:
        ratio = 1.0 / _ratio(x - 1, cells, ones, drawn, odds)
        if ratio < 1.0 and weight * ratio <= _LEFT_OUT * (1.0 - ratio) * total:
            break
        weight *= ratio
        total += weight
        x -= 1
    bottom = x

    wanted = uniform * 2.0**-_UNIFORM_BITS * total
    slack = error * (top - bottom + 16) * total
    covered, weight = 0.0, 1.0
    for x in range(mode, top + 1):
        covered += weight
        if wanted < covered + slack:
            return x if wanted < covered - slack else _DOUBTFUL
        weight *= _ratio(x, cells, ones, drawn, odds)
    weight = 1.0
    for x in range(mode - 1, bottom - 1, -1):
        weight /= _ratio(x, cells, ones, drawn, odds)
        covered += weight
        if wanted < covered + slack:
            return x if wanted < covered - slack else _DOUBTFUL
    return _DOUBTFUL


def _settle(
    sampler: Sampler, uniform: int, *, cells: int, ones: int, drawn: int, rate: Fraction
) -> int:
    """Settle a doubtful case with ever more digits and random bits."""
    bits, digits = _UNIFORM_BITS, 60
    while True:
        found = _locate_in_decimals(cells, ones, drawn, rate, uniform, bits=bits, digits=digits)
        if found is not None:
            return found
        uniform, bits, digits = uniform << 64 | sampler.source.bits(64), bits + 64, digits + 40


def _locate_in_decimals(
    cells: int, ones: int, drawn: int, rate: Fraction, uniform: int, *, bits: int, digits: int
) -> int | None:
    """As `_locate`, for a number in [uniform, uniform + 1)·2^−bits; None if still in doubt."""
    low, high = max(0, drawn - (cells - ones)), min(ones, drawn)
    odds = _exp(rate, digits=digits)
    with localcontext() as context:
        context.prec = digits

        def ratio(x: int) -> Decimal:
            return (ones - x) * (drawn - x) * odds / ((x + 1) * (cells - ones - drawn + x + 1))

        def weights(mode: int, end: int, step: int) -> Iterator[tuple[int, Decimal]]:
            weight, x = Decimal(1), mode
            while x != end:
                factor = ratio(x) if step > 0 else 1 / ratio(x - 1)
                if factor < 1 and weight * factor <= (1 - factor).scaleb(10 - digits):
                    return
                weight, x = weight * factor, x + step
                yield x, weight

        mode, beyond = low, high + 1
        while beyond - mode > 1:
            middle = (mode + beyond) // 2
            mode, beyond = (middle, beyond) if ratio(middle - 1) >= 1 else (mode, middle)
        line = [(mode, Decimal(1)), *weights(mode, high, 1), *weights(mode, low, -1)]
        ends = list(accumulate(weight for _, weight in line))
        total = ends[-1]
        # Ten roundings of 10^−digits for each weight, and 10^(10−digits) left out on each side.
        slack = (total * len(line)).scaleb(12 - digits)
        unit = total / (1 << bits)
        first = bisect_right(ends, uniform * unit - slack)  # no earlier weight can hold it
        return line[first][0] if (uniform + 1) * unit <= ends[first] - slack else None


def _exp(rate: Fraction, *, digits: int) -> Decimal:
    with localcontext() as context:
        context.prec = digits + 5
        return (Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
