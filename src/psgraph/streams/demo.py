"""A synthetic stream for examples: no download, no real person's data.

The messages of a fictional company, month by month. Its departments have different sizes; a few
people write to everyone, most to a handful. Every month some ties end, more start, and a few people
join. After two thirds of the months two departments merge: the number of edges jumps by more than
the number of nodes, which makes PSGraph search for communities again.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.kernels import sort_keys
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED, first_key, unpack

__all__ = [
    "Keys",
    "PlantedGraph",
    "demo_stream",
    "pareto_weights",
]

Keys = NDArray[np.int64]

_CHUNK = 1 << 23  # draws at a time


def pareto_weights(
    nodes: int, rng: np.random.Generator, *, exponent: float, largest: float
) -> NDArray[np.float64]:
    """Draw node weights from a Pareto distribution, capped at `largest`."""
    weights: NDArray[np.float64] = (1 - rng.random(nodes)) ** (-1 / exponent)
    return np.minimum(weights, largest)


class PlantedGraph:
    """Node weights and communities to draw edges from.

    Parameters
    ----------
    weights
        How likely each node is to be drawn, up to a common factor.
    communities
        The community of each node, numbered from 0.
    rng
        Where the randomness comes from.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> graph = PlantedGraph(np.ones(6), np.array([0, 0, 0, 1, 1, 1]), rng)
    >>> from psgraph.graph.kind import unpack
    >>> u, v = unpack(graph.extend(np.empty(0, dtype=np.int64), 4, inside=1.0))
    >>> u.size, bool((u < v).all()), bool(((u < 3) == (v < 3)).all())
    (4, True, True)
    """

    def __init__(
        self,
        weights: NDArray[np.float64],
        communities: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self._rng = rng
        # With the nodes sorted by community, each community is one stretch of the running sum.
        self._nodes = np.argsort(communities, kind="stable")
        self._sums = np.append(0.0, np.cumsum(weights[self._nodes]))
        self._communities = communities[self._nodes]
        count = int(communities.max(initial=-1)) + 1
        self._starts = np.searchsorted(self._communities, np.arange(count + 1))

    def extend(self, keys: Keys, count: int, *, inside: float, surplus: float = 2.0) -> Keys:
        """Return `keys` followed by exactly `count` new ones, in random order.

        Parameters
        ----------
        keys
            Keys of edges, in any order.
        count
            How many edges to add.
        inside
            Share of the new edges that stay inside a community.
        surplus
            How many edges to draw for each that is missing, since some will be repeats.
        """
        taken = [self._sorted_distinct(keys.copy())]
        pieces, missing = [keys], count
        while missing > 0:
            drawn = self.draw(max(round(surplus * missing), missing), inside)
            new = reduce(_without, taken, self._sorted_distinct(drawn))
            pieces.append(self._rng.permutation(new)[:missing])
            taken.append(self._sorted_distinct(pieces[-1].copy()))
            missing -= pieces[-1].size
        return np.concatenate(pieces)

    def _sorted_distinct(self, keys: Keys) -> Keys:
        keys = sort_keys(keys, largest=first_key(self._nodes.size))
        return keys[np.append(True, keys[1:] != keys[:-1])] if keys.size else keys

    def draw(self, count: int, inside: float, *, ordered: bool = False) -> Keys:
        """Draw edges without self-loops; some are repeats.

        `ordered` draws first ends in ascending order: quicker for millions of nodes.
        """
        chunks = (min(_CHUNK, count - start) for start in range(0, count, _CHUNK))
        return np.concatenate([self._draw_chunk(chunk, inside, ordered) for chunk in chunks])

    def _draw_chunk(self, count: int, inside: float, ordered: bool) -> Keys:
        total = self._sums[-1]
        points = self._rng.random(count)
        if ordered:
            points.sort()
        first = self._find(points * total)
        community = self._communities[first]
        own = self._rng.random(count) < inside
        low = np.where(own, self._sums[self._starts[community]], 0.0)
        high = np.where(own, self._sums[self._starts[community + 1]], total)
        second = self._find(low + self._rng.random(count) * (high - low))
        apart = first != second
        return UNDIRECTED.keys(self._nodes[first[apart]], self._nodes[second[apart]])

    def _find(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index (in order of community) of the node at each point of the sum."""
        found = np.searchsorted(self._sums, points, side="right") - 1
        return np.minimum(found, self._nodes.size - 1)


def _without(keys: Keys, taken: Keys) -> Keys:
    """Return the sorted `keys` that are not among the sorted `taken`."""
    if not taken.size:
        return keys
    index = np.minimum(np.searchsorted(taken, keys), taken.size - 1)
    return keys[taken[index] != keys]


#: Shares of the nodes. The merger joins the second and the third.
_DEPARTMENTS = (0.24, 0.19, 0.17, 0.14, 0.11, 0.09, 0.06)
_NAMES = ("Sales", "Engineering", "Support", "Operations", "Finance", "Research", "Legal")
_MERGED, _GIVEN_UP = 1, 2
_MEAN_DEGREE = 18.0
#: Share of new ties that stay inside the department.
_INSIDE = 0.75
#: Sociability weights are Pareto with this exponent, cut off at the largest. A tail this heavy
#: puts the hubs well above the noise of a small budget and makes the graph clearly disassortative:
#: near zero the relative error of the assortativity would say nothing.
_TAIL, _LARGEST = 1.0, 300.0
#: Every month this share of ties ends, and this share (of those before) is new.
_ENDED, _NEW = 0.04, 0.05
_JOINED = 0.004
#: Edges that the merger adds, per node: the jump has to clear the threshold of one per node with
#: room for the noise on the edge counts.
_JUMP = 1.6
_FEWEST_NODES = 300


def demo_stream(
    *, nodes: int = 1_600, timestamps: int = 12, seed: int = 7, labels: bool = False
) -> list[Snapshot]:
    """Return a synthetic stream with communities, hubs, churn, growth and one abrupt change.

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
    labels
        Whether the roster says which department everyone is in, as public labels. The edges are
        the same. After the merger, the people of one department have the label of the other.

    Examples
    --------
    >>> stream = demo_stream()
    >>> len(stream), stream[0], stream[-1].time
    (12, Snapshot(1600 nodes, edges private, time='2024-01-01'), '2024-12-01')
    >>> demo_stream(timestamps=1, labels=True)[0].roster.labels
    NodeLabels(department: 7 values)
    """
    if nodes < _FEWEST_NODES:
        raise InvalidArgument(f"the demo stream needs at least {_FEWEST_NODES} nodes, not {nodes}")
    if timestamps < 1:
        raise InvalidArgument(f"the demo stream needs at least 1 timestamp, not {timestamps}")
    rng = np.random.default_rng(seed)
    sizes = np.floor(nodes * (1 + _JOINED) ** np.arange(timestamps)).astype(int)
    weights = pareto_weights(sizes[-1], rng, exponent=_TAIL, largest=_LARGEST)
    departments = rng.choice(len(_DEPARTMENTS), size=sizes[-1], p=_DEPARTMENTS)

    months = np.datetime64("2024-01", "M") + np.arange(timestamps)
    stream: list[Snapshot] = []
    keys = np.empty(0, dtype=np.int64)
    for timestamp, size in enumerate(sizes):
        graph = PlantedGraph(weights[:size], departments[:size], rng)
        if timestamp == 0:
            keys = graph.extend(keys, round(_MEAN_DEGREE * size / 2), inside=_INSIDE)
        else:
            new = round(_NEW * keys.size)
            keys = keys[rng.random(keys.size) >= _ENDED]
            keys = graph.extend(keys, new, inside=_INSIDE)
        if timestamp and timestamp == 2 * timestamps // 3:
            departments[departments == _GIVEN_UP] = _MERGED
            merged = np.where(departments[:size] == _MERGED, weights[:size], 0)
            graph = PlantedGraph(merged, departments[:size], rng)
            keys = graph.extend(keys, round(_JUMP * size), inside=1.0)
        day = f"{months[timestamp]}-01"
        names = np.array(_NAMES)[departments[:size]]
        roster = Roster(np.arange(size), labels={"department": names} if labels else None)
        stream.append(Snapshot(roster, *unpack(keys), time=day))
    return stream
