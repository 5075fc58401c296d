"""One file over HTTP: with progress, taken up again where it was cut off, whole or not at all."""

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
"""Told the name of the file, the bytes that are there, and the bytes it will have, if known."""

_PIECE = 1 << 18
_TIMEOUT = 30.0
_ATTEMPTS = 4
_PAUSE = 1.0
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+)", re.ASCII)


def download(
    address: str, target: Path, *, remedy: str, watch: Watch = lambda _name, _done, _total: None
) -> None:
    """Download a file.

    What has come so far is in ``<name>.part``, and what it is a part of in ``<name>.part.json``;
    a later call goes on from there, if the server still has the same file.

    Parameters
    ----------
    address
        Where the file is.
    target
        Where it goes; only a complete file gets this name.
    remedy
        What to do if it can't be had, for the message.
    watch
        Called after every piece.
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
                f"{address} answered {error.code} {error.reason}: it can't be had there\n{remedy}"
            ) from None
        except urllib.error.URLError as error:
            reason = getattr(error.reason, "strerror", None) or error.reason
            raise DataError(
                f"{urlsplit(address).netloc} can't be reached ({reason}): is there a network?\n"
                f"{remedy}"
            ) from None
    raise DataError(
        f"{address}: the connection was cut off {_ATTEMPTS} times, "
        f"{part.size:,} bytes are there\nRun the same command again; it goes on from there. Or: "
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
        """What the server calls the version of the file that this is a part of."""
        try:
            return str(json.loads(self._memory.read_text())["version"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def begin(self, version: str) -> None:
        """Throw away what is there."""
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
    """Turns a full or write-protected disk into an `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{path} could not be written: {error.strerror}\n"
            "Free some space or choose another directory with --to."
        ) from None


def _attempt(address: str, part: _Part, watch: Watch) -> bool:
    """Ask for what is missing and take what comes. True when the file is complete."""
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
        part.begin("")  # what is there is no part of the file: from the beginning
        return False
    except (http.client.HTTPException, ConnectionError, TimeoutError):
        return False
    with response:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        total: int | None
        if response.status == http.HTTPStatus.PARTIAL_CONTENT:
            if found is None or int(found[1]) != there:  # not the part that was asked for
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
    """Write down all that comes. False when it ended in the middle."""
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
    """What to name when asking for the rest; a weak tag does not promise the same bytes."""
    tag: str = response.headers.get("ETag", "")
    if tag and not tag.startswith("W/"):
        return tag
    moment: str = response.headers.get("Last-Modified", "")
    return moment
