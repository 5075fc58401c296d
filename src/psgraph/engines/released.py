"""The parts of a released graph: in memory or in files, and gone with the graph."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.resources import scratch_directory
from psgraph.engines.runner import sorted_edges
from psgraph.errors import OutputError
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import MemoryParts, Pairs, Rows

__all__ = ["MEMORY_BYTES", "ReleasedParts", "Scratch", "ScratchPart", "as_pairs"]


MEMORY_BYTES = 1 << 29


def as_pairs(edges: Pairs | tuple[Positions, Positions]) -> Pairs:
    """Return what a task returned for a part: two ends, and weights if it gave `Pairs` of them.

    >>> pairs = Pairs(np.array([0]), np.array([1]), np.array([7]))
    >>> as_pairs(pairs).weight, as_pairs((pairs.u, pairs.v)).weight
    (array([7]), None)
    """
    return edges if isinstance(edges, Pairs) else Pairs(*edges)


class Scratch:
    """Room for the parts of one graph: memory up to a fixed size, and a directory.

    Both are given back with the last object that refers to it.

    Parameters
    ----------
    memory
        Bytes that may stay in memory: a constant, whatever the graph.
    """

    def __init__(self, memory: int) -> None:
        stack = ExitStack()
        self.path: Path = stack.enter_context(scratch_directory())
        self._left, self._lock = memory, threading.Lock()
        weakref.finalize(self, stack.close)

    def take(self, size: int) -> bool:
        """Reserve memory; False if that much is not left."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give_back(self, size: int) -> None:
        """Return memory that was reserved."""
        with self._lock:
            self._left += size


class ScratchPart:
    """The edges of one part, in memory or, where that is taken, in a file. Calling it reads them.

    A part is filled either by `write`, or by `append` and then `sort`.
    """

    def __init__(self, scratch: Scratch, number: int) -> None:
        self.number = number
        self._scratch = scratch
        self._keys: list[Integers] = []
        self._lock = threading.Lock()
        self._sorted: Pairs | None = None
        self._size, self._weighted = 0, False

    def __call__(self) -> Pairs:
        if self._sorted is not None:
            return self._sorted
        size = self._size
        with self._path.open("rb") as file:
            ends: Positions = np.fromfile(file, dtype=np.int32, count=2 * size)
            weight = np.fromfile(file, dtype=np.int64) if self._weighted else None
        return Pairs(ends[:size], ends[size:], weight)

    def write(self, edges: Pairs | tuple[Positions, Positions]) -> int:
        """Keep sorted edges, with their weights if they have any; returns how many there are."""
        pairs = as_pairs(edges)
        u, v, weight = *pairs, pairs.weight
        columns: list[Any] = [u, v] if weight is None else [u, v, weight]
        self._size, self._weighted = int(u.size), weight is not None
        if self._scratch.take(sum(column.nbytes for column in columns)):
            self._sorted = pairs
        else:
            with _writing(self._path, "wb") as file:
                for column in columns:
                    column.tofile(file)
        return self._size

    def append(self, keys: Integers) -> None:
        """Add keys that have yet to be sorted; any thread may."""
        if self._scratch.take(keys.nbytes):
            self._keys.append(keys.copy())  # a view would keep the pieces of other parts
        else:
            with self._lock, _writing(self._path, "ab") as file:
                keys.tofile(file)

    def sort(self, first: int, nodes: int) -> int:
        """Sort what was added; returns how many edges there are."""
        keys = np.concatenate([np.empty(0, dtype=np.int64), *self._keys, *self._in_file()])
        self._scratch.give_back(sum(piece.nbytes for piece in self._keys))
        self._keys.clear()
        return self.write(sorted_edges(keys, first=first, nodes=nodes))

    def _in_file(self) -> list[Integers]:
        if not self._path.exists():
            return []
        keys = np.fromfile(self._path, dtype=np.int64)
        self._path.unlink()
        return [keys]

    @property
    def _path(self) -> Path:
        return self._scratch.path / f"part-{self.number:05d}"


class ReleasedParts:
    """Released edges, kept somewhere else: a function for every range of `part_nodes` nodes.

    The functions are of `ScratchPart` here; an engine with workers leaves parts there.
    """

    def __init__(
        self,
        reads: Sequence[Callable[[], Pairs]],
        *,
        nodes: int,
        part_nodes: int,
        edge_count: int,
        kind: Kind = UNDIRECTED,
    ) -> None:
        self.reads, self.kind = tuple(reads), kind
        self.nodes, self.part_nodes, self.edge_count = nodes, part_nodes, edge_count

    def edges(self) -> tuple[Callable[[], Pairs], ...]:
        """Return a function for every part."""
        return self.reads

    def rows(self) -> list[Callable[[], Rows]]:
        """Return a function for every range of nodes; needs all edges in memory."""
        whole = MemoryParts(
            *self.whole(), nodes=self.nodes, part_nodes=self.part_nodes, kind=self.kind
        )
        return whole.rows()

    def whole(self) -> Pairs:
        """Return all edges at once, in memory."""
        return self._whole

    def let_go(self) -> None:
        """Nothing: parts in memory are nowhere else."""

    @cached_property
    def _whole(self) -> Pairs:
        return Pairs.joined([read() for read in self.reads])


@contextmanager
def _writing(path: Path, mode: str) -> Iterator[BinaryIO]:
    try:
        with path.open(mode) as file:
            yield file  # type: ignore[misc]
    except OSError as error:
        raise OutputError(
            f"temporary files can't be written to {path.parent}: {error.strerror or 'I/O error'}\n"
            "A synthetic graph needs about 16 bytes for every edge there. Set TMPDIR to a "
            "directory on a disk with enough space."
        ) from None
