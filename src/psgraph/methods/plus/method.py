"""PSGraph+ as a method: the queries, the estimators and the realisation in order."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.resources import phase
from psgraph.engines.runner import Runner
from psgraph.errors import MethodError, exact_decimal
from psgraph.graph import SyntheticGraph
from psgraph.methods.audit_cases import (
    AuditCases,
    Probabilities,
    SamplerCase,
    noisy_counts,
    normalised,
)
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.parameters import checked_flag
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
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.hubs import HubRows, hub_count
from psgraph.methods.plus.jumps import judge, recounts
from psgraph.methods.plus.labelling import Plan
from psgraph.methods.plus.nodes import Drift, Nodes
from psgraph.methods.plus.noisy_triangles import Ladder
from psgraph.methods.plus.queries import (
    QUERIES,
    TriangleCount,
    measure_communities,
    measure_sizes,
    measure_structure,
)
from psgraph.methods.plus.schedule import (
    RESERVE,
    Components,
    Occasion,
    Shares,
    counting_share,
    fixed_shares,
    least_shares,
    purchase,
    typical_shares,
    with_search,
)
from psgraph.methods.plus.state import (
    Jumps,
    PlusMeasurement,
    PlusState,
    SizeReadings,
    StructureReadings,
)
from psgraph.methods.plus.synthesis import draw
from psgraph.methods.plus.tracking import Track
from psgraph.methods.plus.triangles import FEWEST_KEPT, Cap, best_cap
from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.samplers import Sampler

__all__ = ["PSGraphPlus"]


class PSGraphPlus(Method[PlusMeasurement, PlusState]):
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
        Nodes,
        PlusMeasurement,
        PlusState,
        Search,
        Shares,
        SizeReadings,
        StructureReadings,
        Track,
    )
    queries = tuple(query for queries in QUERIES.values() for query in queries)
    grows_from_release = True
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

    def request(self, state: PlusState | None, spending: Accountant) -> Fraction:
        """Request all that is free; `measure` gives back what it does not buy. See `schedule`.

        Privacy: from public spends. proofs/psgraph-plus.md.
        """
        del state
        fixed, free = fixed_shares(self._components, spending)
        return fixed.total + free

    def _buy(
        self,
        state: PlusState | None,
        nodes: int,
        free: Fraction,
        fixed: Shares,
        noisy_edges: int,
    ) -> Shares:
        """Return what is bought after a look at the noisy edge count.

        Privacy: all arguments are public or released.
        """
        occasion = Occasion()
        if state is not None:
            verdict = judge(state, nodes=nodes, noisy_edges=noisy_edges, shares=fixed)
            occasion = Occasion(
                mode=state.mode,
                due=fixed.timestamp - state.opened >= fixed.window,
                waits=verdict.waits,
                jump=verdict.size if verdict.buys else 0.0,
                searches=state.search.again,
                recounts=recounts(
                    state,
                    verdict,
                    noisy_edges=noisy_edges,
                    shares=fixed,
                    share=counting_share(self._components, fixed),
                ),
                counts=state.jumps.recounts and not verdict.waits,
            )
        return purchase(self._components, fixed, free, occasion)

    def audit_cases(self) -> AuditCases:
        return _CASES

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        rows = []
        for case, shares in typical_shares(self._components, guarantee).items():
            for name, queries in QUERIES.items():
                if epsilon := getattr(shares, name):
                    rows += [NoisePlan.of(case, query, epsilon) for query in queries]
        return rows + self._least(guarantee)

    def _least(self, guarantee: WEventPrivacy) -> list[NoisePlan]:
        """The rows of a timestamp that comes soon after a jump and buys with what is left."""
        rows = []
        for name, epsilon in least_shares(self._components, guarantee).items():
            for query in QUERIES[name]:
                row = NoisePlan.of("a small jump, or a second one", query, epsilon)
                rows.append(replace(row, at_least=name not in ("edges", "persistence")))
        return rows

    def plan_remarks(self, guarantee: WEventPrivacy, *, nodes: int) -> list[str]:
        del nodes
        first = typical_shares(self._components, guarantee)["first timestamp"]
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
        if self.communities:
            remarks.append(
                "Where released sizes say that communities can be found, a search for them takes "
                f"up to {round(100 * OF_TIMESTAMP)} % of what a timestamp has for node degrees."
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

    def measure(self, private: PrivateSnapshot, state: PlusState | None) -> PlusMeasurement:
        """Ask the queries that are scheduled for this timestamp.

        Privacy: the shares of this timestamp for one edge of its snapshot; for one edge of the
        snapshot before, what that timestamp has reserved. Classes and hubs are functions of
        released values. proofs/psgraph-plus.md.
        """
        shares, free = fixed_shares(self._components, private.spending)
        if shares.total + free > private.epsilon:
            raise MethodError(
                f"method {self.name!r} was granted less than it requested for this timestamp"
            )
        with phase("sizes"):
            nodes = len(private.roster)
            sizes = measure_sizes(
                private,
                shares,
                free,
                buy=partial(self._buy, state, nodes, free),
                divide=partial(self._with_search, state, nodes),
            )
            shares = sizes.shares
        if not shares.needs_degrees:
            none = StructureReadings(None, None, None, None, None)
            return PlusMeasurement(sizes, None, none, None)
        with phase("degrees"):
            step = self._degree_step(state, sizes)
        hubs = step.order[: hub_count(step.order.size)]
        with phase("structure"):
            structure = measure_structure(
                private,
                step.classes,
                hubs,
                shares,
                cap=best_cap(step.wanted, float(shares.triangles)),
                numbers=step.numbers,
            )
        communities = None
        if shares.growth:
            with phase("communities"):
                found = None if state is None else state.communities_on(sizes)
                communities = measure_communities(private, found, step.order, step.wanted, shares)
        classes = step.classes if shares.mixing or shares.hubs else None
        return PlusMeasurement(sizes, classes, structure, communities)

    def _with_search(
        self,
        state: PlusState | None,
        nodes: int,
        shares: Shares,
        noisy_edges: int,
        noisy_curve: Integers | None,
    ) -> Shares:
        """Return the shares of a timestamp with those of a search, if one is to be made.

        Privacy: all arguments are public or released; the sum of the shares does not change.
        """
        again = state is not None and state.search.again
        steady = state is not None and state.mode == "steady"
        if not self.communities or not (shares.opens or again) or steady:
            return shares
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

    def _degree_step(self, state: PlusState | None, sizes: SizeReadings) -> DegreeStep:
        return degree_step(state, sizes, resets=self.resets, use_curve=self.curve)

    def update(self, state: PlusState | None, measurement: PlusMeasurement) -> PlusState:
        """Combine a measurement with the past."""
        with phase("degrees"):
            step = self._degree_step(state, measurement.sizes)
            degree_step.cache_clear()  # drawing needs the memory
        return next_state(measurement, step)

    def synthesise(
        self,
        state: PlusState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        """Draw a graph that keeps edges of the release before."""
        del engine
        return draw(state, previous, rng)

    def summary(self, state: PlusState) -> Mapping[str, Any]:
        return {
            "noisy_edges": state.edge_count,
            "edges_kept": round(kept_share(state.persistence), 4),
            "node_degrees": state.mode,
            "hub_rows": state.hub_rows is not None,
            "communities": state.search.used,
        }


# ---- for `psgraph audit`: the ladder and the growth pass on a few nodes ----


def _rung_weights(value: int, reach: int, widest: int, rate: float) -> Probabilities:
    weights: dict[Hashable, float] = {value: 1.0}
    offset, rung = 0, 1
    while rung * rate < 30:
        for _ in range(min(reach + rung - 1, widest)):
            offset += 1
            weights[value + offset] = weights[value - offset] = math.exp(-rate * rung)
        rung += 1
    return normalised(weights)


def _growth_rows(sampler: Sampler) -> Hashable:
    """A path of three nodes and one label: rows count edges to the nodes before."""
    growth = GrowthPass(
        np.array([0, 1, 3, 4], np.int64),
        np.array([1, 0, 2, 1], np.int32),
        Plan(np.arange(3), np.ones(3), np.zeros((3, 1), np.float32), 0),
    )
    return tuple(np.clip(growth.draw(sampler, Fraction(1)), -3, 4)[:, 0].tolist())


_SWITCHES = ("curve", "hubs", "persistence", "clustering", "communities", "resets")

_BRANCHES: dict[str, Callable[[PlusMeasurement, PlusState], bool]] = {
    "a window opens": lambda measured, _: measured.sizes.shares.opens,
    "everything is given back": lambda measured, _: not measured.sizes.shares.bought,
    "degrees are bought, and no structure": lambda measured, _: (
        measured.sizes.shares.nodes > 0 and not measured.sizes.shares.mixing
    ),
    "a rise of the edge count": lambda _, state: state.jumps.found == "rise",
    "a fall waits": lambda _, state: state.jumps.waiting,
    "a fall waits where a window is due": lambda measured, state: (
        state.jumps.waiting
        and measured.sizes.shares.timestamp - state.opened >= measured.sizes.shares.window
    ),
    "a fall that does not wait": lambda _, state: (
        state.jumps.found == "fall" and not state.jumps.waiting
    ),
    "a fall lasts": lambda _, state: state.jumps.found == "confirmed",
    "the edge count comes back": lambda _, state: state.jumps.found == "back",
    "the reserve is spent": lambda measured, state: (
        state.jumps.found in ("rise", "fall", "confirmed")
        and measured.sizes.shares.mixing > 0
        and not measured.sizes.shares.opens
    ),
    "the reserve is too small to be spent": lambda measured, state: (
        state.jumps.found in ("rise", "confirmed") and not measured.sizes.shares.mixing
    ),
    "mode: undecided": lambda _, state: state.mode == "undecided",
    "mode: degrees once per window": lambda _, state: state.mode == "periodic",
    "mode: degrees at every timestamp": lambda _, state: state.mode == "steady",
    "edges kept are counted": lambda measured, _: measured.sizes.noisy_kept_edges is not None,
    "edges kept will be counted once more": lambda _, state: state.jumps.recounts,
    "edges kept can't be counted after a restart": lambda measured, _: (
        measured.sizes.shares.persistence > 0 and measured.sizes.noisy_kept_edges is None
    ),
    "hubs are measured": lambda measured, _: measured.structure.noisy_hub_edges is not None,
    "triangles by the ladder": lambda measured, _: (
        measured.structure.noisy_triangles is not None and measured.structure.cap is None
    ),
    "triangles of 3 edges per node": lambda measured, _: (
        measured.structure.cap is not None and measured.structure.cap.edges == FEWEST_KEPT
    ),
    "triangles of more edges per node": lambda measured, _: (
        measured.structure.cap is not None and measured.structure.cap.edges > FEWEST_KEPT
    ),
    "a first search for communities": lambda measured, _: (
        measured.communities is not None and len(measured.communities.noisy_rows) == 1
    ),
    "a later search for communities": lambda measured, _: (
        measured.communities is not None and len(measured.communities.noisy_rows) > 1
    ),
    "a search fails": lambda measured, state: (
        measured.communities is not None and state.search.found is None
    ),
    "a search will be repeated at once": lambda _, state: state.search.again,
    "communities are used": lambda _, state: state.search.used,
}

_CASES = AuditCases(
    variants={f"without {name}": {name: False} for name in _SWITCHES},
    branches=_BRANCHES,
    phases={"triangles": TriangleCount()},
    samplers={
        "growth pass": SamplerCase(
            _growth_rows, lambda: noisy_counts([0, 1, 1], 1.0, low=-3, high=4)
        ),
        "ladder": SamplerCase(
            lambda sampler: Ladder(3, 1, 5).draw(sampler, Fraction(1)),
            lambda: _rung_weights(3, 1, 3, 0.5),
        ),
    },
)
