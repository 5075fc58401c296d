"""Kernels that count private edges. Each is one pass; what they return goes into a mechanism."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.adjacency import adjacency
from psgraph._runtime.jit import kernel

__all__ = [
    "adjacency",
    "block_histogram",
    "block_keys",
    "common_edges",
    "group_degrees",
    "run_lengths",
    "split_degrees",
]

Integers = NDArray[np.int64]
Positions = NDArray[np.int32]


@kernel
def split_degrees(u: Positions, v: Positions, labels: Positions) -> tuple[Integers, Integers]:
    """Neighbours inside and outside the own block."""
    inner = np.zeros(labels.size, dtype=np.int64)
    outer = np.zeros(labels.size, dtype=np.int64)
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        if labels[x] == labels[y]:
            inner[x] += 1
            inner[y] += 1
        else:
            outer[x] += 1
            outer[y] += 1
    return inner, outer


@kernel
def common_edges(u: Positions, v: Positions, other_u: Positions, other_v: Positions) -> int:
    """Edges in both of two sorted lists; an end of −1 in the other list is no node here."""
    found = here = 0
    for edge in range(other_u.size):
        x, y = other_u[edge], other_v[edge]
        if x < 0 or y < 0:
            continue
        while here < u.size and (u[here] < x or (u[here] == x and v[here] < y)):
            here += 1
        if here < u.size and u[here] == x and v[here] == y:
            found += 1
    return found


@kernel
def group_degrees(u: Positions, v: Positions, labels: Positions, groups: int) -> Integers:
    """Neighbours in each group."""
    degrees = np.zeros((labels.size, groups), dtype=np.int64)
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        degrees[x, labels[y]] += 1
        degrees[y, labels[x]] += 1
    return degrees


@kernel
def block_keys(
    u: Positions, v: Positions, labels: Positions, blocks: int, inside: bool
) -> Integers:
    """The cell of every edge (see `pairs`), leaving out those inside a block unless wanted."""
    keys = np.empty(u.size, dtype=np.int64)
    size = blocks if inside else blocks - 1
    found = 0
    for edge in range(u.size):
        a, b = np.int64(labels[u[edge]]), np.int64(labels[v[edge]])
        if a > b:
            a, b = b, a
        if not inside:
            if a == b:
                continue
            b -= 1
        keys[found] = a * size - a * (a - 1) // 2 + (b - a)
        found += 1
    return keys[:found]


@kernel
def block_histogram(keys: Integers, size: int) -> Integers:
    """Edges per cell, for a number of cells that may be written down."""
    counts = np.zeros(size, dtype=np.int64)
    for key in keys:
        counts[key] += 1
    return counts


@kernel
def run_lengths(keys: Integers) -> tuple[Integers, Integers]:
    """Distinct values of a sorted array and how often each occurs."""
    values = np.empty(keys.size, dtype=np.int64)
    counts = np.empty(keys.size, dtype=np.int64)
    found = 0
    for index in range(keys.size):
        if index == 0 or keys[index] != keys[index - 1]:
            values[found] = keys[index]
            counts[found] = 1
            found += 1
        else:
            counts[found - 1] += 1
    return values[:found].copy(), counts[:found].copy()
