"""All graphs on a few nodes, and the pairs of them that differ in one edge."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from psgraph.graph import UNDIRECTED, Kind, Roster, Snapshot


def all_graphs(nodes: int, kind: Kind = UNDIRECTED) -> list[Snapshot]:
    """Every graph on 0, …, nodes − 1; graph number g holds pair i when bit i of g is set."""
    roster = Roster.range(nodes)
    u, v = kind.all_pairs(nodes)
    graphs = []
    for number in range(1 << u.size):
        chosen = (number >> np.arange(u.size) & 1).astype(bool)
        graphs.append(Snapshot(roster, u[chosen], v[chosen], kind=kind))
    return graphs


def neighbouring_pairs(nodes: int, kind: Kind = UNDIRECTED) -> Iterator[tuple[int, int]]:
    """Numbers of all pairs of graphs that differ in one edge."""
    pairs = kind.pairs(nodes)
    for number in range(1 << pairs):
        for bit in range(pairs):
            if not number >> bit & 1:
                yield number, number | 1 << bit


def labellings(nodes: int) -> Iterator[list[int]]:
    """Every way to put nodes into communities 0, …, H − 1, up to the names of these."""

    def extend(prefix: list[int]) -> Iterator[list[int]]:
        if len(prefix) == nodes:
            yield prefix
            return
        for label in range(max(prefix, default=-1) + 2):
            yield from extend([*prefix, label])

    yield from extend([])
