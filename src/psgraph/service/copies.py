"""Releases at an address that fsspec knows: workers copy them there, readers show them from there.

A copy is an ordinary release directory. Certificates are copied last, so a release that is listed
is complete. A reader keeps what it was asked for in a directory of its own, and checks each file
against its certificate before it does.

Privacy: only published files are copied, and a reader has nothing else.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.durable import make_directory, new_folder, write_whole
from psgraph._runtime.extras import require_addresses
from psgraph.errors import VerificationFailed
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.graph_files import part_name, parts_of
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import Releases
from psgraph.service.problems import failure, log
from psgraph.stores.part_files import Address, as_place

if TYPE_CHECKING:
    from psgraph.graph import Roster
    from psgraph.service.database import Database
    from psgraph.service.streams import Stream, Streams

__all__ = ["CopiedReleases", "Copies", "address_of"]

_TRY_AGAIN = 5.0  # seconds after an address could not be read
_PAUSE = 2.0  # seconds between looks for releases to copy


def address_of(text: str) -> Address:
    """Return an address; a directory of this machine is one, too.

    >>> str(address_of("s3://bucket/releases")), str(address_of("releases"))[:8]
    ('s3://bucket/releases', 'file:///')
    """
    require_addresses()
    place = as_place(text)
    return place if isinstance(place, Address) else Address(f"file://{place.absolute()}")


class Copies(threading.Thread):
    """Copies the releases of all streams to an address, in order.

    Several workers may copy the same release: the bytes are the same.

    Attributes
    ----------
    problem
        What the operator has to look at.
    """

    def __init__(self, streams: Streams, address: Address, database: Database) -> None:
        super().__init__(name="psgraph-copies", daemon=True)
        self.problem: str | None = None
        self._streams, self._address, self._database = streams, address, database
        self._over = threading.Event()
        self._copied: dict[str, int] = {}
        self._nodes: set[tuple[str, str]] = set()

    def stop(self) -> None:
        """Stop after the file in progress; the next start copies what is missing."""
        self._over.set()
        if self.is_alive():
            self.join()

    def run(self) -> None:
        """Copy until stopped."""
        while not self._over.wait(_PAUSE):
            self.copy_all()

    def copy_all(self) -> None:
        """Copy what is missing at the address."""
        failed = False
        for stream in self._streams:
            try:
                self._copy(stream)
            except Exception as error:  # every file system has its own
                failed = True
                if self.problem is None:
                    log("copying_failed", stream=stream.name, **failure(error))
        self.problem = (
            f"Releases can't be copied to {self._address}. Check the address and its permissions; "
            "they are copied once that is possible."
            if failed
            else None
        )

    def _copy(self, stream: Stream) -> None:
        to, released = self._address / stream.name, len(stream.known_releases())
        done = self._copied.get(stream.name)
        if done is None:
            names = to.file_names() if released else set()
            done = next((t for t in range(released) if f"{t:06d}.json" not in names), released)
        for timestamp in range(done, released):
            for name, path in _files(stream, timestamp):
                if self._over.is_set():
                    return
                if (stream.name, name) not in self._nodes:
                    (to / name).write_bytes(path.read_bytes())
                if name.startswith("nodes/"):
                    self._nodes.add((stream.name, name))
            self._tell(stream, timestamp + 1)
        if done == released and stream.name not in self._copied:
            self._tell(stream, released)

    def _tell(self, stream: Stream, released: int) -> None:
        """Tell readers how many releases are there."""
        self._database.write(
            "INSERT INTO copies VALUES (?, ?) ON CONFLICT (stream) DO UPDATE "
            "SET released = excluded.released WHERE copies.released < excluded.released",
            (stream.name, released),
        )
        self._copied[stream.name] = released


def _files(stream: Stream, timestamp: int) -> Iterator[tuple[str, Path]]:
    """Yield the files of a release by their names, its certificate last."""
    paths = [*stream.releases.graph_files(timestamp)]
    if (nodes := stream.releases.nodes_file(timestamp)) is not None:
        paths.insert(0, nodes)
    paths.append(ReleaseDirectory(stream.out).certificate_path(timestamp))
    for path in paths:
        yield path.relative_to(stream.out).as_posix(), path


class CopiedReleases(Releases):
    """The releases at an address; files are kept in a local directory once they were asked for.

    Attributes
    ----------
    announced
        How many releases there are, according to the database.
    """

    def __init__(self, path: Path, address: Address) -> None:
        self._copy = _CopiedDirectory(path, address)
        super().__init__(self._copy)

    @property
    def announced(self) -> int:
        return self._copy.announced

    @announced.setter
    def announced(self, number: int) -> None:
        self._copy.announced = number

    def complete(self) -> None:
        """Get the files of all releases."""
        for certificate in self.refresh():
            self._copy.fetch(certificate)

    def graph_files(self, timestamp: int) -> list[Path]:
        self._copy.fetch(self.certificates[timestamp])
        return super().graph_files(timestamp)

    def nodes_file(self, timestamp: int) -> Path | None:
        self._copy.fetch_nodes(self.certificates[timestamp])
        return super().nodes_file(timestamp)

    def _read(self, certificate: Certificate, rosters: Iterator[Roster]) -> Release:
        self._copy.fetch(certificate)
        return super()._read(certificate, rosters)


class _CopiedDirectory(ReleaseDirectory):
    """A local directory, filled from an address."""

    def __init__(self, path: Path, address: Address) -> None:
        super().__init__(path)
        self._address, self.announced = address, 0
        self._try_at = 0.0
        self._lock = threading.Lock()

    def has(self, timestamp: int) -> bool:
        """Whether a release was copied to the address; its certificate is kept here then.

        An address that can't be reached now has no release now.
        """
        path = self.certificate_path(timestamp)
        if path.exists():
            return True
        if timestamp >= self.announced or time.monotonic() < self._try_at:
            return False
        try:
            content = (self._address / path.name).read_bytes()
            Certificate.from_json(content)
        except (OSError, VerificationFailed) as error:
            self._try_at = time.monotonic() + _TRY_AGAIN
            log("address_failed", **failure(error))
            return False
        make_directory(path.parent)
        write_whole(path, content)
        return True

    def fetch(self, certificate: Certificate) -> None:
        """Get the files of a release unless they are here."""
        self.fetch_nodes(certificate)
        with self._lock:
            timestamp, number = certificate.timestamp, certificate.graph_parts
            if number is None:
                self._fetch(self.graph_path(timestamp), certificate.graph_sha256)
                return
            target = self.parts_path(timestamp)
            if target.exists():
                return
            with new_folder(target) as folder:
                for part in range(number):
                    name = part_name(part)
                    content = (self._address / target.name / name).read_bytes()
                    (folder / name).write_bytes(content)
                parts_of(folder, number, certificate.graph_sha256)

    def fetch_nodes(self, certificate: Certificate) -> None:
        """Get the node list of a release unless it is here."""
        if certificate.nodes_sha256 is not None:
            with self._lock:
                self._fetch(self.nodes_path(certificate.nodes_sha256), certificate.nodes_sha256)

    def _fetch(self, path: Path, sha256: str | None) -> None:
        if path.exists():
            return
        name = path.relative_to(self.path).as_posix()
        content = (self._address / name).read_bytes()
        if hashlib.sha256(content).hexdigest() != sha256:
            raise VerificationFailed(
                f"{self._address / name} does not match its certificate", code="changed"
            )
        make_directory(path.parent)
        write_whole(path, content)
