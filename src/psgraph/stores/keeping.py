"""Decoded parts that stay in memory, up to a fixed size, so that they are not read again."""

from __future__ import annotations

import threading
from collections.abc import Callable

from psgraph.graph.parts import Pairs

__all__ = ["KEPT_BYTES", "Kept"]

KEPT_BYTES = 1 << 30


class Kept:
    """Keeps the parts that are read first, as long as they fit; the others are read each time.

    A run reads all parts in the same order several times, so that keeping the latest ones
    instead would never find one again. Pickles without the edges: a worker reads its own.

    Parameters
    ----------
    most_bytes
        What all parts together may take: a constant, whatever the snapshot.

    Examples
    --------
    >>> import numpy as np
    >>> kept, part = Kept(16), Pairs(np.zeros(2, np.int32), np.ones(2, np.int32))
    >>> kept.get("first", lambda: part) is kept.get("first", lambda: None)
    True
    >>> reads = []
    >>> for _ in range(2):
    ...     again = kept.get("second", lambda: reads.append("second") or part)
    >>> reads
    ['second', 'second']
    """

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self._parts: dict[str, Pairs] = {}
        self._left = most_bytes
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[Kept], tuple[int]]:
        return Kept, (self.most_bytes,)

    def clear(self) -> None:
        """Keep nothing of what was read so far."""
        with self._lock:
            self._parts.clear()
            self._left = self.most_bytes

    def get(self, name: str, read: Callable[[], Pairs]) -> Pairs:
        """Return a part, reading it if it is not kept."""
        known = self._parts.get(name)
        if known is not None:
            return known
        part = read()
        size = part.u.nbytes + part.v.nbytes
        with self._lock:
            if name not in self._parts and size <= self._left:
                self._parts[name] = part
                self._left -= size
        return part
