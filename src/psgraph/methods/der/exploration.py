"""Exploring an adjacency matrix by a noisy quadtree.

A region (a rectangle of the upper triangle, see `psgraph.methods.der.areas`) is counted with
noise. If it seems to hold enough edges, and not to be full of them, it is cut into four where the
densities differ most, again with noise. What is not cut any further is a leaf.

The regions of a level don't overlap, so one edge is in one of them: a level costs its epsilon
once. Which regions are cut further depends on noisy counts and public geometry alone.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.der.areas import Area, RectangleCounts, SplitPoints, WholeMatrix, joined
from psgraph.methods.der.splits import NO_SPLIT
from psgraph.methods.private import PrivateSnapshot

__all__ = ["explore", "level_epsilons", "tree_depth"]


FULL = Fraction(4, 5)  # a region with at least this noisy density is not cut any further
FEW = Fraction(4, 5)  # nor one with fewer noisy edges than this times n²/4^depth
CUTS = 5  # μ, a constant of the formula for the depth
DEEPEST = 32  # halving the longest roster this often leaves single nodes


def tree_depth(nodes: int, epsilon: Fraction) -> int:
    """Return h, the largest depth of the quadtree, from public numbers.

    The smallest h with 2^(1/3)·4^h − 2^(5h/3) > (2^(1/3) − 1)·n²·ε_c / (2√2·μ), and not above 32.

    >>> tree_depth(10_000, Fraction(1, 15))
    9
    """
    root = 2 ** (1 / 3)
    target = (root - 1) * nodes**2 * float(epsilon) / (2 * math.sqrt(2) * CUTS)
    depth = 0
    while depth < DEEPEST and root * 4.0**depth - 2 ** (5 * depth / 3) <= target:
        depth += 1
    return depth


def level_epsilons(epsilon: Fraction, depth: int) -> list[Fraction]:
    """Return shares of `epsilon` for levels 0, …, depth, growing by 2^(1/3); they add up exactly.

    >>> [str(share) for share in level_epsilons(Fraction(1), 1)]
    ['1048576/2369699', '1321123/2369699']
    """
    weights = [round(2 ** (level / 3 + 20)) for level in range(depth + 1)]
    return [epsilon * Fraction(weight, sum(weights)) for weight in weights]


def explore(
    private: PrivateSnapshot,
    order: Integers,
    *,
    count_epsilon: Fraction,
    split_epsilon: Fraction,
    grid: int,
) -> tuple[Area, Integers]:
    """Return the leaves, and the noisy number of edges in each. `order` numbers the nodes.

    Privacy: at most `count_epsilon` + `split_epsilon` for one edge; less if no region reaches the
    last level. proofs/der.md.
    """
    nodes = order.size
    depth = tree_depth(nodes, count_epsilon)
    pairs = UNDIRECTED.pairs(nodes)
    fewest = math.ceil(FEW * nodes**2 / 4**depth)
    area: Area = WholeMatrix(order)
    leaves: list[Area] = []
    noisy_edges: list[Integers] = []
    for level, epsilon in enumerate(level_epsilons(count_epsilon, depth)):
        cells = area.cells
        noisy = private.ask(RectangleCounts(area, level), epsilon=epsilon)
        noisy = np.minimum(np.maximum(noisy, 0), cells)
        cut = (noisy >= fewest) & (FULL.denominator * noisy < FULL.numerator * cells)
        cuts = np.empty((0, 2), dtype=np.int64)
        if level < depth and cut.any():
            least = max(1, -(-pairs // 4 ** (level + 2)))
            cuts = private.ask(
                SplitPoints(area.selected(cut), level, least=least, grid=grid),
                epsilon=split_epsilon / depth,
            )
            possible = cuts[:, 0] != NO_SPLIT
            cut[cut], cuts = possible, cuts[possible]
        else:
            cut[:] = False
        leaves.append(area.selected(~cut))
        noisy_edges.append(noisy[~cut])
        if not cuts.size:
            break
        area = area.selected(cut).quartered(cuts)
    return joined(leaves), np.concatenate(noisy_edges)
