"""Parts of a released graph, cut differently and changed: read when they are needed.

What PSGraph+ draws depends on ranges of nodes of a fixed width. Engines, files and stores have
parts of their own width; nothing is copied to get from one to the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.runner import Job, Runner
from psgraph.graph.kind import UNDIRECTED, key_bits, unpack
from psgraph.graph.parts import EdgeParts, MemoryParts, Pairs, Read, ranges

__all__ = ["Changed", "Span", "cut", "store_parts"]


class Span:
    """Reads the edges whose first end is in a range, from the parts that overlap it."""

    def __init__(self, reads: Sequence[Read], first: int, last: int) -> None:
        self.reads, self.first, self.last = tuple(reads), first, last

    def __call__(self) -> Pairs:
        pieces = []
        for read in self.reads:
            edges = read()
            pieces.append(edges.between(*np.searchsorted(edges.u, [self.first, self.last])))
        return Pairs.joined(pieces)


class Changed:
    """Reads a part without some edges and with others; keys are those of the graph, sorted."""

    def __init__(self, read: Read, without: Integers, more: Integers, nodes: int) -> None:
        self.read, self.without, self.more, self.nodes = read, without, more, nodes

    def __call__(self) -> Pairs:
        bits = key_bits(self.nodes)
        keys = np.setdiff1d(UNDIRECTED.keys(*self.read(), bits), self.without, assume_unique=True)
        return Pairs(*unpack(np.sort(np.concatenate([keys, self.more])), bits))


def cut(reads: Sequence[Read], width: int, nodes: int, new_width: int) -> list[Read]:
    """Return functions that read ranges of `new_width` nodes from parts of `width` nodes."""
    if width == new_width:
        return list(reads)
    spans: list[Read] = []
    for first, last in ranges(nodes, new_width):
        overlapping = reads[first // width : -(-last // width)]
        spans.append(Span(overlapping, first, last))
    return spans


def store_parts(runner: Runner, job: Job, width: int, nodes: int) -> tuple[list[Read], int]:
    """Keep the edges that tasks return for ranges of `width` nodes; how they are read, and count.

    They are kept where the engine keeps parts of its own width.
    """
    kept: EdgeParts = runner.store(job, nodes=nodes)
    if isinstance(kept, MemoryParts):
        return cut(kept.edges(), kept.part_nodes, nodes, width), kept.edge_count
    return list(kept.edges()), kept.edge_count
