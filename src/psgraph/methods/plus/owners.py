"""How many edges owners have: the distribution, and what the bound on each of them left out.

Where the unit of privacy is an owner, one step moves the number of owners by 1, whatever the bound
θ on the edges of one. So owners are counted instead of edges, and once per window owners by their
number of edges *before* the bound. From both come the number of edges that are used, and the number
that there are. All of it is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.weights import doubling, shrunk

__all__ = [
    "Owners",
    "class_counts",
    "next_owners",
    "own_class_count",
    "own_classes",
    "owner_bounds",
]

REACH = 8  # sizes are counted up to this many times the bound
#: Slope and bend of the logarithms of shares, with their deviations: shares fall slowly at first,
#: as in the public streams of messages, trips and films, and then faster than those of weights.
USUAL = ((-0.2, 0.4), (0.12, 0.08))
NEAR = 0.3  # how far a class may be from such a distribution, relative to it
DRIFT = 0.0225  # a class moves by 15 % of itself in a window
LEAST_SHARE = 0.005
STEEPEST = 6.0  # power of sizes inside a class
SURE = 4.0  # squared standard deviations that the share left out must be from nothing


@lru_cache(maxsize=64)
def owner_bounds(at_most: int) -> Integers:
    """Return the largest size of each class of owners, for a bound on their edges.

    >>> owner_bounds(1), owner_bounds(5)
    (array([1, 2, 4, 8]), array([ 1,  2,  4,  8, 16, 32, 40]))
    """
    return doubling(REACH * at_most)


def own_classes(sizes: Integers, at_most: int) -> Labels:
    """Return the class of each owner by the edges that are used of it, 0 also for none.

    >>> own_classes(np.array([0, 1, 2, 3, 4, 5, 90]), 6)
    array([0, 0, 1, 2, 2, 3, 3], dtype=int32)
    """
    classes = np.searchsorted(doubling(at_most), np.minimum(sizes, at_most))
    return np.minimum(classes, own_class_count(at_most) - 1).astype(np.int32)


def own_class_count(at_most: int) -> int:
    """Return how many classes there are of owners by the edges that are used of them."""
    return min(doubling(at_most).size, CLASSES)


def class_counts(at_most: int, side: int | None) -> tuple[int, int]:
    """Return the number of classes of first ends, and of second ends.

    Owners on a `side` are in classes of their own number of edges, all others in degree classes.
    """
    if side is None:
        return CLASSES, CLASSES
    own = own_class_count(at_most)
    return (CLASSES, own) if side else (own, CLASSES)


@dataclass(frozen=True)
class _Sizes:
    """Sizes 1, …, 8θ of owners, the class of each, and the middle and width of each class."""

    sizes: Floats
    classes: Integers
    middles: Floats
    widths: Integers

    def inside(self, shares: Floats) -> Floats:
        """Return how likely each size is inside its class.

        Sizes fall by a power, that by which classes around it fall.
        """
        usual = np.maximum(shares, LEAST_SHARE / self.widths.size)
        falls = -np.diff(np.log(usual / self.widths)) / np.diff(np.log(self.middles))
        falls = np.concatenate([falls[:1], (falls[1:] + falls[:-1]) / 2, falls[-1:]])
        density = self.sizes ** -np.clip(falls, 0.0, STEEPEST)[self.classes]
        return np.asarray(density / np.bincount(self.classes, density)[self.classes])


@lru_cache(maxsize=16)
def _all_sizes(at_most: int) -> _Sizes:
    bounds = owner_bounds(at_most)
    sizes = np.arange(1, bounds[-1] + 1)
    widths = np.diff(bounds, prepend=0)
    middles = np.sqrt((bounds - widths + 1.0) * bounds)
    return _Sizes(sizes.astype(np.float64), np.searchsorted(bounds, sizes), middles, widths)


@dataclass(frozen=True, eq=False)
class Owners:
    """What is known of the owners of a timestamp.

    Attributes
    ----------
    at_most
        The bound on the edges of an owner that are used.
    classes
        The filtered share of owners in each class of sizes before the bound.
    shares
        The same after shrinking: adds up to 1.
    count
        The number of owners with an edge.
    factor
        How many edges there are for each that is used, as far as that is known.
    """

    at_most: int
    classes: Track
    shares: Floats
    count: int
    factor: float

    @classmethod
    def start(cls, at_most: int) -> Owners:
        """Start with a usual distribution."""
        size = owner_bounds(at_most).size
        number = np.arange(float(size))
        usual = np.exp(USUAL[0][0] * number - USUAL[1][0] * number**2)
        return cls(at_most, Track.unseen(size, drift=DRIFT), usual / usual.sum(), 0, 1.0)

    @property
    def used_mean(self) -> float:
        """The mean number of edges that are used of an owner."""
        every = _all_sizes(self.at_most)
        return float(self._density(every) @ np.minimum(every.sizes, self.at_most))

    @property
    def used(self) -> int:
        """The number of edges that are used."""
        return round(self.count * self.used_mean)

    @property
    def edges(self) -> int:
        """The number of edges, those left out by the bound included as far as they are known."""
        return round(self.count * self.used_mean * self.factor)

    def sizes(self, edges: int, largest: int) -> Integers:
        """Return the sizes of all owners, the largest first, about `edges` in all.

        They are the quantiles of the distribution; large ones are limited so that the sum is right.
        """
        every, count = _all_sizes(self.at_most), min(self.count, edges)
        if not count:
            return np.zeros(0, dtype=np.int64)
        tail = np.cumsum(self._density(every))
        at = np.searchsorted(tail, (np.arange(count) + 0.5) / count * tail[-1])
        found = every.sizes[at[::-1]]
        return np.minimum(np.maximum(np.rint(_limited(found, edges)), 1), largest).astype(np.int64)

    def _density(self, every: _Sizes) -> Floats:
        return np.asarray(self.shares[every.classes] * every.inside(self.shares))

    def with_count(self, count: int) -> Owners:
        return replace(self, count=count)


def _limited(sizes: Floats, edges: int) -> Floats:
    """Sizes with what is above 1 multiplied by a factor, so that their sum is `edges`."""
    above = float(sizes.sum()) - sizes.size
    return 1 + (sizes - 1) * (max(edges - sizes.size, 0) / above if above else 0.0)


def next_owners(
    before: Owners, noisy_sizes: Integers | None, *, noisy_count: float, epsilon: float
) -> Owners:
    """Return what is known of owners after a timestamp, with the `count` of before.

    Parameters
    ----------
    noisy_sizes
        The noisy number of owners in each class, None where not measured.
    noisy_count
        The released number of owners.
    epsilon
        What the sizes were bought with, for a sensitivity of 1.
    """
    if noisy_sizes is None:
        return before
    # The classes add up to all owners as well.
    noise = laplace_variance(1 / epsilon)
    total = max(noisy_count, float(noisy_sizes.sum()) / 2, 1.0)
    scale = np.maximum(before.classes.level, LEAST_SHARE) ** 2
    classes = before.classes.observe(noisy_sizes / total, noise / total**2, scale)
    shares, variance = shrunk(classes, round(total), *USUAL, near=NEAR)
    after = replace(before, classes=classes, shares=shares)
    return replace(after, factor=_factor(after, variance))


def _factor(owners: Owners, variance: Floats) -> float:
    """Edges for each that is used, without what may be noise.

    The mean of a heavy tail can't be estimated from noisy classes: one top class that is noise
    would multiply it. So the excess over 1 counts only as far as it is clear.
    """
    every = _all_sizes(owners.at_most)
    inside = every.inside(owners.shares)
    whole = np.bincount(every.classes, inside * every.sizes)
    used = np.bincount(every.classes, inside * np.minimum(every.sizes, owners.at_most))
    mean = float(owners.shares @ used)
    ratio = float(owners.shares @ whole) / mean
    if ratio <= 1:
        return 1.0
    doubt = float((((whole - ratio * used) / mean) ** 2 * variance).sum())
    return 1 + (ratio - 1) * max(0.0, 1 - SURE * doubt / (ratio - 1) ** 2)
