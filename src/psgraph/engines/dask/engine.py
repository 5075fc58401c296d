"""The engine that runs verbs on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from psgraph._runtime.arrays import Integers, Labels
from psgraph.engines.base import BlockCounts, Model
from psgraph.engines.dask.connection import check_access, connect, local_cluster
from psgraph.engines.dask.runner import DaskRunner
from psgraph.engines.dask.statistics import Statistics
from psgraph.engines.private import Private
from psgraph.engines.released import Released
from psgraph.errors import InvalidArgument
from psgraph.graph.formats.edges import encode_part
from psgraph.graph.parts import PART_NODES, MemoryParts

if TYPE_CHECKING:
    from psgraph.graph import Snapshot, SyntheticGraph
    from psgraph.graph.parts import EdgeParts
    from psgraph.privacy.mechanisms.exponential import Scores

__all__ = ["DaskEngine"]


class DaskEngine(Private, Released):
    """Edge-sized work on a Dask cluster. Use it as a context manager, or close it.

    See `psgraph.engines.base.Engine`. Releases are the same, byte for byte, as those of
    `psgraph.engines.local.LocalEngine`, whatever the number of workers, and if some are lost.

    Parameters
    ----------
    scheduler
        The address of a running scheduler, for example ``"tls://host:8786"``. Its workers need
        the same software as this process, and access to the store. They see private edges, and
        so does everybody who can connect: use TLS, inside the network of the curator.
        Without an address the engine starts processes on this machine, which only it can reach.
        A script that does so needs the usual ``if __name__ == "__main__":``.
    workers, threads
        Of the local cluster: processes, one for every core unless given, and threads of each.
    part_nodes
        Node positions in a part of a released graph; for tests, which have small graphs.

    Attributes
    ----------
    statistics
        Seconds, tasks and bytes of every verb.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        workers: int | None = None,
        threads: int = 1,
        part_nodes: int = PART_NODES,
    ) -> None:
        for name, number in (("workers", workers), ("threads", threads)):
            if number is not None and number < 1:
                raise InvalidArgument(f"{name} must be at least 1, not {number}")
        if scheduler is not None and workers is not None:
            raise InvalidArgument(
                "workers is for a local cluster\nA scheduler knows its workers; leave it out."
            )
        self._stack = ExitStack()
        self.statistics = Statistics()
        cluster = local_cluster(workers, threads) if scheduler is None else connect(scheduler)
        self.client: Any = self._stack.enter_context(cluster)
        super().__init__(DaskRunner(self.client, self.statistics, part_nodes=part_nodes))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect, and stop the local cluster."""
        self._stack.close()

    def check_access(self, file: Path, remedy: str) -> None:
        """Refuse workers that don't find a file of this machine at the same path.

        `remedy` is what the error says to do. Call it before private edges are read.
        """
        check_access(self.client, file, remedy)

    def edge_count(self, snapshot: Snapshot) -> int:
        with self.statistics.verb("edge_count"):
            return super().edge_count(snapshot)

    def common_edges(self, snapshot: Snapshot, previous: Snapshot) -> int:
        with self.statistics.verb("common_edges"):
            return super().common_edges(snapshot, previous)

    def block_counts(
        self, snapshot: Snapshot, labels: Labels, blocks: int, *, inside: bool
    ) -> BlockCounts:
        with self.statistics.verb("block_counts"):
            return super().block_counts(snapshot, labels, blocks, inside=inside)

    def split_degrees(self, snapshot: Snapshot, labels: Labels) -> tuple[Integers, Integers]:
        with self.statistics.verb("split_degrees"):
            return super().split_degrees(snapshot, labels)

    def group_degrees(self, snapshot: Snapshot, labels: Labels, groups: int) -> Integers:
        with self.statistics.verb("group_degrees"):
            return super().group_degrees(snapshot, labels, groups)

    def community_scores(self, snapshot: Snapshot, labels: Labels) -> Iterable[Scores]:
        scores = super().community_scores(snapshot, labels)
        return _Counted("community_scores", scores, self.statistics)

    def sample(self, *models: Model, seed: int) -> EdgeParts:
        with self.statistics.verb("sample"):
            return super().sample(*models, seed=seed)

    def repair(self, parts: EdgeParts, **wanted: Any) -> EdgeParts:
        with self.statistics.verb("repair"):
            return super().repair(parts, **wanted)

    def encode(self, graph: SyntheticGraph) -> Iterator[memoryview]:
        encoded = super().encode(graph)
        if isinstance(graph.parts, MemoryParts):  # on the driver already
            encoded = (encode_part(read, graph.roster) for read in graph.parts.edges())
        return self.statistics.iterated("encode", encoded)


@dataclass(frozen=True)
class _Counted:
    """Results that can be asked for again; each time counts as a call."""

    verb: str
    results: Iterable[Scores]
    statistics: Statistics

    def __iter__(self) -> Iterator[Scores]:
        return self.statistics.iterated(self.verb, self.results)
