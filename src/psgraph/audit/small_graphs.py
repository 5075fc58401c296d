"""All graphs on a few nodes, and the pairs of them that differ in one edge."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from psgraph.graph import Roster, Snapshot


def all_graphs(nodes: int) -> list[Snapshot]:
    """Every graph on 0, …, nodes − 1; graph number g holds pair i when bit i of g is set."""
    roster = Roster.range(nodes)
    places = list(combinations(range(nodes), 2))
    graphs = []
    for number in range(1 << len(places)):
        chosen = [pair for bit, pair in enumerate(places) if number >> bit & 1]
        ends = np.array(chosen, dtype=np.int64).reshape(-1, 2)
        graphs.append(Snapshot(roster, ends[:, 0], ends[:, 1]))
    return graphs


def neighbouring_pairs(nodes: int) -> Iterator[tuple[int, int]]:
    """Numbers of all pairs of graphs that differ in one edge."""
    places = nodes * (nodes - 1) // 2
    for number in range(1 << places):
        for bit in range(places):
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
