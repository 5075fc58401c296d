"""Arranging a given number of ones in the cells of a rectangle, by the exponential mechanism.

All sets S of k valid cells of a rectangle are candidates, with weight exp(ε·x), where x is how
many edges S hits. One edge more or less changes x by 1 for the sets that contain its cell and not
at all for the others, so every weight and their sum change by a factor in [1, e^ε], in the same
direction: the probability of a set changes by a factor between e^−ε and e^ε.

There are far too many sets to list. But sets that hit equally many edges are equally likely, and
C(c, x)·C(A − c, k − x) sets hit x of the c edges among A cells. So x is drawn from Fisher's
noncentral hypergeometric law (see `fisher`, exact), then x of the edges and k − x of the other
cells, each uniformly. O(edges + k) time and memory in all, whatever A is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.privacy.fisher import noncentral_hypergeometric
from psgraph.privacy.mechanisms.sparse import _subset
from psgraph.privacy.rectangles import Rectangles, Regions, _trimmed
from psgraph.privacy.samplers import Place, Sampler, Words, _below, _ran_out, _width

__all__ = ["arrange"]

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]


def arrange(
    sampler: Sampler, regions: Regions, *, drawn: Integers, rate: Fraction
) -> tuple[Positions, Positions]:
    """Rows and columns of the cells drawn, in no particular order.

    Parameters
    ----------
    drawn
        How many cells to draw in each; no more than there are.
    rate
        ε above.
    """
    cells, ones = regions.cells, regions.edges
    hits = noncentral_hypergeometric(sampler, cells, ones, drawn, rate=rate)
    misses = drawn - hits
    chosen = _choose_hits(sampler, regions.starts, hits)
    # Where cells are mostly taken, finding a free one by guessing would take long: list them.
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
        taken = free[_subset(sampler, len(free), int(misses[index]))]
        parts.append((taken[:, 0], taken[:, 1]))
    all_rows, all_columns = zip(*parts, strict=True)
    return np.concatenate(all_rows), np.concatenate(all_columns)


def _choose_hits(sampler: Sampler, starts: Integers, hits: Integers) -> Integers:
    """Indices of uniformly chosen edges, so many of each rectangle."""
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
    place: Place,
) -> tuple[int, Place]:
    """One step of a shuffle of its rectangle's edges for each one wanted."""
    while done < chosen.size:
        owner = owners[done]
        here = starts[owner] + done - firsts[owner]
        choices = starts[owner + 1] - here
        step, after = _below(choices, _width(choices), words, place)
        if _ran_out(words, after):
            break
        indices[here], indices[here + step] = indices[here + step], indices[here]
        chosen[done] = indices[here]
        done += 1
        place = after
    return done, place


def _guess_misses(
    sampler: Sampler, regions: Regions, misses: Integers
) -> tuple[Positions, Positions]:
    """Uniformly chosen distinct cells without an edge, so many of each rectangle."""
    owners = np.repeat(np.arange(misses.size), misses)
    found_rows, found_columns = np.empty((2, owners.size), dtype=np.int32)
    slots = 1 << max(4, (2 * owners.size - 1).bit_length())
    taken = np.full(slots, -1, dtype=np.int64)
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
    taken: Integers,
    words: Words,
    place: Place,
) -> tuple[int, Place]:
    """Guess cells until one is valid, holds no edge and was not drawn before.

    `taken` is an open-addressing set of the cells drawn; rectangles don't overlap, so one set
    does for all.
    """
    mask = taken.size - 1
    while done < owners.size:
        owner = owners[done]
        rectangle = rectangles[owner]
        top, bottom, left, right = _trimmed(rectangle[0], rectangle[1], rectangle[2], rectangle[3])
        size = (bottom - top) * (right - left)
        index, after = _below(size, _width(size), words, place)
        if _ran_out(words, after):
            break
        place = after
        row, column = top + index // (right - left), left + index % (right - left)
        if row >= column or _is_edge(row, column, starts[owner], starts[owner + 1], rows, columns):
            continue
        key = (row << 32) | column
        slot = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)) & mask
        while taken[slot] != -1 and taken[slot] != key:
            slot = (slot + 1) & mask
        if taken[slot] == key:
            continue
        taken[slot] = key
        found_rows[done], found_columns[done] = row, column
        done += 1
    return done, place


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
    """All valid cells without an edge, as rows of two."""
    top, bottom, left, right = _trimmed(rectangle[0], rectangle[1], rectangle[2], rectangle[3])
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
