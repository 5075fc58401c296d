"""The directory that releases are published in. Each file is complete or absent.

``NNNNNN.parquet`` is a graph, ``NNNNNN.json`` its certificate, and ``nodes/<sha256>.parquet`` a
node list, shared by all releases whose certificates name it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from psgraph._runtime.durable import make_directory, write_all_whole
from psgraph.errors import OutputError, PsgraphError, VerificationFailed
from psgraph.publication.certificate import Certificate

__all__ = ["ReleaseDirectory"]

NODES_NAME = "nodes"

_RELEASE = re.compile(r"(\d{6}|[1-9]\d{6,})\.(parquet|json)", re.ASCII)


class ReleaseDirectory:
    """The files of a release directory.

    Parameters
    ----------
    path
        Made with the first release if it does not exist. It must be empty, unless it holds the
        releases and the ledger of the same run.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def graph_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}.parquet"

    def certificate_path(self, timestamp: int) -> Path:
        return self.path / f"{timestamp:06d}.json"

    def nodes_path(self, sha256: str) -> Path:
        return self.path / NODES_NAME / f"{sha256}.parquet"

    # ---- writing ----

    def check_usable(self, *, ledger: Path) -> None:
        """Refuse a directory that holds something else, before anything is measured.

        If its `ledger` exists, the content of the directory is checked with that.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise OutputError(f"{self.path} is not a directory\nChoose another for --out.")
            # A run that was interrupted at its start leaves its ledger's lock, and hidden files.
            taken = self.path.is_dir() and any(
                entry.suffix != ".lock" and not entry.name.startswith(".")
                for entry in self.path.iterdir()
            )
            begun = ledger.exists()  # after listing: another process may begin it right now
            parent = self.path
            while not parent.exists():
                parent = parent.parent
            writable = os.access(parent, os.W_OK)
        except OutputError:
            raise
        except OSError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        except ValueError:
            raise OutputError("the path of the output can't be used\nCheck it.") from None
        if taken and not begun:
            raise OutputError(
                f"the output directory {self.path} is not empty and its ledger is not there: "
                f"there is no {ledger}\n"
                "Publishing the same data twice spends the budget twice. Name the ledger of these "
                "releases, choose another directory, or remove this one if its releases were "
                "never shown to anyone."
            )
        if not writable:
            raise OutputError(f"{parent} is not writable\nChoose another directory for --out.")

    def refuse_unsealed(self, sealed: int) -> None:
        """Refuse to measure a timestamp of which a file is already there."""
        for path in (self.graph_path(sealed), self.certificate_path(sealed)):
            if path.exists():
                raise VerificationFailed(
                    f"{path} is already there, but the ledger has not sealed timestamp {sealed}\n"
                    "Another ledger, or a newer copy of this one, made it: continue with that. "
                    "Nothing was measured."
                )

    def write(self, graph: memoryview, nodes: memoryview, certificate: Certificate) -> None:
        """Write node list, graph and certificate, in this order. Existing files must be equal."""
        assert certificate.nodes_sha256 is not None
        nodes_path = self.nodes_path(certificate.nodes_sha256)
        make_directory(nodes_path.parent)
        files = [] if nodes_path.exists() else [(nodes_path, nodes)]  # named by its content
        for path, content in (
            (self.graph_path(certificate.timestamp), graph),
            (
                self.certificate_path(certificate.timestamp),
                memoryview(certificate.to_json().encode()),
            ),
        ):
            if not path.exists():
                files.append((path, content))
            elif self.read_bytes(path) != bytes(content):  # it may have been seen
                raise VerificationFailed(
                    f"{path} is already there and holds something else\n{self._remedy(certificate)}"
                )
        write_all_whole(files)

    def _remedy(self, certificate: Certificate) -> str:
        """What to do about a file that is in the way of a release."""
        try:
            there = self.certificate(certificate.timestamp)
        except PsgraphError:
            there = None
        if there is not None and certificate.is_another_draw(there):
            return (
                "It is another draw of the same timestamp, made by another ledger or a copy of "
                "this one. Never remove it: whoever saw it must not see this draw as well. Find "
                "the ledger that made it, and continue with that one only."
            )
        return (
            "It was changed, or was written with other versions of the libraries. Remove it and "
            "publish again only if no other ledger, and no copy of this one, ever published to "
            "this directory; otherwise it may be another draw, which must stay."
        )

    # ---- reading ----

    def has(self, timestamp: int) -> bool:
        """Whether graph and certificate of a timestamp are there."""
        return self.graph_path(timestamp).exists() and self.certificate_path(timestamp).exists()

    def certificate(self, timestamp: int) -> Certificate:
        """Read the certificate of a timestamp; refuse one that was changed."""
        path = self.certificate_path(timestamp)
        try:
            certificate = Certificate.from_json(self.read_bytes(path))
        except VerificationFailed as error:
            if not path.exists():
                raise
            raise VerificationFailed(
                f"{path} was changed after it was published\n{_RESTORE}"
            ) from error
        if certificate.timestamp != timestamp:
            raise VerificationFailed(f"{path} is the certificate of another timestamp")
        return certificate

    def graph(self, certificate: Certificate) -> bytes:
        """Read the file of a graph; refuse one that was changed."""
        return self._checked(self.graph_path(certificate.timestamp), certificate.graph_sha256)

    def nodes(self, certificate: Certificate) -> bytes | None:
        """Read the node list a certificate names; refuse one that was changed.

        None for releases of version 0.1.0, which wrote no node lists.
        """
        digest = certificate.nodes_sha256
        return None if digest is None else self._checked(self.nodes_path(digest), digest)

    def _checked(self, path: Path, sha256: str | None) -> bytes:
        content = self.read_bytes(path)
        if hashlib.sha256(content).hexdigest() != sha256:
            raise VerificationFailed(f"{path} was changed after it was published\n{_RESTORE}")
        return content

    def timestamps(self) -> list[int]:
        """The timestamps of which at least one file is there, in order."""
        try:
            with os.scandir(self.path) as entries:  # there may be many, and only names matter
                names = [entry.name for entry in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise OutputError(f"{self.path} can't be read: {error.strerror}") from None
        return sorted({int(name.partition(".")[0]) for name in names if _RELEASE.fullmatch(name)})

    def certificates(
        self, problems: list[str], *, finished: int | None = None, files: bool = True
    ) -> Iterator[Certificate]:
        """Read the certificates in order; add what is wrong with them to `problems`.

        Parameters
        ----------
        finished
            If it is known how many timestamps are finished, the next one may be incomplete.
        files
            Whether to check the graphs and node lists too.
        """
        before: Certificate | None = None
        checked: set[str] = set()
        for expected, timestamp in enumerate(self.timestamps()):
            if timestamp != expected:
                problems.append(f"timestamp {expected} is missing")
                return
            if finished is not None and timestamp >= finished and not self.has(timestamp):
                return
            try:
                certificate = self.certificate(timestamp)
            except PsgraphError as error:
                problems.append(str(error).splitlines()[0])
                before = None
                continue
            if files:
                self._check_files(certificate, checked, problems)
            known = before is not None or timestamp == 0
            if known and certificate.previous != (before.digest if before else None):
                problems.append(f"timestamp {timestamp}: the certificate before it is another one")
            before = certificate
            yield certificate

    def _check_files(
        self, certificate: Certificate, checked: set[str], problems: list[str]
    ) -> None:
        """Check a graph, and its node list unless that was checked before."""
        try:
            self.graph(certificate)
            if certificate.nodes_sha256 not in checked:
                self.nodes(certificate)
                checked.add(certificate.nodes_sha256 or "")
        except PsgraphError as error:
            problems.append(str(error).splitlines()[0])

    def read_bytes(self, path: Path) -> bytes:
        """The content of a file; a typed error if it can't be read."""
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise VerificationFailed(f"{path} is missing") from None
        except OSError as error:
            raise OutputError(f"{path} can't be read: {error.strerror}") from None


_RESTORE = (
    "Restore it from a copy. Or remove it and publish the same input again: the file is made "
    "again from the ledger if it comes out as it was."
)
