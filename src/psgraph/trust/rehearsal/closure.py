"""Give a copied stream its number of edges and as many closed triangles as its template.

Edges are added by joining two neighbours of a node, which closes triangles, or at random inside a
community, which doesn't; they are removed where there are the fewest triangles, or anywhere.
Whichever brings the transitivity closer to the template's is done next. New edges go to the nodes
that lack most of their share, so the shape of the degree distribution stays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.trust.rehearsal.builder import StreamBuilder
from psgraph.trust.rehearsal.template import Template, edge_times_of_nodes, transitivity_at

__all__ = ["adjust"]

_STEPS = 8  # in which the number of edges is reached
_ROUNDS = 16  # of exchanging edges for others, at most
_FIRST_SHARE = 0.08  # of the edges, exchanged in the first round; halved when it was too much
_CLOSE_ENOUGH = 0.03  # relative error of the transitivity
_MORE_ROUNDS = 4  # of adding what is missing at the end
_MOST_COUNTED = 200_000  # edges summed over timestamps; above, only some timestamps are counted
_FEW_TIMESTAMPS = 3


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
