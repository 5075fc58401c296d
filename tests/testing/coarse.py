"""A small method for graphs of every kind, with weights: it keeps their numbers and no more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.runner import Runner
from psgraph.graph import UNDIRECTED, Kind, Roster, SyntheticGraph
from psgraph.graph.kind import find_kind
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.query import CountsQuery

__all__ = ["ALL_KINDS", "AllEdges", "Coarse", "CoarseMeasurement", "WeightCounts"]

ALL_KINDS = frozenset({"undirected", "directed", "two-sided"})


@dataclass(frozen=True)
class AllEdges(EdgeCount):
    kinds = ALL_KINDS


@dataclass(frozen=True)
class WeightCounts(CountsQuery):
    """The number of edges of each weight up to the largest one."""

    largest: int

    label = "weights"
    sensitivity = 1
    weight_sensitivity = 2
    proof = "proofs/weights.md"
    subject = "the edges of one weight"
    kinds = ALL_KINDS

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (self.largest,)

    def answer(self, edges: Any) -> Any:
        weight = edges.parts.whole().weight
        return np.bincount(weight - 1, minlength=self.largest)


@dataclass(frozen=True)
class CoarseMeasurement:
    roster: Roster
    kind: str
    largest_weight: int
    noisy_edge_count: int
    noisy_weights: Integers
    extra: int = 0

    @property
    def pairs(self) -> Kind:
        return find_kind(self.kind, self.largest_weight or None)


class Coarse(Method[CoarseMeasurement, CoarseMeasurement]):
    """As many random pairs as there are edges, with weights drawn from their histogram."""

    name = "coarse"
    records = (CoarseMeasurement,)
    queries = (AllEdges, WeightCounts)
    kinds = ALL_KINDS
    publishes_weights = True
    weight_share = Fraction(1, 4)
    weight_query = WeightCounts

    def __init__(self) -> None:
        pass

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes
        epsilon = guarantee.per_timestamp
        weights = epsilon * self.weight_share
        if not kind.weighted:
            return [NoisePlan.of("always", AllEdges, epsilon)]
        return [
            NoisePlan.of("always", AllEdges, epsilon - weights),
            NoisePlan.of("always", WeightCounts, weights),
        ]

    def measure(
        self, private: PrivateSnapshot, state: CoarseMeasurement | None
    ) -> CoarseMeasurement:
        del state
        kind, weights = private.kind, np.zeros(0, dtype=np.int64)
        share = self.weight_share if kind.weighted else 0
        edges = private.ask(AllEdges(), epsilon=private.remaining * (1 - share))
        if kind.largest_weight is not None:
            weights = private.ask(self.weight_query(kind.largest_weight), epsilon=private.remaining)
        return CoarseMeasurement(
            private.roster, kind.name, kind.largest_weight or 0, edges, weights
        )

    def synthesise(
        self,
        state: CoarseMeasurement,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del previous, engine
        kind, roster = state.pairs, state.roster
        pairs = kind.pairs(*roster.sizes)
        chosen = rng.choice(pairs, min(max(state.noisy_edge_count, 0), pairs), replace=False)
        u, v = kind.pair_of(chosen, *roster.sizes, inside=kind.two_sided)
        return self._graph(state, rng, roster, kind, u, v + roster.offset)

    def _graph(
        self,
        state: CoarseMeasurement,
        rng: np.random.Generator,
        roster: Roster,
        kind: Kind,
        u: Integers,
        v: Integers,
    ) -> SyntheticGraph:
        weight = None
        if kind.weighted:
            shares = np.maximum(state.noisy_weights, 0) + 0.5
            weight = 1 + rng.choice(shares.size, u.size, p=shares / shares.sum())
        return SyntheticGraph(roster, u, v, kind=kind, weight=weight)
