"""Nodes of a community in classes of similar weight, for sampling by jumps (see `sampling`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.sorting import group_nodes

__all__ = ["Classes", "weight_classes"]


class Classes(NamedTuple):
    """Nodes of positive weight by community and, within it, by class of similar weights.

    Attributes
    ----------
    members, weights
        The nodes by class, and their weights.
    first
        For every community the number of its first class.
    bounds
        For every class where its nodes begin.
    tops
        The largest weight of every class.
    """

    members: Positions
    weights: Floats
    first: Integers
    bounds: Integers
    tops: Floats


def weight_classes(weights: Floats, labels: Positions, communities: int) -> Classes:
    """Sort nodes of positive weight into classes whose weights differ by a factor of two."""
    nodes = np.flatnonzero(weights > 0)
    exponents = np.frexp(weights[nodes])[1].astype(np.int64)
    lowest = exponents.min(initial=0)
    span = int(exponents.max(initial=0) - lowest) + 1
    slots = labels[nodes] * np.int64(span) + (exponents - lowest)
    slots, nodes = group_nodes(slots, nodes)
    owners, members = slots // span, nodes.astype(np.int32)
    new = np.ones(slots.size, dtype=bool)
    new[1:] = slots[1:] != slots[:-1]
    begins = np.flatnonzero(new)
    begins = begins[~_joined(begins, members, owners, weights, labels, communities)]
    tops = np.maximum.reduceat(weights[members], begins) if begins.size else np.empty(0)
    first = np.searchsorted(owners[begins], np.arange(communities + 1))
    return Classes(members, weights[members], first, np.append(begins, slots.size), tops)


def _joined(
    begins: Integers,
    members: Positions,
    owners: Integers,
    weights: Floats,
    labels: Positions,
    communities: int,
) -> NDArray[np.bool_]:
    """Return which classes to merge with the previous one: the light ones of a community, while
    together they weigh little.

    Fewer classes mean fewer jumps that find nothing; the price is candidates that are dropped,
    at most a quarter more.
    """
    if not begins.size:
        return np.zeros(0, dtype=bool)
    owner = owners[begins]
    total = np.bincount(labels, weights=weights, minlength=communities)[owner]
    first_of_owner = np.searchsorted(owners, owner)
    heads_so_far = np.append(begins[1:], owners.size) - first_of_owner
    light = heads_so_far * np.maximum.reduceat(weights[members], begins) <= 0.25 * total
    joined = np.zeros(begins.size, dtype=bool)
    joined[1:] = light[1:] & light[:-1] & (owner[1:] == owner[:-1])
    return joined
