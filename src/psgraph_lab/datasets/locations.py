"""Where the files of data sets are searched, and where fetched ones go."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from psgraph.errors import DataError
from psgraph_lab.datasets.catalogue import Dataset
from psgraph_lab.datasets.selections import AS_733_DAYS, AS_CAIDA_DAYS

__all__ = ["ARCHIVES", "Located", "cache_directory", "directories", "locate", "originals_of"]

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
