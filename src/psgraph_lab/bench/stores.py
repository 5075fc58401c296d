"""Synthetic stores of any size, written in bounded memory: one snapshot, cut into parts.

Edges are drawn in chunks like those of `psgraph_lab.bench.synthetic` (power-law degrees, planted
communities), sorted through temporary files, and thinned at random to the number asked for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psgraph.graph import Roster
from psgraph.graph.kind import unpack
from psgraph.stores import is_store, new_store
from psgraph.stores.writer import ExternalSort
from psgraph.streams.planted import Keys, PlantedGraph
from psgraph_lab.bench.synthetic import INSIDE, planted_graph

__all__ = ["cached_store", "write_store"]

Progress = Callable[[int, int], object]

_CHUNK = 1 << 21  # edges drawn at a time
_RANGE = 1 << 17  # nodes of a sorted piece
_SURPLUS = 1.15  # edges drawn for each that is wanted; some are repeats


def cached_store(
    directory: Path, *, nodes: int, edges: int, progress: Progress | None = None
) -> Path:
    """Return the store of this size in `directory`; writes it if it is not there yet."""
    path = directory / f"nodes-{nodes}-edges-{edges}"
    if not is_store(path):
        directory.mkdir(parents=True, exist_ok=True)
        write_store(path, nodes=nodes, edges=edges, progress=progress)
    return path


def write_store(
    path: Path, *, nodes: int, edges: int, seed: int = 0, progress: Progress | None = None
) -> None:
    """Write a store with one snapshot of exactly `edges` edges.

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
        pieces = _distinct_pieces(graph, nodes, edges, Path(scratch), progress)
        writer = store.begin(Roster.range(nodes), time=None)
        for keys in _thinned(pieces, edges, rng):
            writer.add(*unpack(keys))
        writer.finish()


def _distinct_pieces(
    graph: PlantedGraph, nodes: int, edges: int, scratch: Path, progress: Progress | None
) -> list[Path]:
    """Draw at least `edges` distinct edges into files, one for every range of nodes."""
    pieces, found = list[Path](), 0
    while found < edges:
        wanted = round(_SURPLUS * (edges - found)) + 16
        sorter = ExternalSort(scratch / "runs", nodes=nodes, part_nodes=_RANGE)
        for piece in pieces:
            sorter.add(np.load(piece))
        for done in range(0, wanted, _CHUNK):
            sorter.add(graph.draw(min(_CHUNK, wanted - done), INSIDE, ordered=True))
            if progress is not None:
                progress(min(edges, found + done + _CHUNK), edges)
        pieces, found = [], 0
        for number, keys in enumerate(sorter.parts()):
            pieces.append(scratch / f"piece-{number}.npy")
            np.save(pieces[-1], keys)
            found += keys.size
    return pieces


def _thinned(pieces: list[Path], edges: int, rng: np.random.Generator) -> Iterator[Keys]:
    """Yield `edges` of all keys, a uniformly random subset, piece by piece."""
    sizes = [np.load(piece, mmap_mode="r").size for piece in pieces]
    left = sum(sizes)
    for piece, size in zip(pieces, sizes, strict=True):
        kept = int(rng.hypergeometric(edges, left - edges, size)) if size else 0
        left, edges = left - size, edges - kept
        keys: NDArray[np.int64] = np.load(piece)
        piece.unlink()
        yield keys[rng.permutation(size)[:kept]]
