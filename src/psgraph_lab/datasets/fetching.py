"""Bringing a data set into its Parquet form: from local files first, from its source otherwise."""

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
from psgraph_lab.datasets.places import Located, cache_directory, locate
from psgraph_lab.datasets.storage import write_parquet

__all__ = ["Fetched", "fetch_dataset", "remembered_checksums"]

_RECORD = "checksums.json"


@dataclass(frozen=True)
class Fetched:
    """A data set in its Parquet form.

    Attributes
    ----------
    path
        The Parquet file.
    source
        What it was made from.
    remarks
        What a reader should know about the original files.
    checksums
        SHA-256 of downloaded files, by name.
    warnings
        Checksums that are not what they were.
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
    """Convert local files to the Parquet form, or download them before.

    Parameters
    ----------
    name
        One of `dataset_names`.
    source
        A directory or file with the original files, an archive of them, or the Parquet form.
        Without it: what was fetched before, what is in ``PSGRAPH_DATA``, a download.
    to
        Where the Parquet file goes; the cache if not given. Downloads go to ``originals`` in it.
    watch
        Called after every downloaded piece.
    advance
        Called after every timestamp that was read.
    """
    dataset = find_dataset(name)
    if not dataset.files:
        raise InvalidArgument(f"{dataset.name} is made when it is asked for\nJust use it.")
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
        # It would be taken again and again.
        fact = str(error).partition("\n")[0]
        raise DataError(f"{fact}\nRemove {located.path} and run the same command again.") from None
    if located.path.resolve() != target.resolve():
        write_parquet(target, loaded.snapshots, loaded.origin)
    return Fetched(
        dataset, target, located.path, loaded.counts, loaded.remarks, checksums, tuple(warnings)
    )


def _local(dataset: Dataset, target: Path) -> Located | None:
    """What was fetched before, or what ``PSGRAPH_DATA`` holds, if it is complete."""
    if target.is_file():
        return Located(target, "parquet")
    given = os.environ.get("PSGRAPH_DATA")
    located = locate(dataset, [Path(given)]) if given else None
    return None if located is None or located.missing else located


def _download(dataset: Dataset, directory: Path, watch: Watch) -> tuple[dict[str, str], list[str]]:
    """Download what is not there yet; returns checksums and what is odd about them."""
    if not dataset.downloads:
        raise DataError(
            f"{dataset.title} can't be downloaded\n"
            f"Say where {dataset.files[-1]} is: psgraph datasets fetch {dataset.name} --from DIR"
        )
    checksums: dict[str, str] = {}
    warnings: list[str] = []
    addresses = " and ".join(dataset.downloads)
    remedy = f"Fetch {addresses} by hand, then: psgraph datasets fetch {dataset.name} --from DIR"
    known = remembered_checksums(directory)
    for address in dataset.downloads:
        name = urlsplit(address).path.rpartition("/")[2]
        file = directory / name
        before = known.get(name)
        if file.is_file() and before not in (None, _sha256(file)):
            warnings.append(f"{name} was changed since it was downloaded; downloaded again")
            file.unlink()
        if not file.is_file():
            download(address, file, remedy=remedy, watch=watch)
        now = checksums[name] = _sha256(file)
        published = dataset.checksum if address == dataset.downloads[0] else None
        for what, other in (("it had when first downloaded", before), ("known", published)):
            if other not in (None, now):
                warnings.append(f"{name} has another SHA-256 than the one {what}: {other}")
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
    """The SHA-256 of files downloaded to a directory, by their names."""
    try:
        found = json.loads((directory / _RECORD).read_text())
        return {str(name): str(checksum) for name, checksum in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise DataError(
            f"{directory / _RECORD} can't be read\nRemove it; checksums are remembered anew."
        ) from None
