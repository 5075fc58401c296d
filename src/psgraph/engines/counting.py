"""Kernels that count the private edges of one part. What they add up goes into a mechanism."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import triangular_cell

__all__ = [
    "add_block_counts",
    "add_group_degrees",
    "add_split_degrees",
    "block_keys",
    "common_edges",
    "community_counts",
    "run_lengths",
]


@kernel
def add_split_degrees(
    u: Positions, v: Positions, labels: Positions, inner: Integers, outer: Integers
) -> None:
    """Count neighbours inside and outside the own block."""
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        if labels[x] == labels[y]:
            inner[x] += 1
            inner[y] += 1
        else:
            outer[x] += 1
            outer[y] += 1


@kernel
def common_edges(u: Positions, v: Positions, other_u: Positions, other_v: Positions) -> int:
    """Edges in both of two sorted lists."""
    found = here = 0
    for edge in range(other_u.size):
        x, y = other_u[edge], other_v[edge]
        while here < u.size and (u[here] < x or (u[here] == x and v[here] < y)):
            here += 1
        if here < u.size and u[here] == x and v[here] == y:
            found += 1
    return found


@kernel
def add_group_degrees(u: Positions, v: Positions, labels: Positions, degrees: Integers) -> None:
    """Count neighbours in each group, in an array of nodes × groups."""
    for edge in range(u.size):
        x, y = u[edge], v[edge]
        degrees[x, labels[y]] += 1
        degrees[y, labels[x]] += 1


@kernel
def add_block_counts(
    u: Positions, v: Positions, labels: Positions, blocks: int, inside: bool, counts: Integers
) -> None:
    """Count edges per cell, for a number of cells that may be written down."""
    for edge in range(u.size):
        cell = triangular_cell(np.int64(labels[u[edge]]), np.int64(labels[v[edge]]), blocks, inside)
        if cell >= 0:
            counts[cell] += 1


@kernel
def block_keys(
    u: Positions, v: Positions, labels: Positions, blocks: int, inside: bool
) -> Integers:
    """The cell of every edge, leaving out those inside a block unless wanted."""
    keys = np.empty(u.size, dtype=np.int64)
    found = 0
    for edge in range(u.size):
        cell = triangular_cell(np.int64(labels[u[edge]]), np.int64(labels[v[edge]]), blocks, inside)
        if cell >= 0:
            keys[found] = cell
            found += 1
    return keys[:found]


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


@kernel
def community_counts(
    starts: Integers, neighbours: Positions, labels: Positions, communities: int
) -> tuple[Integers, Positions, Positions]:
    """For each row of neighbours the communities that occur in it, and how often each does."""
    begins = np.empty(starts.size, dtype=np.int64)
    occurring = np.empty(neighbours.size, dtype=np.int32)
    counts = np.empty(neighbours.size, dtype=np.int32)
    count = np.zeros(communities, dtype=np.int32)
    found = 0
    for row in range(starts.size - 1):
        begins[row] = found
        for at in range(starts[row], starts[row + 1]):
            label = labels[neighbours[at]]
            if count[label] == 0:
                occurring[found] = label
                found += 1
            count[label] += 1
        for at in range(begins[row], found):
            counts[at] = count[occurring[at]]
            count[occurring[at]] = 0
    begins[starts.size - 1] = found
    return begins, occurring[:found], counts[:found]
