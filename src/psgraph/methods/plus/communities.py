"""The search for communities: when to ask, what was found, and whether it is worth anything.

A search runs growth passes (`labelling`) where a window opens. Evidence is kept between windows:
the first search passes down from the largest node, later ones first pass up at a small price, which
corrects the hubs, and then down. What is found is used only if edges inside communities are
clearly more than the same pass finds in synthetic graphs without communities. A search that fails
is repeated 2, 4, 8, … windows later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph.engines.base import Edges
from psgraph.engines.counting import adjacency
from psgraph.engines.pairs import pair_count, pair_of
from psgraph.graph import Roster
from psgraph.methods.plus.labelling import Evidence, Plan, Progress, Rows, follow, rehearse
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = [
    "Communities",
    "CommunityReadings",
    "Search",
    "Sizes",
    "community_share",
    "run_passes",
    "searched",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]

FIRST, LATER = Fraction(6, 10), Fraction(7, 10)  # of a window, until and after something is found
OF_TIMESTAMP = Fraction(3, 4)  # the most that a search may take of what is granted for nodes
BLOCKS = Fraction(5, 100)  # of a search; the rest goes to its passes
UP = Fraction(2, 10)  # of the passes of a later search
ENOUGH, ENOUGH_IF_FOUND = 12.0, 6.0  # ε times mean degree: noise scales in a typical row
MOST_DOUBT = 0.025  # standard deviation of the modularity, from the noise on blocks
KEPT = 0.6  # of the evidence, from one search to the next
DEALT = 32  # nodes that get labels in turn where a first search begins
REHEARSALS, LEAST_SPREAD = 4, 0.003
MARGIN = 1.05  # graphs without communities still have some structure that a pass finds
LEAST_WEIGHT = 0.1


@dataclass(frozen=True)
class CommunityReadings:
    """What a search released.

    Attributes
    ----------
    noisy_rows
        N: for each pass, edges of every node to nodes earlier in the pass, by their label.
    noisy_blocks
        B: edges per pair of labels, given the labels after the last pass.
    """

    noisy_rows: tuple[Rows, ...]
    noisy_blocks: Integers


@dataclass(frozen=True)
class Communities:
    """The community of every node on a roster.

    Attributes
    ----------
    evidence
        Nodes × communities: the discounted log-likelihood ratios of all passes.
    blocks
        The filtered share of edges in each pair of communities.
    """

    roster: Roster
    labels: Labels
    evidence: Evidence
    blocks: Track

    @property
    def count(self) -> int:
        return int(self.evidence.shape[1])

    def on(self, roster: Roster, rng: np.random.Generator) -> Communities:
        """Move to another roster; a node that was not there gets the label of a random one."""
        if roster is self.roster or roster == self.roster:
            return self
        there = self.roster.positions(roster.ids)
        known = there >= 0
        evidence = np.zeros((len(roster), self.count), dtype=np.float32)
        evidence[known] = self.evidence[there[known]]
        others = rng.integers(0, max(self.labels.size, 1), there.size)
        where = np.where(known, there, others)
        labels = self.labels[where] if self.labels.size else np.zeros(there.size, dtype=np.int32)
        return Communities(roster, labels, evidence, self.blocks)


@dataclass(frozen=True)
class Search:
    """Where the search for communities stands.

    Attributes
    ----------
    found
        None where no communities are used.
    failures
        How many searches in a row found nothing.
    next_window
        The number of the first window that may search again.
    again
        Whether the next timestamp should search again with all that the window has left, because
        communities were just found for the first time.
    """

    found: Communities | None = None
    failures: int = 0
    next_window: int = 0
    used: bool = False
    again: bool = False

    def failed(self, window: int) -> Search:
        return Search(None, self.failures + 1, window + 2 ** (self.failures + 1))


@dataclass(frozen=True)
class Sizes:
    """Released sizes on which asking depends."""

    nodes: int
    edges: int
    connected: int

    @property
    def mean_degree(self) -> float:
        """Of the nodes that have an edge."""
        return 2 * self.edges / min(max(self.connected, 1), max(self.nodes, 1))


def community_share(
    search: Search, sizes: Sizes, *, window: int, granted: Fraction, node_window: Fraction
) -> Fraction:
    """Return how much of what is granted for nodes a search should take; 0 for no search.

    A search is worthwhile if a typical row has a few noise scales of edges, and if the noise on
    blocks leaves the modularity known well enough to decide.

    Privacy: all arguments are public or released.

    Parameters
    ----------
    window
        The number of the window that opens.
    granted, node_window
        What this timestamp, and what a whole window, may spend on nodes.
    """
    most = FIRST if search.found is None else LATER
    share = min(most * node_window, OF_TIMESTAMP * granted)
    if share == 0 or sizes.edges < 1 or sizes.nodes < DEALT:
        return Fraction(0)
    if search.found is None and window < search.next_window:
        return Fraction(0)
    enough = ENOUGH if search.found is None else ENOUGH_IF_FOUND
    count = label_count(share) if search.found is None else search.found.count
    doubt = math.sqrt(count * laplace_variance(float(1 / (BLOCKS * share)))) / sizes.edges
    asked = float(share) * sizes.mean_degree >= enough and doubt <= MOST_DOUBT
    return share if asked else Fraction(0)


def label_count(share: Fraction) -> int:
    """Return how many labels a search with this ε starts with: more where noise is small."""
    passes = share * (1 - BLOCKS)
    if passes < Fraction(7, 10):
        return 4
    return 8 if passes < 2 else 16


def run_passes(
    found: Communities | None,
    order: Integers,
    degrees: Integers,
    growth: Fraction,
    release: Callable[[Plan, Fraction], Rows],
) -> Progress:
    """Run the passes of one search and return the last one.

    Parameters
    ----------
    found
        What earlier searches found, on the roster of this timestamp.
    order, degrees
        Positions from the largest node to the smallest, and the wanted degrees.
    growth
        The ε of all passes together.
    release
        Returns the noisy rows of a pass: drawn from private edges, or read from a measurement.
    """
    weights = np.maximum(degrees, LEAST_WEIGHT)
    if found is None:
        count = label_count(growth / (1 - BLOCKS))
        evidence = np.zeros((order.size, count), dtype=np.float32)
        shares, dealt = [(order, growth)], DEALT
    else:
        evidence = found.evidence * np.float32(KEPT)
        shares = [(order[::-1].copy(), UP * growth), (order, (1 - UP) * growth)]
        dealt = 0
    for way, epsilon in shares:
        plan = Plan(way, weights, evidence, dealt)
        progress = follow(plan, release(plan, epsilon), float(epsilon))
        evidence = progress.evidence
    return progress


def searched(
    search: Search,
    found: Communities,
    readings: CommunityReadings,
    *,
    degrees: Integers,
    order: Integers,
    growth: Fraction,
    blocks: Fraction,
    window: int,
    graphs: Iterator[Edges],
    rng: np.random.Generator,
) -> Search:
    """Decide whether what was found is used, and update the edges between communities.

    Parameters
    ----------
    found
        Labels and evidence after the passes, with the blocks as known before.
    graphs
        Synthetic graphs with the same degrees and no communities.
    """
    edges = max(int(degrees.sum()) // 2, 1)
    noise = laplace_variance(float(1 / blocks))
    a, b = pair_of(np.arange(pair_count(found.count, inside=True)), found.count, inside=True)
    inside = int(readings.noisy_blocks[a == b].sum())
    level = inside / edges - _by_chance(found.labels, degrees, edges)
    plan = Plan(order, np.maximum(degrees, LEAST_WEIGHT), np.zeros_like(found.evidence), DEALT)
    without = np.array([_rehearsed(plan, graph, float(growth), rng) for graph in graphs])
    doubt = math.sqrt(found.count * noise) / edges
    spread = math.hypot(max(float(without.std()), LEAST_SPREAD), doubt)
    bar = MARGIN * float(without.mean()) + 3 * spread
    if level < bar and (search.found is not None or level < bar - spread):
        return search.failed(window)
    scale = np.maximum(found.blocks.level, 0.003) ** 2
    track = found.blocks.observe(readings.noisy_blocks / edges, noise / edges**2, scale)
    new = Communities(found.roster, found.labels, found.evidence, track)
    return Search(new, used=level >= bar, again=search.found is None)


def _by_chance(labels: Labels, degrees: Integers, edges: int) -> float:
    """Return the share of edges inside communities if edges fell at random."""
    stubs = np.bincount(labels, weights=degrees)
    return float((stubs**2).sum()) / (2 * edges) ** 2


def _rehearsed(plan: Plan, graph: Edges, epsilon: float, rng: np.random.Generator) -> float:
    """Return the modularity of what a pass finds in a synthetic graph."""
    nodes = plan.order.size
    starts, neighbours = adjacency(graph.u, graph.v, nodes)
    labels = rehearse(plan, starts, neighbours, epsilon, rng)
    edges = max(graph.u.size, 1)
    inside = np.count_nonzero(labels[graph.u] == labels[graph.v])
    return inside / edges - _by_chance(labels, np.diff(starts), edges)
