"""Mutants of the publication: sealing, handing back, certificates and files."""

from __future__ import annotations

import dataclasses
from typing import Any

from psgraph.audit.mutants.mutant import Mutant
from psgraph.audit.mutation import Patch, mutated
from psgraph.graph import SyntheticGraph
from psgraph.graph.parts import MemoryParts
from psgraph.privacy.randomness import RandomSource
from psgraph.publication import synthesis
from psgraph.publication.graph_files import encoded
from psgraph.publication.ledger.reader import LedgerReader
from psgraph.publication.measurement import Measuring
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory

__all__ = ["PUBLICATION"]


def _fresh_synthesis_seed() -> tuple[Patch, ...]:
    real = synthesis.Synthesis.release

    def release(self: Any, seal: Any, *rest: Any) -> Any:
        fresh = RandomSource.secure().bits(63)
        return real(self, dataclasses.replace(seal, seed=fresh), *rest)

    return (Patch(synthesis.Synthesis, "release", release),)


def _shown_before_sealed() -> tuple[Patch, ...]:
    real = Publisher._publish_next

    def publish_next(self: Any, snapshot: Any, times: Any) -> Any:
        (self._directory.path).mkdir(parents=True, exist_ok=True)
        (self._directory.path / f"{self._accountant.timestamps:06d}.json").write_text("early")
        return real(self, snapshot, times)

    return (Patch(Publisher, "_publish_next", publish_next),)


def _count_in_the_times() -> tuple[Patch, ...]:
    real = Measuring.measure

    def measure(self: Any, snapshot: Any, state: Any, accountant: Any, **options: Any) -> Any:
        options["times"] = f"of {snapshot.u.size} edges"
        return real(self, snapshot, state, accountant, **options)

    return (Patch(Measuring, "measure", measure),)


def _files_in_the_order_of_the_data() -> tuple[Patch, ...]:
    real = ReleaseDirectory.write

    def write(self: Any, graph: Any, nodes: Any, certificate: Any) -> None:
        real(self, graph, nodes, certificate)
        (self.path / f"{certificate.timestamp:06d}.size").write_bytes(b"x" * _latest[0])

    _latest = [0]
    measure = Measuring.measure

    def measured(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        _latest[0] = int(snapshot.u.size)
        return measure(self, snapshot, *rest, **options)

    return (
        Patch(ReleaseDirectory, "write", write),
        Patch(Measuring, "measure", measured),
    )


def _parts_by_the_data() -> tuple[Patch, ...]:
    size = [1]
    measure = Measuring.measure

    def measured(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        size[0] = 1 + snapshot.parts.edge_count % 2
        return measure(self, snapshot, *rest, **options)

    def cut(graph: Any, *rest: Any) -> Any:
        u, v = graph.parts.whole()
        parts = MemoryParts(u, v, nodes=len(graph.roster), part_nodes=size[0])
        return encoded(SyntheticGraph.from_parts(graph.roster, parts), *rest)

    return (Patch(Measuring, "measure", measured), Patch(synthesis, "encoded", cut))


PUBLICATION = (
    Mutant(
        "a replay draws fresh noise",
        "psgraph",
        lambda: (
            Patch(
                Publisher,
                "publish",
                mutated(Publisher.publish, "if number < following:", "if number < 0:"),
            ),
        ),
        ("durability",),
    ),
    Mutant(
        "other data is accepted for a published timestamp",
        "psgraph",
        lambda: (
            Patch(
                LedgerReader,
                "as_sealed",
                lambda _self, _timestamp, snapshot: snapshot,
            ),
        ),
        ("durability",),
    ),
    Mutant(
        "a lost release is drawn with a fresh seed",
        "psgraph",
        _fresh_synthesis_seed,
        ("durability",),
        (("supernode_size", 60),),  # one community, so that the graph is drawn at random
    ),
    Mutant(
        "a release is shown before it is sealed", "psgraph", _shown_before_sealed, ("durability",)
    ),
    Mutant(
        "a certificate holds the true edge count", "psgraph", _count_in_the_times, ("directories",)
    ),
    Mutant(
        "a file is as long as the data",
        "psgraph",
        _files_in_the_order_of_the_data,
        ("directories",),
    ),
    Mutant(
        "a graph is cut into parts by its original", "psgraph", _parts_by_the_data, ("directories",)
    ),
)
