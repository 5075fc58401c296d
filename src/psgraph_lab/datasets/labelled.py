"""Streams whose nodes have public labels, made here; and other labels for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED, unpack
from psgraph.streams.demo import demo_stream, pareto_weights

__all__ = ["made_stream", "planted_stream", "with_other_labels"]

Keys = NDArray[np.int64]

_NODES, _EDGES, _GROUPS = 20_000, 100_000, 30
_INSIDE, _BESIDE = 0.5, 0.2  # shares of edges inside a group, and with a group next to it
_CLOSED = 0.3  # share of edges that close a wedge
_BATCHES = 20
_SETTLING = 40  # timestamps before the first one: until the number of triangles is steady
_CHURN = 0.05  # of the edges, from one timestamp to the next
_TAIL, _LARGEST = 1.6, 500.0
_SPREAD = 0.6  # of the logarithm of a group's size


def planted_stream(
    *, nodes: int = _NODES, edges: int = _EDGES, timestamps: int = 10, seed: int = 3
) -> list[Snapshot]:
    """Return a simulated stream with planted groups, hubs and triangles, labelled by group.

    Groups have log-normal sizes and are arranged on a ring: half of the edges are inside a group, a
    fifth between neighbours on the ring, the rest anywhere. 30 % of all edges close a wedge, and
    5 % are replaced at every timestamp.

    Examples
    --------
    >>> stream = planted_stream(nodes=600, edges=2_000, timestamps=2)
    >>> len(stream), stream[0].roster.label_columns
    (2, ('group',))
    """
    rng = np.random.default_rng(seed)
    weights = pareto_weights(nodes, rng, exponent=_TAIL, largest=_LARGEST)
    shares = np.exp(_SPREAD * rng.standard_normal(_GROUPS))
    groups = rng.choice(_GROUPS, size=nodes, p=shares / shares.sum())
    roster = Roster(np.arange(nodes), labels={"group": [f"g{group:02d}" for group in groups]})
    draw = _Draw(weights, groups, rng)
    keys = draw.more(np.empty(0, dtype=np.int64), edges)
    stream = []
    for timestamp in range(-_SETTLING, timestamps):
        if timestamp >= 0:
            stream.append(Snapshot(roster, *unpack(keys), time=str(timestamp)))
        keys = draw.more(keys[rng.random(keys.size) >= _CHURN], edges)
    return stream


class _Draw:
    """Draws edges by weight, inside groups, beside them and across; and closes wedges."""

    def __init__(
        self, weights: NDArray[np.float64], groups: Keys, rng: np.random.Generator
    ) -> None:
        self._rng, self._groups = rng, groups
        self._order = np.argsort(groups, kind="stable")
        self._sums = np.append(0.0, np.cumsum(weights[self._order]))
        self._starts = np.searchsorted(groups[self._order], np.arange(_GROUPS + 1))

    def more(self, keys: Keys, wanted: int) -> Keys:
        """Return sorted keys of `wanted` edges, with those that are given among them."""
        keys = np.unique(keys)
        while keys.size < wanted:
            # In batches, so that the first graph has as many closed wedges as later ones.
            missing = min(wanted - keys.size, max(wanted // _BATCHES, 1))
            count = max(missing, 100)
            closed = round(_CLOSED * count) if keys.size else 0
            new = np.concatenate([self._drawn(count - closed), self._wedges(keys, closed)])
            new = np.setdiff1d(new, keys)
            keys = np.union1d(keys, self._rng.permutation(new)[:missing])
        return keys

    def _drawn(self, count: int) -> Keys:
        first = self._find(self._rng.random(count) * self._sums[-1])
        kind = self._rng.random(count)
        step = np.where(self._rng.random(count) < 0.5, 1, _GROUPS - 1)
        group = self._groups[first]
        group = np.where(kind < _INSIDE, group, (group + step) % _GROUPS)
        near = kind < _INSIDE + _BESIDE
        low = np.where(near, self._sums[self._starts[group]], 0.0)
        high = np.where(near, self._sums[self._starts[group + 1]], self._sums[-1])
        second = self._find(low + self._rng.random(count) * (high - low))
        return _keys(first, second)

    def _wedges(self, keys: Keys, count: int) -> Keys:
        """Join two random neighbours of a random end of an edge."""
        if not count:
            return keys[:0]
        u, v = unpack(keys)
        ends, others = np.concatenate([u, v]), np.concatenate([v, u])
        order = np.argsort(ends, kind="stable")
        ends, others = ends[order], others[order]
        middle = ends[self._rng.integers(0, ends.size, count)]
        begin, end = np.searchsorted(ends, middle), np.searchsorted(ends, middle, side="right")
        one, other = (
            others[begin + (self._rng.random(count) * (end - begin)).astype(np.int64)]
            for _ in range(2)
        )
        return _keys(one, other)

    def _find(self, points: NDArray[np.float64]) -> Keys:
        found = np.searchsorted(self._sums, points, side="right") - 1
        return self._order[np.minimum(found, self._order.size - 1)]


def _keys(first: NDArray[Any], second: NDArray[Any]) -> Keys:
    apart = first != second
    return UNDIRECTED.keys(first[apart], second[apart])


def made_stream(name: str) -> list[Snapshot]:
    """Make one of the streams that need no files, by the name of its data set."""
    if name == "planted":
        return planted_stream()
    return demo_stream(labels=name == "demo-departments")


def with_other_labels(stream: list[Snapshot], *, permuted: bool, seed: int = 0) -> list[Snapshot]:
    """Return the same edges without labels, or with labels that say nothing.

    Permuted labels move with the ids: a node keeps its wrong label from one roster to the next.
    """
    everyone = np.unique(np.concatenate([snapshot.roster.ids for snapshot in stream]))
    order = np.random.default_rng(seed).permutation(everyone.size)
    changed, last = [], None
    for snapshot in stream:
        roster = snapshot.roster
        if last is None or last[0] is not roster:
            labels = None
            if permuted and roster.labels is not None:
                rank = order[np.searchsorted(everyone, roster.ids)]
                labels = roster.labels.take(np.argsort(np.argsort(rank)))
            last = roster, Roster(roster.ids, labels=labels)
        changed.append(Snapshot(last[1], snapshot.u, snapshot.v, time=snapshot.time))
    return changed
