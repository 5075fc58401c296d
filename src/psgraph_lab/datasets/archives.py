"""Extract original files from an archive, whatever else it contains and however it names them."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from psgraph.errors import DataError, OutputError

__all__ = ["unpack"]

_PIECE = 1 << 20
_DAMAGE = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)

Member = tuple[str, Callable[[], IO[bytes] | None]]


def unpack(archive: Path, wanted: Collection[str], into: Path) -> dict[str, Path]:
    """Copy the wanted files out of a tar or zip archive into a directory.

    A file is recognised by the last part of its name, gzipped or not. No path in the archive is
    ever followed, and links are skipped.
    """
    found: dict[str, Path] = {}
    with _members(archive) as members:
        for name, opened in members:
            last = PurePosixPath(name.replace("\\", "/")).name
            plain = last.removesuffix(".gz")
            if plain not in wanted:
                continue
            if plain in found:
                raise DataError(f"{archive.name} contains {plain} twice\nRemove the wrong one.")
            with _reading(archive):
                source = opened()
            if source is not None:
                found[plain] = into / last
                with source:
                    _copy(archive, source, found[plain])
    return found


def _copy(archive: Path, source: IO[bytes], target: Path) -> None:
    try:
        with target.open("wb") as file:
            while True:
                with _reading(archive):
                    piece = source.read(_PIECE)
                if not piece:
                    return
                file.write(piece)
    except OSError as error:
        raise OutputError(
            f"{archive.name} could not be unpacked: {error.strerror}\n"
            "Free some space in the directory for temporary files (TMPDIR)."
        ) from None


@contextmanager
def _members(archive: Path) -> Iterator[Iterator[Member]]:
    """The regular files of an archive, whose type is read from its content, not its name."""
    with ExitStack() as stack:
        members: Iterator[Member]
        with _reading(archive):
            if zipfile.is_zipfile(archive):
                members = _zip_members(stack.enter_context(zipfile.ZipFile(archive)))
            else:
                members = _tar_members(archive, stack.enter_context(tarfile.open(archive)))
        yield members


def _zip_members(archive: zipfile.ZipFile) -> Iterator[Member]:
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename, partial(archive.open, member)


def _tar_members(path: Path, archive: tarfile.TarFile) -> Iterator[Member]:
    while True:
        with _reading(path):
            member = archive.next()
        if member is None:
            return
        if member.isreg():
            yield member.name, partial(archive.extractfile, member)


@contextmanager
def _reading(archive: Path) -> Iterator[None]:
    try:
        yield
    except (PermissionError, FileNotFoundError) as error:
        raise DataError(f"{archive.name} can't be opened: {error.strerror}") from None
    except (RuntimeError, NotImplementedError):  # a password, or an unsupported compression
        raise DataError(f"{archive.name} can't be unpacked here\nUnpack it manually.") from None
    except _DAMAGE:
        raise DataError(
            f"{archive.name}: the archive is damaged or truncated, or it is not an archive\n"
            "Copy or download it again."
        ) from None
