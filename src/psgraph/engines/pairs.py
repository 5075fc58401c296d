"""Numbering the unordered pairs of blocks: (0,0), (0,1), …, (0,k−1), (1,1), …

Pairs without the diagonal are numbered as (a, b − 1) of one block less.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers

__all__ = ["cell_of", "pair_count", "pair_of"]


def pair_count(blocks: int, *, inside: bool) -> int:
    """How many unordered pairs of blocks there are, with or without those of a block with itself.

    >>> pair_count(4, inside=True), pair_count(4, inside=False)
    (10, 6)
    """
    return blocks * (blocks + 1) // 2 if inside else blocks * (blocks - 1) // 2


def cell_of(a: Integers, b: Integers, blocks: int, *, inside: bool) -> Integers:
    """The number of the pairs a ≤ b (a < b without `inside`).

    >>> cell_of(np.array([0, 0, 1]), np.array([1, 2, 2]), 3, inside=False)
    array([0, 1, 2])
    """
    if not inside:
        b, blocks = b - 1, blocks - 1
    return a * blocks - a * (a - 1) // 2 + (b - a)


def pair_of(cells: Integers, blocks: int, *, inside: bool) -> tuple[Integers, Integers]:
    """The inverse of `cell_of`.

    >>> pair_of(np.array([0, 1, 2]), 3, inside=False)
    (array([0, 0, 1]), array([1, 2, 2]))
    """
    size = blocks if inside else blocks - 1
    a = np.floor(size + 0.5 - np.sqrt((size + 0.5) ** 2 - 2.0 * cells)).astype(np.int64)
    # The square root may be off in the last digit.
    a -= cells < a * size - a * (a - 1) // 2
    a += cells >= (a + 1) * size - (a + 1) * a // 2
    b = cells - (a * size - a * (a - 1) // 2) + a
    return a, b if inside else b + 1
