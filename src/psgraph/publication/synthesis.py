"""From a sealed timestamp to its release: post-processing that gives the same bytes every time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.errors import MethodError
from psgraph.graph import Roster
from psgraph.graph.formats.node_lists import nodes_bytes
from psgraph.methods.base import Method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate, Release
from psgraph.publication.history import Seal
from psgraph.publication.parquet import graph_bytes
from psgraph.publication.promise import Promise

__all__ = ["Files", "Synthesis"]


@dataclass(frozen=True)
class Files:
    """A release as it is published: the graph and the list of its nodes."""

    graph: memoryview
    nodes: memoryview


class Synthesis:
    """Makes releases of sealed timestamps.

    Parameters
    ----------
    private
        Whether the noise comes from a secret source.
    encode
        Whether releases are chained by the bytes of their files.
    """

    def __init__(
        self,
        method: Method[Any, Any],
        guarantee: WEventPrivacy,
        engine: Engine,
        *,
        private: bool,
        encode: bool,
    ) -> None:
        self._method, self._guarantee, self._engine = method, guarantee, engine
        self._private, self._encode = private, encode
        self._nodes: tuple[Roster, memoryview, str] | None = None

    def release(self, seal: Seal, state: Any, previous: str | None) -> tuple[Release, Files | None]:
        """The release of a sealed timestamp, and its files.

        Privacy: a function of sealed values, the sealed seed and public facts.
        proofs/seal-and-replay.md, invariant C.

        Parameters
        ----------
        state
            After this timestamp.
        previous
            The digest of the certificate before it.
        """
        method = self._method
        rng = np.random.Generator(np.random.PCG64(seal.seed))
        graph = method.synthesise(state, rng, self._engine)
        roster = graph.roster
        if roster.digest != seal.roster:
            raise MethodError(f"method {method.name!r} changed the roster")
        files, digests = None, {}
        if self._encode:
            with phase("write"):
                nodes, nodes_sha256 = self._encoded_nodes(roster)
                files = Files(graph_bytes(graph), nodes)
                graph_sha256 = hashlib.sha256(files.graph).hexdigest()
                digests = {"graph_sha256": graph_sha256, "nodes_sha256": nodes_sha256}
        caveat = method.caveat
        certificate = Certificate(
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
        return Release(graph, certificate), files

    def _encoded_nodes(self, roster: Roster) -> tuple[memoryview, str]:
        """The node list, encoded once for as long as it stays the same."""
        if self._nodes is None or self._nodes[0] != roster:
            content = nodes_bytes(roster)
            self._nodes = roster, content, hashlib.sha256(content).hexdigest()
        return self._nodes[1:]
