"""The files of a store: where they are, and the parts of a stored snapshot in them.

A part is one Parquet file for a range of node positions. A store is in a local directory, or at an
address that fsspec knows (s3://, gs://, …).
"""

from __future__ import annotations

import errno
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from psgraph._runtime.arrays import Integers
from psgraph._runtime.kernels import rows_of_range
from psgraph._runtime.resources import return_freed_memory
from psgraph.errors import DataError, MissingExtra
from psgraph.graph.formats.columns import as_arrow, as_numpy
from psgraph.graph.formats.parquet import decode_table, encode_table
from psgraph.graph.kind import UNDIRECTED, Kind, unpack
from psgraph.graph.parts import Pairs, Rows, ranges

__all__ = [
    "AGAIN",
    "EDGES",
    "LOWER",
    "Address",
    "Kept",
    "PartFile",
    "Place",
    "StoredParts",
    "as_place",
    "existing_files",
    "read_part",
    "write_part",
]

# ---- places ----

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+(::|://)")


@dataclass(frozen=True)
class Address:
    """A directory or a file behind fsspec, with those methods of `Path` that stores need.

    What fsspec can't do is an `OSError`, as with `Path`. Options of a file system (endpoints,
    credentials) come from its own configuration, for example ``AWS_ENDPOINT_URL``.

    >>> Address("s3://bucket/store") / "000000"
    Address(text='s3://bucket/store/000000')
    >>> str(Address("ftp://ann:secret@host/store"))
    'ftp://host/store'
    """

    text: str

    def __str__(self) -> str:
        return re.sub(r"://[^/@]*@", "://", self.text)

    def __truediv__(self, name: str) -> Address:
        return Address(f"{self.text.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """The last part."""
        return self.text.rstrip("/").rpartition("/")[2]

    def is_file(self) -> bool:
        """Whether there is a file."""
        with _errors() as url_to_fs:
            files, path = url_to_fs(self.text)
            files.invalidate_cache()
            return bool(files.isfile(path))

    def read_bytes(self) -> bytes:
        """Return what the file holds."""
        with _errors() as url_to_fs:
            files, path = url_to_fs(self.text)
            return bytes(files.cat_file(path))

    def write_bytes(self, content: bytes) -> None:
        """Write a file; on an object store it appears whole or not at all."""
        with _errors() as url_to_fs:
            files, path = url_to_fs(self.text)
            files.makedirs(path.rpartition("/")[0], exist_ok=True)
            files.pipe_file(path, content)

    def file_names(self) -> set[str]:
        """Return the names of all files below, relative to this directory."""
        with _errors() as url_to_fs:
            files, path = url_to_fs(self.text)
            files.invalidate_cache()
            root = path.rstrip("/") + "/"
            return {found.removeprefix(root) for found in files.find(path)}


Place = Path | Address


def as_place(source: str | PathLike[str]) -> Place:
    """Return a path, or the address that the text is.

    >>> as_place("gs://bucket/store"), as_place("stores/march").name
    (Address(text='gs://bucket/store'), 'march')
    """
    text = fspath(source)
    if not _SCHEME.match(text):
        return Path(source)
    return Path(text.removeprefix("file://")) if text.startswith("file://") else Address(text)


def existing_files(place: Place, names: list[str]) -> set[str]:
    """Return which of these files exist; an address takes one request for all of them."""
    if isinstance(place, Address):
        return place.file_names().intersection(names)
    return {name for name in names if (place / name).is_file()}


@contextmanager
def _errors() -> Iterator[Any]:
    """Give what finds a file system, and turn the errors of file systems into `OSError`."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtra("fsspec", "dask") from None
    try:
        yield fsspec.url_to_fs
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "No such file") from None
    except PermissionError:
        raise PermissionError(errno.EACCES, "Permission denied") from None
    except ImportError as error:
        raise DataError(f"the address needs another package: {error}") from None
    except ValueError as error:
        raise DataError(f"the address can't be used: {error}") from None
    except Exception as error:  # every file system has its own errors
        raise OSError(errno.EIO, type(error).__name__) from None


# ---- parts ----

EDGES, LOWER, WEIGHT = ("u", "v"), ("v", "u"), "weight"
KEPT_BYTES = 1 << 30

AGAIN = "Prepare the store again: psgraph prepare."


@dataclass(frozen=True)
class PartFile:
    """One Parquet file: its name inside the store, its number of rows and its SHA-256."""

    name: str
    rows: int
    sha256: str


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

    def stop(self) -> None:
        """Keep nothing of what was read so far, nor of what will be."""
        with self._lock:
            self._parts.clear()
            self._left = 0

    def get(self, name: str, read: Callable[[], Pairs]) -> Pairs:
        """Return a part, reading it if it is not kept."""
        known = self._parts.get(name)
        if known is not None:
            return known
        part = read()
        size = part.u.nbytes + part.v.nbytes
        size += 0 if part.weight is None else part.weight.nbytes
        with self._lock:
            if name not in self._parts and size <= self._left:
                self._parts[name] = part
                self._left -= size
        return part


@dataclass(frozen=True)
class StoredParts:
    """Edges in files. Every file is checked against its digest when it is read.

    Attributes
    ----------
    store
        Where the store is.
    nodes, part_nodes
        The number of nodes, and of node positions in a range.
    edge_files, lower_files
        The files by range of the first and of the second end.
    kind
        The kind of the graph.
    kept
        Parts that were read and stay in memory.
    """

    store: Place
    nodes: int
    part_nodes: int
    edge_files: tuple[PartFile, ...]
    lower_files: tuple[PartFile, ...]
    kind: Kind = UNDIRECTED
    kept: Kept = field(default_factory=Kept, compare=False, repr=False)

    @property
    def edge_count(self) -> int:
        return sum(file.rows for file in self.edge_files)

    def edges(self) -> list[Callable[[], Pairs]]:
        read = partial(_read_edges, self.kept, self.store, self.kind)
        return [partial(read, file) for file in self.edge_files]

    def rows(self) -> list[Callable[[], Rows]]:
        lower = self.lower_files or (None,) * len(self.edge_files)
        between = ranges(self.nodes, self.part_nodes)
        return [
            partial(_read_rows, self.kept, self.store, self.kind, *files)
            for files in zip(self.edge_files, lower, between, strict=True)
        ]

    def whole(self) -> Pairs:
        return self._whole

    def let_go(self) -> None:
        self.kept.stop()
        vars(self).pop("_whole", None)
        pa.default_memory_pool().release_unused()  # it would keep the memory for Arrow
        if len(self.edge_files) > 1:
            return_freed_memory()

    @cached_property
    def _whole(self) -> Pairs:
        parts = [read() for read in self.edges()]
        if len(parts) <= 1:
            return parts[0] if parts else Pairs.none(self.kind)
        return Pairs.joined(parts)

    def __getstate__(self) -> dict[str, object]:
        """Leave out edges that were read: a worker reads its own parts."""
        return {name: value for name, value in vars(self).items() if name != "_whole"}


def write_part(
    path: Path, names: tuple[str, str], keys: Integers, weight: Integers | None = None
) -> PartFile:
    """Write the pairs with these keys as two columns; returns what the manifest records.

    Their weights, if there are any, are a third column.
    """
    columns = dict(zip(names, map(as_arrow, unpack(keys)), strict=True))
    if weight is not None:
        columns[WEIGHT] = as_arrow(weight)
    table = pa.table(columns)
    content = encode_table(table)
    path.write_bytes(content)
    name = f"{path.parent.name}/{path.name}"
    return PartFile(name, keys.size, hashlib.sha256(content).hexdigest())


def read_part(store: Place, file: PartFile, names: tuple[str, ...]) -> Pairs:
    """Read the columns of a part, in the order of `names`: two ends, and weights if it has them.

    Raises
    ------
    DataError
        If the file is gone, was changed, or has other columns.
    """
    path = store / file.name
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"{path} has disappeared\n{AGAIN}") from None
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror or 'I/O error'}") from None
    if hashlib.sha256(content).hexdigest() != file.sha256:
        raise DataError(f"{path} was changed after the store was prepared\n{AGAIN}")
    try:
        table = decode_table(content, path)
    except DataError as error:
        raise DataError(f"{error}\n{AGAIN}") from None
    expected = [(name, pa.int64() if name == WEIGHT else pa.int32()) for name in names]
    if list(zip(table.column_names, table.schema.types, strict=True)) != expected:
        columns = " and ".join(f"{name} of type {type_}" for name, type_ in expected)
        raise DataError(
            f"{path} has other columns than a part of a store: expected {columns}\n{AGAIN}"
        )
    return Pairs(*(as_numpy(column) for column in table.columns))


def _read_edges(kept: Kept, store: Place, kind: Kind, file: PartFile) -> Pairs:
    names = (*EDGES, WEIGHT) if kind.weighted else EDGES
    return kept.get(file.name, lambda: read_part(store, file, names))


def _read_rows(
    kept: Kept,
    store: Place,
    kind: Kind,
    edges: PartFile,
    lower: PartFile | None,
    between: tuple[int, int],
) -> Rows:
    first, last = between
    u, v = _read_edges(kept, store, kind, edges)
    if lower is None:  # one range holds all nodes, so the larger ends are in it too
        order = np.argsort(v, kind="stable")
        above, below = v[order], u[order]
    else:
        above, below = read_part(store, lower, LOWER)
    return Rows(first, *rows_of_range(first, last, u, v, above, below))
