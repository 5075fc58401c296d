"""A synthetic stream for examples: no download, no real person's data.

The messages of a fictional company, month by month. Its departments have different sizes; a few
people write to everyone, most to a handful. Every month some ties end, more start, and a few people
join. After two thirds of the months two departments merge: the number of edges jumps by more than
the number of nodes, which makes PSGraph search for communities again.
"""

from __future__ import annotations

import numpy as np

from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import unpack
from psgraph.streams.planted import PlantedGraph, pareto_weights

__all__ = ["demo_stream"]

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
#: Every month this share of ties ends, and this share (of those before) is new.
_ENDED, _NEW = 0.04, 0.05
_JOINED = 0.004
#: Edges that the merger adds, per node: the jump has to clear the threshold of one per node with
#: room for the noise on the edge counts.
_JUMP = 1.6
_FEWEST_NODES = 300


def demo_stream(*, nodes: int = 1_600, timestamps: int = 12, seed: int = 7) -> list[Snapshot]:
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
        stream.append(Snapshot(Roster.range(int(size)), *unpack(keys), time=day))
    return stream
