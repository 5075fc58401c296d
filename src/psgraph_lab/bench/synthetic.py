"""Synthetic streams of any size: power-law degrees, planted communities, gradual change.

Every step works on whole arrays: an edge starts at a node drawn by weight and ends at one drawn by
weight from the same community, or from all nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.sorting import sort_keys

__all__ = ["planted_stream", "write_stream"]

Keys = NDArray[np.int64]

_TAIL = 1.5  # degrees decay like d^-2.5
_INSIDE = 0.8  # share of edges inside a community
_NODES_PER_COMMUNITY = 1_000
_CHANGE = 0.02  # share of edges replaced at the next timestamp
_CHUNK = 1 << 23  # draws per batch


def planted_stream(
    *, nodes: int, edges: int, timestamps: int, seed: int = 0
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield positions u < v of exactly `edges` edges for every timestamp.

    >>> u, v = next(planted_stream(nodes=100, edges=300, timestamps=1))
    >>> u.size, bool((u < v).all())
    (300, True)
    """
    rng = np.random.default_rng(seed)
    graph = _Planted(nodes, rng)
    keys = graph.extend(np.empty(0, dtype=np.int64), edges)
    for timestamp in range(timestamps):
        if timestamp:
            keys = graph.extend(keys[rng.random(keys.size) >= _CHANGE], edges)
        yield (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32)


def write_stream(
    directory: Path, *, nodes: int, edges: int, timestamps: int, seed: int = 0
) -> None:
    """Write a synthetic stream as a directory with one Parquet file per timestamp."""
    stream = planted_stream(nodes=nodes, edges=edges, timestamps=timestamps, seed=seed)
    for timestamp, (u, v) in enumerate(stream):
        table = pa.table({"u": u, "v": v})
        path = directory / f"{timestamp:06d}.parquet"
        pq.write_table(table, path, compression="zstd", use_dictionary=False)


class _Planted:
    """Weights and communities of the nodes, from which edges are drawn."""

    def __init__(self, nodes: int, rng: np.random.Generator) -> None:
        self._rng, self._size = rng, nodes
        weights = np.minimum((1 - rng.random(nodes)) ** (-1 / _TAIL), np.sqrt(nodes))
        communities = max(2, nodes // _NODES_PER_COMMUNITY)
        labels = (communities * rng.random(nodes) ** 1.5).astype(np.int64)  # of unequal sizes
        # With the nodes in order of community, each community is a range of the cumulative sum.
        self._nodes = np.argsort(labels, kind="stable")
        self._labels = labels[self._nodes]
        self._sums = np.append(0.0, np.cumsum(weights[self._nodes]))
        self._starts = np.searchsorted(self._labels, np.arange(communities + 1))

    def extend(self, keys: Keys, edges: int) -> Keys:
        """Add edges until there are `edges`; sorted keys ``u << 32 | v``."""
        while keys.size < edges:
            drawn = [keys]
            wanted = int(1.1 * (edges - keys.size)) + 16
            drawn += [self._draw(min(_CHUNK, wanted - done)) for done in range(0, wanted, _CHUNK)]
            keys = sort_keys(np.concatenate(drawn), largest=self._size << 32)
            keys = keys[np.append(True, keys[1:] != keys[:-1])]
        surplus = self._rng.choice(keys.size, keys.size - edges, replace=False, shuffle=False)
        return np.delete(keys, surplus)

    def _draw(self, count: int) -> Keys:
        # Sorted draws make neighbouring look-ups touch neighbouring memory.
        first = self._find(np.sort(self._rng.random(count)) * self._sums[-1])
        label = self._labels[first]
        inside = self._rng.random(count) < _INSIDE
        low = np.where(inside, self._sums[self._starts[label]], 0.0)
        high = np.where(inside, self._sums[self._starts[label + 1]], self._sums[-1])
        second = self._find(low + self._rng.random(count) * (high - low))
        apart = first != second
        a, b = self._nodes[first[apart]], self._nodes[second[apart]]
        return (np.minimum(a, b) << 32) | np.maximum(a, b)

    def _find(self, sums: NDArray[np.float64]) -> NDArray[np.int64]:
        found = np.searchsorted(self._sums, sums, side="right") - 1
        return np.minimum(found, self._size - 1)
