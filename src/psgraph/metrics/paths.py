"""Lengths of shortest paths, and the diameter.

All pairs of a small graph; in a large one, the pairs that start at a fixed number of nodes drawn
with a fixed seed. Both graphs of a comparison are over one roster and are searched from the same
nodes, so sampling hardly affects their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import adjacency
from psgraph.metrics.metric import Group, Limits, Metric, relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["PATHS", "SOURCES", "PathLengths", "length_distance", "path_lengths"]


#: Smaller graphs are searched from every node, larger ones from this many.
SOURCES = 512
#: Sources searched at once, one bit of a word each.
_WORD = 64
#: The share of connected pairs that the effective diameter covers.
_COVERED = 0.9


@dataclass(frozen=True, eq=False)
class PathLengths:
    """The shortest paths of a graph, counted by length.

    Attributes
    ----------
    counts
        Ordered pairs of different nodes at distance 0, 1, 2, …; the first is 0.
    pairs
        Number of ordered pairs examined, including those without a path.
    diameter
        The longest shortest path over all components; 0 without an edge. If only some nodes were
        searched, the longest found: at least the longest in `counts`, at most the true one.
    """

    counts: Integers
    pairs: int
    diameter: int

    @property
    def connected(self) -> float:
        """The share of pairs with a path between them; 1 if there are no pairs."""
        return int(self.counts.sum()) / self.pairs if self.pairs else 1.0

    @property
    def shares(self) -> Floats:
        """The distribution of lengths; all at 0 if no pair is connected."""
        total = int(self.counts.sum())
        return self.counts / total if total else np.ones(1)

    @property
    def effective_diameter(self) -> float:
        """The number of steps within which 90 % of the connected pairs reach each other.

        Interpolated as in SNAP, between the last length that too few pairs reach and the next.
        0 without an edge.
        """
        total = int(self.counts.sum())
        if not total:
            return 0.0
        reached = np.cumsum(self.counts) / total
        length = int(np.argmax(reached >= _COVERED))
        before = float(reached[length - 1])  # length 0 is never enough: no pair has it
        return length - 1 + (_COVERED - before) / (float(reached[length]) - before)


def path_lengths(graph: Graph, *, sources: int = SOURCES) -> PathLengths:
    """Lengths of the shortest paths from all nodes, or from a fixed sample of `sources` nodes.

    Breadth-first search from 64 nodes at a time. O(n + m) per source at worst; in a graph with
    short paths the 64 share most of the steps. For a large graph the diameter is refined: from the
    farthest node found to the one farthest from it, as long as that helps, which is exact on trees
    and close on real graphs.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> path = path_lengths(SyntheticGraph(Roster.range(4), [0, 1, 2], [1, 2, 3]))
    >>> path.counts, path.diameter, round(path.effective_diameter, 2)
    (array([0, 6, 4, 2]), 3, 2.4)
    """
    nodes = len(graph.roster)
    starts, neighbours = adjacency(graph.u, graph.v, nodes)
    chosen = np.arange(nodes, dtype=np.int32)
    if nodes > sources:
        draw = np.random.default_rng(0).choice(nodes, size=sources, replace=False, shuffle=False)
        chosen = np.sort(draw).astype(np.int32)
    counts = np.zeros(1, dtype=np.int64)
    farthest = 0
    for first in range(0, chosen.size, _WORD):
        found, last = _search(starts, neighbours, chosen[first : first + _WORD])
        if found.size > counts.size:
            farthest, counts = last, np.append(counts, np.zeros(found.size - counts.size, np.int64))
        counts[: found.size] += found
    diameter = counts.size - 1
    while chosen.size < nodes:
        found, farthest = _search(starts, neighbours, np.array([farthest], dtype=np.int32))
        if found.size - 1 <= diameter:
            break
        diameter = found.size - 1
    return PathLengths(counts, int(chosen.size) * max(nodes - 1, 0), diameter)


def length_distance(first: PathLengths, second: PathLengths) -> float:
    r"""Wasserstein distance of two distributions of path lengths, in steps.

    .. math:: \sum_{\ell} |F(\ell) - \hat{F}(\ell)|

    with *F* the share of connected pairs at most ℓ steps apart: the average number of steps by
    which the lengths of one have to move to become those of the other. A graph without edges counts
    as one where all lengths are 0.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> path = path_lengths(SyntheticGraph(Roster.range(3), [0, 1], [1, 2]))
    >>> ring = path_lengths(SyntheticGraph(Roster.range(3), [0, 1, 2], [1, 2, 0]))
    >>> round(length_distance(path, ring), 3)
    0.333
    """
    size = max(first.shares.size, second.shares.size)
    apart = np.zeros(size)
    apart[: first.shares.size] += first.shares
    apart[: second.shares.size] -= second.shares
    return float(np.abs(np.cumsum(apart)).sum())


def _difference(first: float, second: float) -> float:
    return abs(second - first)


@kernel
def _ones(word: np.uint64) -> np.int64:
    """The number of bits set in a 64-bit word: summed in pairs, fours, bytes, then all bytes."""
    pairs, fours = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    word = word - ((word >> np.uint64(1)) & pairs)
    word = (word & fours) + ((word >> np.uint64(2)) & fours)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _search(starts: Integers, neighbours: Positions, sources: Positions) -> tuple[Integers, int]:
    """Count pairs (source, node) at distance 0 (none), 1, 2, …; also returns a farthest node.

    Bit i of a word stands for the i-th of at most 64 sources. A node is visited again only when a
    source reaches it for the first time, at most once per source.
    """
    nodes = starts.size - 1
    seen = np.zeros(nodes, dtype=np.uint64)
    arrived = np.zeros(nodes, dtype=np.uint64)  # sources that arrived in the last step
    coming = np.zeros(nodes, dtype=np.uint64)  # sources that arrive in this step
    here, there = np.empty(nodes, dtype=np.int32), np.empty(nodes, dtype=np.int32)
    counts = np.zeros(16, dtype=np.int64)
    for index in range(sources.size):
        source = sources[index]
        here[index] = source
        seen[source] = arrived[source] = np.uint64(1) << np.uint64(index)
    front, length = sources.size, 0
    last = here[0]
    while front:
        last = here[0]
        length += 1
        found = 0
        for index in range(front):
            node = here[index]
            bits = arrived[node]
            arrived[node] = 0
            for edge in range(starts[node], starts[node + 1]):
                neighbour = neighbours[edge]
                new = bits & ~seen[neighbour]
                if new:
                    if not coming[neighbour]:
                        there[found] = neighbour
                        found += 1
                    coming[neighbour] |= new
        if length == counts.size:
            counts = np.append(counts, np.zeros(length, dtype=np.int64))
        for index in range(found):
            node = there[index]
            bits = coming[node]
            coming[node] = 0
            arrived[node] = bits
            seen[node] |= bits
            counts[length] += _ones(bits)
        here, there = there, here
        front = found
    return counts[:length].copy(), last


PATHS = Group(
    "Shortest paths",
    (
        Metric(
            "path_length_distance",
            unit="steps",
            better="lower",
            reading="Wasserstein distance between the distributions of shortest-path lengths: by "
            "how many steps they differ on average. Below ½ most pairs are as far apart as before.",
            compute=lambda pair: length_distance(*pair.both(path_lengths)),
            thresholds=Limits(0.5, 1.5),  # steps
        ),
        Metric(
            "connected_pairs_error",
            unit="%",
            better="lower",
            reading="Difference between the shares of node pairs that are connected by some path, "
            "in the original and in the release. It reveals a release that fell apart or grew "
            "together.",
            compute=lambda pair: _difference(*(each.connected for each in pair.both(path_lengths))),
        ),
        Metric(
            "diameter_error",
            unit="%",
            better="lower",
            reading="Relative error of the longest shortest path. One long tail of a few nodes "
            "decides it; the effective diameter is more robust.",
            compute=lambda pair: relative_error(
                *(each.diameter for each in pair.both(path_lengths))
            ),
        ),
        Metric(
            "effective_diameter_error",
            unit="%",
            better="lower",
            reading="Relative error of the number of steps within which nine of ten connected "
            "pairs reach each other.",
            compute=lambda pair: relative_error(
                *(each.effective_diameter for each in pair.both(path_lengths))
            ),
        ),
    ),
)
"""The metrics of shortest paths: all from one search of each graph."""
