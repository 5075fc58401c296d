"""From estimates to a graph of any size, in parts.

The graph has the degrees and blocks that it would have in memory. Nodes are cut into ranges of a
fixed width. Edges of the release before that are kept are found part by part; some stubs are joined
to close triangles; tables say how many of the others in one range are joined with which of another;
every range is then joined by itself. What
is drawn depends on the sealed seed and on the ranges only, not on the parts of an engine, nor on
threads, workers or repeated tasks. Post-processing of sealed values and of the release before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions, Words
from psgraph._runtime.resources import phase
from psgraph.engines import counting
from psgraph.engines.counter_based import derived_key
from psgraph.engines.released import ReleasedParts
from psgraph.engines.runner import Job, Runner
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.parts import EdgeParts, Read
from psgraph.methods.plus.closure import closed_parts, places_of
from psgraph.methods.plus.kept_parts import add_degrees, kept_parts
from psgraph.methods.plus.leftovers import completed
from psgraph.methods.plus.matching import match, send
from psgraph.methods.plus.mixing import CLASSES
from psgraph.methods.plus.realisation import Target, quota_matrix
from psgraph.methods.plus.spans import cut, store_parts
from psgraph.methods.plus.stub_tables import Layout, StubTables, stub_tables

__all__ = ["WIDTH", "Last", "More", "draw_parts", "layout_of"]

WIDTH = 1 << 17
"""Nodes of a range. A graph of a single one is drawn in memory."""
MOST_RANGES = 256

_TABLES, _MATCHING, _LEFTOVERS, _CLOSURE = range(4)  # purposes of a seed


def layout_of(nodes: int) -> Layout:
    """Return the ranges of a roster of that size.

    >>> layout_of(10**6).ranges, layout_of(10**9).ranges
    (8, 239)
    """
    width = WIDTH
    while -(-nodes // width) > MOST_RANGES:
        width *= 2
    return Layout(nodes, width)


@dataclass(frozen=True)
class Last:
    """The release before, and how much of it is kept.

    Attributes
    ----------
    graph
        The release.
    roster, numbers
        The nodes now, and a random number for each that stays with it.
    share
        Of its edges, as many are kept if possible.
    """

    graph: SyntheticGraph
    roster: Roster
    numbers: Words
    share: float


@dataclass(frozen=True)
class More:
    """Triangles that a graph should have beyond those by chance.

    Attributes
    ----------
    triangles
        How many.
    numbers
        A random number for every node that stays with it.
    """

    triangles: int
    numbers: Words


def draw_parts(
    target: Target, last: Last | None, seed: int, runner: Runner, more: More | None = None
) -> EdgeParts:
    """Draw a graph with the degrees and blocks of a target, keeping edges of the release before.

    Labels of the target are degree classes and hubs.

    Parameters
    ----------
    seed
        The source of all random choices.
    more
        Triangles to close. Without it there are those by chance and those of edges that are kept.
    """
    nodes = target.degrees.size
    layout, labels = layout_of(nodes), target.labels
    wanted = np.clip(target.degrees, 0, nodes - 1)
    quotas = quota_matrix(target)
    groups = min(CLASSES, quotas.shape[0])
    rest, left = wanted.astype(np.int32), quotas
    there: list[list[Read]] = []  # edges that are fixed, by range
    if last is not None and last.share > 0:
        with phase("keeping"):
            there = [
                kept_parts(
                    runner, last.graph, last.roster, last.numbers, last.share,
                    wanted, labels, quotas, groups, layout.width,
                )
            ]  # fmt: skip
            rest, left = _without(runner, there[0], rest, left, labels)
    if more is not None:
        with phase("closing"):
            key, places = derived_key(seed, _CLOSURE), places_of(more.numbers, layout)
            kept = there[0] if there else []
            closed = closed_parts(
                runner, rest, labels, left[:groups, :groups], places, kept, wanted,
                more.triangles, key,
            )  # fmt: skip
            if closed is not None:
                there.append(cut(*closed, nodes, layout.width))
                rest, left = _without(runner, there[-1], rest, left, labels)
    with phase("tables"):
        key = derived_key(seed, _TABLES)
        tables = stub_tables(rest, labels, left, groups, layout, key)
    with phase("matching"):
        key = derived_key(seed, _MATCHING)
        reads = _matched(runner, rest, labels, tables, layout, there, key)
    with phase("leftovers"):
        key = derived_key(seed, _LEFTOVERS)
        reads, count = completed(runner, reads, layout, wanted, target.edge_count, key)
    return ReleasedParts(
        cut(reads, layout.width, nodes, runner.part_nodes),
        nodes=nodes,
        part_nodes=runner.part_nodes,
        edge_count=count,
    )


def _without(
    runner: Runner, reads: Sequence[Read], rest: Positions, left: Integers, labels: Labels
) -> tuple[Positions, Integers]:
    """What edges leave of degrees and of quotas."""
    count = left.shape[0]
    cells = UNDIRECTED.cell_count(count, inside=True)
    degrees, blocks = runner.sum(Job(_add_counts, reads, (labels, count)), sizes=(rest.size, cells))
    left = left.copy()
    left[UNDIRECTED.pair_of(np.arange(cells), count, inside=True)] -= blocks
    return np.maximum(rest - degrees, 0).astype(np.int32), np.maximum(left, 0)


def _add_counts(
    read: Read, labels: Labels, count: int, degrees: Integers, blocks: Integers
) -> None:
    edges = read()
    add_degrees(lambda: edges, degrees)
    counting.add_block_counts(*edges, labels, labels, count, False, True, blocks)


def _matched(
    runner: Runner,
    rest: Positions,
    labels: Labels,
    tables: StubTables,
    layout: Layout,
    there: Sequence[Sequence[Read]],
    key: int,
) -> list[Read]:
    """Join the stubs of all ranges; how their edges are read."""
    shared = rest, labels, tables, layout, key
    sent: list[list[Positions]] = [[] for _ in range(layout.ranges)]
    for number, stubs in enumerate(runner.map(Job(send, range(layout.ranges), shared))):
        sizes = [tables.sent(number, to) for to in range(number)]
        for to, piece in enumerate(np.split(stubs, np.cumsum(sizes[:-1])) if sizes else []):
            sent[to].append(piece)
    items = [
        (number, sent[number], tuple(reads[number] for reads in there))
        for number in range(layout.ranges)
    ]
    del sent
    reads, _ = store_parts(runner, Job(match, items, shared), layout.width, layout.nodes)
    return reads
