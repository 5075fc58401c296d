"""How communities divide the mixing of degree classes and hubs.

The measured edges between communities give an *affinity* for each pair of them: the ratio of
edges to what their degrees alone would give. A class is divided into one label for each community,
and a block of classes into blocks that follow the affinity; the sums over communities stay what
the classes and hub rows say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.raking import rake
from psgraph.methods.plus.tracking import Track

__all__ = ["Divided", "affinity", "divided"]


TRUST = 0.5  # how far a pair of communities may be from the common ratio, relative to it
LEAST = 0.02  # of what degrees alone would give
ROUNDS = 3
# Edges between noisy labels show the affinity of communities weakened: this exponent restores it.
SHARPNESS = 1.5


def affinity(blocks: Track, labels: Labels, degrees: Integers, count: int) -> Floats:
    """Return edges between communities relative to what their degrees alone would give.

    Noisy cells are shrunk towards one common ratio inside and one between communities, sharpened
    and raked to the wanted degrees.
    """
    stubs = np.bincount(labels, weights=degrees, minlength=count).astype(np.float64)
    sizes = np.bincount(labels, minlength=count)
    total = max(float(stubs.sum()), 1.0)
    chance = np.outer(stubs, stubs) / total
    a, b = UNDIRECTED.pair_of(np.arange(blocks.level.size), count, inside=True)
    measured, variance = np.zeros((count, count)), np.zeros((count, count))
    measured[a, b] = blocks.level * total / 2
    variance[a, b] = blocks.variance * (total / 2) ** 2
    # The diagonal of a mixing matrix counts edges twice; `measured` counts each once.
    variance = variance + variance.T + 2 * np.diag(variance.diagonal())
    measured = measured + measured.T
    same = np.eye(count, dtype=bool)
    common = np.where(same, *(_ratio(measured, chance, part) for part in (same, ~same))) * chance
    spread = (TRUST * common) ** 2
    gain = np.divide(spread, spread + variance, out=np.zeros_like(spread), where=spread > 0)
    cells = np.maximum(common + gain * (measured - common), LEAST * chance)
    sharp = _over(cells, chance) ** SHARPNESS * chance
    return _over(rake(sharp, stubs, sizes), chance)


def _over(cells: Floats, chance: Floats) -> Floats:
    return np.divide(cells, chance, out=np.ones_like(chance), where=chance > 0)


def _ratio(measured: Floats, chance: Floats, part: NDArray[np.bool_]) -> float:
    expected = float(chance[part].sum())
    return max(float(measured[part].sum()), LEAST * expected) / expected if expected > 0 else 1.0


@dataclass(frozen=True)
class Divided:
    """Labels and mixing after classes are divided by community; hubs keep theirs.

    Attributes
    ----------
    matrix
        The mixing matrix of the new labels.
    labels
        The new label of every node: (class, community) pairs in ascending order, then hubs.
    parents, communities
        The old label and the community of each new one.
    """

    matrix: Floats
    labels: Labels
    parents: Integers
    communities: Integers

    @property
    def classes(self) -> int:
        """How many labels are not hubs."""
        return int(np.count_nonzero(self.parents < CLASSES))


def divided(
    matrix: Floats, labels: Labels, communities: Labels, ratios: Floats, degrees: Integers
) -> Divided:
    """Divide the classes of a mixing matrix by community.

    Parameters
    ----------
    matrix, labels
        The mixing matrix of classes and hubs, and the label of every node.
    communities, ratios
        The community of every node, and the affinity of each pair of them.
    """
    count = ratios.shape[0]
    hub = labels >= CLASSES
    keys = np.where(hub, CLASSES * count + labels, labels.astype(np.int64) * count + communities)
    _, first, new = np.unique(keys, return_index=True, return_inverse=True)
    parents, groups = labels[first].astype(np.int64), communities[first].astype(np.int64)
    stubs = np.bincount(new, weights=degrees).astype(np.float64)
    sizes = np.bincount(new)
    whole = np.bincount(parents, weights=stubs, minlength=matrix.shape[0])
    part = np.divide(stubs, whole[parents], out=np.zeros_like(stubs), where=stubs > 0)
    wanted = matrix[np.ix_(parents, parents)]
    cells = rake(wanted * np.outer(part, part) * ratios[np.ix_(groups, groups)], stubs, sizes)
    starts = np.flatnonzero(np.diff(parents, prepend=-1))
    index = np.cumsum(np.diff(parents, prepend=-1) != 0) - 1
    target = matrix[np.ix_(parents[starts], parents[starts])]
    for _ in range(ROUNDS):
        implied = np.add.reduceat(np.add.reduceat(cells, starts, axis=0), starts, axis=1)
        ratio = np.divide(target, implied, out=np.ones_like(implied), where=implied > 0)
        cells = rake(cells * ratio[np.ix_(index, index)], stubs, sizes)
    return Divided(cells, new.astype(np.int32), parents, groups)
