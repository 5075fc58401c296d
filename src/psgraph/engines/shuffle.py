"""Sorted edges from keys that tasks draw in any order; see `psgraph.graph.kind` for keys."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import bucket_keys, sort_keys
from psgraph.graph.kind import first_end, first_key, pack_pair, second_end

__all__ = ["sorted_edges", "split_keys"]


def split_keys(keys: Integers, *, part_nodes: int, parts: int) -> list[Integers]:
    """Cut keys by the range of their first end.

    >>> from psgraph.graph.kind import pack, unpack
    >>> pieces = split_keys(pack([3, 1, 2], [4, 4, 4]), part_nodes=2, parts=2)
    >>> [unpack(piece)[0].tolist() for piece in pieces]
    [[1], [3, 2]]
    """
    if parts == 1:
        return [keys]
    grouped, begins = bucket_keys(keys, first_key(part_nodes), parts)
    return np.split(grouped, begins[1:-1])


def sorted_edges(keys: Integers, *, first: int, nodes: int) -> tuple[Positions, Positions]:
    """Sort the keys of one range, which starts at node `first`, and take them apart.

    >>> from psgraph.graph.kind import pack
    >>> u, v = sorted_edges(pack([2, 1], [5, 7]), first=1, nodes=8)
    >>> u.tolist(), v.tolist()
    ([1, 2], [7, 5])
    """
    bits = max(nodes - 1, 1).bit_length()
    packed = _packed(keys, first, bits)
    largest = int(packed.max(initial=0))  # fewer digits than the keys have
    return _taken_apart(sort_keys(packed, largest=largest), first, bits)


@kernel
def _packed(keys: Integers, first: int, bits: int) -> Integers:
    packed = np.empty_like(keys)
    for at in range(keys.size):
        packed[at] = pack_pair(first_end(keys[at]) - first, second_end(keys[at]), bits)
    return packed


@kernel
def _taken_apart(packed: Integers, first: int, bits: int) -> tuple[Positions, Positions]:
    u, v = np.empty(packed.size, dtype=np.int32), np.empty(packed.size, dtype=np.int32)
    for at in range(packed.size):
        u[at] = first_end(packed[at], bits) + first
        v[at] = second_end(packed[at], bits)
    return u, v
