"""Sort more edges than fit into memory: gather, sort in runs, split by range, merge per range."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.scratch import check_space
from psgraph._runtime.sorting import sort_keys
from psgraph.graph.parts import ranges

__all__ = ["RUN_KEYS", "ExternalSort"]

RUN_KEYS = 1 << 22


class ExternalSort:
    """Distinct keys ``x << 32 | y`` in ascending order, by ranges of x.

    Parameters
    ----------
    directory
        Where runs are written that don't fit into memory. They hold private edges, so nobody
        else may enter it, and are removed as soon as they are merged.
    run_keys
        Keys that are gathered in memory.

    Examples
    --------
    >>> sorter = ExternalSort(Path("unused"), nodes=4, part_nodes=2)
    >>> sorter.add(np.array([3 << 32 | 1, 0 << 32 | 2, 3 << 32 | 1]))
    >>> [[key >> 32 for key in keys.tolist()] for keys in sorter.parts()]
    [[0], [3]]
    """

    def __init__(
        self, directory: Path, *, nodes: int, part_nodes: int, run_keys: int = RUN_KEYS
    ) -> None:
        self._directory, self._run_keys = directory, run_keys
        self._largest = max(nodes, 1) << 32
        self._cuts = [first << 32 for first, _ in ranges(nodes, part_nodes)]
        self._gathered: list[Integers] = []
        self._size = 0
        self._spilled = False

    def add(self, keys: Integers) -> None:
        """Add keys; writes a run if enough are gathered."""
        self._gathered.append(keys)
        self._size += keys.size
        if self._size >= self._run_keys:
            self._spill()

    def parts(self) -> Iterator[Integers]:
        """Yield the keys of every range. Only those of one range are in memory, if any spilled."""
        if not self._spilled:
            yield from self._split(self._sorted())
            return
        self._spill()
        for number in range(len(self._cuts)):
            run = self._run(number)
            if not run.exists():
                yield np.empty(0, dtype=np.int64)
                continue
            keys = np.fromfile(run, dtype=np.int64)
            run.unlink()
            yield _distinct(sort_keys(keys, largest=self._largest))

    def _sorted(self) -> Integers:
        keys = np.concatenate([np.empty(0, dtype=np.int64), *self._gathered])
        self._gathered, self._size = [], 0
        return _distinct(sort_keys(keys, largest=self._largest))

    def _split(self, keys: Integers) -> list[Integers]:
        return np.split(keys, np.searchsorted(keys, self._cuts[1:])) if self._cuts else []

    def _spill(self) -> None:
        """Write what is gathered to the files of its ranges."""
        keys = self._sorted()
        self._spilled = True
        self._directory.mkdir(mode=0o700, exist_ok=True)
        check_space(self._directory, keys.nbytes)
        for number, piece in enumerate(self._split(keys)):
            if piece.size:
                with self._run(number).open("ab") as file:
                    piece.tofile(file)

    def _run(self, number: int) -> Path:
        return self._directory / f"run-{number:05d}"


def _distinct(keys: Integers) -> Integers:
    """Drop repeats from sorted keys."""
    if keys.size < 2:
        return keys
    new = np.ones(keys.size, dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=new[1:])
    return keys if new.all() else keys[new]
