"""Edge post-processing: bring a generated graph to a wanted number of edges (Algorithm 3, step 3).

Edges are added where degrees are too small, or removed where they are too large, of the kind that
is off (inside or outside a community). The remaining difference is added or removed uniformly, so
that the number of edges is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph.engines.adding import with_more
from psgraph.engines.counter_based import derived_key
from psgraph.engines.counting import add_split_degrees
from psgraph.engines.removing import with_fewer
from psgraph.engines.running import Job, Runner

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["repaired"]


ROUND = 8
"""At most one edge in eight is removed before degrees are counted again."""
ROUND_EDGES = 1 << 23
"""Nor are more removed than this: their keys and priorities are held in memory."""


def repaired(
    parts: EdgeParts,
    *,
    labels: Positions,
    inner_degrees: Floats,
    outer_degrees: Floats,
    edge_count: int,
    seed: int,
    runner: Runner,
) -> EdgeParts:
    """Exactly `edge_count` edges (at most n(n−1)/2), with degrees closer to those wanted."""
    missing = edge_count - parts.edge_count
    if missing == 0:
        return parts
    wanted: Floats = np.concatenate([inner_degrees, outer_degrees])
    if missing > 0:
        lack: Floats = wanted - _degrees(parts, labels, runner)
        return with_more(parts, missing, lack=lack, labels=labels, seed=seed, runner=runner)
    number = 0
    while parts.edge_count > edge_count:
        most = min(-(-parts.edge_count // ROUND), ROUND_EDGES)
        surplus = min(parts.edge_count - edge_count, most)
        parts = with_fewer(
            parts,
            surplus,
            degrees=_degrees(parts, labels, runner),
            wanted=wanted,
            labels=labels,
            key=derived_key(seed, number),
            runner=runner,
        )
        number += 1
    return parts


def _degrees(parts: EdgeParts, labels: Positions, runner: Runner) -> Integers:
    """Return the degrees inside, then those outside, of all nodes."""
    job = Job(_add_degrees, parts.edges(), (labels,))
    return np.concatenate(runner.sum(job, sizes=(labels.size, labels.size)))


def _add_degrees(
    read: Callable[[], Any], labels: Positions, inner: Integers, outer: Integers
) -> None:
    part = read()
    add_split_degrees(part.u, part.v, labels, inner, outer)
