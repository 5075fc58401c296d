"""Choosing where to split rectangles of an adjacency matrix, by the exponential mechanism.

A split point cuts a rectangle into four. It is good where the density of edges differs between
the four. Candidates lie on a public grid, and every part with a valid cell must have at least
`least` of them (see `rectangles`), which is public as well. The quality of a candidate is ::

    Q = max D − min D,   D = ⌊2⁸·least·(edges in the part) / (valid cells in it)⌋,

over the parts that have valid cells. One edge more or less moves one D, by at most 2⁸ since the
part has no fewer than `least` cells (⌊t + δ⌋ − ⌊t⌋ ≤ ⌈δ⌉), so Q has sensitivity 2⁸: rounding to
integers loses a little quality and no privacy. A candidate is chosen with probability
proportional to exp(ε·Q / (2·2⁸)), by drawing candidates uniformly and keeping one with
probability exp(−ε·(best − Q) / (2·2⁸)): integer arithmetic throughout.
Proof: proofs/der.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions, Words
from psgraph._runtime.jit import kernel
from psgraph.errors import MethodError
from psgraph.methods.der.rectangles import Rectangles, Regions, cells_in
from psgraph.privacy.guarantee import round_down
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.randomness import Cursor, bernoulli_exp, bit_width, ran_out, uniform_below
from psgraph.privacy.samplers import Sampler

__all__ = ["NO_SPLIT", "SplitChoice", "choose_splits"]


NO_SPLIT = -1
SHORT_SIDE = 64  # up to here every line between two rows or columns is a candidate
_RESOLUTION = 1 << 8  # the sensitivity of Q
_LARGEST_NUMERATOR = 1 << 62


@dataclass(frozen=True)
class SplitChoice(Mechanism[Integers]):
    """Choose where to cut each region into four, so that the densities of the parts differ.

    The result has a row and a column for each region, `NO_SPLIT` where no split is possible
    (which is public).

    Parameters
    ----------
    regions
        Rectangles, public or already released, and the private edges in them.
    least
        Each part has at least this many valid cells, or none.
    grid
        Long sides are cut into this many strips, and candidates lie between strips.

    Notes
    -----
    Privacy: ε for one edge. An edge is in one region, and moves the gap between the largest and
    the smallest density by at most 1/`least`: exponential mechanism with exactly that
    sensitivity. proofs/der.md.
    """

    regions: Regions
    least: int
    grid: int

    name = "exponential choice"
    proof = "proofs/der.md"
    sensitivity = 1

    def __post_init__(self) -> None:
        if self.least < 1:
            raise MethodError(f"a part must have at least 1 cell, not {self.least}")

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.regions),)

    def distance(self, other: Self) -> int:
        same = np.array_equal(self.regions.rectangles, other.regions.rectangles)
        self.same_public("regions", same)
        self.same_public("least", self.least == other.least)
        self.same_public("grid", self.grid == other.grid)
        return self.regions.changed_edges(other.regions)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Integers:
        return choose_splits(
            sampler, self.regions, least=self.least, grid=self.grid, epsilon=epsilon
        )


def choose_splits(
    sampler: Sampler, regions: Regions, *, least: int, grid: int, epsilon: Fraction
) -> Integers:
    """Draw a split point (row, column) for each region; `NO_SPLIT` where there is no candidate.

    Parameters
    ----------
    least
        How many valid cells each part must have, if it has any.
    grid
        Long sides are cut into this many strips, and candidates lie between strips.
    epsilon
        After division by 2⁹ it is rounded down to a multiple of 2⁻³⁰ (and to 2¹⁰ at most).
    """
    a, b = round_down(epsilon / (2 * _RESOLUTION), denominator=1 << 30, largest=1 << 10)
    chosen = np.full((len(regions), 2), NO_SPLIT, dtype=np.int64)
    most = max(grid, SHORT_SIDE)
    counts = np.zeros((most + 1, most + 1), dtype=np.int64)
    candidates = np.empty((most * most, 3), dtype=np.int64)
    sampler.run(
        len(regions),
        lambda done, w, p: _choose(
            chosen,
            done,
            regions.rectangles,
            regions.starts,
            regions.rows,
            regions.columns,
            least,
            grid,
            counts,
            candidates,
            a,
            b,
            w,
            p,
        ),
        words=8,
    )
    return chosen


@kernel
def _strips(side: int, grid: int) -> int:
    return side if side <= SHORT_SIDE else grid


@kernel
def _cut(strip: int, strips: int, side: int) -> int:
    """Where a strip begins: the smallest offset with offset·strips // side ≥ strip."""
    return -(-strip * side // strips)


@kernel
def _scaled(count: int, scale: int, cells: int) -> int:
    """⌊count·scale / cells⌋ for count ≤ cells, without overflow."""
    if count == 0 or scale < (1 << 62) // count:
        return count * scale // cells
    quotient, remainder = 0, 0
    for bit in range(61, -1, -1):
        quotient, remainder = 2 * quotient, 2 * remainder
        if (scale >> bit) & 1:
            remainder += count
        while remainder >= cells:
            quotient, remainder = quotient + 1, remainder - cells
    return quotient


@kernel
def _quality(
    rectangle: Integers, row: int, column: int, edges: tuple[int, int, int, int], least: int
) -> int:
    """Q of a split point, or −1 if it is not a candidate."""
    top, bottom, left, right = rectangle
    cells = (
        cells_in(top, row, left, column),
        cells_in(top, row, column, right),
        cells_in(row, bottom, left, column),
        cells_in(row, bottom, column, right),
    )
    parts, low, high = 0, 1 << 62, 0
    for part in range(4):
        if cells[part] == 0:
            continue
        if cells[part] < least:
            return -1
        density = _scaled(edges[part], least * _RESOLUTION, cells[part])
        low, high = min(low, density), max(high, density)
        parts += 1
    return high - low if parts > 1 else -1


@kernel
def _list_candidates(
    rectangle: Integers,
    rows: Positions,
    columns: Positions,
    least: int,
    grid: int,
    counts: NDArray[np.int64],
    candidates: NDArray[np.int64],
) -> tuple[int, int]:
    """Write (row, column, Q) of all candidates; how many there are and the best Q."""
    top, bottom, left, right = rectangle
    height, width = bottom - top, right - left
    down, across = _strips(height, grid), _strips(width, grid)
    counts[: down + 1, : across + 1] = 0
    for edge in range(rows.size):
        strip = (rows[edge] - top) * down // height
        counts[strip + 1, (columns[edge] - left) * across // width + 1] += 1
    for i in range(1, down + 1):
        for j in range(1, across + 1):
            counts[i, j] += counts[i - 1, j] + counts[i, j - 1] - counts[i - 1, j - 1]
    found, best = 0, 0
    for i in range(1, down):
        row = top + _cut(i, down, height)
        for j in range(1, across):
            column = left + _cut(j, across, width)
            corner = counts[i, j]
            upper, before = counts[i, across], counts[down, j]
            edges = (corner, upper - corner, before - corner, rows.size - upper - before + corner)
            quality = _quality(rectangle, row, column, edges, least)
            if quality >= 0:
                candidates[found] = row, column, quality
                found, best = found + 1, max(best, quality)
    return found, best


@kernel
def _choose(
    chosen: Integers,
    done: int,
    rectangles: Rectangles,
    starts: Integers,
    rows: Positions,
    columns: Positions,
    least: int,
    grid: int,
    counts: NDArray[np.int64],
    candidates: NDArray[np.int64],
    a: int,
    b: int,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    width = bit_width(b)
    # Beyond this a candidate's Q counts as larger than it is: best − cap, which like Q and best
    # moves by no more than the sensitivity. (exp(−2³²) would not be drawn in any case.)
    cap = _LARGEST_NUMERATOR // max(a, 1)
    while done < len(rectangles):
        begin, end = starts[done], starts[done + 1]
        found, best = _list_candidates(
            rectangles[done], rows[begin:end], columns[begin:end], least, grid, counts, candidates
        )
        after = cursor
        while found:
            index, after = uniform_below(found, bit_width(found), words, after)
            if ran_out(words, after):
                break
            behind = min(best - candidates[index, 2], cap)
            kept, after = bernoulli_exp(behind * a, b, width, words, after)
            if kept or ran_out(words, after):
                chosen[done, 0], chosen[done, 1] = candidates[index, 0], candidates[index, 1]
                break
        if ran_out(words, after):
            break
        done += 1
        cursor = after
    return done, cursor
