"""How far something can spread: the largest component, and the size of a simulated outbreak.

An outbreak is an SIR epidemic in which every infected node stays infectious for the same time: it
infects each neighbour with one probability, independently of all others. Who is infected in the end
is then known from coins tossed in advance, one for every edge: everyone connected to the first case
by edges whose coin says so (Newman, *Spread of epidemic disease on networks*, 2002, section II).
One run tosses all coins and gives the outbreaks of *all* first cases at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import pack_pair
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.metric import EVERY_KIND, Group, Metric, Pair, relative_error

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "SPREADING",
    "Outbreak",
    "component_sizes",
    "largest_component",
    "outbreak_size",
    "transmission_of",
]

#: Runs of the epidemic: as many as give this many first cases, within these limits.
FIRST_CASES, FEWEST, MOST = 200_000, 64, 1024
#: Neighbours that an infected node of average degree infects, on average.
_INFECTED = 2.0
_CERTAIN = np.uint64(1) << np.uint64(53)  # coins are numbers below this


@dataclass(frozen=True)
class Outbreak:
    """The final size of an epidemic that starts at a random node, as a share of all nodes.

    Attributes
    ----------
    standard_error
        Of the mean, from the runs; 0 where every edge transmits.
    """

    mean: float
    standard_error: float


def component_sizes(graph: Graph) -> Integers:
    """The number of nodes of every connected component, in no particular order. O(n + m).

    Directions don't matter: the components of a directed graph are the weak ones.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> sorted(component_sizes(SyntheticGraph(Roster.range(4), [0, 1], [1, 2])).tolist())
    [1, 3]
    """
    return _sizes(graph.u, graph.v, len(graph.roster), _CERTAIN, np.uint64(0))


def largest_component(graph: Graph) -> float:
    """The share of all nodes that are in the largest component; 0 without nodes. O(n + m)."""
    nodes = len(graph.roster)
    return int(component_sizes(graph).max()) / nodes if nodes else 0.0


def transmission_of(graph: Graph) -> float:
    """The probability to infect a neighbour with which a node of average degree infects two.

    The average is over nodes with an edge. 1 if it is 2 or less; 0 without an edge.
    """
    degrees = node_degrees(graph)
    connected = degrees[degrees > 0]
    return min(1.0, _INFECTED / float(connected.mean())) if connected.size else 0.0


def outbreak_size(
    graph: Graph, *, transmission: float | None = None, runs: int | None = None
) -> Outbreak:
    r"""Mean final size of an SIR epidemic on the graph, as a share of all nodes.

    .. math:: \frac{1}{n^2} \sum_{c} |c|^2

    averaged over runs, with c the components of the edges that transmit in a run: the mean over
    all first cases. Coins depend on the run and the two nodes only, so two graphs over one roster
    are compared with the same luck. O(n + m) per run.

    Parameters
    ----------
    transmission
        The probability to infect a neighbour; by default that of `transmission_of`.
    runs
        By default 200,000 divided by n, at least 64 and at most 1,024. The standard error is then
        0.1 to 1 % of the mean on real graphs of 200 to 20,000 nodes.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> path = SyntheticGraph(Roster.range(4), [0, 1], [1, 2])
    >>> outbreak_size(path, transmission=1.0)  # (3² + 1²) / 4²
    Outbreak(mean=0.625, standard_error=0.0)
    >>> outbreak_size(path, transmission=0.0).mean  # nobody but the first case
    0.25
    """
    nodes = len(graph.roster)
    if not nodes:
        return Outbreak(0.0, 0.0)
    chance = transmission_of(graph) if transmission is None else transmission
    runs = runs or min(max(FIRST_CASES // nodes, FEWEST), MOST)
    below = np.uint64(chance * float(_CERTAIN))
    shares = [
        int(np.square(_sizes(graph.u, graph.v, nodes, below, np.uint64(run))).sum()) / nodes**2
        for run in range(runs if 0 < chance < 1 else 1)
    ]
    error = float(np.std(shares, ddof=1)) / sqrt(len(shares)) if len(shares) > 1 else 0.0
    return Outbreak(float(np.mean(shares)), error)


@kernel
def _sizes(u: Positions, v: Positions, nodes: int, below: np.uint64, run: np.uint64) -> Integers:
    """Sizes of the components of the edges whose coin in this run is lower than `below`."""
    parent = np.arange(nodes)
    size = np.ones(nodes, dtype=np.int64)
    for edge in range(u.size):
        # SplitMix64 of the run and the two ends, which are in normal form.
        coin = np.uint64(pack_pair(u[edge], v[edge])) * np.uint64(0xD1342543DE82EF95)
        coin += (run + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        coin = (coin ^ (coin >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        coin = (coin ^ (coin >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        if (coin ^ (coin >> np.uint64(31))) >> np.uint64(11) >= below:
            continue
        one, other = np.int64(u[edge]), np.int64(v[edge])
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        while parent[other] != other:
            parent[other] = parent[parent[other]]
            other = parent[other]
        if one != other:
            if size[one] < size[other]:
                one, other = other, one
            parent[other] = one
            size[one] += size[other]
    return size[parent == np.arange(nodes)]


def _component_error(pair: Pair) -> float:
    true, made = pair.both(largest_component)
    return abs(made - true)


def _outbreak_error(pair: Pair) -> float:
    true = pair.original.of(outbreak_size)
    chance = pair.original.of(transmission_of)
    return relative_error(true.mean, outbreak_size(pair.synthetic.graph, transmission=chance).mean)


SPREADING = Group(
    "Spreading",
    (
        Metric(
            "largest_component_error",
            unit="%",
            better="lower",
            reading="Difference between the shares of nodes in the largest component, in the "
            "original and in the release. High where the release grew together or fell apart.",
            compute=_component_error,
            kinds=EVERY_KIND,
        ),
        Metric(
            "outbreak_size_error",
            unit="%",
            better="lower",
            reading="Relative error of the mean final size of a simulated epidemic in which an "
            "infected node of average degree infects two neighbours. Above 100 %: an epidemic "
            "planned for with the release is more than twice as large as in the original.",
            compute=_outbreak_error,
            breaks_ties=True,  # the coins of a renamed edge are others
        ),
    ),
)
"""The metrics of spreading."""
