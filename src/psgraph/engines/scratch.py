"""Released edges in scratch files: one file for every range of nodes, gone with the graph."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.scratch import scratch_directory
from psgraph.engines.assembling import sorted_edges
from psgraph.errors import OutputError
from psgraph.graph.normalising import Positions
from psgraph.graph.parts import MemoryParts, Pairs, Rows

__all__ = ["ReleasedParts", "Scratch", "ScratchFile"]

Integers = NDArray[np.int64]


class Scratch:
    """A directory that is removed with the last object that refers to it."""

    def __init__(self) -> None:
        stack = ExitStack()
        self.path: Path = stack.enter_context(scratch_directory())
        weakref.finalize(self, stack.close)

    def __reduce__(self) -> tuple[type[_Borrowed], tuple[Path]]:
        """A copy in another process does not own the directory."""
        return _Borrowed, (self.path,)


class _Borrowed:
    """A scratch directory that another process removes."""

    def __init__(self, path: Path) -> None:
        self.path = path


class ScratchFile:
    """The edges of one part: all smaller ends, then all larger ends. Calling it reads them."""

    def __init__(self, scratch: Scratch, number: int) -> None:
        self.scratch, self.number = scratch, number

    @property
    def path(self) -> Path:
        """The file."""
        return self.scratch.path / f"part-{self.number:05d}"

    def __call__(self) -> Pairs:
        ends: Positions = np.fromfile(self.path, dtype=np.int32)
        return Pairs(ends[: ends.size // 2], ends[ends.size // 2 :])

    def write(self, u: Positions, v: Positions) -> int:
        """Write sorted edges; returns how many there are."""
        with _writing(self.path, "wb") as file:
            u.tofile(file)
            v.tofile(file)
        return int(u.size)

    def append(self, keys: Integers) -> None:
        """Add keys ``u << 32 | v`` that have yet to be sorted."""
        with _writing(self.path, "ab") as file:
            keys.tofile(file)

    def sort(self, first: int, nodes: int) -> int:
        """Sort what was added; returns how many edges there are."""
        keys = np.fromfile(self.path, dtype=np.int64) if self.path.exists() else np.empty(0, int)
        return self.write(*sorted_edges(keys, first=first, nodes=nodes))


class ReleasedParts:
    """Released edges, kept somewhere else: a function for every range of `part_nodes` nodes.

    The functions are of `ScratchFile` here; an engine with workers leaves parts there.
    """

    def __init__(
        self,
        reads: Sequence[Callable[[], Pairs]],
        *,
        nodes: int,
        part_nodes: int,
        edge_count: int,
    ) -> None:
        self.reads = tuple(reads)
        self.nodes, self.part_nodes, self.edge_count = nodes, part_nodes, edge_count

    def edges(self) -> tuple[Callable[[], Pairs], ...]:
        """Return a function for every part."""
        return self.reads

    def rows(self) -> list[Callable[[], Rows]]:
        """Return a function for every range of nodes; needs all edges in memory."""
        return MemoryParts(*self.whole(), nodes=self.nodes, part_nodes=self.part_nodes).rows()

    def whole(self) -> Pairs:
        """Return all edges at once, in memory."""
        return self._whole

    @cached_property
    def _whole(self) -> Pairs:
        parts = [read() for read in self.reads]
        return Pairs(
            np.concatenate([part.u for part in parts]), np.concatenate([part.v for part in parts])
        )


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
