"""Exploring an adjacency matrix by a noisy quadtree.

A region (a rectangle of the upper triangle, see `psgraph.methods.der.rectangles`) is counted with
noise. If it seems to hold enough edges, and not to be full of them, it is cut into four where the
densities differ most, again with noise. What is not cut any further is a leaf.

The regions of a level don't overlap, so one edge is in one of them: a level costs its epsilon
once. Which regions are cut further depends on noisy counts and public geometry alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.der.rectangles import Rectangles, Regions, valid_cells
from psgraph.methods.der.splits import NO_SPLIT, SplitChoice
from psgraph.privacy.budget import Budget
from psgraph.privacy.mechanism import per_edge
from psgraph.privacy.mechanisms.laplace import LaplaceCounts

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
    root: Regions,
    *,
    nodes: int,
    budget: Budget,
    count_epsilon: Fraction,
    split_epsilon: Fraction,
    grid: int,
) -> tuple[Regions, Integers]:
    """Return the leaves, and the noisy number of edges in each.

    Privacy: at most `count_epsilon` + `split_epsilon` for one edge; less if no region reaches the
    last level. proofs/der.md.
    """
    depth = tree_depth(nodes, count_epsilon)
    pairs = UNDIRECTED.pairs(nodes)
    fewest = math.ceil(FEW * nodes**2 / 4**depth)
    regions = root
    leaves: list[Regions] = []
    noisy_edges: list[Integers] = []
    for level, epsilon in enumerate(level_epsilons(count_epsilon, depth)):
        cells = regions.cells
        noisy = budget.run(
            LaplaceCounts(regions.edges, per_edge(1)),
            epsilon=epsilon,
            label=f"level {level} counts",
        )
        noisy = np.minimum(np.maximum(noisy, 0), cells)
        cut = (noisy >= fewest) & (FULL.denominator * noisy < FULL.numerator * cells)
        cuts = np.empty((0, 2), dtype=np.int64)
        if level < depth and cut.any():
            least = max(1, -(-pairs // 4 ** (level + 2)))
            cuts = budget.run(
                SplitChoice(_select(regions, cut), least=least, grid=grid),
                epsilon=split_epsilon / depth,
                label=f"level {level} splits",
            )
            possible = cuts[:, 0] != NO_SPLIT
            cut[cut], cuts = possible, cuts[possible]
        else:
            cut[:] = False
        leaves.append(_select(regions, ~cut))
        noisy_edges.append(noisy[~cut])
        if not cuts.size:
            break
        regions = _quartered(_select(regions, cut), cuts)
    return _joined(leaves), np.concatenate(noisy_edges)


def _select(regions: Regions, wanted: NDArray[np.bool_]) -> Regions:
    """Return some of the regions, with their edges."""
    edges = regions.edges
    kept = np.repeat(wanted, edges)
    return Regions(
        regions.rectangles[wanted],
        _starts(edges[wanted]),
        regions.rows[kept],
        regions.columns[kept],
    )


def _joined(parts: Sequence[Regions]) -> Regions:
    return Regions(
        np.concatenate([part.rectangles for part in parts]),
        _starts(np.concatenate([part.edges for part in parts])),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.columns for part in parts]),
    )


def _starts(counts: Integers) -> Integers:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


def _quartered(regions: Regions, cuts: Integers) -> Regions:
    """Cut every region into four; parts without a valid cell are left out."""
    top, bottom, left, right = regions.rectangles.T
    row, column = cuts.T
    quarters: Rectangles = np.stack(
        [
            np.stack([top, row, left, column], axis=1),
            np.stack([top, row, column, right], axis=1),
            np.stack([row, bottom, left, column], axis=1),
            np.stack([row, bottom, column, right], axis=1),
        ],
        axis=1,
    ).reshape(-1, 4)
    counts = np.zeros(len(quarters), dtype=np.int64)
    rows, columns = np.empty_like(regions.rows), np.empty_like(regions.columns)
    _deal(regions.starts, regions.rows, regions.columns, cuts, counts, rows, columns)
    alive = valid_cells(quarters) > 0
    return Regions(quarters[alive], _starts(counts[alive]), rows, columns)


@kernel
def _deal(
    starts: Integers,
    rows: Positions,
    columns: Positions,
    cuts: Integers,
    counts: Integers,
    out_rows: Positions,
    out_columns: Positions,
) -> None:
    """Sort the edges of every region by quarter, keeping their order within a quarter."""
    heads = np.empty(4, dtype=np.int64)
    for region in range(len(cuts)):
        row, column = cuts[region]
        here = counts[4 * region : 4 * region + 4]
        for edge in range(starts[region], starts[region + 1]):
            here[2 * (rows[edge] >= row) + (columns[edge] >= column)] += 1
        heads[0] = starts[region]
        for quarter in range(3):
            heads[quarter + 1] = heads[quarter] + here[quarter]
        for edge in range(starts[region], starts[region + 1]):
            quarter = 2 * (rows[edge] >= row) + (columns[edge] >= column)
            out_rows[heads[quarter]] = rows[edge]
            out_columns[heads[quarter]] = columns[edge]
            heads[quarter] += 1
