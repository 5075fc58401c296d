"""Where a store is: a local directory, or an address that fsspec knows (s3://, gs://, …)."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from psgraph.errors import DataError, MissingExtra

__all__ = ["Address", "Place", "as_place", "existing_files"]

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
    """Return which of these files there are; an address is asked once for all of them."""
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
    except Exception as error:  # every file system has errors of its own
        raise OSError(errno.EIO, type(error).__name__) from None
