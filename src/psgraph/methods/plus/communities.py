"""The search for communities: when it is worthwhile, and what it found.

A search runs growth passes (see `labelling`) where a window opens, if released sizes say that it
can succeed. The first search passes down from the largest node. Evidence is kept between searches:
later ones first pass up at a small price, which corrects the hubs, and then down. Whether what
was found is used is decided by `decide`. A search that fails is repeated 2, 4, 8, … windows
later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.kernels import adjacency
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, Edges
from psgraph.methods.plus.labelling import Evidence, Plan, Progress, Rows, follow, rehearse
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = [
    "BLOCKS",
    "OF_TIMESTAMP",
    "Bar",
    "Communities",
    "CommunityReadings",
    "Search",
    "Sizes",
    "bar_without_communities",
    "community_share",
    "decide",
    "noisy_modularity",
    "run_passes",
    "starting_plan",
]

FIRST, LATER = (
    Fraction(6, 10),
    Fraction(7, 10),
)  # of a window, before and after communities are used
OF_TIMESTAMP = Fraction(3, 4)  # the most that a search may take of what is granted for nodes
BLOCKS = Fraction(5, 100)  # of a search; the rest goes to its passes
UP = Fraction(2, 10)  # of the passes of a later search
ENOUGH, ENOUGH_IF_USED = 12.0, 6.0  # ε times mean degree: noise scales in a typical row
MOST_DOUBT = 0.02  # standard deviation of the modularity, from the noise on blocks
KEPT = 0.6  # of the evidence, from one search to the next
DEALT = 32  # nodes that get labels in turn where a first search begins
LEAST_WEIGHT = 0.1
SURE, PROMISING = 3.0, 2.0  # standard deviations above graphs without communities
LEAST_SPREAD = 0.003
MARGIN = 1.05  # real graphs without communities have a little more structure than synthetic ones


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

    @classmethod
    def after(cls, progress: Progress, roster: Roster, before: Communities | None) -> Communities:
        """Return what a search found, with the edges between communities as known before it."""
        cells = UNDIRECTED.cell_count(progress.plan.labels, inside=True)
        blocks = Track.unseen(cells, drift=0.0025) if before is None else before.blocks
        return cls(roster, progress.found, progress.evidence, blocks)

    @property
    def count(self) -> int:
        """How many communities there are; some may be empty."""
        return int(self.evidence.shape[1])

    def on(self, roster: Roster, rng: np.random.Generator) -> Communities:
        """Move to another roster; a node that was not there gets the label of a random one."""
        if roster is self.roster or roster == self.roster:
            return self
        if len(roster) and len(self.roster) and roster.strings != self.roster.strings:
            there = np.full(len(roster), -1, dtype=np.int32)
        else:
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
        What the searches so far found, None if nothing.
    used
        Whether graphs have these communities. A first search may find enough to try again and too
        little to be used.
    failures
        How many searches in a row found nothing.
    next_window
        The number of the first window that may search again.
    again
        Whether the next timestamp searches again with all that the window has left, because
        something was just found for the first time.
    """

    found: Communities | None = None
    failures: int = 0
    next_window: int = 0
    used: bool = False
    again: bool = False

    @property
    def in_use(self) -> Communities | None:
        """The communities that graphs have."""
        return self.found if self.used else None

    def failed(self, window: int) -> Search:
        """Wait twice as long as the last time before searching again."""
        return Search(None, self.failures + 1, window + 2 ** (self.failures + 1))


@dataclass(frozen=True)
class Sizes:
    """Released sizes on which a search depends."""

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
    most, enough = (LATER, ENOUGH_IF_USED) if search.used else (FIRST, ENOUGH)
    share = min(most * node_window, OF_TIMESTAMP * granted)
    if share == 0 or sizes.edges < 1 or sizes.nodes < DEALT:
        return Fraction(0)
    if search.found is None and window < search.next_window:
        return Fraction(0)
    count = label_count(share) if search.found is None else search.found.count
    doubt = math.sqrt(count * laplace_variance(float(1 / (BLOCKS * share)))) / sizes.edges
    worthwhile = float(share) * sizes.mean_degree >= enough and doubt <= MOST_DOUBT
    return share if worthwhile else Fraction(0)


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
    if found is None:
        plan = starting_plan(order, degrees, label_count(growth / (1 - BLOCKS)))
        return follow(plan, release(plan, growth), float(growth))
    weights = _weights(degrees)
    plan = Plan(order[::-1].copy(), weights, found.evidence * np.float32(KEPT), dealt=0)
    up = follow(plan, release(plan, UP * growth), float(UP * growth))
    plan = Plan(order, weights, up.evidence, dealt=0)
    return follow(plan, release(plan, (1 - UP) * growth), float((1 - UP) * growth))


def starting_plan(order: Integers, degrees: Integers, labels: int) -> Plan:
    """Return the plan of a first pass, without evidence."""
    evidence = np.zeros((order.size, labels), dtype=np.float32)
    return Plan(order, _weights(degrees), evidence, DEALT)


def _weights(degrees: Integers) -> NDArray[np.float64]:
    return np.maximum(degrees, LEAST_WEIGHT)


# ---- whether the communities that a search found are worth using
#
# Fitted labels have edges inside them even in a graph without communities. So the noisy edges
# inside are compared with what the same pass finds in synthetic graphs that have the same degrees
# and mixing and no communities: a parametric bootstrap, which costs no ε.


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
