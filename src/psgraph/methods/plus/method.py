"""PSGraph+ as a method: the queries, the estimators and the realisation in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.errors import MethodError, exact_decimal
from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.parameters import checked_flag
from psgraph.methods.plus.capped import Cap, best_cap
from psgraph.methods.plus.clustering import Clustering
from psgraph.methods.plus.communities import (
    BLOCKS,
    OF_TIMESTAMP,
    Communities,
    CommunityReadings,
    Search,
)
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.degrees import DegreeStep, degree_step
from psgraph.methods.plus.hubs import HubRows, hub_count
from psgraph.methods.plus.nodes import Drift, Nodes
from psgraph.methods.plus.persistence import kept_share
from psgraph.methods.plus.queries import (
    QUERIES,
    measure_communities,
    measure_sizes,
    measure_structure,
)
from psgraph.methods.plus.schedule import (
    Mode,
    Parts,
    Shares,
    shares_of,
    typical_shares,
    with_search,
)
from psgraph.methods.plus.searching import known_communities, search_shares
from psgraph.methods.plus.state import PlusMeasurement, PlusState, SizeReadings, StructureReadings
from psgraph.methods.plus.synthesis import draw_graph
from psgraph.methods.plus.tracking import Track
from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["PSGraphPlus"]


@dataclass(frozen=True)
class _Known:
    """The degree step of a measurement, kept from `measure` for the `update` that follows."""

    state: PlusState | None
    sizes: SizeReadings
    step: DegreeStep


class PSGraphPlus(Method[PlusMeasurement, PlusState]):
    """Streaming graph synthesis that measures rarely, filters over time and keeps old edges.

    Parameters
    ----------
    curve
        Ask how many nodes have at least k neighbours, and match the degrees to it.
    hubs
        Ask for the edges of single hubs where the budget allows.
    persistence
        Ask how many edges stay, and keep as many of the last release.
    clustering
        Ask for the number of triangles, and swap edges towards it.
    communities
        Search for communities where released values say that they can be found.
    resets
        Allow a node's degree to be replaced by a fresh draw between two measurements.

    Notes
    -----
    Most of the window's ε is spent once per window: 29 % on structure (degree curve, edges between
    degree classes, triangles) and 61 % on node degrees, which are asked at every timestamp instead
    where released degrees show that they change too fast. 8 % is spread over the timestamps for
    edge counts, up to 16 % in long windows or at small ε, and 2 % tells how many edges stay. A
    component that is switched off leaves its share to the others.

    Where edges are many enough for their noise, part of the share of node degrees goes to a search
    for communities. What it finds is used only if it is clearly more than the same search finds in
    synthetic graphs without communities. Where released sizes say that a search can't succeed, it
    is not made and costs nothing.

    The graph of a timestamp is made in `update`, from random bits that are sealed in the
    measurement, because the next timestamp builds on it; `synthesise` returns it.

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
        self._known: _Known | None = None
        self._scheduled: tuple[PlusState | None, Accountant, Shares] | None = None

    def rehearsals(self) -> list[PSGraphPlus]:
        """Return the method, and one that searches for communities whatever the sizes are."""
        return [self, _Eager(**{name: bool(value) for name, value in self.parameters().items()})]

    @property
    def _parts(self) -> Parts:
        return Parts(self.curve, self.hubs, self.persistence, self.clustering)

    def request(self, state: PlusState | None, spending: Accountant) -> Fraction:
        """Ask for much where a window opens and little elsewhere; see `schedule`.

        Privacy: from released values and public spends. proofs/psgraph-plus.md.
        """
        return self._shares(state, spending).total

    def _shares(self, state: PlusState | None, spending: Accountant) -> Shares:
        """The shares of a timestamp, computed once for `request` and `measure`."""
        known = self._scheduled
        if known is not None and known[0] is state and known[1] is spending:
            return known[2]
        mode: Mode = "undecided" if state is None else state.mode
        again = state is not None and state.search.again and mode != "steady"
        shares = shares_of(self._parts, spending, mode, all_that_is_free=again)
        self._scheduled = state, spending, shares
        return shares

    def audit_cases(self) -> AuditCases:
        from psgraph.methods.plus.audit_cases import CASES

        return CASES

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        rows = []
        for case, shares in typical_shares(self._parts, guarantee).items():
            for name, queries in QUERIES.items():
                if epsilon := getattr(shares, name):
                    rows += [NoisePlan.of(case, query, epsilon) for query in queries]
        return rows

    def plan_remarks(self, guarantee: WEventPrivacy, *, nodes: int) -> list[str]:
        del nodes
        first = shares_of(self._parts, Accountant(guarantee), "undecided")
        remarks = []
        if guarantee.window > 1:
            remarks.append(
                "Node degrees are asked once per window, or at every timestamp where released "
                "degrees show that they change too fast for that."
            )
        if self.communities:
            remarks.append(
                "Where released sizes say that communities can be found, a search for them takes "
                f"up to {round(100 * OF_TIMESTAMP)} % of what a timestamp has for node degrees."
            )
        if first.triangles:
            remarks.append(
                f"Triangles are asked once per window with ε = {exact_decimal(first.triangles)} by "
                "the ladder mechanism, whose noise depends on the common neighbours of nodes. If "
                "released degrees and ε are small, they are counted among the first edges of each "
                "node instead, with discrete Laplace noise."
            )
        if first.reserved:
            remarks.append(
                "Edges kept are counted in two snapshots and paid for by both: half is reserved "
                "where a window begins, half is spent at the timestamp after."
            )
        return remarks

    def measure(self, private: PrivateSnapshot, state: PlusState | None) -> PlusMeasurement:
        """Ask the queries that are scheduled for this timestamp.

        Privacy: the shares of this timestamp for one edge of its snapshot; for one edge of the
        snapshot before, what that timestamp has reserved. Classes and hubs are functions of
        released values. proofs/psgraph-plus.md.
        """
        shares = self._shares(state, private.spending)
        if shares.total > private.epsilon:
            raise MethodError(
                f"method {self.name!r} was granted less than it requested for this timestamp"
            )
        with phase("sizes"):
            sizes = measure_sizes(private, shares, divide=self._divider(state, private.roster))
            shares = sizes.shares
        with phase("degrees"):
            step = self._degree_step(state, sizes)
        hubs = step.order[: hub_count(step.order.size)]
        with phase("structure"):
            structure = measure_structure(
                private,
                step.classes,
                hubs,
                shares,
                cap=self._cap(step.wanted, shares),
                numbers=step.numbers,
            )
        divided = bool(shares.mixing or shares.hubs)
        communities = None
        if shares.growth:
            with phase("communities"):
                found = known_communities(state, sizes)
                communities = measure_communities(private, found, step.order, step.wanted, shares)
        return PlusMeasurement(sizes, step.classes if divided else None, structure, communities)

    def _divider(
        self, state: PlusState | None, roster: Roster
    ) -> Callable[[Shares, int, Integers | None], Shares]:
        """Return what fixes the shares of a timestamp once its first sizes are released."""
        nodes = len(roster)

        def divide(shares: Shares, noisy_edges: int, noisy_curve: Integers | None) -> Shares:
            if not self.communities:
                return shares
            return search_shares(state, shares, nodes, noisy_edges, noisy_curve, hubs=self.hubs)

        return divide

    def _cap(self, degrees: Integers, shares: Shares) -> Cap | None:
        """Return what the count of triangles is limited to, from released degrees."""
        return best_cap(degrees, float(shares.triangles))

    def _degree_step(self, state: PlusState | None, sizes: SizeReadings) -> DegreeStep:
        """The degree step, computed once where `update` follows `measure` in one process."""
        known = self._known
        if known is not None and known.state is state and known.sizes is sizes:
            return known.step
        step = degree_step(state, sizes, resets=self.resets, use_curve=self.curve)
        self._known = _Known(state, sizes, step)
        return step

    def update(self, state: PlusState | None, measurement: PlusMeasurement) -> PlusState:
        """Combine a measurement with the past and draw the graph of this timestamp."""
        sizes = measurement.sizes
        with phase("degrees"):
            step = self._degree_step(state, sizes)
            self._known = None
        drawn = draw_graph(state, measurement, step)
        return PlusState(
            roster=sizes.roster,
            u=drawn.edges.u,
            v=drawn.edges.v,
            edge_count=step.edge_count,
            edges_per_node=step.edges_per_node,
            persistence=step.persistence,
            curve_track=step.curve_track,
            curve=step.curve,
            nodes=step.nodes,
            mixing=drawn.mixing,
            hub_rows=drawn.hub_rows,
            block_seed=drawn.block_seed,
            clustering=drawn.clustering,
            mode=step.mode,
            new_share=step.new_share,
            search=drawn.search,
        )

    def synthesise(
        self,
        state: PlusState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Engine,
    ) -> SyntheticGraph:
        """Return the graph that `update` made."""
        del previous, rng, engine
        return SyntheticGraph(state.roster, state.u, state.v)

    def summary(self, state: PlusState) -> Mapping[str, Any]:
        return {
            "noisy_edges": state.edge_count,
            "edges_kept": round(kept_share(state.persistence), 4),
            "node_degrees": state.mode,
            "hub_rows": state.hub_rows is not None,
            "communities": state.search.used,
        }


class _Eager(PSGraphPlus):
    """Always searches and caps, so that the code for both is compiled ahead of time."""

    def _cap(self, degrees: Integers, shares: Shares) -> Cap | None:
        del degrees, shares
        return Cap(8, 1.0)

    def _divider(
        self, state: PlusState | None, roster: Roster
    ) -> Callable[[Shares, int, Integers | None], Shares]:
        del state, roster

        def divide(shares: Shares, noisy_edges: int, noisy_curve: Integers | None) -> Shares:
            del noisy_edges, noisy_curve
            search = OF_TIMESTAMP * shares.on_nodes
            blocks = BLOCKS * search
            return with_search(shares, growth=search - blocks, blocks=blocks, hubs=self.hubs)

        return divide
