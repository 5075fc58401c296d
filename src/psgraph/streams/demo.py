"""A made-up stream to try things on: no download, no one's data.

A firm's message graph, month by month. People sit in departments of different sizes; a few write
to everyone, most to a handful. Every month some ties end, more begin, and a few people join. About
two thirds through, two departments are merged and their people get to know each other at once:
a jump in the number of edges that is larger than the number of nodes, which is what makes PSGraph
look for communities again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot

__all__ = ["demo_stream"]

Keys = NDArray[np.int64]

#: Shares of the nodes. The merger joins the second and the third.
_DEPARTMENTS = (0.24, 0.19, 0.17, 0.14, 0.11, 0.09, 0.06)
_MERGED, _GIVEN_UP = 1, 2
_MEAN_DEGREE = 18.0
#: Share of new ties that stay inside the department.
_INSIDE = 0.75
#: Sociability weights are Pareto with this exponent, cut off at the largest. A tail this heavy
#: puts the hubs well above the noise of a small budget and makes the graph clearly disassortative:
#: near zero the relative error of the assortativity would say nothing.
_TAIL, _LARGEST = 1.0, 300.0
#: Every month this share of ties ends, and this share (of those before) begins.
_ENDED, _BEGUN = 0.04, 0.05
_JOINED = 0.004
#: Edges that the merger adds, per node: the jump has to clear the threshold of one per node with
#: room for the noise on the edge counts.
_JUMP = 1.6
_FEWEST_NODES = 300


def demo_stream(*, nodes: int = 1_600, timestamps: int = 12, seed: int = 7) -> list[Snapshot]:
    """A synthetic stream with communities, hubs, churn, growth and one abrupt change.

    Parameters
    ----------
    nodes
        Size of the roster at the first timestamp, at least 300. It grows by 0.4 % a month; ids are
        0, 1, … in the order of joining, and who has joined is public.
    timestamps
        Number of monthly snapshots. The change comes at index ``2 * timestamps // 3``, so that a
        stream of one has none.
    seed
        Same arguments, same stream.

    Examples
    --------
    >>> stream = demo_stream()
    >>> len(stream), stream[0], stream[-1].time
    (12, Snapshot(1600 nodes, edges private, time='2024-01-01'), '2024-12-01')
    """
    if nodes < _FEWEST_NODES:
        raise InvalidArgument(f"the demo stream needs at least {_FEWEST_NODES} nodes, not {nodes}")
    if timestamps < 1:
        raise InvalidArgument(f"the demo stream needs at least 1 timestamp, not {timestamps}")
    rng = np.random.default_rng(seed)
    sizes = np.floor(nodes * (1 + _JOINED) ** np.arange(timestamps)).astype(int)
    weights = np.minimum((1 - rng.random(sizes[-1])) ** (-1 / _TAIL), _LARGEST)
    departments = rng.choice(len(_DEPARTMENTS), size=sizes[-1], p=_DEPARTMENTS)

    months = np.datetime64("2024-01", "M") + np.arange(timestamps)
    stream: list[Snapshot] = []
    keys = np.empty(0, dtype=np.int64)
    for timestamp, size in enumerate(sizes):
        ties = _Ties(weights[:size], departments[:size], rng)
        if timestamp == 0:
            keys = ties.begin(keys, round(_MEAN_DEGREE * size / 2), inside=_INSIDE)
        else:
            begun = round(_BEGUN * keys.size)
            keys = keys[rng.random(keys.size) >= _ENDED]
            keys = ties.begin(keys, begun, inside=_INSIDE)
        if timestamp and timestamp == 2 * timestamps // 3:
            departments[departments == _GIVEN_UP] = _MERGED
            merged = np.where(departments[:size] == _MERGED, weights[:size], 0)
            ties = _Ties(merged, departments[:size], rng)
            keys = ties.begin(keys, round(_JUMP * size), inside=1.0)
        day = f"{months[timestamp]}-01"
        stream.append(Snapshot(Roster.range(int(size)), keys >> 32, keys & 0xFFFFFFFF, time=day))
    return stream


class _Ties:
    """Draws new ties: one end by weight, the other by weight in the same department or anywhere."""

    def __init__(
        self,
        weights: NDArray[np.float64],
        departments: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self._rng = rng
        # With the nodes in order of department, each of them is one stretch of the running sum.
        self._nodes = np.argsort(departments, kind="stable")
        self._sums = np.append(0.0, np.cumsum(weights[self._nodes]))
        self._starts = np.searchsorted(departments[self._nodes], departments)
        self._ends = np.searchsorted(departments[self._nodes], departments, side="right")

    def begin(self, keys: Keys, count: int, *, inside: float) -> Keys:
        """`keys` and exactly `count` new ones; a key is ``u << 32 | v`` with u < v."""
        wanted = keys.size + count
        while keys.size < wanted:
            batch = 2 * (wanted - keys.size)
            total = self._sums[-1]
            first = self._by_weight(np.zeros(batch), np.full(batch, total))
            own = self._rng.random(batch) < inside
            low = np.where(own, self._sums[self._starts[first]], 0.0)
            high = np.where(own, self._sums[self._ends[first]], total)
            second = self._by_weight(low, high)
            drawn = (np.minimum(first, second) << 32) | np.maximum(first, second)
            fresh = np.setdiff1d(drawn[first != second], keys)
            fresh = self._rng.permutation(fresh)[: wanted - keys.size]
            keys = np.concatenate([keys, fresh])
        return keys

    def _by_weight(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.int64]:
        places = low + self._rng.random(low.size) * (high - low)
        found = np.searchsorted(self._sums, places, side="right") - 1
        return self._nodes[np.minimum(found, self._nodes.size - 1)]
