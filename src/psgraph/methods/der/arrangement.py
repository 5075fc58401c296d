"""Arranging a given number of edges in the cells of a rectangle, by the exponential mechanism.

All sets S of k valid cells of a rectangle are candidates, with weight exp(ε·x), where x is how
many edges S hits. One edge more or less changes x by 1 for the sets that contain its cell and not
at all for the others, so every weight and their sum change by a factor in [1, e^ε], in the same
direction: the probability of a set changes by a factor between e^−ε and e^ε.

There are far too many sets to list. But sets that hit equally many edges are equally likely, and
C(c, x)·C(A − c, k − x) sets hit x of the c edges among A cells. So x is drawn from Fisher's
noncentral hypergeometric distribution (see `fisher`, exact), then x of the edges and k − x of the
other cells, each uniformly. O(edges + k) time and memory in all, whatever A is.
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
from psgraph._runtime.kernels import KeySet, add_key, key_set
from psgraph.errors import MethodError
from psgraph.graph.kind import pack_pair
from psgraph.methods.der.fisher import noncentral_hypergeometric
from psgraph.methods.der.rectangles import Rectangles, Regions, trimmed
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.randomness import Cursor, bit_width, ran_out, uniform_below
from psgraph.privacy.samplers import Sampler, random_subset

__all__ = ["EdgeArrangement", "arrange"]


@dataclass(frozen=True)
class EdgeArrangement(Mechanism[tuple[Positions, Positions]]):
    """Draw `drawn[i]` cells from region i: a set that hits x edges has weight exp(ε·x).

    The result is the rows and columns of the cells.

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
        return arrange(sampler, self.regions, drawn=self.drawn, rate=epsilon)


def arrange(
    sampler: Sampler, regions: Regions, *, drawn: Integers, rate: Fraction
) -> tuple[Positions, Positions]:
    """Return rows and columns of the cells drawn, in no particular order.

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
