"""TmF: noise on every cell of the adjacency matrix, and the largest cells become the edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.engines.pairs import pair_of
from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.audit_cases import AuditCases, MechanismCase
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.parameters import checked_choice
from psgraph.methods.tmf.linear_filter import UnprovenLinearFilter
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy, exact_epsilon
from psgraph.privacy.mechanism import Mechanism, per_edge
from psgraph.privacy.mechanisms.laplace import LaplaceCount
from psgraph.privacy.mechanisms.top import LargestCells

__all__ = ["TmF", "TmFMeasurement"]

Filter = Literal["exact", "linear"]

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
    needs_all_edges = True
    records = (TmFMeasurement,)

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
        return AuditCases(mechanisms={"TmF's linear filter": lambda _draws: case})

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes
        case = "every timestamp"
        count_epsilon, cell_epsilon = self._split(guarantee.per_timestamp)
        return [
            NoisePlan(case, "edges", count_epsilon, 1, "the number of edges", unit="edges"),
            NoisePlan(case, "cells", cell_epsilon, 1, "a cell of the adjacency matrix (0 or 1)"),
        ]

    def _split(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """Split ε into ε₂ for the edge count and ε₁ for the cells."""
        count_epsilon = self.count_share * epsilon
        return count_epsilon, epsilon - count_epsilon

    def measure(
        self, snapshot: Snapshot, state: TmFMeasurement | None, budget: Budget, engine: Engine
    ) -> TmFMeasurement:
        """Measure the edge count, and that many of the largest noisy cells.

        Privacy: all of the budget for one edge, unless `filter` is ``"linear"``. An edge moves
        the count by 1 and one cell by 1. proofs/tmf.md.
        """
        del state  # timestamps are independent
        roster = snapshot.roster
        count_epsilon, cell_epsilon = self._split(budget.remaining)
        with phase("perturbation"):
            noisy_edge_count = budget.run(
                LaplaceCount(engine.edge_count(snapshot), per_edge(1)),
                epsilon=count_epsilon,
                label="edges",
            )
            keep = min(max(noisy_edge_count, 0), roster.pairs)
            everyone = np.arange(len(roster), dtype=np.int32)  # each node is a block of its own
            edges = engine.block_counts(snapshot, everyone, len(roster), inside=False)
            largest: Mechanism[Integers] = (
                LargestCells(edges.cells, size=edges.size, keep=keep)
                if self.filter == "exact"
                else UnprovenLinearFilter(edges.cells, size=edges.size, keep=keep)
            )
            cells = budget.run(largest, epsilon=cell_epsilon, label="cells")
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
