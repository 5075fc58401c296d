"""Convert a data set to Parquet: from local files if there are any, otherwise from a download."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from psgraph._runtime.durable import write_whole
from psgraph.errors import DataError, InvalidArgument
from psgraph_lab.datasets.catalogue import Counts, Dataset, find_dataset
from psgraph_lab.datasets.download import Watch, download
from psgraph_lab.datasets.loading import find_files, load_located
from psgraph_lab.datasets.locations import Located, cache_directory, locate
from psgraph_lab.datasets.storage import write_parquet

__all__ = ["Fetched", "fetch_dataset", "remembered_checksums"]

_RECORD = "checksums.json"


@dataclass(frozen=True)
class Fetched:
    """A data set that was converted to Parquet.

    Attributes
    ----------
    path
        The Parquet file.
    source
        The file or directory it was made from.
    remarks
        Remarks about the original files.
    checksums
        SHA-256 of downloaded files, by name.
    warnings
        Checksums that changed.
    """

    dataset: Dataset
    path: Path
    source: Path
    counts: Counts
    remarks: tuple[str, ...]
    checksums: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def fetch_dataset(
    name: str,
    *,
    source: Path | None = None,
    to: Path | None = None,
    watch: Watch = lambda _name, _done, _total: None,
    advance: Callable[[], None] = lambda: None,
) -> Fetched:
    """Convert local files to Parquet, downloading them first if necessary.

    Parameters
    ----------
    name
        One of `dataset_names`.
    source
        The original files, an archive of them, or the Parquet file: a directory or a file. By
        default what was fetched before, then ``PSGRAPH_DATA``, then a download.
    to
        Directory of the Parquet file; the cache by default. Downloads go to ``originals`` in it.
    watch
        Called after every downloaded chunk.
    advance
        Called after every timestamp that was read.
    """
    dataset = find_dataset(name)
    if not dataset.files:
        raise InvalidArgument(
            f"{dataset.name} is generated on demand\nThere is nothing to fetch; just use it."
        )
    directory = Path(to) if to is not None else cache_directory()
    target = directory / dataset.files[0]
    checksums: dict[str, str] = {}
    warnings: list[str] = []
    located: Located | None
    if source is not None:
        if not source.exists():
            raise DataError(f"{source} does not exist\nCheck the path.")
        located = find_files(dataset, source)
    else:
        located = _local(dataset, target)
        if located is None:
            checksums, warnings = _download(dataset, directory / "originals", watch)
            located = find_files(dataset, directory / "originals")
    assert located is not None
    try:
        loaded = load_located(dataset, located, advance=advance)
    except DataError as error:
        if directory not in located.path.parents or source is not None:
            raise
        # The damaged file would be picked up again on every call.
        fact = str(error).partition("\n")[0]
        raise DataError(f"{fact}\nRemove {located.path} and run the same command again.") from None
    if located.path.resolve() != target.resolve():
        write_parquet(target, loaded.snapshots, loaded.origin)
    return Fetched(
        dataset, target, located.path, loaded.counts, loaded.remarks, checksums, tuple(warnings)
    )


def _local(dataset: Dataset, target: Path) -> Located | None:
    """What was fetched before, or a complete copy in ``PSGRAPH_DATA``."""
    if target.is_file():
        return Located(target, "parquet")
    given = os.environ.get("PSGRAPH_DATA")
    located = locate(dataset, [Path(given)]) if given else None
    return None if located is None or located.missing else located


def _download(dataset: Dataset, directory: Path, watch: Watch) -> tuple[dict[str, str], list[str]]:
    """Download missing files; returns their checksums and warnings about them."""
    if not dataset.downloads:
        raise DataError(
            f"{dataset.title} can't be downloaded\n"
            f"Say where {dataset.files[-1]} is: psgraph datasets fetch {dataset.name} --from DIR"
        )
    checksums: dict[str, str] = {}
    warnings: list[str] = []
    addresses = " and ".join(dataset.downloads)
    remedy = (
        f"Download {addresses} manually, then: psgraph datasets fetch {dataset.name} --from DIR"
    )
    known = remembered_checksums(directory)
    for address in dataset.downloads:
        name = urlsplit(address).path.rpartition("/")[2]
        file = directory / name
        before = known.get(name)
        if file.is_file() and before not in (None, _sha256(file)):
            warnings.append(f"{name} was changed after it was downloaded; downloading it again")
            file.unlink()
        if not file.is_file():
            download(address, file, remedy=remedy, watch=watch)
        now = checksums[name] = _sha256(file)
        published = dataset.checksum if address == dataset.downloads[0] else None
        for what, other in (("of the first download", before), ("published", published)):
            if other not in (None, now):
                warnings.append(f"the SHA-256 of {name} differs from the one {what}: {other}")
        known[name] = now
    write_whole(directory / _RECORD, json.dumps(known, indent=2).encode())
    return checksums, warnings


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path} can't be read: {error.strerror}") from None


def remembered_checksums(directory: Path) -> dict[str, str]:
    """The SHA-256 of the files downloaded to a directory, by name."""
    try:
        found = json.loads((directory / _RECORD).read_text())
        return {str(name): str(checksum) for name, checksum in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise DataError(
            f"{directory / _RECORD} can't be read\nRemove it; checksums are then recorded again."
        ) from None
