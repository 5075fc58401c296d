"""Binary trees over the nodes of a graph (dendrograms), and the edges each branching separates.

The leaves of a dendrogram are the nodes 0, …, n − 1 of the graph. Its n − 1 branchings have the
numbers n, …, 2n − 2. An edge of the graph belongs to one branching: the lowest one above both
ends. In a hierarchical random graph every branching has one probability for all pairs it
separates.

A `Dendrogram` says which children a branching has and nothing else; that is what is released.
Kernels work on a *layout* of it: leaves in an order in which every subtree is contiguous, so that
"is y below s?" is a comparison of two positions and listing a subtree is a scan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED, triangle

__all__ = [
    "Blocks",
    "Dendrogram",
    "Layout",
    "edges_across",
    "find_blocks",
    "pairs_in",
    "random_dendrogram",
]

Whole = int | np.integer[Any]

PARENT, LEFT, RIGHT, SIZE, FIRST, DEGREE, EDGES = range(7)
"""Columns of a layout's table: two children, how many leaves are below and which of them comes
first, the sum of their degrees, and the edges a branching separates. Eight columns of eight
bytes are one cache line."""

LARGEST_NOISE_ACROSS = Fraction(1, 20)  # of a probability, in units of its scale: λ_r
LARGEST_NOISE_INSIDE = Fraction(1, 100)  # the same for the whole subtree: λ'_r


@dataclass(frozen=True)
class Dendrogram:
    """The children of every branching, as numbers of leaves and branchings; and the root.

    Attributes
    ----------
    leaves
        n.
    root
        The number of the topmost branching (the leaf itself where there is one leaf only).
    left, right
        Children of the branchings n, n + 1, …; which of the two is left means nothing.
    """

    leaves: int
    root: int
    left: Positions
    right: Positions


def random_dendrogram(order: Integers, ranks: Integers) -> Dendrogram:
    """Return the tree of a random binary search; depends on no edges.

    Parameters
    ----------
    order
        The leaves from left to right, in uniformly random order.
    ranks
        A uniformly random order of 0, …, n − 2: which gap between neighbouring leaves is split
        first, second, …

    >>> tree = random_dendrogram(np.array([2, 0, 1]), np.array([1, 0]))
    >>> tree.root, tree.left.tolist(), tree.right.tolist()    # ((2, 0), 1)
    (4, [2, 3], [0, 1])
    """
    leaves = order.size
    left, right = np.empty((2, max(leaves - 1, 0)), dtype=np.int32)
    root = _cartesian_tree(order, ranks, left, right)
    return Dendrogram(leaves, int(root), left, right)


@kernel
def _cartesian_tree(order: Integers, ranks: Integers, left: Positions, right: Positions) -> Whole:
    """Make every gap a branching, above adjacent ones of larger rank. One pass with a stack."""
    leaves = order.size
    if leaves == 0:
        return np.int64(-1)
    stack = np.empty(leaves, dtype=np.int64)
    height = 0
    for gap in range(leaves - 1):
        below = order[gap]
        while height > 0 and ranks[stack[height - 1]] > ranks[gap]:
            height -= 1
            right[stack[height]] = below
            below = leaves + stack[height]
        left[gap] = below
        stack[height] = gap
        height += 1
    below = order[leaves - 1]
    while height > 0:
        height -= 1
        right[stack[height]] = below
        below = leaves + stack[height]
    return below


@dataclass(frozen=True)
class Layout:
    """A dendrogram laid out: a row of `table` per leaf and branching, leaves in an `order`.

    `position` is the inverse of `order`; branchings are listed in `top_down` from the root.
    """

    table: Integers
    order: Positions
    position: Positions
    top_down: Positions

    @classmethod
    def of(cls, tree: Dendrogram) -> Layout:
        """Lay out a tree. Degrees and edges are zero until they are counted."""
        leaves = tree.leaves
        table = np.zeros((2 * leaves, 8), dtype=np.int64)
        order, position = np.empty((2, leaves), dtype=np.int32)
        top_down = np.empty(tree.left.size, dtype=np.int32)
        if leaves:
            _lay_out(tree.left, tree.right, tree.root, table, order, position, top_down)
        return cls(table, order, position, top_down)

    def tree(self) -> Dendrogram:
        """The dendrogram, without the counts."""
        leaves = self.order.size
        branchings = self.table[leaves : 2 * leaves - 1]
        root = int(self.top_down[0]) if self.top_down.size else leaves - 1
        left, right = branchings[:, [LEFT, RIGHT]].T.astype(np.int32)
        return Dendrogram(leaves, root, left, right)


@kernel
def _lay_out(
    left: Positions,
    right: Positions,
    root: int,
    table: Integers,
    order: Positions,
    position: Positions,
    top_down: Positions,
) -> None:
    leaves = order.size
    stack = np.empty(leaves, dtype=np.int64)
    stack[0] = root
    height, placed, seen = 1, 0, 0
    table[root, PARENT] = -1
    while height > 0:
        height -= 1
        node = stack[height]
        if node < leaves:
            table[node, SIZE] = 1
            table[node, FIRST] = node
            order[placed] = node
            position[node] = placed
            placed += 1
            continue
        top_down[seen] = node
        seen += 1
        one, other = left[node - leaves], right[node - leaves]
        table[node, LEFT], table[node, RIGHT] = one, other
        table[one, PARENT] = table[other, PARENT] = node
        stack[height], stack[height + 1] = other, one
        height += 2
    for index in range(seen - 1, -1, -1):
        node = top_down[index]
        one, other = table[node, LEFT], table[node, RIGHT]
        table[node, SIZE] = table[one, SIZE] + table[other, SIZE]
        table[node, FIRST] = table[one, FIRST]


@kernel
def edges_between(
    one: Whole,
    other: Whole,
    table: Integers,
    order: Positions,
    position: Positions,
    starts: Integers,
    neighbours: Positions,
) -> Whole:
    """Count the edges between two disjoint subtrees, by listing the first."""
    begin = position[table[one, FIRST]]
    low = position[table[other, FIRST]]
    high = low + table[other, SIZE]
    found = np.int64(0)
    for index in range(begin, begin + table[one, SIZE]):
        leaf = order[index]
        for at in range(starts[leaf], starts[leaf + 1]):
            there = position[neighbours[at]]
            if low <= there < high:
                found += 1
    return found


@kernel
def _count(
    table: Integers,
    order: Positions,
    position: Positions,
    top_down: Positions,
    starts: Integers,
    neighbours: Positions,
) -> None:
    for leaf in range(order.size):
        table[leaf, DEGREE] = starts[leaf + 1] - starts[leaf]
    for index in range(top_down.size - 1, -1, -1):
        node = top_down[index]
        one, other = table[node, LEFT], table[node, RIGHT]
        table[node, DEGREE] = table[one, DEGREE] + table[other, DEGREE]
        if table[one, DEGREE] + table[one, SIZE] > table[other, DEGREE] + table[other, SIZE]:
            one, other = other, one
        table[node, EDGES] = edges_between(one, other, table, order, position, starts, neighbours)


def edges_across(layout: Layout, starts: Integers, neighbours: Positions) -> None:
    """Fill in the private degrees and edges of a layout.

    The lighter of two subtrees is listed, so an edge is visited O(log m) times, however deep the
    tree: O((m + n) log m).
    """
    _count(layout.table, layout.order, layout.position, layout.top_down, starts, neighbours)


@dataclass(frozen=True)
class Blocks:
    """Pairs of nodes that share a noisy count: public or released.

    Every pair is in one block: between two ranges of leaves ``[begin, middle)`` and
    ``[middle, end)``, or, where ``middle == begin``, inside ``[begin, end)``. The ranges refer to
    the order of leaves in `layout`.
    """

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
    """Return the blocks of a tree for counts with noise of scale 1/ε; depends on no edges.

    Going down from the root, a branching is kept while it separates enough pairs that noise does
    not swamp its probability. Otherwise the whole subtree below becomes one block.
    """
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
