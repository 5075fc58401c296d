"""Which pairs of nodes share a noisy count, from the sizes of subtrees alone.

Going down from the root, a branching is kept while it separates enough pairs that noise does not
swamp its probability. Otherwise the whole subtree below becomes one block in which all pairs are
alike. Every pair of nodes is in one block: between two ranges of leaves ``[begin, middle)``
and ``[middle, end)``, or, where ``middle == begin``, inside ``[begin, end)``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED, triangle
from psgraph.methods.privhrg.dendrogram import (
    EDGES,
    FIRST,
    LEFT,
    RIGHT,
    SIZE,
    Dendrogram,
    Layout,
    edges_across,
)

__all__ = ["Blocks", "find_blocks", "pairs_in"]


LARGEST_NOISE_ACROSS = Fraction(1, 20)  # of a probability, in units of its scale: λ_r
LARGEST_NOISE_INSIDE = Fraction(1, 100)  # the same for the whole subtree: λ'_r


@dataclass(frozen=True)
class Blocks:
    """Leaves in order, the blocks, and the layout they were found in: public or released."""

    layout: Layout
    begin: Positions
    middle: Positions
    end: Positions
    branchings: Positions

    def edges(self, starts: Integers, neighbours: Positions) -> Integers:
        """Count the edges of every block: private, sensitivity 1 over all blocks."""
        layout = replace(self.layout, table=self.layout.table.copy())
        edges_across(layout, starts, neighbours)
        across = layout.table[:, EDGES]
        inside = across.copy()
        _sum_up(layout.table, layout.top_down, inside)
        whole = self.middle == self.begin
        return np.where(whole, inside[self.branchings], across[self.branchings])


def find_blocks(tree: Dendrogram, epsilon: Fraction) -> Blocks:
    """Return the blocks of a tree for counts with noise of scale 1/ε; depends on no edges."""
    few_across, few_inside = (
        min(int(1 / (epsilon * noise)), 1 << 62)  # more than there are pairs
        for noise in (LARGEST_NOISE_ACROSS, LARGEST_NOISE_INSIDE)
    )
    layout = Layout.of(tree)
    bounds = np.empty((4, tree.left.size), dtype=np.int32)
    found = _find(layout.table, layout.position, layout.top_down, few_across, few_inside, bounds)
    begin, middle, end, branchings = bounds[:, :found].copy()
    return Blocks(layout, begin, middle, end, branchings)


def pairs_in(begin: Positions, middle: Positions, end: Positions) -> Integers:
    """Count the pairs of nodes in each block.

    >>> ends = np.array([[0, 2, 5], [0, 0, 5]], dtype=np.int32)
    >>> pairs_in(*ends.T)
    array([ 6, 10])
    """
    first, second, size = (
        np.asarray(length, dtype=np.int64) for length in (middle - begin, end - middle, end - begin)
    )
    return np.where(middle == begin, UNDIRECTED.pairs(size), first * second)


@kernel
def _find(
    table: Integers,
    position: Positions,
    top_down: Positions,
    few_across: int,
    few_inside: int,
    bounds: NDArray[np.int32],
) -> int:
    found, covered = 0, 0  # leaves before `covered` are in subtrees that became one block
    for node in top_down:
        begin = position[table[node, FIRST]]
        size, first = table[node, SIZE], table[table[node, LEFT], SIZE]
        if begin < covered:
            continue
        middle = begin + first
        if first * (size - first) <= few_across and triangle(size) <= few_inside:
            middle, covered = begin, begin + size
        bounds[0, found], bounds[1, found] = begin, middle
        bounds[2, found], bounds[3, found] = begin + size, node
        found += 1
    return found


@kernel
def _sum_up(table: Integers, top_down: Positions, inside: Integers) -> None:
    """Turn edges across branchings into edges anywhere below them."""
    for index in range(top_down.size - 1, -1, -1):
        node = top_down[index]
        for child in (table[node, LEFT], table[node, RIGHT]):
            inside[node] += inside[child]
