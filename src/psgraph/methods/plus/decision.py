"""Whether the communities that a search found are worth using.

Fitted labels have edges inside them even in a graph without communities. So the noisy edges inside
are compared with what the same pass finds in synthetic graphs that have the same degrees and
mixing and no communities: a parametric bootstrap, which costs no ε.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph.engines.base import Edges
from psgraph.engines.counting import adjacency
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus.communities import Communities, Search, starting_plan
from psgraph.methods.plus.labelling import Plan, rehearse
from psgraph.methods.plus.tracking import laplace_variance

__all__ = ["Bar", "bar_without_communities", "decide", "noisy_modularity"]


SURE, PROMISING = 3.0, 2.0  # standard deviations above graphs without communities
LEAST_SPREAD = 0.003
MARGIN = 1.05  # real graphs without communities have a little more structure than synthetic ones


@dataclass(frozen=True)
class Bar:
    """The modularity that a pass finds without communities, and how much it varies."""

    mean: float
    spread: float

    def at(self, deviations: float) -> float:
        """Return the modularity that is `deviations` standard deviations above the mean."""
        return MARGIN * self.mean + deviations * self.spread


def decide(
    search: Search,
    found: Communities,
    noisy_blocks: Integers,
    bar: Bar,
    *,
    degrees: Integers,
    blocks: Fraction,
    window: int,
) -> Search:
    """Use what was found, try once more, or give up for some windows.

    Parameters
    ----------
    found
        Labels and evidence after the passes, with the edges between communities as known before.
    noisy_blocks, blocks
        Edges between communities, and the ε they were measured with.
    degrees
        The wanted degrees.
    window
        The number of the current window.
    """
    level = noisy_modularity(noisy_blocks, found, degrees)
    first = search.found is None
    if level < bar.at(PROMISING if first else SURE):
        return search.failed(window)
    edges = _edges(degrees)
    noise = laplace_variance(float(1 / blocks)) / edges**2
    scale = np.maximum(found.blocks.level, 0.003) ** 2
    track = found.blocks.observe(noisy_blocks / edges, noise, scale)
    found = Communities(found.roster, found.labels, found.evidence, track)
    return Search(found, used=level >= bar.at(SURE), again=first)


def noisy_modularity(noisy_blocks: Integers, found: Communities, degrees: Integers) -> float:
    """Return the modularity of communities whose edges were measured."""
    a, b = UNDIRECTED.pair_of(np.arange(noisy_blocks.size), found.count, inside=True)
    edges = _edges(degrees)
    return int(noisy_blocks[a == b].sum()) / edges - _by_chance(found.labels, degrees, edges)


def bar_without_communities(
    graphs: Iterable[Edges],
    order: Integers,
    degrees: Integers,
    *,
    labels: int,
    growth: Fraction,
    blocks: Fraction,
    rng: np.random.Generator,
) -> Bar:
    """Run a first pass on graphs without communities and return what it finds there.

    The spread includes the noise on the measured blocks.
    """
    plan = starting_plan(order, degrees, labels)
    found = np.array([_rehearsed(plan, graph, float(growth), rng) for graph in graphs])
    noise = math.sqrt(labels * laplace_variance(float(1 / blocks))) / _edges(degrees)
    spread = math.hypot(max(float(found.std()), LEAST_SPREAD), noise)
    return Bar(float(found.mean()), spread)


def _rehearsed(plan: Plan, graph: Edges, epsilon: float, rng: np.random.Generator) -> float:
    """Return the modularity of what a pass finds in a synthetic graph."""
    starts, neighbours = adjacency(graph.u, graph.v, plan.order.size)
    labels = rehearse(plan, starts, neighbours, epsilon, rng)
    edges = max(graph.u.size, 1)
    inside = np.count_nonzero(labels[graph.u] == labels[graph.v])
    return inside / edges - _by_chance(labels, np.diff(starts), edges)


def _by_chance(labels: Labels, degrees: Integers, edges: int) -> float:
    """Return the share of edges inside communities if edges fell at random."""
    stubs = np.bincount(labels, weights=degrees)
    return float((stubs**2).sum()) / (2 * edges) ** 2


def _edges(degrees: Integers) -> int:
    return max(int(degrees.sum()) // 2, 1)
