"""Remove edges of nodes that have too many: exactly as many as wanted, part by part.

Every edge gets a random priority, an exponential variable divided by its weight, and the smallest
priorities go: sampling without replacement, with chances in proportion to the weights. A priority
depends on the edge and a key alone. A histogram over all parts finds where the last one to go is.

Reference: Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.engines.counter_based import keyed_exponential
from psgraph.engines.running import Job, Runner

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["with_fewer"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32]
Read = Callable[[], Any]

_BINS = 1 << 16
_BIN_SHIFT = 47  # the highest 16 of the 63 bits of a positive number
_LEAST = 1e-6  # fraction of its edges that a node keeps
_LAST = 2.0**500  # priorities of edges that nobody has too many of, below all others


def with_fewer(
    parts: EdgeParts,
    surplus: int,
    *,
    degrees: Integers,
    wanted: Floats,
    labels: Positions,
    key: int,
    runner: Runner,
) -> EdgeParts:
    """Remove `surplus` edges, where degrees are further above those wanted rather than nearer.

    Parameters
    ----------
    degrees, wanted
        Inside, then outside, of all nodes.
    key
        For the priorities; another one in every round.
    """
    # Both ends would keep the fraction wanted / degree of their edges if each edge were kept
    # with the product of these fractions.
    stays = np.clip(wanted / np.maximum(degrees, 1), _LEAST, 1.0)
    shared = (labels, -np.log(stays), key)
    (histogram,) = runner.sum(Job(_add_histogram, parts.edges(), shared), sizes=(_BINS,))
    below = histogram.cumsum()
    last_bin = int(np.searchsorted(below, surplus))
    still = surplus - (int(below[last_bin - 1]) if last_bin else 0)
    found = list(runner.map(Job(_in_bin, parts.edges(), (*shared, last_bin))))
    priorities = np.concatenate([each[0] for each in found])
    keys = np.concatenate([each[1] for each in found])
    last = np.lexsort((keys, priorities))[still - 1]
    limit = (float(priorities[last]), int(keys[last]))
    return runner.store(Job(_kept, parts.edges(), (*shared, *limit)), nodes=labels.size)


def _add_histogram(
    read: Read, labels: Positions, weights: Floats, key: int, histogram: Integers
) -> None:
    u, v = read()
    priorities = _priorities(u, v, labels, weights, np.uint64(key))
    histogram += np.bincount(_bins(priorities), minlength=_BINS)


def _in_bin(
    read: Read, labels: Positions, weights: Floats, key: int, wanted: int
) -> tuple[Floats, Integers]:
    """The priorities and keys of the edges in one bin of the histogram."""
    u, v = read()
    priorities = _priorities(u, v, labels, weights, np.uint64(key))
    chosen = np.flatnonzero(_bins(priorities) == wanted)
    return priorities[chosen], u[chosen].astype(np.int64) << 32 | v[chosen]


def _kept(
    read: Read, labels: Positions, weights: Floats, key: int, limit: float, last: int
) -> tuple[Positions, Positions]:
    """The edges after the last one to go, in order of (priority, key)."""
    u, v = read()
    priorities = _priorities(u, v, labels, weights, np.uint64(key))
    stays = priorities > limit
    (equal,) = np.nonzero(priorities == limit)
    stays[equal] = (u[equal].astype(np.int64) << 32 | v[equal]) > last
    return u[stays], v[stays]


def _bins(priorities: Floats) -> Integers:
    # Positive numbers are in the order of their bits.
    bins: Integers = priorities.view(np.int64) >> _BIN_SHIFT
    return bins


@kernel
def _priorities(
    u: Positions, v: Positions, labels: Positions, weights: Floats, key: np.uint64
) -> Floats:
    nodes = labels.size
    priorities = np.empty(u.size, dtype=np.float64)
    for edge in range(u.size):
        x, y = np.int64(u[edge]), np.int64(v[edge])
        shift = 0 if labels[x] == labels[y] else nodes
        weight = weights[x + shift] + weights[y + shift]
        drawn = keyed_exponential(x, y, key)
        priorities[edge] = drawn / weight if weight > 0.0 else drawn * _LAST
    return priorities
