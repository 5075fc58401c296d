"""TmF: noise on every cell of the adjacency matrix, and the largest cells become the edges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Runner
from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.graph import UNDIRECTED, Kind, Roster, SyntheticGraph
from psgraph.methods.audit_cases import AuditCases, MechanismCase
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.parameters import checked_choice
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.methods.queries import EVERY_KIND, EdgeCount, QueryOfKind, block_counts
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.top import LargestCells
from psgraph.privacy.samplers import Sampler

__all__ = [
    "FilteredPairs",
    "LargestPairs",
    "TmF",
    "TmFMeasurement",
    "UnprovenLinearFilter",
    "passing_chance",
]

Filter = Literal["exact", "linear"]

LINEAR = Caveat(
    None,
    "The edges were chosen by TmF's published linear filter, which keeps true edges by one rule "
    "and fills up with other pairs by another; what it shows is not bounded by any epsilon.",
)


@dataclass(frozen=True)
class TmFMeasurement:
    """The noisy edge count m̃ and the cells kept, numbered as in `psgraph.graph.kind`."""

    roster: Roster
    noisy_edge_count: int
    cells: Integers
    kind: Kind = UNDIRECTED


@dataclass(frozen=True)
class UnprovenLinearFilter(LargestCells):
    """The published shortcut: true edges above a threshold, then uniform other pairs.

    Notes
    -----
    Privacy: **none.** It keeps true edges by one rule and fills up with other pairs by another.
    proofs/largest-cells.md.
    """

    name = "linear filter"
    proven = False

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Integers:
        ones = self.ones
        chance = passing_chance(size=self.size, keep=self.keep, epsilon=float(epsilon))
        passed = sampler.integers(ones.size, 1 << 53) < chance * 2.0**53
        survivors = ones[passed]
        others = self.size - ones.size
        wanted = min(max(self.keep - survivors.size, 0), others)
        ranks = _distinct(sampler, others, wanted)
        # The r-th pair that is no edge comes after as many edges as start at or before it.
        filled = ranks + np.searchsorted(ones - np.arange(ones.size), ranks, side="right")
        return np.sort(np.concatenate([survivors, filled]))


@dataclass(frozen=True)
class LargestPairs(QueryOfKind[Integers]):
    """The `keep` pairs of nodes with the largest noisy cells.

    Privacy: an edge is one cell, which it moves by 1; `keep` is released. Keeping the largest is
    post-processing of all noisy cells.

    Parameters
    ----------
    keep
        How many pairs.
    sizes
        The number of nodes of each roster, for graphs with two of them.
    """

    keep: int
    sizes: tuple[int, ...] = ()

    label = "cells"
    sensitivity = 1
    noise = LargestCells.name
    proof = "proofs/largest-cells.md"
    subject = "a cell of the adjacency matrix (0 or 1)"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (self.kind.pairs(*(self.sizes or (nodes,))),)

    def answer(self, edges: PrivateEdges) -> tuple[Integers, int]:
        # Each node is a block of its own, numbered on its side.
        blocks = [np.arange(size, dtype=np.int32) for size in edges.sizes]
        cells, _ = block_counts(
            edges,
            np.concatenate(blocks),
            blocks[0].size,
            inside=self.kind.two_sided,
            tail_blocks=blocks[-1].size,
        )
        return cells, self.kind.pairs(*edges.sizes)

    def mechanism(self, answer: tuple[Integers, int]) -> Mechanism[Integers]:
        cells, size = answer
        return LargestCells(cells, size=size, keep=self.keep)


@dataclass(frozen=True)
class FilteredPairs(LargestPairs):
    """About `keep` pairs of nodes by the published shortcut, for comparison.

    Privacy: **none**, and certificates say so.
    """

    noise = UnprovenLinearFilter.name

    def mechanism(self, answer: tuple[Integers, int]) -> Mechanism[Integers]:
        cells, size = answer
        return UnprovenLinearFilter(cells, size=size, keep=self.keep)


class TmF(Method[TmFMeasurement, TmFMeasurement]):
    """Top-m filter: noise on the cells of all pairs, then the m̃ largest cells are the edges.

    A cell is a pair of nodes that can be an edge: one of n(n−1)/2 in an undirected graph, of
    n(n−1) in a directed one, of left · right in a two-sided one.

    Parameters
    ----------
    count_share
        The part of the budget that goes to the edge count m̃; the cells get the rest.
    filter
        ``"exact"`` keeps the m̃ largest noisy cells. ``"linear"`` is the shortcut of the
        published code, for comparison: it is **not private**, and certificates say so.

    Notes
    -----
    Privacy: ε₂ = `count_share` · ε for the count (sensitivity 1), ε₁ = ε − ε₂ for the cells, in
    which an edge is one cell (sensitivity 1). Keeping the largest is post-processing.

    Differences from the original: the noise is exact integer noise, and the m̃ largest cells are
    found exactly instead of being approximated by a threshold computed from m̃. Both cost nothing:
    the filter takes O(m + m̃) time and memory and has the distribution of the dense definition.

    If ε₁ is small, a true edge is hardly more likely to be kept than any other pair, and the graph
    is close to a uniformly random one with m̃ edges: about (m̃ / pairs)·exp(ε₁) of the true edges
    survive.

    References
    ----------
    Nguyen, Imine, Rusinowitch, "Differentially Private Publication of Social Graphs at Linear
    Cost", ASONAM 2015.

    Examples
    --------
    >>> TmF(count_share="0.2").parameters()
    {'count_share': '0.2', 'filter': 'exact'}
    """

    name = "tmf"
    title, colour, marker = "TmF", "#0072b2", "s"
    kinds = EVERY_KIND
    needs_all_edges = True
    records = (TmFMeasurement,)
    queries = (EdgeCount, LargestPairs, FilteredPairs)

    def __init__(
        self,
        *,
        count_share: EpsilonLike = Fraction(1, 10),
        filter: Filter = "exact",
    ) -> None:
        self.count_share = exact_epsilon(count_share, name="count_share")
        if self.count_share >= 1:
            raise InvalidArgument(
                f"count_share must lie between 0 and 1, not {exact_decimal(self.count_share)}"
            )
        self.filter = checked_choice("filter", filter, Filter)

    @property
    def caveat(self) -> Caveat | None:
        """That the linear filter is not private."""
        return LINEAR if self.filter == "linear" else None

    def audit_cases(self) -> AuditCases:
        """The linear filter on a dense graph; audited only if it claims to be proven."""
        pair = tuple(UnprovenLinearFilter(np.arange(first, 200), 400, 100) for first in (1, 0))
        case = MechanismCase(pair, lambda output: int(output[0] == 0))
        return AuditCases(
            variants={"the linear filter": {"filter": "linear"}},
            mechanisms={"TmF's linear filter": lambda _draws: case},
        )

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes, kind
        case = "every timestamp"
        count_epsilon, cell_epsilon = self._split(guarantee.per_timestamp)
        return [
            NoisePlan.of(case, EdgeCount, count_epsilon),
            NoisePlan.of(case, self._cells, cell_epsilon),
        ]

    def _split(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Split ε into ε₂ for the edge count and ε₁ for the cells."""
        count_epsilon = self.count_share * epsilon
        return count_epsilon, epsilon - count_epsilon

    @property
    def _cells(self) -> type[LargestPairs | FilteredPairs]:
        return LargestPairs if self.filter == "exact" else FilteredPairs

    def measure(self, private: PrivateSnapshot, state: TmFMeasurement | None) -> TmFMeasurement:
        """Measure the edge count, and that many of the largest noisy cells.

        Privacy: all of the budget for one edge, unless `filter` is ``"linear"``. An edge moves
        the count by 1 and one cell by 1. proofs/tmf.md.
        """
        del state  # timestamps are independent
        roster, kind = private.roster, private.kind
        count_epsilon, cell_epsilon = self._split(private.remaining)
        with phase("perturbation"):
            noisy_edge_count = private.ask(EdgeCount(), epsilon=count_epsilon)
            keep = min(max(noisy_edge_count, 0), kind.pairs(*roster.sizes))
            largest = self._cells(keep, roster.sizes, kind=kind)
            cells = private.ask(largest, epsilon=cell_epsilon)
        return TmFMeasurement(roster, noisy_edge_count, cells, kind)

    def synthesise(
        self,
        state: TmFMeasurement,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del previous, rng, engine  # the cells kept are the edges
        with phase("reconstruction"):
            roster, kind = state.roster, state.kind
            u, v = kind.pair_of(state.cells, *roster.sizes, inside=kind.two_sided)
            return SyntheticGraph(roster, u, v + roster.offset, kind=kind)

    def summary(self, state: TmFMeasurement) -> Mapping[str, Any]:
        return {"noisy_edges": state.noisy_edge_count}


def passing_chance(*, size: int, keep: int, epsilon: float) -> float:
    """Return the probability that 1 + Laplace(1/ε) exceeds the published threshold θ.

    θ is where `keep` of `size` cells pass if `keep` of them hold a one:

    >>> passing = passing_chance(size=1000, keep=100, epsilon=1.0)
    >>> round(100 * passing + 900 * passing / np.e, 9)      # θ ≥ 1 here
    100.0
    """
    if keep in (0, size):
        return float(keep > 0)
    odds = math.log(size / keep - 1)
    if epsilon <= odds:
        above = math.log((size + keep * math.expm1(epsilon)) / (2 * keep)) - epsilon  # ε(θ − 1)
        return 0.5 * math.exp(-above)
    below = (epsilon - odds) / 2  # ε(1 − θ)
    return 1 - 0.5 * math.exp(-below)


def _distinct(sampler: Sampler, bound: int, count: int) -> Integers:
    """Draw `count` distinct uniform integers below `bound`."""
    if 2 * count > bound:
        return sampler.permutation(bound)[:count]
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < count:
        drawn = np.union1d(drawn, sampler.integers(count - drawn.size, bound))
    return drawn
