"""Fisher's noncentral hypergeometric distribution, exactly.

Of A cells c hold a one. A set of k cells is drawn with probability proportional to exp(rate·x),
where x is how many ones are in it. Then ::

    P(x) ∝ C(c, x) · C(A − c, k − x) · exp(rate·x)

Consecutive probabilities have the ratio ::

    r(x) = P(x + 1) / P(x) = (c − x)(k − x)·exp(rate) / ((x + 1)(A − c − k + x + 1)),

which decreases with x. So the weights relative to the mode are running products of ratios, and
the tail beyond a point where r < 1 is at most a geometric series. The weights are laid end to end
on a line, first those from the mode upwards, then those below it; x is the value on whose segment
a uniform number falls.

The weights are computed in floating point. Every ratio has a relative error below 8·2⁻⁵³ (seven
roundings, one of them that of exp(rate)), and N of them with their sums are off by less than
N·10⁻¹⁵, the omitted tails by less than 10⁻¹⁸. If the uniform number is within four times that of
a boundary, which happens about once in 10¹¹ draws for common sizes, the same comparison is made
in decimal arithmetic with as many digits, and as many more random bits, as it takes. Both passes
lay the line from the same value, the mode as found in floating point: which value the line begins
with does not change the distribution, but it must not differ between the passes. The distribution
is therefore exactly the stated one. Time grows with the standard deviation of x, not with A.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate

import numpy as np

from psgraph._runtime.arrays import Integers, Words
from psgraph._runtime.jit import kernel
from psgraph.privacy.randomness import Cursor, ran_out, random_bits
from psgraph.privacy.samplers import Sampler

__all__ = ["noncentral_hypergeometric"]


LARGEST_RATE = 64
_UNIFORM_BITS = 62
_LEFT_OUT = 1e-19  # of the weight so far, on each side
_ERROR = 4e-15  # of a sum, per weight in it
_DOUBTFUL = -1


def noncentral_hypergeometric(
    sampler: Sampler, cells: Integers, ones: Integers, drawn: Integers, *, rate: Fraction
) -> Integers:
    """Draw how many ones are in each set, for many (A, c, k) at once.

    Parameters
    ----------
    cells, ones, drawn
        A, c and k, with c ≤ A and 0 ≤ k ≤ A.
    rate
        At most 64 is used.

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
        sizes = int(cells[index]), int(ones[index]), int(drawn[index])
        mode = int(_mode(*sizes, odds))
        hits[index] = _settle(sampler, int(uniforms[index]), *sizes, mode, rate=rate)
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
def _mode(cells: int, ones: int, drawn: int, odds: float) -> int:
    """Return the most likely x, up to rounding: r ≥ 1 below it, and r < 1 from it on."""
    mode, beyond = max(0, drawn - (cells - ones)), min(ones, drawn) + 1
    while beyond - mode > 1:
        middle = (mode + beyond) // 2
        if _ratio(middle - 1, cells, ones, drawn, odds) >= 1.0:
            mode = middle
        else:
            beyond = middle
    return mode


@kernel
def _locate(cells: int, ones: int, drawn: int, odds: float, uniform: int, error: float) -> int:
    """Return the x on whose segment a uniform number falls, or `_DOUBTFUL`."""
    low, high = max(0, drawn - (cells - ones)), min(ones, drawn)
    mode = _mode(cells, ones, drawn, odds)

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
    sampler: Sampler, uniform: int, cells: int, ones: int, drawn: int, mode: int, *, rate: Fraction
) -> int:
    """Settle a doubtful case with more and more digits and random bits."""
    bits, digits = _UNIFORM_BITS, 60
    while True:
        found = _locate_in_decimals(
            cells, ones, drawn, mode, rate, uniform, bits=bits, digits=digits
        )
        if found is not None:
            return found
        uniform, bits, digits = uniform << 64 | sampler.source.bits(64), bits + 64, digits + 40


def _locate_in_decimals(
    cells: int,
    ones: int,
    drawn: int,
    mode: int,
    rate: Fraction,
    uniform: int,
    *,
    bits: int,
    digits: int,
) -> int | None:
    """As `_locate`, for a number in [uniform, uniform + 1)·2^−bits; None if still in doubt.

    `mode` is that of `_mode`, so that the line is the one `_locate` uses.
    """
    low, high = max(0, drawn - (cells - ones)), min(ones, drawn)
    odds = _exp(rate, digits=digits)
    with localcontext() as context:
        context.prec = digits

        def ratio(x: int) -> Decimal:
            return (ones - x) * (drawn - x) * odds / ((x + 1) * (cells - ones - drawn + x + 1))

        def weights(end: int, step: int) -> Iterator[tuple[int, Decimal]]:
            weight, x = Decimal(1), mode
            while x != end:
                factor = ratio(x) if step > 0 else 1 / ratio(x - 1)
                if factor < 1 and weight * factor <= (1 - factor).scaleb(10 - digits):
                    return
                weight, x = weight * factor, x + step
                yield x, weight

        line = [(mode, Decimal(1)), *weights(high, 1), *weights(low, -1)]
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
