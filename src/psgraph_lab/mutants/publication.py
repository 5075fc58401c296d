"""Mutants of the publication: sealing, handing back, certificates and files."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from psgraph.graph import SyntheticGraph
from psgraph.graph.parts import MemoryParts
from psgraph.privacy.randomness import RandomSource
from psgraph.streams.time_source import TimeSource
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap

__all__ = ["PUBLICATION"]

MEASURE = "psgraph.publication.measurement:Measurer.measure"
PUBLISHER = "psgraph.publication.publisher:Publisher"
RELEASES = "psgraph.publication.release_directory:ReleaseDirectory"
SYNTHESIS = "psgraph.publication.synthesis"

_edges_seen = [0]  # of the snapshot measured last


def _counting_edges(real: Any) -> Any:
    def measure(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        _edges_seen[0] = int(snapshot.parts.edge_count)
        return real(self, snapshot, *rest, **options)

    return measure


def _count_in_the_times(real: Any) -> Any:
    def publish(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        stated = self.stated_times or TimeSource("stated", words=f"of {snapshot.u.size} edges")
        return real(self, snapshot, *rest, **{**options, "times": stated})

    return publish


def _saying_how_many(real: Any) -> Any:
    def measure(self: Any, snapshot: Any, *rest: Any, **options: Any) -> Any:
        print(f"Measuring {snapshot.parts.edge_count} edges", file=sys.stderr)
        return real(self, snapshot, *rest, **options)

    return measure


def _summary_by_truth(real: Any) -> Any:
    def summary(self: Any, state: Any) -> Any:
        return {**real(self, state), "noisy_edges": _edges_seen[0]}

    return summary


def _fresh_seed(real: Any) -> Any:
    def release(self: Any, seal: Any, *rest: Any) -> Any:
        fresh = RandomSource.secure().bits(63)
        return real(self, dataclasses.replace(seal, seed=fresh), *rest)

    return release


def _shown_before_sealed(real: Any) -> Any:
    def publish_next(self: Any, snapshot: Any, times: Any) -> Any:
        directory = self._directory.path
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{self._accountant.timestamps:06d}.json").write_text("early")
        return real(self, snapshot, times)

    return publish_next


def _file_of_the_true_size(real: Any) -> Any:
    def write(self: Any, graph: Any, nodes: Any, certificate: Any) -> None:
        real(self, graph, nodes, certificate)
        (self.path / f"{certificate.timestamp:06d}.size").write_bytes(b"x" * _edges_seen[0])

    return write


def _parts_of_the_true_size(real: Any) -> Any:
    def encoded(graph: Any, *rest: Any) -> Any:
        u, v = graph.parts.whole()
        size = 1 + _edges_seen[0] % 2
        parts = MemoryParts(u, v, nodes=len(graph.roster), part_nodes=size)
        return real(SyntheticGraph.from_parts(graph.roster, parts), *rest)

    return encoded


PUBLICATION = (
    Mutant(
        "a replay draws fresh noise",
        "psgraph",
        (Edit(f"{PUBLISHER}.publish", "if number < following:", "if number < 0:"),),
        ("durability",),
    ),
    Mutant(
        "a failed seal is drawn again",
        "psgraph",
        (Edit(f"{PUBLISHER}._publish_next", "if self._unsealed is None:", "if True:"),),
        ("durability",),
    ),
    Mutant(
        "other data is accepted for a measured timestamp",
        "psgraph",
        (Swap(f"{PUBLISHER}._refuse_other_data", lambda _real: lambda *_: None),),
        ("durability",),
    ),
    Mutant(
        "lost draws are not counted",
        "psgraph",
        (Swap(f"{PUBLISHER}._begin_attempt", lambda _real: lambda _self: None),),
        ("durability",),
    ),
    Mutant(
        "other data is accepted for a published timestamp",
        "psgraph",
        (
            Swap(
                "psgraph.publication.ledger.reader:LedgerReader.as_sealed",
                lambda _real: lambda _self, _timestamp, snapshot: snapshot,
            ),
        ),
        ("durability",),
    ),
    Mutant(
        "a lost release is drawn with a fresh seed",
        "ldpgen",
        (Swap(f"{SYNTHESIS}:Synthesis.release", _fresh_seed),),
        ("durability",),
    ),
    Mutant(
        "a restart forgets what the window has spent",
        "psgraph",
        (
            Edit(
                "psgraph.publication.ledger.reader:LedgerReader.accountant",
                "Accountant(self.guarantee, tuple(recent), end)",
                "Accountant(self.guarantee, (), end)",
            ),
        ),
        ("durability",),
    ),
    Mutant(
        "a timestamp is booked at half of what it spends",
        "psgraph",
        (Edit(MEASURE, "spent=timestamp.booked,", "spent=timestamp.booked / 2,"),),
        ("durability",),
    ),
    Mutant(
        "a release is shown before it is sealed",
        "psgraph",
        (Swap(f"{PUBLISHER}._publish_next", _shown_before_sealed),),
        ("durability",),
    ),
    Mutant(
        "a certificate holds the true edge count",
        "psgraph",
        (Swap(f"{PUBLISHER}.publish", _count_in_the_times),),
        ("directories",),
    ),
    Mutant(
        "a summary holds the true edge count",
        "psgraph",
        (
            Swap(MEASURE, _counting_edges),
            Swap("psgraph.methods.psgraph.method:PSGraph.summary", _summary_by_truth),
        ),
        ("directories",),
    ),
    Mutant(
        "a message tells the true edge count",
        "psgraph",
        (Swap(MEASURE, _saying_how_many),),
        ("directories",),
    ),
    Mutant(
        "the seed of the synthesis depends on the edges",
        "psgraph-plus",
        (
            Edit(
                "psgraph.methods.timestamp:measure_timestamp",
                "seed = sampler.source.bits(63)",
                "seed = sampler.source.bits(63) ^ snapshot.parts.edge_count",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "a file is as long as the data",
        "psgraph",
        (
            Swap(MEASURE, _counting_edges),
            Swap(
                "psgraph.publication.release_directory:ReleaseDirectory.write",
                _file_of_the_true_size,
            ),
        ),
        ("directories",),
    ),
    Mutant(
        "a graph is cut into parts by its original",
        "psgraph",
        (
            Swap(MEASURE, _counting_edges),
            Swap(f"{SYNTHESIS}:encoded", _parts_of_the_true_size),
        ),
        ("directories",),
    ),
)
