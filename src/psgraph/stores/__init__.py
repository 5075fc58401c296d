"""Prepared streams on disk: de-duplicated edges over roster positions, in Parquet parts.

A store is a directory that `psgraph prepare` writes once, whatever the size of the input::

    STORE/psgraph-store.json             times, rosters, and the digest of every file
    STORE/nodes/SHA256.parquet           node lists (column id)
    STORE/000000/edges-00000.parquet     edges u < v whose first end is in the first range
    STORE/000000/lower-00000.parquet     the same edges by their second end: columns v, u

Edges with weights have a column weight in the first kind of files. Edges of directed and two-sided
graphs lead from u to v.

Ranges are a public number of node positions each. A snapshot of one range has no ``lower`` files.
A store holds private edges: only its owner can enter the directory.
"""

from psgraph.stores.store import Store, is_store, open_store, refuse_unfinished
from psgraph.stores.writer import SnapshotWriter, StoreWriter, new_store

__all__ = [
    "SnapshotWriter",
    "Store",
    "StoreWriter",
    "is_store",
    "new_store",
    "open_store",
    "refuse_unfinished",
]
