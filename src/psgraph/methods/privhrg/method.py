"""PrivHRG as a method: a dendrogram, noisy counts along it, and a graph drawn from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Runner
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Kind, triangle, triangle_row
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.parameters import checked_flag, checked_integer
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.methods.privhrg.dendrogram import (
    Blocks,
    Dendrogram,
    find_blocks,
    pairs_in,
    random_dendrogram,
)
from psgraph.methods.privhrg.dendrogram_walk import DendrogramWalk
from psgraph.methods.queries import adjacency
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import CountsQuery, Query

__all__ = ["PrivHRG", "PrivHRGMeasurement", "PrivHRGState", "draw_edges"]

FINITE_CHAIN = Caveat(
    None,
    "the Markov chain that chose the dendrogram would have to be at its stationary distribution "
    "for the epsilon charged to hold. It made a fixed number of steps, in floating point, and how "
    "close that came is not known. mcmc=False does without the chain and keeps the promise.",
)


@dataclass(frozen=True)
class PrivHRGMeasurement:
    """Leaves of the dendrogram in order, its blocks, and the noisy edge count of each block.

    A block has the pairs of a leaf at [begin, middle) and one at [middle, end), or, if middle is
    begin, the pairs of two leaves at [begin, end).
    """

    roster: Roster
    order: Positions
    begin: Positions
    middle: Positions
    end: Positions
    noisy_edges: NDArray[np.int64]


@dataclass(frozen=True)
class PrivHRGState:
    """The hierarchical random graph: blocks as in the measurement, with probabilities."""

    roster: Roster
    order: Positions
    begin: Positions
    middle: Positions
    end: Positions
    probabilities: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LikelyDendrogram(Query[Dendrogram]):
    """A dendrogram under which the graph is likely, by a Markov chain from `tree`.

    Privacy: the quality of a dendrogram is its log-likelihood; an edge counts as a distance of 1.
    Holds at the stationary distribution of the chain only: see the method's caveat.
    """

    tree: Dendrogram
    steps: int

    label = "dendrogram"
    sensitivity = 1
    noise = DendrogramWalk.name
    proof = "proofs/privhrg.md"
    subject = "the dendrogram"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (max(nodes - 1, 0),)

    def answer(self, edges: PrivateEdges) -> tuple[Integers, Positions]:
        return adjacency(edges)

    def mechanism(self, answer: tuple[Integers, Positions]) -> Mechanism[Dendrogram]:
        return DendrogramWalk(self.tree, *answer, steps=self.steps)


@dataclass(frozen=True, eq=False)
class DendrogramEdges(CountsQuery):
    """The edges of every block of node pairs.

    Privacy: an edge is in one block, which it moves by 1; the blocks are released.
    """

    blocks: Blocks

    label = "block edges"
    sensitivity = 1
    proof = "proofs/privhrg.md"
    subject = "the edges of a block of node pairs"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return self.blocks.begin.shape

    def answer(self, edges: PrivateEdges) -> Integers:
        return self.blocks.edges(*adjacency(edges))


class PrivHRG(Method[PrivHRGMeasurement, PrivHRGState]):
    """Hierarchical random graph with noisy probabilities; timestamps are independent.

    A dendrogram over the nodes is chosen by a Markov chain that prefers those under which the
    graph is likely. Pairs that part at the same branching get one noisy probability, and a graph
    is drawn from these.

    Parameters
    ----------
    mcmc
        False takes a random dendrogram, which costs nothing, and spends all of the budget on the
        probabilities. That is proven to be private; see Notes.
    steps_per_node
        Steps of the chain for each node: a public number, whatever the edges are.

    Notes
    -----
    Privacy: half of ε for the dendrogram, half for the counts, in which an edge is counted once
    (at the branching where its ends part, or in the subtree that became one block).

    The first half is exact only at the chain's stationary distribution (the exponential mechanism
    with the log-likelihood as quality). **A finite chain is not proven to be ε-private**, how far
    it is from that is not known, and every certificate says so. With ``mcmc=False`` the guarantee
    is unconditional.

    Differences from the original: the number of steps is fixed beforehand instead of depending
    on when the likelihood settles, and no trace of likelihoods is shown, both of which would
    depend on the edges; noise is exact integer noise. At 100 steps for each node the
    chain is 10 to 30 times shorter than the original's. The shorter chain fits less well where ε
    is large (``docs/reference/methods.md`` has numbers); ``steps_per_node=1000`` takes ten times
    as long.

    A step takes time that grows with the depth of the tree and not with n: about a microsecond at
    30,000 nodes. Counting O((m + n) log m), drawing O(n + edges drawn); O(m + n) memory.

    References
    ----------
    Xiao, Chen, Tan, "Differentially private network data release via structural inference",
    KDD 2014.

    Examples
    --------
    >>> PrivHRG(mcmc=False).parameters()
    {'mcmc': False, 'steps_per_node': 100}
    >>> PrivHRG(mcmc=False).caveat is None
    True
    """

    name = "privhrg"
    title, colour, marker = "PrivHRG", "#009e73", "D"
    needs_all_edges = True
    records = (PrivHRGMeasurement, PrivHRGState)
    queries = (LikelyDendrogram, DendrogramEdges)

    def __init__(self, *, mcmc: bool = True, steps_per_node: int = 100) -> None:
        self.mcmc = checked_flag("mcmc", mcmc)
        self.steps_per_node = checked_integer("steps_per_node", steps_per_node, least=1)

    @property
    def caveat(self) -> Caveat | None:
        """That a finite chain is not proven to be private."""
        return FINITE_CHAIN if self.mcmc else None

    def audit_cases(self) -> AuditCases:
        return AuditCases(variants={"a random dendrogram": {"mcmc": False}})

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del kind
        del nodes  # the noise does not depend on it
        case = "every timestamp"
        tree_epsilon, count_epsilon = self._split(guarantee.per_timestamp)
        rows = [NoisePlan.of(case, LikelyDendrogram, tree_epsilon)] if self.mcmc else []
        return [*rows, NoisePlan.of(case, DendrogramEdges, count_epsilon)]

    def _split(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Split ε into the shares of the dendrogram (0 if it is random) and of the counts."""
        tree_epsilon = epsilon / 2 if self.mcmc else Fraction(0)
        return tree_epsilon, epsilon - tree_epsilon

    def measure(self, private: PrivateSnapshot, state: PrivHRGState | None) -> PrivHRGMeasurement:
        """Choose a dendrogram, and measure the edge counts of its blocks.

        Privacy: all of the budget for one edge, without the chain; with it, under the condition
        the caveat states. Blocks follow from the dendrogram and ε alone. proofs/privhrg.md.
        """
        del state  # timestamps are independent
        nodes = len(private.roster)
        tree_epsilon, count_epsilon = self._split(private.remaining)
        with phase("dendrogram"):
            tree = random_dendrogram(
                private.random_order(nodes), private.random_order(max(nodes - 1, 0))
            )
            if self.mcmc:
                walk = LikelyDendrogram(tree, steps=self.steps_per_node * nodes)
                tree = private.ask(walk, epsilon=tree_epsilon)
        with phase("perturbation"):
            blocks = find_blocks(tree, count_epsilon)
            noisy_edges = private.ask(DendrogramEdges(blocks), epsilon=count_epsilon)
        return PrivHRGMeasurement(
            private.roster,
            blocks.layout.order,
            blocks.begin,
            blocks.middle,
            blocks.end,
            noisy_edges,
        )

    def update(self, state: PrivHRGState | None, measurement: PrivHRGMeasurement) -> PrivHRGState:
        del state
        bounds = measurement.begin, measurement.middle, measurement.end
        probabilities = np.clip(measurement.noisy_edges / pairs_in(*bounds), 0.0, 1.0)
        return PrivHRGState(measurement.roster, measurement.order, *bounds, probabilities)

    def synthesise(
        self,
        state: PrivHRGState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del previous, engine
        with phase("reconstruction"):
            bounds = state.begin, state.middle, state.end
            u, v = draw_edges(
                state.order, *bounds, state.probabilities, pairs=pairs_in(*bounds), rng=rng
            )
            return SyntheticGraph(state.roster, u, v)

    def summary(self, state: PrivHRGState) -> Mapping[str, Any]:
        return {"blocks": int(state.begin.size)}


def draw_edges(
    order: Positions,
    begin: Positions,
    middle: Positions,
    end: Positions,
    probabilities: Floats,
    *,
    pairs: Integers,
    rng: np.random.Generator,
) -> tuple[Positions, Positions]:
    """Every pair of a block is an edge with the block's probability, independently.

    Jumps of geometric length go from one edge to the next in the list of a block's pairs, so the
    time is O(blocks + edges drawn).

    Parameters
    ----------
    order
        The nodes in the order blocks refer to.
    begin, middle, end
        See `psgraph.methods.privhrg.dendrogram.Blocks`.
    pairs
        How many pairs each block has.
    """
    room = int(float((pairs * probabilities).sum()) * 1.05) + 1024
    u, v = _draw(order, begin, middle, end, probabilities, pairs, room, rng)
    return u, v


@kernel
def _draw(
    order: Positions,
    begin: Positions,
    middle: Positions,
    end: Positions,
    probabilities: Floats,
    pairs: Integers,
    room: int,
    rng: np.random.Generator,
) -> tuple[Positions, Positions]:
    u = np.empty(room, dtype=np.int32)
    v = np.empty(room, dtype=np.int32)
    found = 0
    for block in range(pairs.size):
        chance = probabilities[block]
        if chance <= 0.0:
            continue
        log_miss = np.log1p(-chance) if chance < 1.0 else 0.0
        columns = np.int64(end[block] - middle[block])
        at = np.int64(-1)
        while True:
            step = 1.0
            if chance < 1.0:
                step += np.floor(np.log1p(-rng.random()) / log_miss)
            if step > pairs[block] - at - 1:
                break
            at += np.int64(step)
            if middle[block] == begin[block]:
                # The pairs (column < row) of a stretch, row by row.
                row = np.int64(triangle_row(at))
                column = at - triangle(row)
            else:
                row, column = at // columns, at % columns
            if found == u.size:
                u = np.concatenate((u, np.empty_like(u)))
                v = np.concatenate((v, np.empty_like(v)))
            u[found] = order[begin[block] + row]
            v[found] = order[middle[block] + column]
            found += 1
    return u[:found], v[:found]
