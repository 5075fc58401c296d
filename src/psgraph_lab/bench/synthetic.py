"""Synthetic streams of any size, and synthetic stores written in bounded memory.

Both have power-law degrees and planted communities, and change gradually. The snapshots of a store
are cut into parts: edges are drawn in chunks, sorted through temporary files, and thinned at random
to the number wanted, with some others at every timestamp.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.kernels import sort_keys
from psgraph.graph import Roster
from psgraph.graph.kind import first_key, unpack
from psgraph.stores import is_store, new_store
from psgraph.stores.writer import ExternalSort
from psgraph.streams.demo import Keys, PlantedGraph, pareto_weights

__all__ = [
    "INSIDE",
    "cached_store",
    "planted_graph",
    "planted_stream",
    "write_store",
    "write_stream",
]

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


Progress = Callable[[int, int], object]

_CHUNK = 1 << 21  # edges drawn at a time
_RANGE = 1 << 17  # nodes of a sorted piece
_STORE_SURPLUS = 1.15  # edges drawn for each that is wanted; some are repeats


def cached_store(
    directory: Path,
    *,
    nodes: int,
    edges: int,
    timestamps: int = 1,
    progress: Progress | None = None,
) -> Path:
    """Return the store of this size in `directory`; writes it if it is not there yet."""
    several = f"-timestamps-{timestamps}" if timestamps > 1 else ""
    path = directory / f"nodes-{nodes}-edges-{edges}{several}"
    if not is_store(path):
        directory.mkdir(parents=True, exist_ok=True)
        write_store(path, nodes=nodes, edges=edges, timestamps=timestamps, progress=progress)
    return path


def write_store(
    path: Path,
    *,
    nodes: int,
    edges: int,
    timestamps: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> None:
    """Write a store with snapshots of exactly `edges` edges, each a little unlike the one before.

    Memory: O(nodes + edges of a part). Disk while writing: about 40 bytes for every edge.

    Parameters
    ----------
    progress
        Called with the number of edges drawn, about, and the number to draw.
    """
    rng = np.random.default_rng(seed)
    graph = planted_graph(nodes, rng)
    with (
        tempfile.TemporaryDirectory(dir=path.parent, prefix=".edges-") as scratch,
        new_store(path) as store,
    ):
        most = edges + (timestamps - 1) * round(_CHANGE * edges)
        pieces = _distinct_pieces(graph, nodes, most, Path(scratch), progress)
        shares, roster = _shuffled(pieces, edges, rng), Roster.range(nodes)
        for timestamp in range(timestamps):
            writer = store.begin(roster, time=None)
            for keys in _thinned(pieces, shares, timestamp):
                u, v = unpack(keys)
                writer.add(u, v)
            writer.finish()


def _distinct_pieces(
    graph: PlantedGraph, nodes: int, edges: int, scratch: Path, progress: Progress | None
) -> list[Path]:
    """Draw at least `edges` distinct edges into files, one for every range of nodes."""
    pieces, found = list[Path](), 0
    while found < edges:
        wanted = round(_STORE_SURPLUS * (edges - found)) + 16
        sorter = ExternalSort(scratch / "runs", nodes=nodes, part_nodes=_RANGE)
        for piece in pieces:
            sorter.add(np.load(piece))
        for done in range(0, wanted, _CHUNK):
            sorter.add(graph.draw(min(_CHUNK, wanted - done), INSIDE, ordered=True))
            if progress is not None:
                progress(min(edges, found + done + _CHUNK), edges)
        pieces, found = [], 0
        for number, (keys, _) in enumerate(sorter.parts()):
            pieces.append(scratch / f"piece-{number}.npy")
            np.save(pieces[-1], keys)
            found += keys.size
    return pieces


def _shuffled(pieces: list[Path], edges: int, rng: np.random.Generator) -> list[int]:
    """Put every piece into random order; returns how many edges of each a snapshot has."""
    sizes = [np.load(piece, mmap_mode="r").size for piece in pieces]
    left, shares = sum(sizes), list[int]()
    for piece, size in zip(pieces, sizes, strict=True):
        shares.append(int(rng.hypergeometric(edges, left - edges, size)) if size else 0)
        left, edges = left - size, edges - shares[-1]
        keys: NDArray[np.int64] = np.load(piece)
        np.save(piece, keys[rng.permutation(size)])
    return shares


def _thinned(pieces: list[Path], shares: list[int], timestamp: int) -> Iterator[Keys]:
    """Yield the edges of a snapshot, piece by piece: a uniformly random subset, which moves on."""
    for piece, share in zip(pieces, shares, strict=True):
        keys: NDArray[np.int64] = np.load(piece)
        yield np.roll(keys, -timestamp * round(_CHANGE * share))[:share]
