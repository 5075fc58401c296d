"""PSGraph+ as a method: the queries, the estimators and the realisation in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Runner
from psgraph.errors import MethodError
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import KINDS, UNDIRECTED, Kind
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.parameters import checked_flag, checked_integer
from psgraph.methods.plus import parts, plan
from psgraph.methods.plus.audit_cases import CASES
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import (
    BLOCKS,
    Communities,
    CommunityReadings,
    Search,
    Sizes,
    community_share,
)
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.degrees import DegreeStep, degree_step, kept_share
from psgraph.methods.plus.estimates import next_state
from psgraph.methods.plus.hubs import HubRows, hub_count
from psgraph.methods.plus.jumps import judge, recounts
from psgraph.methods.plus.label_blocks import LabelBlocks, LabelReadings, label_need
from psgraph.methods.plus.label_book import LabelBook, warn_of_new, warn_of_unused
from psgraph.methods.plus.label_queries import measure_labels
from psgraph.methods.plus.nodes import Drift, Nodes
from psgraph.methods.plus.owners import Owners
from psgraph.methods.plus.queries import (
    QUERIES,
    measure_communities,
    measure_sizes,
    measure_structure,
    measure_weights,
)
from psgraph.methods.plus.readings import (
    KindReadings,
    OwnedReadings,
    PlusMeasurement,
    SizeReadings,
    StructureReadings,
    WeightedMeasurement,
)
from psgraph.methods.plus.sampled_edges import MOST_COUNTED, Sample, sample_for
from psgraph.methods.plus.schedule import (
    counting_share,
    fixed_shares,
    purchase,
    to_follow,
    with_few_edges,
    with_labels,
    with_search,
)
from psgraph.methods.plus.shares import (
    NONE,
    Components,
    KindShares,
    Occasion,
    OwnerShares,
    Shares,
)
from psgraph.methods.plus.state import (
    AnyState,
    Jumps,
    OwnedState,
    PlusState,
    Side,
    SidedState,
    WeightedState,
    label_book,
)
from psgraph.methods.plus.synthesis import draw
from psgraph.methods.plus.tracking import Track
from psgraph.methods.plus.triangles import Cap, best_cap
from psgraph.methods.plus.weights import Weights
from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["PSGraphPlus"]

WINDOWS_TO_TRY = 2  # in which more is spent on labels that were not found useful yet


class PSGraphPlus(Method[PlusMeasurement, AnyState]):
    """Streaming graph synthesis that measures rarely, filters over time and keeps old edges.

    Parameters
    ----------
    curve
        Measure how many nodes have at least k neighbours, and match the degrees to it.
    hubs
        Measure the edges of single hubs where the budget allows.
    persistence
        Measure how many edges stay, and keep as many of the last release.
    clustering
        Measure the number of triangles, and swap edges towards it.
    communities
        Search for communities where released values say that they can be found.
    resets
        Allow a node's degree to be replaced by a fresh draw between two measurements.
    sampled_above
        Released edges above which triangles are counted among about as many, a public sample. Each
        takes about 25 bytes of memory.

    Notes
    -----
    Most of the window's ε is spent once per window: 29 % on structure (degree curve, edges between
    degree classes, triangles) and 61 % on node degrees, which are measured at every timestamp
    instead where released degrees show that they change too fast. 8 % is spread over the timestamps
    for edge counts, up to 16 % in long windows or at small ε, and 2 % tells how many edges stay. A
    component that is switched off leaves its share to the others.

    Where edges are many enough for their noise, part of the share of node degrees goes to a search
    for communities. What it finds is used only if it is clearly more than the same search finds in
    synthetic graphs without communities. Where released sizes say that a search can't succeed, it
    is not made and costs nothing.

    If the roster has public labels, edges between labels are counted instead of a search, with 5 %
    of what is bought, more where edges are few. Graphs then have these blocks, unless the released
    counts show that labels explain nothing.

    O(n + m) time per timestamp and, once per window, the time to count triangles and common
    neighbours. O(n + m) memory, unless the graph is drawn in parts: see `holds_all_edges`.

    Examples
    --------
    >>> PSGraphPlus(hubs=False).parameters()["hubs"]
    False
    """

    name = "psgraph-plus"
    title, colour, marker = "PSGraph+", "#8b1e3f", "8"
    records = (
        Cap,
        Clustering,
        Communities,
        CommunityReadings,
        DegreeCurve,
        Drift,
        HubRows,
        Jumps,
        KindReadings,
        KindShares,
        LabelBlocks,
        LabelBook,
        LabelReadings,
        Nodes,
        OwnedReadings,
        OwnedState,
        OwnerShares,
        Owners,
        PlusMeasurement,
        PlusState,
        Sample,
        Search,
        Shares,
        Side,
        SidedState,
        SizeReadings,
        StructureReadings,
        Track,
        WeightedMeasurement,
        WeightedState,
        Weights,
    )
    kinds = frozenset(KINDS)
    publishes_weights = True
    publishes_flows = True
    queries = tuple(query for queries in QUERIES.values() for query in queries)
    grows_from_release = True
    uses_labels = True
    distribution_version = 2
    added_parameters = frozenset({"sampled_above"})
    # The second is enough to search for communities; with the third, triangles are capped.
    rehearsal_epsilons = ("8", "128", "1/4")

    def __init__(
        self,
        *,
        curve: bool = True,
        hubs: bool = True,
        persistence: bool = True,
        clustering: bool = True,
        communities: bool = True,
        resets: bool = True,
        sampled_above: int = MOST_COUNTED,
    ) -> None:
        self.curve = checked_flag("curve", curve)
        self.hubs = checked_flag("hubs", hubs)
        self.persistence = checked_flag("persistence", persistence)
        self.clustering = checked_flag("clustering", clustering)
        self.communities = checked_flag("communities", communities)
        self.resets = checked_flag("resets", resets)
        self.sampled_above = checked_integer("sampled_above", sampled_above, least=1)

    @property
    def _components(self) -> Components:
        return Components(self.curve, self.hubs, self.persistence, self.clustering)

    def holds_all_edges(self, kind: Kind) -> bool:
        return kind != UNDIRECTED

    def check_roster(self, roster: Roster) -> None:
        """Refuse labels that can't be told apart."""
        LabelBook.of(roster)

    def request(self, state: AnyState | None, spending: Accountant) -> Fraction:
        """Request all that is free; `measure` gives back what it does not buy. See `schedule`.

        Privacy: from public spends. proofs/psgraph-plus.md.
        """
        del state
        fixed, free = fixed_shares(self._components, spending)
        return spending.guarantee.unit.edges * (fixed.total + free)

    def _buy(
        self,
        components: Components,
        state: AnyState | None,
        roster: Roster,
        free: Fraction,
        fixed: Shares,
        noisy_edges: int,
    ) -> Shares:
        """Return what is bought after a look at the noisy edge count.

        Privacy: all arguments are public or released.
        """
        occasion = Occasion()
        if state is not None:
            verdict = judge(state, nodes=len(roster), noisy_edges=noisy_edges, shares=fixed)
            occasion = Occasion(
                mode=state.mode,
                due=fixed.timestamp - state.opened >= fixed.window,
                waits=verdict.waits,
                jump=verdict.size if verdict.buys else 0.0,
                searches=isinstance(state, PlusState) and state.search.again,
                recounts=recounts(
                    state,
                    verdict,
                    noisy_edges=noisy_edges,
                    shares=fixed,
                    share=counting_share(self._components, fixed),
                ),
                counts=state.jumps.recounts and not verdict.waits,
            )
        book = label_book(state, roster)
        if book is None:
            shares = purchase(components, fixed, free, occasion)
            if not components.two_sides or components.owners:
                return shares
            edges = float(noisy_edges if state is None or occasion.jump else state.edge_count)
            return with_few_edges(shares, edges=edges, nodes=len(roster))
        shares = purchase(replace(components, labels=True), fixed, free, occasion)
        edges = float(noisy_edges if state is None else state.edge_count)
        known = state.labels if isinstance(state, PlusState) else None
        epsilon = NONE if occasion.waits else to_follow(shares, free)
        if known is not None and known.swings(edges=edges, epsilon=epsilon):
            return replace(shares, agreement=epsilon)
        useful = known is None or known.used
        if not useful and fixed.timestamp // fixed.window >= WINDOWS_TO_TRY:
            return shares
        return with_labels(shares, need=label_need(edges), edges=edges, hubs=self.hubs)

    def audit_cases(self) -> AuditCases:
        return CASES

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        return plan.rows(self._components.on(kind, guarantee.unit), guarantee, kind)

    def plan_with_labels(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes
        components = replace(self._components.on(kind, guarantee.unit), labels=kind.sides == 1)
        return plan.rows(components, guarantee, kind)

    def plan_remarks(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[str]:
        del nodes
        components = self._components.on(kind, guarantee.unit)
        return plan.remarks(
            components,
            guarantee,
            kind,
            searches=self.communities,
            sampled_above=self.sampled_above,
        )

    def measure(self, private: PrivateSnapshot, state: AnyState | None) -> PlusMeasurement:
        """Ask the queries that are scheduled for this timestamp.

        Privacy: the shares of this timestamp for one edge of its snapshot; for one edge of the
        snapshot before, what that timestamp has reserved. Classes and hubs are functions of
        released values. proofs/psgraph-plus.md.
        """
        kind, components = private.kind, self._components.on(private.kind, private.unit)
        shares, free = fixed_shares(components, private.spending)
        if private.unit.edges * (shares.total + free) > private.epsilon:
            raise MethodError(
                f"method {self.name!r} was granted less than it requested for this timestamp"
            )
        private = private.per_edge
        with phase("sizes"):
            sizes = measure_sizes(
                private,
                shares,
                free,
                buy=partial(self._buy, components, state, private.roster, free),
                divide=partial(self._with_search, kind, state, private.roster),
            )
            shares = sizes.shares
        if not shares.needs_degrees:
            none = StructureReadings(None, None, None, None, None)
            return self._measurement(private, sizes, None, none, None)
        with phase("degrees"):
            step = self._degree_step(state, sizes)
        if kind.sides == 2:
            warn_of_unused(private.roster)
            with phase("structure"):
                classes = np.concatenate([side.classes for side in step.sides])
                nobody = np.zeros(0, dtype=np.int64)
                structure = measure_structure(private, classes, nobody, shares)
            return self._measurement(private, sizes, classes, structure, None)
        (side,) = step.sides
        hubs = side.order[: hub_count(side.order.size)]
        with phase("structure"):
            sample = sample_for(sizes.noisy_edge_count, sizes.seed, self.sampled_above)
            structure = measure_structure(
                private,
                side.classes,
                hubs,
                shares,
                cap=None if sample else best_cap(side.wanted, float(shares.triangles)),
                numbers=side.numbers,
                sample=sample,
            )
        communities = None
        if shares.growth:
            with phase("communities"):
                found = state.communities_on(sizes) if isinstance(state, PlusState) else None
                communities = measure_communities(private, found, side.order, side.wanted, shares)
        book, labels = label_book(state, private.roster), None
        if book is not None:
            with phase("labels"):
                warn_of_new(book, private.roster)
                labels = measure_labels(private, book, shares)
        used = side.classes if shares.mixing or shares.hubs else None
        return self._measurement(private, sizes, used, structure, communities, labels)

    def _measurement(
        self,
        private: PrivateSnapshot,
        sizes: SizeReadings,
        classes: Labels | None,
        structure: StructureReadings,
        communities: CommunityReadings | None,
        labels: LabelReadings | None = None,
    ) -> PlusMeasurement:
        """Return the readings of a timestamp, after asking for those of weights."""
        readings = sizes, classes, structure, communities, labels
        if not private.kind.weighted or private.kind.flows:
            return PlusMeasurement(*readings)
        with phase("weights"):
            return WeightedMeasurement(*readings, measure_weights(private, sizes.shares))

    def _with_search(
        self,
        kind: Kind,
        state: AnyState | None,
        roster: Roster,
        shares: Shares,
        noisy_edges: int,
        noisy_curve: Integers | None,
    ) -> Shares:
        """Return the shares of a timestamp with those of a search, if one is to be made.

        Privacy: all arguments are public or released; the sum of the shares does not change.
        """
        if not self.communities or isinstance(state, SidedState) or kind.sides == 2:
            return shares
        again = state is not None and state.search.again
        steady = state is not None and state.mode == "steady"
        if not (shares.opens or again) or steady:
            return shares
        nodes = len(roster)
        if nodes > parts.WIDTH or label_book(state, roster) is not None:
            return shares  # a search needs all edges; public labels take its place
        connected = nodes if noisy_curve is None or not noisy_curve.size else int(noisy_curve[0])
        share = community_share(
            Search() if state is None else state.search,
            Sizes(nodes, noisy_edges, connected),
            window=shares.timestamp // shares.window,
            granted=shares.on_nodes,
            node_window=shares.node_window,
        )
        if not share:
            return shares
        blocks = BLOCKS * share
        return with_search(shares, growth=share - blocks, blocks=blocks, hubs=self.hubs)

    def _degree_step(self, state: AnyState | None, sizes: SizeReadings) -> DegreeStep:
        return degree_step(state, sizes, resets=self.resets, use_curve=self.curve)

    def update(self, state: AnyState | None, measurement: PlusMeasurement) -> AnyState:
        """Combine a measurement with the past."""
        with phase("degrees"):
            step = self._degree_step(state, measurement.sizes)
            degree_step.cache_clear()  # drawing needs the memory
        return next_state(state, measurement, step)

    def synthesise(
        self,
        state: AnyState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        """Draw a graph that keeps edges of the release before."""
        return draw(state, previous, rng, engine)

    def summary(self, state: AnyState) -> Mapping[str, Any]:
        common = {
            "noisy_edges": state.edge_count,
            "edges_kept": round(kept_share(state.persistence), 4),
            "node_degrees": state.mode,
        }
        if isinstance(state, PlusState):
            common |= {"hub_rows": state.hub_rows is not None, "communities": state.search.used}
            common |= _label_summary(state)
            return common
        if isinstance(state, OwnedState):
            common |= {
                "owners": state.owners.count,
                "edges_left_out": round(1 - 1 / state.owners.factor, 4),
            }
        if state.kind.directed and not state.kind.flows:
            common["reciprocity"] = round(float(state.reciprocity.level[0]), 4)
        return common


def _label_summary(state: PlusState) -> dict[str, Any]:
    """Say whether graphs follow the public labels, and how many there are after pooling."""
    known = state.labels
    if known is None:
        return {}
    combinations, nodes = known.book.pooled
    return {
        "labels_used": known.used,
        "labels": len(known.book.combinations),
        "labels_pooled": combinations,
        "nodes_of_pooled_labels": nodes,
    }
