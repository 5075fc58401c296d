"""Graphs of releases, read from their files: at once, or part by part when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from psgraph.errors import DataError, OutsideRoster
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.formats.arrays import as_numpy
from psgraph.graph.formats.edges import edge_table, read_pairs
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import MemoryParts, Pairs, Rows, ranges
from psgraph.publication.certificate import Certificate
from psgraph.publication.graph_files import PublishedFile

__all__ = ["PublishedParts", "read_graph"]


def read_graph(
    files: tuple[PublishedFile, ...], certificate: Certificate, roster: Roster
) -> SyntheticGraph:
    """Read a graph over its roster; the parts of a large one are read when they are asked for."""
    if certificate.graph_part_nodes is None:
        (file,) = files
        return _read_file(file, certificate, roster)
    parts = PublishedParts(files, roster, certificate.graph_part_nodes, certificate.edges)
    return SyntheticGraph.from_parts(roster, parts, time=certificate.time)


def _read_file(file: PublishedFile, certificate: Certificate, roster: Roster) -> SyntheticGraph:
    table = edge_table(file.read(), file.path)
    try:
        heads, tails = (as_numpy(table.column(name)) for name in "uv")
        return SyntheticGraph.from_ids(heads, tails, roster=roster, time=certificate.time)
    except OutsideRoster:
        raise DataError(
            f"{file.path} has an edge outside the roster\n"
            "Give the roster of the stream that the releases were made from."
        ) from None
    except DataError as error:
        raise DataError(f"{file.path}: {error}") from None


@dataclass(frozen=True)
class PublishedParts:
    """Edges in a directory of parts. Every file is checked against its digest when it is read.

    Attributes
    ----------
    edge_count
        As the certificate states it.
    """

    files: tuple[PublishedFile, ...]
    roster: Roster
    part_nodes: int
    edge_count: int

    @property
    def kind(self) -> Kind:
        return UNDIRECTED

    @property
    def nodes(self) -> int:
        return len(self.roster)

    def edges(self) -> list[Callable[[], Pairs]]:
        between = ranges(self.nodes, self.part_nodes)
        return [
            partial(_read_part, file, self.roster, range(*nodes))
            for file, nodes in zip(self.files, between, strict=True)
        ]

    def rows(self) -> list[Callable[[], Rows]]:
        u, v = self.whole()
        return MemoryParts(u, v, nodes=self.nodes, part_nodes=self.part_nodes).rows()

    def let_go(self) -> None:
        """Nothing: every part is read when it is asked for."""

    def whole(self) -> Pairs:
        return self._whole

    @cached_property
    def _whole(self) -> Pairs:
        u, v = map(np.concatenate, zip(*(read() for read in self.edges()), strict=True))
        return Pairs(u, v)

    def __getstate__(self) -> dict[str, object]:
        """Leave out edges that were read: a worker reads its own parts."""
        return {name: value for name, value in vars(self).items() if name != "_whole"}


def _read_part(file: PublishedFile, roster: Roster, nodes: range) -> Pairs:
    u, v = read_pairs(file.read(), file.path, roster)
    if u.size and not (u[0] in nodes and u[-1] in nodes):
        raise DataError(f"{file.path} lists edges of another part of the release")
    return Pairs(u, v)
