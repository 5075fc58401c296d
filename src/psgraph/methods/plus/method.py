"""PSGraph+ as a method: the queries, the estimators and the realisation in order."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Runner
from psgraph.errors import MethodError, exact_decimal
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import KINDS, UNDIRECTED, Kind
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.parameters import checked_flag
from psgraph.methods.plus.audit_cases import CASES
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import (
    BLOCKS,
    OF_TIMESTAMP,
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
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.label_queries import measure_labels
from psgraph.methods.plus.nodes import Drift, Nodes
from psgraph.methods.plus.queries import (
    QUERIES,
    measure_communities,
    measure_sizes,
    measure_structure,
    measure_weights,
)
from psgraph.methods.plus.schedule import (
    LABELS,
    RESERVE,
    counting_share,
    fixed_shares,
    least_shares,
    purchase,
    to_follow,
    typical_shares,
    with_labels,
    with_search,
)
from psgraph.methods.plus.shares import NONE, Components, KindShares, Occasion, Shares
from psgraph.methods.plus.state import (
    AnyState,
    Jumps,
    KindReadings,
    PlusMeasurement,
    PlusState,
    Side,
    SidedState,
    SizeReadings,
    StructureReadings,
    WeightedMeasurement,
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

LABEL_SHARES = ("agreement", "label_edges")
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
    neighbours. O(n + m) memory.

    Examples
    --------
    >>> PSGraphPlus(hubs=False).parameters()["hubs"]
    False
    """

    name = "psgraph-plus"
    title, colour, marker = "PSGraph+", "#8b1e3f", "8"
    needs_all_edges = True
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
        PlusMeasurement,
        PlusState,
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
    queries = tuple(query for queries in QUERIES.values() for query in queries)
    grows_from_release = True
    uses_labels = True
    distribution_version = 2
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
    ) -> None:
        self.curve = checked_flag("curve", curve)
        self.hubs = checked_flag("hubs", hubs)
        self.persistence = checked_flag("persistence", persistence)
        self.clustering = checked_flag("clustering", clustering)
        self.communities = checked_flag("communities", communities)
        self.resets = checked_flag("resets", resets)

    @property
    def _components(self) -> Components:
        return Components(self.curve, self.hubs, self.persistence, self.clustering)

    def check_roster(self, roster: Roster) -> None:
        """Refuse labels that can't be told apart."""
        LabelBook.of(roster)

    def request(self, state: AnyState | None, spending: Accountant) -> Fraction:
        """Request all that is free; `measure` gives back what it does not buy. See `schedule`.

        Privacy: from public spends. proofs/psgraph-plus.md.
        """
        del state
        fixed, free = fixed_shares(self._components, spending)
        return fixed.total + free

    def _buy(
        self,
        kind: Kind,
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
        components = self._components.on(kind)
        book = label_book(state, roster)
        if book is None:
            return purchase(components, fixed, free, occasion)
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
        return self._plan(guarantee, self._components.on(kind))

    def plan_with_labels(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes
        return self._plan(guarantee, replace(self._components, labels=True))

    def _plan(self, guarantee: WEventPrivacy, components: Components) -> list[NoisePlan]:
        rows = []
        for case, shares in typical_shares(components, guarantee).items():
            for name, queries in QUERIES.items():
                if epsilon := getattr(shares, name, None):
                    known = [NoisePlan.of(case, query, epsilon) for query in queries]
                    rows += [replace(each, at_least=name in LABEL_SHARES) for each in known]
        for name, epsilon in least_shares(components, guarantee).items():
            for query in QUERIES[name]:
                row = NoisePlan.of("a small jump, or a second one", query, epsilon)
                fixed = name in ("edges", "persistence", "kept_weights")
                rows.append(replace(row, at_least=not fixed))
        return rows

    def plan_remarks(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[str]:
        del nodes
        first = typical_shares(self._components.on(kind), guarantee)["first timestamp"]
        remarks = []
        if guarantee.window > 1:
            remarks.append(
                "Node degrees are measured once per window, or at every timestamp where released "
                "degrees show that they change too fast for that."
            )
            remarks.append(
                f"{round(100 * RESERVE)} % of the ε for structure and degrees is kept back where a "
                "window begins. A jump of the released edge count spends it: all of it if the "
                "count at least doubles or halves, less after a smaller jump. At the first "
                "timestamp of a fall only edges are counted."
            )
        if self.communities and kind.sides == 1:
            remarks.append(
                "Where released sizes say that communities can be found, a search for them takes "
                f"up to {round(100 * OF_TIMESTAMP)} % of what a timestamp has for node degrees."
            )
        remarks.append(
            f"If nodes have public labels, {round(100 * LABELS)} % of what is bought with "
            "structure counts edges between labels, and no search is made. Where released edge "
            "counts are small, more of it does, taken from the mixing of classes and from degrees. "
            "Where the released share of edges inside labels swings, up to half of what is kept "
            "back for jumps measures it between windows."
        )
        if first.triangles:
            remarks.append(
                f"Triangles are counted once per window with ε = {exact_decimal(first.triangles)} "
                "by the ladder mechanism, whose noise depends on the common neighbours of nodes. "
                "If released degrees and ε are small, those among the first edges of each "
                "node are counted instead, with discrete Laplace noise."
            )
        if first.reserved:
            remarks.append(
                "Edges kept are counted in two snapshots and paid for by both: half is reserved "
                "where a window begins, half is spent at the timestamp after. After a rise of the "
                "edge count that leaves the share of edges kept unknown they are counted once "
                "more, from what is kept back."
            )
        return remarks

    def measure(self, private: PrivateSnapshot, state: AnyState | None) -> PlusMeasurement:
        """Ask the queries that are scheduled for this timestamp.

        Privacy: the shares of this timestamp for one edge of its snapshot; for one edge of the
        snapshot before, what that timestamp has reserved. Classes and hubs are functions of
        released values. proofs/psgraph-plus.md.
        """
        kind = private.kind
        shares, free = fixed_shares(self._components.on(kind), private.spending)
        if shares.total + free > private.epsilon:
            raise MethodError(
                f"method {self.name!r} was granted less than it requested for this timestamp"
            )
        with phase("sizes"):
            sizes = measure_sizes(
                private,
                shares,
                free,
                buy=partial(self._buy, kind, state, private.roster, free),
                divide=partial(self._with_search, kind, state, private.roster),
            )
            shares = sizes.shares
        if not shares.needs_degrees:
            none = StructureReadings(None, None, None, None, None)
            return self._measurement(private, sizes, None, none, None)
        with phase("degrees"):
            step = self._degree_step(state, sizes)
        if kind.sides == 2:
            with phase("structure"):
                classes = np.concatenate([side.classes for side in step.sides])
                nobody = np.zeros(0, dtype=np.int64)
                structure = measure_structure(private, classes, nobody, shares)
            return self._measurement(private, sizes, classes, structure, None)
        (side,) = step.sides
        hubs = side.order[: hub_count(side.order.size)]
        with phase("structure"):
            structure = measure_structure(
                private,
                side.classes,
                hubs,
                shares,
                cap=best_cap(side.wanted, float(shares.triangles)),
                numbers=side.numbers,
            )
        communities = None
        if shares.growth:
            with phase("communities"):
                found = state.communities_on(sizes) if isinstance(state, PlusState) else None
                communities = measure_communities(private, found, side.order, side.wanted, shares)
        book, labels = label_book(state, private.roster), None
        if book is not None:
            with phase("labels"):
                _warn_of_new(book, private.roster)
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
        if not private.kind.weighted:
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
        if label_book(state, roster) is not None:
            return shares  # public labels take the place of communities
        nodes = len(roster)
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
        del engine
        return draw(state, previous, rng)

    def summary(self, state: AnyState) -> Mapping[str, Any]:
        common = {
            "noisy_edges": state.edge_count,
            "edges_kept": round(kept_share(state.persistence), 4),
            "node_degrees": state.mode,
        }
        if isinstance(state, PlusState):
            common |= {"hub_rows": state.hub_rows is not None, "communities": state.search.used}
            common |= _label_summary(state)
        elif state.kind.directed:
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


def _warn_of_new(book: LabelBook, roster: Roster) -> None:
    """Warn about values that are not in the code book. They are public, like the roster."""
    new = book.new_values(roster)
    if book.pooled[0] < len(new):
        shown = ", ".join("/".join(value or "none" for value in each) for each in new[:5])
        warnings.warn(
            f"{len(new)} labels are not told apart, because they are rare or new since the first "
            f"timestamp: {shown}{', …' if len(new) > 5 else ''}",
            stacklevel=2,
        )
