"""A wanted degree for every node, from who is large and how many are.

Which nodes are large comes from the nodes, how many are large from the curve: nodes are ranked by
their filtered degrees, and rank r gets the degree that the fitted curve has at rank r. Beyond the
last point of the curve that is known, nodes keep their own estimates. The sum is then brought to
the number of edge ends.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers
from psgraph._runtime.kernels import sorting_order

__all__ = ["exact_sum", "grown_curve", "ranked", "unthinned", "wanted_degrees"]

SURE, UNSURE = 1.1, 1.4  # how far the excess of the largest nodes may be stretched
DENSE = 0.02  # above this density the sum is corrected from 3 % on, otherwise from 25 %
ROUNDS = 50
ROUNDING = 6  # decimals; estimates that are mathematically equal must be ties
TIE_BITS = 11  # of the random number that orders ties
SHARPENED = 10  # rounds
EXACT = 256  # kept edges, up to which it matters that a degree is kept by chance
BEYOND = 3.0  # standard deviations
GROWTH = 0.6  # the number of nodes with an edge grows like this power of the number of edges
MOST_DEGREE = 2.0**31  # no node has more, and the keys of ranks still fit into 63 bits


def ranked(estimates: Floats, ties: NDArray[np.floating]) -> Integers:
    """Return positions from the largest estimate to the smallest.

    >>> ranked(np.array([1.0, 5.0, 1.0]), np.array([0.9, 0.1, 0.2]))
    array([1, 2, 0])
    """
    rounded = np.rint(np.minimum(estimates, MOST_DEGREE) * 10.0**ROUNDING).astype(np.int64)
    keys = rounded.max(initial=0) - rounded << TIE_BITS
    return sorting_order(keys | (ties * 2.0**TIE_BITS).astype(np.int64))


def wanted_degrees(
    estimates: Floats,
    order: Integers,
    *,
    shares: Floats,
    total: int,
    largest: int,
    sure_scale: float | None,
    rng: np.random.Generator,
    even: bool = True,
) -> Integers:
    """Return a degree for every node, with the sum `total` wherever that is possible.

    Parameters
    ----------
    estimates, order
        Filtered degrees, and positions from the largest to the smallest.
    shares
        c_1, …, c_{k*}: the share of nodes with at least k neighbours.
    largest
        The largest degree that a node can have.
    sure_scale
        The scale of the noise on degrees measured at this timestamp, None if there was none.
        The largest nodes are *sure* if it is small against their degrees.
    even
        Whether a sum must be even, because the two ends of an edge are alike.
    """
    nodes = estimates.size
    if largest < 1 or total == 0 or not nodes:
        return np.zeros(nodes, dtype=np.int64)
    sorted_degrees, top, sure = _by_rank(estimates[order], shares, total, largest, sure_scale)
    sorted_degrees = _shifted(sorted_degrees, total, largest, fixed=top if sure else 0)
    degrees = np.empty(nodes)
    degrees[order] = sorted_degrees
    whole = np.floor(degrees + rng.random(nodes)).astype(np.int64)
    return exact_sum(np.clip(whole, 0, largest), total, rng, largest=largest, even=even)


def grown_curve(shares: Floats, factor: float) -> Floats:
    """Return how many nodes have at least k edges once there are `factor` times as many edges.

    Real streams grow in both ways: more nodes have an edge, and nodes have more of them.

    >>> grown_curve(np.array([0.2, 0.1]), 4.0).round(2)
    array([0.46, 0.23, 0.23])
    """
    stretched = factor ** (1 - GROWTH)
    known = round(shares.size * stretched)
    before = np.ceil(np.arange(1, known + 1) / stretched - 1e-9).astype(np.int64)
    return np.minimum(factor**GROWTH * shares[np.clip(before, 1, shares.size) - 1], 1.0)


def unthinned(shares: Floats, kept: float) -> Floats:
    """Return how many nodes have at least k edges, of which each is kept with a chance.

    Large degrees are kept in proportion. What becomes of small ones is found by a few rounds of
    expectation–maximisation (Richardson–Lucy) from a curve that is stretched: so what the kept
    edges do not tell stays smooth.

    Parameters
    ----------
    shares
        The same of kept edges: c_1, …, c_{k*}.
    kept
        The chance of an edge.

    Notes
    -----
    O(k*) time and memory.
    """
    stretched = shares[_behind(shares.size, kept)]
    found = _sharpened(shares[:EXACT], kept)
    if shares.size <= EXACT:
        return found
    return np.minimum.accumulate(np.concatenate([found[: EXACT // 2], stretched[EXACT // 2 :]]))


def _behind(known: int, kept: float) -> Integers:
    """The places in a curve of kept edges of degrees 1, 2, … before edges were left out."""
    degrees = np.arange(1, max(round(known / kept), 1) + 1)
    return np.clip(np.ceil(degrees * kept - 1e-9).astype(np.int64), 1, known) - 1


def _sharpened(shares: Floats, kept: float) -> Floats:
    """Return the curve of all edges, by rounds of expectation–maximisation."""
    known = shares.size
    stretched = shares[_behind(known, kept)]
    grown = grown_curve(shares, 1 / kept)[: stretched.size]
    start = np.maximum(stretched, np.pad(grown, (0, stretched.size - grown.size)))
    # Nodes of k* kept edges or more have anything from k*/kept on.
    beyond = np.linspace(start[-1], 0, math.ceil(BEYOND * (1 + math.sqrt(known)) / kept))
    start = np.concatenate([start, beyond])
    degrees = np.arange(start.size + 1)
    chances = np.zeros((degrees.size, known + 1))  # of k of them being kept, or known and more
    chances[0, 0] = 1.0
    for degree in degrees[1:]:
        before = chances[degree - 1]
        chances[degree] = (1 - kept) * before
        chances[degree, 1:] += kept * before[:-1]
        chances[degree, -1] += kept * before[-1]
    seen = -np.diff(np.concatenate([[1.0], shares, [0.0]]))
    curve = np.concatenate([[1.0], start, [0.0]])
    density = np.maximum(-np.diff(curve), 0.01 / degrees.size / degrees.clip(1))
    density /= density.sum()
    for _ in range(SHARPENED):
        density *= chances @ (np.maximum(seen, 0) / np.maximum(density @ chances, 1e-12))
    return np.asarray(np.cumsum(density[::-1])[::-1][1 : stretched.size + 1])


def _by_rank(
    estimates: Floats, shares: Floats, total: int, largest: int, sure_scale: float | None
) -> tuple[Floats, int, bool]:
    """Return degrees by rank, how many ranks keep their own estimate, and whether they are sure."""
    nodes, known = estimates.size, min(shares.size, largest)
    if known == 0:
        weight = estimates.sum()
        scaled = estimates * (total / weight) if weight > 0 else np.full(nodes, total / nodes)
        return scaled, nodes, False
    counts = np.clip(np.floor(nodes * shares[:known] + 0.5).astype(np.int64), 0, nodes)
    # Rank r has as many neighbours as there are points of the curve at or above it.
    steps = np.bincount(counts, minlength=nodes + 1)
    degrees = (known - np.cumsum(steps)[:nodes]).astype(np.float64)
    top = int(np.clip(np.rint(nodes * shares[known - 1]), 1, nodes))
    excess = np.maximum(estimates[:top] - known, 0)
    sure = sure_scale is not None and 10 * sure_scale < float(estimates[:top].mean())
    limit = SURE if sure else UNSURE
    missing = total - float(degrees[top:].sum()) - top * known
    have = float(excess.sum())
    if have > 0:
        excess *= np.clip(missing / have, 1 / limit, limit)
    degrees[:top] = known + excess
    return degrees, top, sure


def _shifted(degrees: Floats, total: int, largest: int, *, fixed: int) -> Floats:
    """Move the log-odds of being connected by a constant until the sum is right.

    The first `fixed` ranks are left alone unless they hold nearly everything.
    """
    nodes = degrees.size
    degrees = np.clip(degrees, 0, largest)
    tolerance = 0.03 if total > DENSE * (nodes * largest) else 0.25
    if abs(float(degrees.sum()) - total) <= tolerance * total:
        return degrees
    if fixed == nodes or float(degrees[:fixed].sum()) >= 0.9 * total:
        fixed = 0
    chance = np.clip(degrees[fixed:] / largest, 0, 1 - 0.5 / (largest + 1))
    wanted = total - float(degrees[:fixed].sum())
    low, high = -12.0, 12.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        odds = chance * np.exp(middle)
        if largest * float((odds / (1 - chance + odds)).sum()) < wanted:
            low = middle
        else:
            high = middle
    odds = chance * np.exp((low + high) / 2)
    return np.concatenate([degrees[:fixed], largest * odds / (1 - chance + odds)])


def exact_sum(
    degrees: Integers, total: int, rng: np.random.Generator, *, largest: int, even: bool = True
) -> Integers:
    """Add or remove single neighbours by systematic sampling until the sum is `total`.

    A node gains in proportion to its degree and loses in proportion to its degree − 1, so that
    none drops to 0 unless it must. If the sum is then odd and must be `even`, the largest degree
    loses one.

    >>> exact_sum(np.array([3, 1, 1, 0]), 8, np.random.default_rng(1), largest=3).sum()
    np.int64(8)
    """
    degrees = degrees.copy()
    for _ in range(ROUNDS):
        missing = total - int(degrees.sum())
        if missing == 0:
            break
        if missing > 0:
            room = largest - degrees
            weights = np.where(room > 0, degrees, 0)
            weights = weights if weights.any() else (room > 0).astype(np.int64)
            degrees += np.minimum(_systematic(weights, missing, rng), room)
        else:
            weights = np.maximum(degrees - 1, 0)
            weights = weights if weights.any() else degrees
            degrees -= np.minimum(_systematic(weights, -missing, rng), degrees)
    if even and int(degrees.sum()) % 2:
        degrees[np.argmax(degrees)] -= 1
    return degrees


def _systematic(weights: Integers, count: int, rng: np.random.Generator) -> Integers:
    """Draw `count` items in proportion to their weights, evenly spread; how often each came up."""
    ends = np.cumsum(weights)
    if not ends.size or ends[-1] == 0:
        return np.zeros(weights.size, dtype=np.int64)
    points = np.floor(ends * (count / ends[-1]) - rng.random()) + 1
    points = np.clip(points, 0, count).astype(np.int64)
    points[-1] = count
    return np.diff(points, prepend=0)
