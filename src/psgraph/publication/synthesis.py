"""From a sealed timestamp to its release: post-processing that gives the same bytes every time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.errors import MethodError
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.node_lists import nodes_bytes
from psgraph.methods.base import Method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.encoding import encoded
from psgraph.publication.history import Seal
from psgraph.publication.promise import Promise
from psgraph.publication.releases import ReleaseDirectory

__all__ = ["Synthesis"]


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
        engine: Engine,
        *,
        private: bool,
        encode: bool,
        directory: ReleaseDirectory | None,
    ) -> None:
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
        """The release of a sealed timestamp, written unless it is there already.

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
        rng = np.random.Generator(np.random.PCG64(seal.seed))
        graph = self._method.synthesise(state, before, rng, self._engine)
        if graph.roster.digest != seal.roster:
            raise MethodError(f"method {self._method.name!r} changed the roster")
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
            roster=roster.statement if seal.noise else roster.statement_0_1,
            nodes=len(roster),
            edges=graph.edge_count,
            private=Promise(self._guarantee, caveat, seeded=not self._private).private,
            summary=method.summary(state),
            caveat=caveat,
            previous=previous,
            noise=seal.noise,
            times=seal.times,
            **digests,
        )

    def _encoded_nodes(self, roster: Roster) -> tuple[memoryview, str]:
        """The node list, encoded once for as long as it stays the same."""
        if self._nodes is None or self._nodes[0] != roster:
            content = nodes_bytes(roster)
            self._nodes = roster, content, hashlib.sha256(content).hexdigest()
        return self._nodes[1:]
