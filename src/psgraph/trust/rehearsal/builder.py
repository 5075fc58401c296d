"""Give a copied stream its number of edges and as many closed triangles as its template.

Edges are added by joining two neighbours of a node, which closes triangles, or at random inside a
community, which doesn't; they are removed where there are the fewest triangles, or anywhere.
Whichever brings the transitivity closer to the template's is done next. New edges go to the nodes
that lack most of their share, so the shape of the degree distribution stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED, pack, unpack
from psgraph.trust.rehearsal.template import Template, edge_times_of_nodes, transitivity_at

__all__ = ["StreamBuilder", "adjust"]

_STEPS = 8  # in which the number of edges is reached
_ROUNDS = 16  # of exchanging edges for others, at most
_FIRST_SHARE = 0.08  # of the edges, exchanged in the first round; halved when it was too much
_CLOSE_ENOUGH = 0.03  # relative error of the transitivity
_MORE_ROUNDS = 4  # of adding what is missing at the end
_MOST_COUNTED = 200_000  # edges summed over timestamps; above, only some timestamps are counted
_FEW_TIMESTAMPS = 3
_TRIES = 4  # draws for each edge that is added, since some pairs are edges already
_SOME = 0.02  # of its share, that a node which lacks nothing is drawn by


def adjust(
    stream: Template,
    *,
    like: Template,
    edges: int,
    origin: Integers,
    labels: Integers,
    inside: float,
    rng: np.random.Generator,
) -> Template:
    """Return the stream with about `edges` edges per snapshot and the transitivity of `like`.

    Parameters
    ----------
    origin
        The node of `like` that each node is a copy of; their degrees stay proportional.
    labels
        The community of every node.
    inside
        The share of the edges of `like` that stay inside a community.
    """
    counted = _counted(stream, edges)
    wanted, goal = edges * stream.timestamps, transitivity_at(like, counted)
    most = (stream.nodes - 1) * stream.timestamps
    degrees = edge_times_of_nodes(like)[origin]
    share = np.minimum(2 * wanted * degrees / max(degrees.sum(), 1), most)
    builder = StreamBuilder(stream, share, inside, labels, rng)
    for step in range(_STEPS, 0, -1):
        missing = wanted - builder.stream.edge_times
        too_open = transitivity_at(builder.stream, counted) < goal
        if missing > 0:
            builder.add(missing // step, closing=too_open)
        else:
            builder.remove(-missing // step, open_first=too_open)
    _exchange(builder, goal, counted)
    builder.remove(builder.stream.edge_times - wanted, open_first=False)
    for _ in range(_MORE_ROUNDS):  # where communities were too small for their share
        builder.add(wanted - builder.stream.edge_times, closing=False, anywhere=True)
    return builder.stream


def _exchange(builder: StreamBuilder, goal: float, counted: Sequence[int]) -> None:
    """Exchange edges until the transitivity is about `goal`, or as close as it gets."""
    share, before = _FIRST_SHARE, None
    for _ in range(_ROUNDS):
        now = transitivity_at(builder.stream, counted)
        if abs(now - goal) <= _CLOSE_ENOUGH * goal:
            return
        too_open = now < goal
        if before is not None and too_open != before:
            share /= 2
        before = too_open
        amount = int(share * builder.stream.edge_times)
        had = builder.stream.edge_times
        builder.add(amount, closing=too_open)
        builder.remove(
            builder.stream.edge_times - had, open_first=too_open, closed_only=not too_open
        )


def _counted(stream: Template, edges: int) -> Sequence[int]:
    """The timestamps at which triangles are counted: all, or a few of a very large stream."""
    if edges * stream.timestamps <= _MOST_COUNTED:
        return range(stream.timestamps)
    spaced = np.linspace(0, stream.timestamps - 1, min(_FEW_TIMESTAMPS, stream.timestamps))
    return sorted({round(each) for each in spaced})


@dataclass
class StreamBuilder:
    """A stream that edges are added to and removed from. Amounts count edges at every timestamp.

    `share` is what each node should have of them, `inside` the share of the edges that stay
    inside a community.
    """

    stream: Template
    share: NDArray[np.float64]
    inside: float
    labels: Integers
    rng: np.random.Generator

    def remove(self, amount: int, *, open_first: bool, closed_only: bool = False) -> None:
        """Remove edges: those in the fewest triangles, those in a triangle, or any."""
        if amount <= 0:
            return
        stream = self.stream
        order = self.rng.permutation(stream.u.size)
        if open_first or closed_only:
            triangles = self._triangles()
            if open_first:
                rank = triangles + (triangles.max(initial=0) + 1) * self._lacking_ends()
                order = order[np.argsort(rank[order], kind="stable")]
            else:
                order = order[triangles[order] > 0]
        lengths = stream.present[order].sum(axis=1)
        kept = np.ones(stream.u.size, dtype=np.bool_)
        kept[order[np.cumsum(lengths) <= amount]] = False
        self.stream = replace(
            stream, u=stream.u[kept], v=stream.v[kept], present=stream.present[kept]
        )

    def _triangles(self) -> Integers:
        """The triangles of each edge at one of its timestamps, chosen at random."""
        stream = self.stream
        when = self._one_timestamp(np.arange(stream.u.size))
        found = np.zeros(stream.u.size, dtype=np.int64)
        for timestamp in range(stream.timestamps):
            now = when == timestamp
            starts, neighbours, _ = _lists(*stream.edges_at(timestamp), stream.nodes)
            found[now] = _edge_triangles(starts, neighbours, stream.u[now], stream.v[now])
        return found

    def _one_timestamp(self, edges: Integers) -> Integers:
        """For each edge, one of the timestamps it is present at."""
        present = self.stream.present[edges]
        return (self.rng.random(present.shape, dtype=np.float32) * present).argmax(axis=1)

    def _lacking_ends(self) -> Integers:
        """How many ends of each edge have no more than their share: such edges go last."""
        lacks = (edge_times_of_nodes(self.stream) <= self.share).astype(np.int64)
        return lacks[self.stream.u] + lacks[self.stream.v]

    def add(self, amount: int, *, closing: bool, anywhere: bool = False) -> None:
        """Add edges, each at the timestamps of an existing one of the same node.

        As many are inside communities as in the template, unless they may be `anywhere`.
        """
        stream = self.stream
        if amount <= 0 or not stream.u.size:
            return
        lacking = np.maximum(self.share - edge_times_of_nodes(stream), 0)
        ends = np.concatenate([stream.u, stream.v])
        order = np.argsort(ends, kind="stable")
        degrees = np.bincount(ends, minlength=stream.nodes)
        lacking = np.where(degrees > 0, lacking + _SOME * self.share, 0.0)
        draws = int(_TRIES * amount * stream.u.size / stream.edge_times) + 16
        one = _weighted(lacking, draws, self.rng)
        begin = np.cumsum(degrees)[one] - degrees[one]
        step = (self.rng.random(draws) * degrees[one]).astype(np.int64)
        pattern = order[begin + step] % stream.u.size
        if closing:
            other = self._second_neighbours(one, pattern)
        else:
            other = self._in_community(one, lacking)
        self._append(one, other, pattern, amount, anywhere=anywhere)

    def _second_neighbours(self, one: Integers, first: Integers) -> Integers:
        """Follow the edge `first` from `one`, then a random edge that is present with it."""
        stream = self.stream
        middle = stream.u[first] + stream.v[first] - one
        when = self._one_timestamp(first)
        other = np.empty_like(one)
        for timestamp in range(stream.timestamps):
            now = when == timestamp
            starts, neighbours, degrees = _lists(*stream.edges_at(timestamp), stream.nodes)
            centre = middle[now]
            step = (self.rng.random(centre.size) * degrees[centre]).astype(np.int64)
            other[now] = neighbours[starts[centre] + step]
        return other

    def _in_community(self, one: Integers, lacking: NDArray[np.float64]) -> Integers:
        """Draw nodes that lack edges, as often from the same community as edges stay inside it."""
        order = np.argsort(self.labels, kind="stable")
        sums = np.append(0.0, np.cumsum(lacking[order]))
        sorted_labels = self.labels[order]
        own = self.labels[one]
        stay = self.rng.random(one.size) < self.inside
        low = np.where(stay, sums[np.searchsorted(sorted_labels, own)], 0.0)
        high = np.where(stay, sums[np.searchsorted(sorted_labels, own, side="right")], sums[-1])
        point = low + self.rng.random(one.size) * (high - low)
        found = np.searchsorted(sums, point, side="right") - 1
        return order[np.minimum(found, order.size - 1)]

    def _append(
        self, one: Integers, other: Integers, pattern: Integers, amount: int, *, anywhere: bool
    ) -> None:
        """Add pairs up to an amount at those timestamps of given edges at which they are absent."""
        stream = self.stream
        keys = UNDIRECTED.keys(one, other)
        distinct, where = np.unique(keys, return_index=True)
        there, row = _rows_of(distinct, pack(stream.u, stream.v))
        rows = stream.present[pattern[where]]
        rows &= ~(stream.present[row] & there[:, None])
        new = rows.any(axis=1) & (one[where] != other[where])
        chosen = self.rng.permutation(np.flatnonzero(new))
        lengths = rows[chosen].sum(axis=1)
        if anywhere:
            enough = np.cumsum(lengths) <= amount
        else:
            own = self.labels[one[where[chosen]]] == self.labels[other[where[chosen]]]
            enough = np.where(
                own,
                np.cumsum(lengths * own) <= self.inside * amount,
                np.cumsum(lengths * ~own) <= (1 - self.inside) * amount,
            )
        chosen = chosen[enough]
        again, first = chosen[there[chosen]], chosen[~there[chosen]]
        u, v = (ends.astype(np.int64) for ends in unpack(distinct[first]))
        present = stream.present.copy()
        present[row[again]] |= rows[again]
        self.stream = replace(
            stream,
            u=np.concatenate([stream.u, u]),
            v=np.concatenate([stream.v, v]),
            present=np.concatenate([present, rows[first]]),
        )


def _rows_of(keys: Integers, known: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Whether keys are known, and where; 0 for those that are not."""
    order = np.argsort(known)
    index = np.minimum(np.searchsorted(known, keys, sorter=order), known.size - 1)
    row = order[index]
    there = known[row] == keys
    return there, np.where(there, row, 0)


def _weighted(weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> Integers:
    """Draw indices in proportion to weights."""
    sums = np.cumsum(weights)
    return np.searchsorted(sums, rng.random(count) * sums[-1], side="right").astype(np.int64)


def _lists(u: NDArray[Any], v: NDArray[Any], nodes: int) -> tuple[Integers, Integers, Integers]:
    """Neighbours in ascending order: where the list of each node begins, all lists, degrees."""
    tails = np.concatenate([u, v])
    _, neighbours = unpack(np.sort(pack(tails, np.concatenate([v, u]))))
    degrees = np.bincount(tails, minlength=nodes)
    return np.append(0, np.cumsum(degrees)), neighbours.astype(np.int64), degrees


@kernel
def _edge_triangles(starts: Integers, neighbours: Integers, u: Integers, v: Integers) -> Integers:
    """The number of triangles that each edge is part of. O(m^1.5 log m)."""
    found = np.zeros(u.size, dtype=np.int64)
    for edge in range(u.size):
        small, large = u[edge], v[edge]
        if starts[small + 1] - starts[small] > starts[large + 1] - starts[large]:
            small, large = large, small
        for index in range(starts[small], starts[small + 1]):
            wanted = neighbours[index]
            low, high = starts[large], starts[large + 1]
            while low < high:
                centre = (low + high) // 2
                if neighbours[centre] < wanted:
                    low = centre + 1
                else:
                    high = centre
            if low < starts[large + 1] and neighbours[low] == wanted:
                found[edge] += 1
    return found
