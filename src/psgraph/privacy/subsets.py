"""Uniform sets of distinct cells, in time proportional to the cells drawn."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Words
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import KeySet, add_key, key_set
from psgraph.privacy.bits import Cursor, bit_width, ran_out, uniform_below
from psgraph.privacy.samplers import Sampler

__all__ = ["random_free_cells", "random_subset"]


def random_subset(sampler: Sampler, size: int, count: int) -> Integers:
    """Draw `count` distinct indices below `size`, uniformly and in random order."""
    if 2 * count > size:
        return sampler.permutation(size)[:count]
    return random_free_cells(sampler, np.empty(0, dtype=np.int64), size=size, count=count)


def random_free_cells(sampler: Sampler, cells: Integers, *, size: int, count: int) -> Integers:
    """Draw `count` distinct cells below `size`, uniformly among those not in `cells` (ascending).

    The caller makes sure that enough of them are free: it takes as many tries as cells are taken.
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
