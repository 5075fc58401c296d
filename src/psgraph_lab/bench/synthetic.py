"""Synthetic streams of any size: power-law degrees, planted communities, gradual change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.sorting import sort_keys
from psgraph.graph.kind import first_key, unpack
from psgraph.streams.planted import Keys, PlantedGraph, pareto_weights

__all__ = ["INSIDE", "planted_graph", "planted_stream", "write_stream"]

INSIDE = 0.8
"""Share of edges inside a community."""

_TAIL = 1.5  # degrees decay like d^-2.5
_NODES_PER_COMMUNITY = 1_000
_CHANGE = 0.02  # share of edges replaced at the next timestamp
_SURPLUS = 1.1  # edges drawn for each that is missing


def planted_stream(
    *, nodes: int, edges: int, timestamps: int, seed: int = 0
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield positions u < v of exactly `edges` edges for every timestamp.

    >>> u, v = next(planted_stream(nodes=100, edges=300, timestamps=1))
    >>> u.size, bool((u < v).all())
    (300, True)
    """
    rng = np.random.default_rng(seed)
    graph = planted_graph(nodes, rng)
    keys = np.empty(0, dtype=np.int64)
    for timestamp in range(timestamps):
        if timestamp:
            keys = keys[rng.random(keys.size) >= _CHANGE]
        keys = _completed(graph, keys, edges, largest=first_key(nodes))
        yield unpack(keys)


def planted_graph(nodes: int, rng: np.random.Generator) -> PlantedGraph:
    """Return a graph to draw edges from: power-law weights, communities of unequal sizes."""
    weights = pareto_weights(nodes, rng, exponent=_TAIL, largest=float(np.sqrt(nodes)))
    communities = max(2, nodes // _NODES_PER_COMMUNITY)
    of_nodes = (communities * rng.random(nodes) ** 1.5).astype(np.int64)  # of unequal sizes
    return PlantedGraph(weights, of_nodes, rng)


def _completed(graph: PlantedGraph, keys: Keys, edges: int, *, largest: int) -> Keys:
    """Add edges until there are `edges`, and sort them."""
    keys = graph.extend(keys, edges - keys.size, inside=INSIDE, surplus=_SURPLUS)
    return sort_keys(keys, largest=largest)


def write_stream(
    directory: Path, *, nodes: int, edges: int, timestamps: int, seed: int = 0
) -> None:
    """Write a synthetic stream as a directory with one Parquet file per timestamp."""
    stream = planted_stream(nodes=nodes, edges=edges, timestamps=timestamps, seed=seed)
    for timestamp, (u, v) in enumerate(stream):
        table = pa.table({"u": u, "v": v})
        path = directory / f"{timestamp:06d}.parquet"
        pq.write_table(table, path, compression="zstd", use_dictionary=False)
