"""Arranging a given number of edges in the cells of a rectangle, by the exponential mechanism.

All sets S of k valid cells of a rectangle are candidates, with weight exp(ε·x), where x is how
many edges S hits. One edge more or less changes x by 1 for the sets that contain its cell and not
at all for the others, so every weight and their sum change by a factor in [1, e^ε], in the same
direction: the probability of a set changes by a factor between e^−ε and e^ε.

There are far too many sets to list. But sets that hit equally many edges are equally likely, and
C(c, x)·C(A − c, k − x) sets hit x of the c edges among A cells. So x is drawn from Fisher's
noncentral hypergeometric distribution, exactly, then x of the edges and k − x of the
other cells, each uniformly. O(edges + k) time and memory in all, whatever A is.
Proof: proofs/der.md.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions, Words
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import KeySet, add_key, key_set
from psgraph.errors import MethodError
from psgraph.graph.kind import pack_pair
from psgraph.methods.der.rectangles import Rectangles, Regions, trimmed
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.randomness import Cursor, bit_width, ran_out, random_bits, uniform_below
from psgraph.privacy.samplers import Sampler, random_subset

__all__ = ["EdgeArrangement", "arrange", "noncentral_hypergeometric"]

LARGEST_RATE = 64
_UNIFORM_BITS = 62
_LEFT_OUT = 1e-19  # of the weight so far, on each side
_ERROR = 4e-15  # of a sum, per weight in it
_DOUBTFUL = -1


def noncentral_hypergeometric(
    sampler: Sampler, cells: Integers, ones: Integers, drawn: Integers, *, rate: Fraction
) -> Integers:
    """Draw how many ones are in each set by Fisher's distribution, for many (A, c, k) at once.

    Of A cells c hold a one. A set of k cells is drawn with probability proportional to
    exp(rate·x), where x is how many ones are in it.

    Parameters
    ----------
    cells, ones, drawn
        A, c and k, with c ≤ A and 0 ≤ k ≤ A.
    rate
        At most 64 is used.

    Notes
    -----
    P(x) ∝ C(c, x)·C(A − c, k − x)·exp(rate·x), and consecutive probabilities have the ratio
    r(x) = P(x + 1)/P(x) = (c − x)(k − x)·exp(rate) / ((x + 1)(A − c − k + x + 1)), which decreases
    with x. So the weights relative to the mode are running products of ratios, and the tail beyond
    a point where r < 1 is at most a geometric series. The weights are laid end to end on a line,
    first those from the mode upwards, then those below it; x is the value on whose segment a
    uniform number falls.

    The weights are computed in floating point. Every ratio has a relative error below 8·2⁻⁵³
    (seven roundings, one of them that of exp(rate)), and N of them with their sums are off by less
    than N·10⁻¹⁵, the omitted tails by less than 10⁻¹⁸. If the uniform number is within four times
    that of a boundary, which happens about once in 10¹¹ draws for common sizes, the same comparison
    is made in decimal arithmetic with as many digits and random bits as it takes. Both passes lay
    the line from the same value, the mode as found in floating point: which value the line starts
    with does not change the distribution, but it must not differ between the passes. The
    distribution is therefore exactly the stated one. Time grows with the standard deviation of x,
    not with A.

    Examples
    --------
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


@dataclass(frozen=True)
class EdgeArrangement(Mechanism[tuple[Positions, Positions]]):
    """Draw `drawn[i]` cells from region i: a set that hits x edges has weight exp(ε·x).

    The result is the rows and columns of the cells, in ascending order.

    Parameters
    ----------
    regions
        Rectangles, public or already released, and the private edges in them.
    drawn
        How many cells to draw from each: public or already released.

    Notes
    -----
    Privacy: ε for one edge. An edge is in one region and changes x by at most 1, in the same
    direction for all sets. proofs/der.md.
    """

    regions: Regions
    drawn: Integers

    name = "exponential choice"
    proof = "proofs/der.md"
    sensitivity = 1

    def __post_init__(self) -> None:
        if (self.drawn < 0).any() or (self.drawn > self.regions.cells).any():
            raise MethodError("the number of cells to draw exceeds that of a region")

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.regions),)

    def distance(self, other: Self) -> int:
        same = np.array_equal(self.regions.rectangles, other.regions.rectangles)
        self.same_public("regions", same)
        self.same_public("drawn", np.array_equal(self.drawn, other.drawn))
        return self.regions.changed_edges(other.regions)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> tuple[Positions, Positions]:
        rows, columns = arrange(sampler, self.regions, drawn=self.drawn, rate=epsilon)
        order = np.lexsort((columns, rows))  # the order of `arrange` tells true edges from others
        return rows[order], columns[order]


def arrange(
    sampler: Sampler, regions: Regions, *, drawn: Integers, rate: Fraction
) -> tuple[Positions, Positions]:
    """Return rows and columns of the cells drawn, true edges first.

    Parameters
    ----------
    drawn
        How many cells to draw from each region, at most as many as it has.
    rate
        ε above.
    """
    cells, ones = regions.cells, regions.edges
    hits = noncentral_hypergeometric(sampler, cells, ones, drawn, rate=rate)
    misses = drawn - hits
    chosen = _choose_hits(sampler, regions.starts, hits)
    # Where most cells are taken, guessing a free one would take long: list them instead.
    crowded = 2 * (ones + misses) > cells
    parts = [
        (regions.rows[chosen], regions.columns[chosen]),
        _guess_misses(sampler, regions, np.where(crowded, 0, misses)),
    ]
    for index in np.flatnonzero(crowded & (misses > 0)):
        here = slice(regions.starts[index], regions.starts[index + 1])
        free = _free_cells(
            regions.rectangles[index], regions.rows[here], regions.columns[here], cells[index]
        )
        taken = free[random_subset(sampler, len(free), int(misses[index]))]
        parts.append((taken[:, 0], taken[:, 1]))
    all_rows, all_columns = zip(*parts, strict=True)
    return np.concatenate(all_rows), np.concatenate(all_columns)


def _choose_hits(sampler: Sampler, starts: Integers, hits: Integers) -> Integers:
    """Choose `hits[i]` edges of rectangle i uniformly; return their indices."""
    indices = np.arange(starts[-1])
    owners = np.repeat(np.arange(hits.size), hits)
    ends = np.cumsum(hits)
    chosen = np.empty(owners.size, dtype=np.int64)
    sampler.run(
        owners.size,
        lambda done, w, p: _take(chosen, done, owners, starts, ends - hits, indices, w, p),
    )
    return chosen


@kernel
def _take(
    chosen: Integers,
    done: int,
    owners: Integers,
    starts: Integers,
    firsts: Integers,
    indices: Integers,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    """For each edge wanted, make one step of a shuffle of its rectangle's edges."""
    while done < chosen.size:
        owner = owners[done]
        here = starts[owner] + done - firsts[owner]
        choices = starts[owner + 1] - here
        step, after = uniform_below(choices, bit_width(choices), words, cursor)
        if ran_out(words, after):
            break
        indices[here], indices[here + step] = indices[here + step], indices[here]
        chosen[done] = indices[here]
        done += 1
        cursor = after
    return done, cursor


def _guess_misses(
    sampler: Sampler, regions: Regions, misses: Integers
) -> tuple[Positions, Positions]:
    """Choose `misses[i]` distinct cells without an edge of rectangle i uniformly."""
    owners = np.repeat(np.arange(misses.size), misses)
    found_rows, found_columns = np.empty((2, owners.size), dtype=np.int32)
    taken = key_set(owners.size)
    sampler.run(
        owners.size,
        lambda done, w, p: _guess(
            found_rows,
            found_columns,
            done,
            owners,
            regions.rectangles,
            regions.starts,
            regions.rows,
            regions.columns,
            taken,
            w,
            p,
        ),
    )
    return found_rows, found_columns


@kernel
def _guess(
    found_rows: Positions,
    found_columns: Positions,
    done: int,
    owners: Integers,
    rectangles: Rectangles,
    starts: Integers,
    rows: Positions,
    columns: Positions,
    taken: KeySet,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    """Guess cells until one is valid, holds no edge and was not drawn before.

    `taken` holds the cells drawn; rectangles don't overlap, so one set is enough.
    """
    while done < owners.size:
        owner = owners[done]
        rectangle = rectangles[owner]
        top, bottom, left, right = trimmed(rectangle[0], rectangle[1], rectangle[2], rectangle[3])
        size = (bottom - top) * (right - left)
        index, after = uniform_below(size, bit_width(size), words, cursor)
        if ran_out(words, after):
            break
        cursor = after
        row, column = top + index // (right - left), left + index % (right - left)
        if row >= column or _is_edge(row, column, starts[owner], starts[owner + 1], rows, columns):
            continue
        if not add_key(taken, pack_pair(row, column)):
            continue
        found_rows[done], found_columns[done] = row, column
        done += 1
    return done, cursor


@kernel
def _is_edge(
    row: int, column: int, begin: int, end: int, rows: Positions, columns: Positions
) -> bool:
    """Binary search among edges in order of (row, column)."""
    stop = end
    while begin < end:
        middle = (begin + end) // 2
        if rows[middle] < row or (rows[middle] == row and columns[middle] < column):
            begin = middle + 1
        else:
            end = middle
    return begin < stop and rows[begin] == row and columns[begin] == column


@kernel
def _free_cells(
    rectangle: Integers, rows: Positions, columns: Positions, cells: int
) -> NDArray[np.int32]:
    """List all valid cells without an edge, as rows of two."""
    top, bottom, left, right = trimmed(rectangle[0], rectangle[1], rectangle[2], rectangle[3])
    free = np.empty((cells - rows.size, 2), dtype=np.int32)
    found, edge = 0, 0
    for row in range(top, bottom):
        for column in range(max(left, row + 1), right):
            if edge < rows.size and rows[edge] == row and columns[edge] == column:
                edge += 1
            else:
                free[found, 0], free[found, 1] = row, column
                found += 1
    return free
