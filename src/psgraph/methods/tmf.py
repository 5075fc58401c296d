"""TmF: noise on every cell of the adjacency matrix, and the largest cells become the edges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.engines.pairs import pair_of
from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.privacy.budget import Budget, per_edge
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon

__all__ = ["TmF", "TmFMeasurement"]

Integers = NDArray[np.int64]

LINEAR = Caveat(
    None,
    "The edges were chosen by TmF's published linear filter, which keeps true edges by one rule "
    "and fills up with other pairs by another; what it shows is not bounded by any epsilon.",
)


@dataclass(frozen=True)
class TmFMeasurement:
    """The noisy edge count m̃ and the cells kept, numbered as in `psgraph.engines.pairs`."""

    roster: Roster
    noisy_edge_count: int
    cells: Integers


class TmF(Method[TmFMeasurement, TmFMeasurement]):
    """Top-m filter: noise on all n(n−1)/2 cells, then the m̃ largest cells are the edges.

    Parameters
    ----------
    count_share
        The part of the budget that goes to the edge count m̃; the cells get the rest.
    filter
        ``"exact"`` keeps the m̃ largest noisy cells. ``"linear"`` is the short cut of the
        published code, for comparison: it is **not private**, and certificates say so.

    Notes
    -----
    Privacy: ε₂ = `count_share` · ε for the count (sensitivity 1), ε₁ = ε − ε₂ for the cells, in
    which an edge is one cell (sensitivity 1). Keeping the largest is post-processing.

    Differences from the original: the noise is whole-numbered and exact, and the m̃ largest cells
    are really found instead of being approximated by a threshold computed from m̃. Both cost
    nothing: the filter runs in O(m + m̃) time and memory with the law of the dense definition.

    Where ε₁ is small a true edge is hardly likelier to be kept than any other pair, and the graph
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
    records = (TmFMeasurement,)

    def __init__(
        self,
        *,
        count_share: EpsilonLike = Fraction(1, 10),
        filter: Literal["exact", "linear"] = "exact",
    ) -> None:
        self.count_share = exact_epsilon(count_share, name="count_share")
        if self.count_share >= 1:
            raise InvalidArgument(
                f"count_share must lie between 0 and 1, not {exact_decimal(self.count_share)}"
            )
        if filter not in ("exact", "linear"):
            raise InvalidArgument("filter must be 'exact' or 'linear'")
        self.filter = filter

    @property
    def caveat(self) -> Caveat | None:
        """That the linear filter is not private."""
        return LINEAR if self.filter == "linear" else None

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        epsilon = guarantee.per_timestamp
        count_epsilon = self.count_share * epsilon
        return [
            NoisePlan("every timestamp", "edges", count_epsilon, 1),
            NoisePlan("every timestamp", "cells", epsilon - count_epsilon, 1),
        ]

    def measure(
        self, snapshot: Snapshot, state: TmFMeasurement | None, budget: Budget, engine: Engine
    ) -> TmFMeasurement:
        """The noisy edge count, and that many of the largest noisy cells.

        Privacy: all of the budget for one edge, unless `filter` is ``"linear"``. An edge moves
        the count by 1 and one cell by 1. proofs/tmf.md.
        """
        del state  # every timestamp stands alone
        roster = snapshot.roster
        count_epsilon = self.count_share * budget.remaining
        with phase("perturbation"):
            noisy_edge_count = budget.noisy_count(
                engine.edge_count(snapshot),
                sensitivity=per_edge(1),
                epsilon=count_epsilon,
                label="edges",
            )
            keep = min(max(noisy_edge_count, 0), roster.pairs)
            everyone = np.arange(len(roster), dtype=np.int32)  # each node is its own block
            edges = engine.block_counts(snapshot, everyone, len(roster), inside=False)
            epsilon = budget.remaining
            if self.filter == "exact":
                cells = budget.largest_cells(
                    edges.cells, size=edges.size, keep=keep, epsilon=epsilon, label="cells"
                )
            else:
                budget.unproven(epsilon=epsilon, label="cells", shape=(edges.size,))
                cells = _linear_filter(
                    budget, edges.cells, size=edges.size, keep=keep, epsilon=float(epsilon)
                )
        return TmFMeasurement(roster, noisy_edge_count, cells)

    def synthesise(
        self, state: TmFMeasurement, rng: np.random.Generator, engine: Engine
    ) -> SyntheticGraph:
        del rng, engine  # the cells kept are the edges
        with phase("reconstruction"):
            u, v = pair_of(state.cells, len(state.roster), inside=False)
            return SyntheticGraph(state.roster, u, v)

    def summary(self, state: TmFMeasurement) -> Mapping[str, Any]:
        return {"noisy_edges": state.noisy_edge_count}


def _linear_filter(
    budget: Budget, ones: Integers, *, size: int, keep: int, epsilon: float
) -> Integers:
    """The published short cut: true edges above a threshold, then uniform other pairs."""
    chance = passing_chance(size=size, keep=keep, epsilon=epsilon)
    lucky = budget.random_labels(ones.size, 1 << 53) < chance * 2.0**53
    survivors = ones[lucky]
    others = size - ones.size
    wanted = min(max(keep - survivors.size, 0), others)
    ranks = _distinct(budget, others, wanted)
    # The r-th pair that is no edge comes after as many edges as start at or before it.
    filled = ranks + np.searchsorted(ones - np.arange(ones.size), ranks, side="right")
    return np.sort(np.concatenate([survivors, filled]))


def passing_chance(*, size: int, keep: int, epsilon: float) -> float:
    """How likely 1 + Laplace(1/ε) exceeds the published threshold θ.

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


def _distinct(budget: Budget, bound: int, count: int) -> Integers:
    """`count` distinct uniform integers below `bound`."""
    if 2 * count > bound:
        return budget.random_order(bound)[:count]
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < count:
        drawn = np.union1d(drawn, budget.random_labels(count - drawn.size, bound))
    return drawn
