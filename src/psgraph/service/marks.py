"""Keyed digests of private data, to recognise data that were posted before.

A plain digest could be tested against guessed graphs. The key is in the directory of the service
and never leaves it, nor do the digests.
"""

from __future__ import annotations

import hmac
import os
from pathlib import Path

import numpy as np

from psgraph._runtime.durable import write_whole
from psgraph.graph import Snapshot

__all__ = ["Marks"]

_KEY_BYTES = 32


class Marks:
    """Makes keyed digests.

    Parameters
    ----------
    path
        The file of the key, made at the first start.
    """

    def __init__(self, path: Path) -> None:
        if not path.exists():
            write_whole(path, os.urandom(_KEY_BYTES), owner_only=True)
        self._key = path.read_bytes()

    def of_snapshot(self, stream: str, snapshot: Snapshot) -> bytes:
        """Return the digest of a snapshot: its time and its edges by id, whatever the roster."""
        mark = hmac.new(self._key, f"snapshot {stream} {snapshot.time}\n".encode(), "sha256")
        for ids in snapshot.to_ids():
            if snapshot.roster.strings:
                for name in ids.tolist():
                    mark.update(name.encode() + b"\0")
            else:
                mark.update(np.ascontiguousarray(ids, dtype="<i8").data)
            mark.update(b"\n")
        return mark.digest()

    def of_file(self, stream: str, path: Path) -> bytes:
        """Return the digest of a file, as it was posted to a stream."""
        mark = hmac.new(self._key, f"file {stream}\n".encode(), "sha256")
        with path.open("rb") as file:
            while piece := file.read(1 << 20):
                mark.update(piece)
        return mark.digest()

    @staticmethod
    def same(first: bytes | None, second: bytes) -> bool:
        """Whether two digests are equal, in constant time."""
        return first is not None and hmac.compare_digest(first, second)
