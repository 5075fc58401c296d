"""How far apart nodes are: the lengths of shortest paths and the diameter.

All pairs in a small graph; in a large one the pairs that begin at a fixed number of nodes, drawn
by a fixed seed. Both graphs of a comparison are over one roster and are looked at from the same
nodes, so that the luck of the draw hardly enters their difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph.engines.counting import adjacency
from psgraph.metrics.relative import relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["SOURCES", "PathLengths", "length_distance", "path_errors", "path_lengths"]

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32]

#: Graphs of up to so many nodes are measured from each of them, larger ones from so many.
SOURCES = 512
#: Sources searched from at once, one bit of a word each.
_WORD = 64
#: The share of connected pairs that the effective diameter has to cover.
_COVERED = 0.9


@dataclass(frozen=True, eq=False)
class PathLengths:
    """What was found out about the shortest paths of a graph.

    Attributes
    ----------
    counts
        Ordered pairs of different nodes at distance 0, 1, 2, …; the first is 0.
    pairs
        Ordered pairs looked at, those without a path between them included.
    diameter
        The longest shortest path, over all components; 0 without an edge. Where only some nodes
        were searched from, the longest that was met: no less than the longest in `counts`, and no
        more than the true one.
    """

    counts: Counts
    pairs: int
    diameter: int

    @property
    def connected(self) -> float:
        """The share of pairs with a path between them, 1 where there is no pair."""
        return int(self.counts.sum()) / self.pairs if self.pairs else 1.0

    @property
    def shares(self) -> Floats:
        """The distribution of the lengths; all at 0 where no pair is connected."""
        total = int(self.counts.sum())
        return self.counts / total if total else np.ones(1)

    @property
    def effective_diameter(self) -> float:
        """The number of steps that 90 % of the connected pairs need at most, interpolated.

        As in SNAP: between the last length that too few pairs reach and the next one. 0 without
        an edge.
        """
        total = int(self.counts.sum())
        if not total:
            return 0.0
        reached = np.cumsum(self.counts) / total
        length = int(np.argmax(reached >= _COVERED))
        before = float(reached[length - 1])  # length 0 is never enough: no pair is there
        return length - 1 + (_COVERED - before) / (float(reached[length]) - before)


def path_lengths(graph: Graph, *, sources: int = SOURCES) -> PathLengths:
    """Lengths of the shortest paths from all nodes, or from a fixed draw of `sources` of them.

    Breadth-first search from 64 nodes at a time. O(n + m) per source at the worst; in a graph with
    short paths the 64 share most of the steps. Of a large graph the diameter is followed further:
    from the farthest node found to the one farthest from there, for as long as that helps, which
    is exact on trees and close on real graphs.

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

    with *F* the share of connected pairs at most ℓ steps apart. It is how many steps the lengths
    of one have to be moved, on average, to become those of the other. A graph without edges counts
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


def path_errors(original: Graph, synthetic: Graph) -> dict[str, float]:
    """The four metrics of the group *paths*, by name.

    Examples
    --------
    >>> from psgraph.graph import Roster, Snapshot, SyntheticGraph
    >>> path = Snapshot(Roster.range(4), [0, 1, 2], [1, 2, 3])
    >>> path_errors(path, SyntheticGraph(path.roster, [0, 1], [1, 2]))["connected_pairs_error"]
    0.5
    """
    before, after = path_lengths(original), path_lengths(synthetic)
    return {
        "path_length_distance": length_distance(before, after),
        "connected_pairs_error": abs(after.connected - before.connected),
        "diameter_error": relative_error(before.diameter, after.diameter),
        "effective_diameter_error": relative_error(
            before.effective_diameter, after.effective_diameter
        ),
    }


@kernel
def _ones(word: np.uint64) -> np.int64:
    """How many bits of a 64-bit word are set: summed in pairs, fours, bytes, then all bytes."""
    pairs, fours = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    word = word - ((word >> np.uint64(1)) & pairs)
    word = (word & fours) + ((word >> np.uint64(2)) & fours)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _search(starts: Counts, neighbours: Positions, sources: Positions) -> tuple[Counts, int]:
    """Pairs (source, node) at distance 0 (none), 1, 2, …, and a node at the largest distance.

    Bit i of a word stands for the i-th source, of which there are at most 64. A node is looked at
    again only when one of them reaches it for the first time, which is once for each at the most.
    """
    nodes = starts.size - 1
    seen = np.zeros(nodes, dtype=np.uint64)
    arrived = np.zeros(nodes, dtype=np.uint64)  # the sources that got here in the last step
    coming = np.zeros(nodes, dtype=np.uint64)  # and in this one
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
            for place in range(starts[node], starts[node + 1]):
                neighbour = neighbours[place]
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
