"""Download one file over HTTP, with progress; resumes after an interruption, completes or fails."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from psgraph._runtime.durable import make_directory, put_in_place
from psgraph._version import __version__
from psgraph.errors import DataError, OutputError

__all__ = ["Watch", "download"]

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
