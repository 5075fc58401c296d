"""From a sealed timestamp to its release: post-processing with the same bytes every time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

from psgraph._runtime.resources import phase
from psgraph._version import __version__
from psgraph.engines.runner import Runner
from psgraph.errors import LedgerError, MethodError, VerificationFailed
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.graph.formats.parquet import nodes_bytes
from psgraph.methods.base import Method
from psgraph.methods.timestamp import draw_graph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.graph_files import encoded, read_graph
from psgraph.publication.history import History
from psgraph.publication.legacy import roster_statement
from psgraph.publication.measurement import Seal
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.terms import Promise

__all__ = ["EarlierReleases", "Synthesis"]


class Synthesis:
    """Makes releases of sealed timestamps, and writes them.

    Parameters
    ----------
    private
        Whether the noise comes from a secret source.
    encode
        Whether releases are chained by the bytes of their files.
    directory
        Where these files go, if anywhere.
    """

    def __init__(
        self,
        method: Method[Any, Any],
        guarantee: WEventPrivacy,
        engine: Runner,
        *,
        private: bool,
        encode: bool,
        directory: ReleaseDirectory | None,
        dropped: tuple[str, ...] = (),
    ) -> None:
        self._dropped = dropped
        self._method, self._guarantee, self._engine = method, guarantee, engine
        self._private, self._encode, self._directory = private, encode, directory
        self._nodes: tuple[Roster, memoryview, str] | None = None

    def release(
        self,
        seal: Seal,
        state: Any,
        previous: str | None,
        before: SyntheticGraph | None,
        check: Callable[[Certificate], None] = lambda _: None,
    ) -> Release:
        """Make the release of a sealed timestamp, and write it unless it exists.

        Privacy: a function of sealed values, the sealed seed and public facts.
        proofs/seal-and-replay.md, invariant C.

        Parameters
        ----------
        state
            After this timestamp.
        previous
            The digest of the certificate before it.
        before
            The graph of that certificate, for a method that grows from it.
        check
            Called with the certificate before anything is shown; refuses one by an error.
        """
        graph = draw_graph(self._method, state, before, seal.seed, self._engine)
        if graph.roster.digest != seal.roster:
            raise MethodError(f"method {self._method.name!r} changed the roster", code="roster")
        if not self._encode:
            certificate = self._certificate(seal, state, graph, previous)
            check(certificate)
            return Release(graph, certificate)
        directory = self._directory
        place = None if directory is None else directory.parts_path(seal.timestamp)
        with phase("write"), encoded(graph, self._engine, place) as files:
            nodes, nodes_sha256 = self._encoded_nodes(graph.roster)
            certificate = self._certificate(
                seal,
                state,
                graph,
                previous,
                graph_sha256=files.sha256,
                graph_part_nodes=files.part_nodes,
                nodes_sha256=nodes_sha256,
            )
            check(certificate)
            if directory is not None:
                directory.write(files, nodes, certificate)
        return Release(graph, certificate)

    def _certificate(
        self,
        seal: Seal,
        state: Any,
        graph: SyntheticGraph,
        previous: str | None,
        **digests: Any,
    ) -> Certificate:
        """What was promised and spent, with the digests of the files if there are any."""
        method, roster = self._method, graph.roster
        caveat = method.caveat
        return Certificate(
            timestamp=seal.timestamp,
            time=seal.time,
            guarantee=self._guarantee,
            charges=seal.charges,
            spent=seal.spent,
            window_spent=seal.window_spent,
            method=method.name,
            version=seal.version,
            parameters=method.parameters(),
            roster=roster_statement(roster, seal.noise),
            nodes=len(roster),
            edges=graph.edge_count,
            private=Promise(self._guarantee, caveat, seeded=not self._private).private,
            summary=method.summary(state),
            caveat=caveat,
            previous=previous,
            noise=seal.noise,
            times=None if seal.times is None else str(seal.times),
            kind=graph.kind,
            dropped=self._dropped,
            **digests,
        )

    def _encoded_nodes(self, roster: Roster) -> tuple[memoryview, str]:
        """The encoded node list; encoded again only when the roster changes."""
        if self._nodes is None or self._nodes[0] != roster:
            content = nodes_bytes(roster)
            self._nodes = roster, content, hashlib.sha256(content).hexdigest()
        return self._nodes[1:]


class EarlierReleases:
    """Releases of sealed timestamps, handed back without measuring or spending anything."""

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
        # The last graph that was handed back or released, for a method that grows from it.
        self._kept: tuple[int, SyntheticGraph] | None = None

    def release(self, timestamp: int, snapshot: Snapshot) -> Release:
        """Return the release of a sealed timestamp, given the snapshot as it was sealed."""
        if self._directory is not None and self._directory.has(timestamp):
            release = self._read(self._directory, timestamp, snapshot.roster)
            if self._node_list_is_there(self._directory, release.certificate):
                self._directory.add_to_index(release.certificate)
                return release
        return self._make_again(timestamp)

    def graph_before(self, timestamp: int) -> SyntheticGraph | None:
        """The release before a timestamp, if the method grows from it.

        It is kept in memory, read from its files, or recreated if they are lost.

        Privacy: a release, or a function of sealed values. Reads no private edge.
        """
        if timestamp == 0 or not self._method.grows_from_release:
            return None
        before = timestamp - 1
        graph = self._known_graph(before)
        if graph is None:
            graph = self._make_again(before).graph
        self._kept = before, graph
        return graph

    def keep(self, release: Release) -> None:
        """Keep the graph of a release, if the method grows from it."""
        if self._method.grows_from_release:
            self._kept = release.timestamp, release.graph

    def _known_graph(self, timestamp: int) -> SyntheticGraph | None:
        if self._kept is not None and self._kept[0] == timestamp:
            return self._kept[1]
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
        """Recreate a release; write it if its certificate is the recorded one.

        If the method grows from the release before, lost releases are recreated in order, starting
        after the last one that still exists.
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
            self._kept = lost, before
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
                f"psgraph ({__version__}) can't reproduce those of version {certificate.version}\n"
                "Restore them from a backup, or recreate them with that version. Nothing was "
                "measured."
            )
        self._check(certificate)

    def _check(self, certificate: Certificate) -> None:
        if certificate.digest != self._history.certificate_of(certificate.timestamp):
            raise VerificationFailed(
                f"the release of timestamp {certificate.timestamp} is not the one in the ledger\n"
                "Its files or the ledger were changed, or the installed versions of psgraph and "
                "its libraries write different bytes from those it was made with. psgraph verify "
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
