"""Fetch a data set: convert local files to Parquet, or download the original ones first.

A download resumes after an interruption; it completes or fails.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from psgraph._runtime.durable import make_directory, put_in_place, write_whole
from psgraph._version import __version__
from psgraph.errors import DataError, InvalidArgument, OutputError
from psgraph_lab.datasets.catalogue import find_dataset
from psgraph_lab.datasets.further import Counts, Dataset
from psgraph_lab.datasets.locations import Located, cache_directory, locate
from psgraph_lab.datasets.snapshots import find_files, load_located, write_parquet

__all__ = ["Fetched", "Watch", "download", "fetch_dataset", "remembered_checksums"]

Watch = Callable[[str, int, int | None], None]
"""Called with the file name, the bytes received so far, and the total if it is known."""

_PIECE = 1 << 18
_TIMEOUT = 30.0
_ATTEMPTS = 4
_PAUSE = 1.0
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)", re.ASCII)


def download(
    address: str, target: Path, *, remedy: str, watch: Watch = lambda _name, _done, _total: None
) -> None:
    """Download a file.

    A partial download is kept in ``<name>.part``, and the version it belongs to in
    ``<name>.part.json``; a later call resumes it if the server still has the same version.

    Parameters
    ----------
    address
        Its address.
    target
        The path to write; only a complete file gets this name.
    remedy
        What to do if the download fails, for the message.
    watch
        Called after every chunk.
    """
    make_directory(target.parent)
    part = _Part(target)
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(attempt * _PAUSE)
        try:
            if _attempt(address, part, watch):
                part.finish()
                return
        except urllib.error.HTTPError as error:
            error.close()
            raise DataError(
                f"{address} answered {error.code} {error.reason}: not available there\n{remedy}"
            ) from None
        except urllib.error.URLError as error:
            reason = getattr(error.reason, "strerror", None) or error.reason
            raise DataError(
                f"{urlsplit(address).netloc} can't be reached ({reason}): check the network\n"
                f"{remedy}"
            ) from None
    raise DataError(
        f"{address}: the connection was interrupted {_ATTEMPTS} times, "
        f"{part.size:,} bytes were received\nRun the same command again to resume. Or: "
        f"{remedy}"
    )


class _Part:
    """A file that is not complete yet."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.part")
        self._memory = target.with_name(f"{target.name}.part.json")

    @property
    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    @property
    def version(self) -> str:
        """The server's name for the version that this is a part of."""
        try:
            return str(json.loads(self._memory.read_text())["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def begin(self, version: str) -> None:
        """Discard the partial download and start over."""
        with _writing(self.path):
            self.path.write_bytes(b"")
            self._memory.write_text(json.dumps({"version": version}))

    def append(self, piece: bytes) -> None:
        with _writing(self.path), self.path.open("ab") as file:
            file.write(piece)

    def finish(self) -> None:
        with _writing(self.path):
            put_in_place(self.path, self.target)
        self._memory.unlink(missing_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn a full or write-protected disk into an `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} could not be written: {error.strerror}\n"
            "Free some space or choose another directory with --to."
        ) from None


def _attempt(address: str, part: _Part, watch: Watch) -> bool:
    """Request the missing bytes and write what arrives; True when the file is complete."""
    there, version = part.size, part.version
    headers = {"User-Agent": f"psgraph/{__version__}"}
    if there and version:
        headers |= {"Range": f"bytes={there}-", "If-Range": version}
    try:
        response = urllib.request.urlopen(
            urllib.request.Request(address, headers=headers), timeout=_TIMEOUT
        )
    except urllib.error.HTTPError as error:
        if error.code != http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            raise
        error.close()
        part.begin("")  # the partial download does not belong to this file: start over
        return False
    except (http.client.HTTPException, ConnectionError, TimeoutError):
        return False
    with response:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        total: int | None
        if response.status == http.HTTPStatus.PARTIAL_CONTENT:
            if found is None or int(found[1]) != there:  # not the range that was requested
                part.begin("")
                return False
            total = int(found[2])
        else:
            part.begin(_version(response))
            length = response.headers.get("Content-Length", "")
            there, total = 0, int(length) if length.isdecimal() else None
        whole = _take(response, part, lambda done: watch(part.target.name, done, total), there)
    return whole if total is None else part.size == total


def _take(
    response: http.client.HTTPResponse, part: _Part, watch: Callable[[int], None], done: int
) -> bool:
    """Write all that arrives; False if the connection ended early."""
    watch(done)
    while True:
        try:
            piece = response.read(_PIECE)
        except (http.client.HTTPException, OSError):
            return False
        if not piece:
            return True
        part.append(piece)
        done += len(piece)
        watch(done)


def _version(response: http.client.HTTPResponse) -> str:
    """The version to name when requesting the rest; a weak tag does not promise the same bytes."""
    tag: str = response.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return tag
    moment: str = response.headers.get("Last-Modified", "")
    return moment


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
