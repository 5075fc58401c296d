"""Where the files of data sets are searched, and where fetched ones go.

Original files may be in an archive, whatever else it contains and however it names them.
"""

from __future__ import annotations

import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from psgraph.errors import DataError, OutputError
from psgraph_lab.datasets.further import Dataset

__all__ = [
    "ARCHIVES",
    "AS_733_DAYS",
    "AS_CAIDA_DAYS",
    "Located",
    "cache_directory",
    "directories",
    "locate",
    "originals_of",
    "unpack",
]

_AS_733_DAYS = """
    19971108 19971113 19971118 19971123 19971128 19971203 19971208 19971213 19971218 19971223
    19971228 19980102 19980107 19980112 19980117 19980122 19980127 19980201 19980206 19980212
    19980217 19980222 19980227 19980304 19980309 19980314 19980319 19980324 19980329 19980403
    19980409 19980415 19980420 19980425 19980430 19980505 19980510 19980515 19980520 19980527
    19980601 19980606 19980611 19980616 19980621 19980626 19980703 19980710 19980715 19980721
    19980726 19980731 19980805 19980810 19980815 19980820 19980825 19980830 19980904 19980909
    19980915 19980920 19980925 19980930 19981005 19981010 19981015 19981020 19981025 19981030
    19981104 19981109 19981114 19981119 19981124 19981129 19981204 19981209 19981214 19981219
    19981224 19981229 19990103 19990108 19990114 19990119 19990125 19990131 19990205 19990210
    19990215 19990220 19990225 19990302 19990307 19990312 19990317 19990322 19990327 19990401
    19990407 19990413 19990418 19990423 19990428 19990503 19990508 19990513 19990518 19990524
    19990529 19990603 19990608 19990613 19990618 19990624 19990629 19990704 19990709 19990715
    19990720 19990726 19990731 19990806 19990811 19990816 19990821 19990826 19990831 19990905
    19990910 19990915 19990920 19990925 19990930 19991005 19991010 19991018 19991031 19991111
    19991116 19991205 19991211 19991216 19991221 19991226 19991231
"""

_AS_CAIDA_DAYS = """
    20040105 20040607 20041101 20050404 20050905 20060109 20060213 20060320 20060424 20060529
    20060703 20060807 20060911 20061016 20061120 20061225 20070129 20070305 20070409 20070514
    20070618 20070723 20070827 20071001 20071105
"""

AS_733_DAYS = tuple(_AS_733_DAYS.split())
AS_CAIDA_DAYS = tuple(_AS_CAIDA_DAYS.split())


ARCHIVES = (".tar.gz", ".tgz", ".tar", ".tar.bz2", ".tar.xz", ".zip")


@dataclass(frozen=True)
class Originals:
    """The original files of a data set.

    Attributes
    ----------
    stem
        Name of the directory or archive that contains them.
    files
        Their names; each may be gzipped, with ``.gz`` appended.
    any_of
        Whether one of them is enough.
    """

    stem: str
    files: tuple[str, ...]
    any_of: bool = False

    def missing(self, present: Iterable[str]) -> tuple[str, ...]:
        """The required files that are not present."""
        have = set(present)
        lacking = tuple(file for file in self.files if file not in have)
        return () if self.any_of and len(lacking) < len(self.files) else lacking


_ORIGINALS = {
    "as-733": Originals("as-733", tuple(f"as{day}.txt" for day in AS_733_DAYS)),
    "as-caida": Originals("as-caida", tuple(f"as-caida{day}.txt" for day in AS_CAIDA_DAYS)),
    "cit-hepph": Originals("cit-HepPh", ("cit-HepPh.txt", "cit-HepPh-dates.txt")),
    "reddit": Originals(
        "soc-redditHyperlinks",
        ("soc-redditHyperlinks-title.tsv", "soc-redditHyperlinks-body.tsv"),
        any_of=True,
    ),
}


@dataclass(frozen=True)
class Located:
    """Where a data set was found.

    Attributes
    ----------
    path
        The Parquet file, the archive, or the directory of the original files.
    form
        ``parquet``, ``archive`` or ``files``.
    files
        The original files by name, if they are unpacked.
    missing
        Original files that should be there too.
    """

    path: Path
    form: str
    files: Mapping[str, Path] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def originals_of(dataset: Dataset) -> Originals | None:
    """The original files of a data set; None for one that exists only as Parquet."""
    return _ORIGINALS.get(dataset.name)


def cache_directory() -> Path:
    """Where `fetch` writes to: ``PSGRAPH_CACHE``, or ``psgraph`` in the user's data directory."""
    if given := os.environ.get("PSGRAPH_CACHE"):
        return Path(given)
    home = os.environ.get("XDG_DATA_HOME", "")
    # The XDG specification ignores relative paths.
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "psgraph"


def directories(directory: Path | None = None) -> tuple[Path, ...]:
    """The directories to search: the one given; otherwise ``PSGRAPH_DATA``, then the cache."""
    if directory is not None:
        return (Path(directory),)
    given = os.environ.get("PSGRAPH_DATA")
    return (*((Path(given),) if given else ()), cache_directory())


def locate(dataset: Dataset, paths: Iterable[Path]) -> Located | None:
    """Find a data set: its Parquet file, its original files, or an archive of them.

    A path is a directory, or one of these files. Returns the first complete match; if there is
    none, the first incomplete one.
    """
    incomplete = None
    for path in paths:
        for found in _matches(dataset, path):
            if not found.missing:
                return found
            incomplete = incomplete or found
    return incomplete


def _matches(dataset: Dataset, path: Path) -> Iterable[Located]:
    try:
        if path.is_file():
            yield from _file(dataset, path)
            return
        names = _names(path)
        for file in dataset.files:
            if file in names:
                yield Located(path / file, "parquet")
        originals = originals_of(dataset)
        if originals is None:
            return
        folders = [path, *(path / name for name in (originals.stem, dataset.name))]
        for folder in dict.fromkeys(folders):
            names = _names(folder)
            files = {
                file: folder / name
                for file in originals.files
                for name in (file, f"{file}.gz")
                if name in names
            }
            if files:
                yield Located(folder, "files", files, originals.missing(files))
            for ending in ARCHIVES:
                if f"{originals.stem}{ending}" in names:
                    yield Located(folder / f"{originals.stem}{ending}", "archive")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the name can't be used"
        raise DataError(f"{path} can't be searched: {reason}\nCheck the path.") from None


def _names(folder: Path) -> set[str]:
    """The names in a directory; none if it does not exist."""
    try:
        return set(os.listdir(folder))  # noqa: PTH208, one call: is_available is cheap
    except (FileNotFoundError, NotADirectoryError):
        return set()


def _file(dataset: Dataset, path: Path) -> Iterable[Located]:
    """Recognise a single file by its name."""
    originals = originals_of(dataset)
    plain = path.name.removesuffix(".gz")
    if path.suffix == ".parquet":
        yield Located(path, "parquet")
    elif originals is not None and plain in originals.files:
        yield Located(path, "files", {plain: path}, originals.missing([plain]))
    elif originals is not None and path.name.endswith(ARCHIVES):
        yield Located(path, "archive")


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
