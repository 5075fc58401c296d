"""Handing back releases of sealed timestamps: read from their files, or made again."""

from __future__ import annotations

from typing import Any

from psgraph._version import __version__
from psgraph.errors import LedgerError, VerificationFailed
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.graph_reading import read_graph
from psgraph.publication.history import History
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
        # The last graph that was made again, for a method that grows from it.
        self._remade: tuple[int, SyntheticGraph] | None = None

    def release(self, timestamp: int, snapshot: Snapshot) -> Release:
        """The release of a sealed timestamp, given the snapshot as it was sealed."""
        if self._directory is not None and self._directory.has(timestamp):
            release = self._read(self._directory, timestamp, snapshot.roster)
            if self._node_list_is_there(self._directory, release.certificate):
                return release
        return self._make_again(timestamp)

    def graph(self, timestamp: int) -> SyntheticGraph:
        """The graph of a released timestamp: read from its files, or made again if they are lost.

        Privacy: a release, or a function of sealed values. Reads no private edge.
        """
        return self._known_graph(timestamp) or self._make_again(timestamp).graph

    def _known_graph(self, timestamp: int) -> SyntheticGraph | None:
        if self._remade is not None and self._remade[0] == timestamp:
            return self._remade[1]
        if self._directory is None or not self._directory.has(timestamp):
            return None
        roster = self._history.roster(self._history.seal_of(timestamp).roster)
        if roster is None:
            raise LedgerError(f"the roster of timestamp {timestamp} is missing in the ledger")
        return self._read(self._directory, timestamp, roster).graph

    def _read(self, directory: ReleaseDirectory, timestamp: int, roster: Roster) -> Release:
        certificate = directory.certificate(timestamp)
        files = directory.graph(certificate)
        self._check(certificate)
        return Release(read_graph(files, certificate, roster), certificate)

    @staticmethod
    def _node_list_is_there(directory: ReleaseDirectory, certificate: Certificate) -> bool:
        digest = certificate.nodes_sha256
        return digest is None or directory.nodes_path(digest).exists()

    def _make_again(self, timestamp: int) -> Release:
        """Synthesise a release again; write it if it came out as it was.

        If the method grows from the release before, a chain of lost ones is made again in order,
        from the last one that is still there or from the start.
        """
        if not self._method.grows_from_release:
            return self._remake(timestamp, None)
        first, before = timestamp, None
        while first > 0:
            before = self._known_graph(first - 1)
            if before is not None:
                break
            first -= 1
        for lost in range(first, timestamp + 1):
            release = self._remake(lost, before)
            before = release.graph
            self._remade = lost, before
        return release

    def _remake(self, timestamp: int, before: SyntheticGraph | None) -> Release:
        seal = self._history.seal_of(timestamp)
        previous = self._history.previous_certificate(timestamp)
        state = self._state_after(timestamp)
        return self._synthesis.release(seal, state, previous, before, self._check_made_again)

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
