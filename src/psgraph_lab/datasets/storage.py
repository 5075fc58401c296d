"""Data sets as Parquet: a row (t, label, u, v) for every edge of every timestamp.

No directions, duplicates or self-loops; u < v. The file's metadata keeps what the edges don't show:
the number of self-loops and remarks about the original files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph._runtime.durable import make_directory, write_whole
from psgraph.errors import DataError
from psgraph.graph import Snapshot

__all__ = ["Origin", "read_origin", "write_parquet"]

_KEY = b"psgraph.origin"


@dataclass(frozen=True)
class Origin:
    """What a Parquet file records about the original files.

    Attributes
    ----------
    self_loops
        Distinct self-loops over all timestamps; None if they were dropped before.
    remarks
        Remarks about the original files.
    """

    self_loops: int | None = None
    remarks: tuple[str, ...] = ()


def write_parquet(path: Path, snapshots: Sequence[Snapshot], origin: Origin) -> None:
    """Write a data set, completely or not at all."""
    tables = []
    for number, snapshot in enumerate(snapshots):
        edges = snapshot.to_arrow()
        label = pa.DictionaryArray.from_arrays(
            pa.array([0] * len(edges), pa.int32()), pa.array([snapshot.time or str(number)])
        )
        t = pa.array([number] * len(edges), pa.int32())
        tables.append(pa.table({"t": t, "label": label, "u": edges["u"], "v": edges["v"]}))
    table = pa.concat_tables(tables).unify_dictionaries()
    table = table.replace_schema_metadata({_KEY: json.dumps(asdict(origin)).encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    make_directory(path.parent)
    write_whole(path, sink.getvalue())


def read_origin(path: Path) -> Origin:
    """Read the recorded origin; empty if the file was not written by `write_parquet`."""
    try:
        found = (pq.read_schema(path).metadata or {}).get(_KEY)
        if found is None:
            return Origin()
        fields = json.loads(found)
        return Origin(fields["self_loops"], tuple(fields["remarks"]))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{path.name}: the Parquet data is damaged or truncated\nCopy or fetch it again."
        ) from None
