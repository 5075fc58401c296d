"""Handing back releases of sealed timestamps: read from their files, or made again."""

from __future__ import annotations

from typing import Any

from psgraph._version import __version__
from psgraph.errors import VerificationFailed
from psgraph.graph import Snapshot
from psgraph.methods.base import Method
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.graph_reading import read_graph
from psgraph.publication.history import History, Seal
from psgraph.publication.releases import ReleaseDirectory
from psgraph.publication.synthesis import Synthesis

__all__ = ["HandingBack"]


class HandingBack:
    """Hands back what is sealed, without measuring or spending anything."""

    def __init__(
        self,
        method: Method[Any, Any],
        history: History,
        directory: ReleaseDirectory | None,
        synthesis: Synthesis,
    ) -> None:
        self._method, self._history = method, history
        self._directory, self._synthesis = directory, synthesis
        # Old states are rebuilt in order: (number of timestamps done, state).
        self._rebuilt: tuple[int, Any] = (0, None)

    def release(self, timestamp: int, snapshot: Snapshot) -> Release:
        """The release of a sealed timestamp, given the snapshot as it was sealed."""
        if self._directory is not None and self._directory.has(timestamp):
            release = self._read(self._directory, timestamp, snapshot)
            if self._node_list_is_there(self._directory, release.certificate):
                return release
        return self._make_again(self._history.seal_of(timestamp))

    def _read(self, directory: ReleaseDirectory, timestamp: int, snapshot: Snapshot) -> Release:
        certificate = directory.certificate(timestamp)
        files = directory.graph(certificate)
        self._check(certificate)
        return Release(read_graph(files, certificate, snapshot.roster), certificate)

    @staticmethod
    def _node_list_is_there(directory: ReleaseDirectory, certificate: Certificate) -> bool:
        digest = certificate.nodes_sha256
        return digest is None or directory.nodes_path(digest).exists()

    def _make_again(self, seal: Seal) -> Release:
        """Synthesise a release again; write it if it came out as it was."""
        previous = self._history.previous_certificate(seal.timestamp)
        state = self._state_after(seal.timestamp)
        return self._synthesis.release(seal, state, previous, self._check_made_again)

    def _check_made_again(self, certificate: Certificate) -> None:
        known = certificate.digest == self._history.certificate_of(certificate.timestamp)
        if not known and certificate.version != __version__:
            raise VerificationFailed(
                f"files of timestamp {certificate.timestamp} are missing, and this version of "
                f"psgraph ({__version__}) would make others than version {certificate.version}, "
                "which published it\nRestore them from a backup, or let that version make them "
                "again. Nothing was measured."
            )
        self._check(certificate)

    def _check(self, certificate: Certificate) -> None:
        if certificate.digest != self._history.certificate_of(certificate.timestamp):
            raise VerificationFailed(
                f"the release of timestamp {certificate.timestamp} is not the one in the ledger\n"
                "Its files or the ledger were changed, or the installed versions of psgraph and "
                "its libraries write other bytes than those it was made with. psgraph verify "
                "tells which."
            )

    def _state_after(self, timestamp: int) -> Any:
        """The state after a sealed timestamp, from the stored measurements up to it."""
        done, state = self._rebuilt
        if done > timestamp + 1:
            done, state = 0, None
        for earlier in range(done, timestamp + 1):
            measurement = self._history.measurement_of(earlier, self._method.records)
            state = self._method.update(state, measurement)
        self._rebuilt = (timestamp + 1, state)
        return state
