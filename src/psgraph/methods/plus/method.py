"""PSGraph+ as a method: the queries, the estimators and the realisation in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.timing import phase
from psgraph.engines.base import Edges, Engine
from psgraph.errors import MethodError, exact_decimal
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.methods.base import Method, NoisePlan
from psgraph.methods.parameters import checked_flag
from psgraph.methods.plus.clustering import Clustering, ladder_variance
from psgraph.methods.plus.curve import DegreeCurve
from psgraph.methods.plus.degrees import DegreeStep, degree_step, generator
from psgraph.methods.plus.hubs import HubRows, advance, hub_count, with_hubs
from psgraph.methods.plus.mixing import (
    CELLS,
    CLASSES,
    Mixing,
    class_mixing,
    degree_classes,
    integer_blocks,
)
from psgraph.methods.plus.nodes import Drift, Nodes
from psgraph.methods.plus.persistence import kept_share, old_edges, steadiness
from psgraph.methods.plus.queries import (
    LABELS,
    SUBJECTS,
    hub_matrices,
    measure_sizes,
    measure_structure,
)
from psgraph.methods.plus.realisation import Target, realise
from psgraph.methods.plus.schedule import Parts, Shares, shares_of
from psgraph.methods.plus.state import PlusMeasurement, PlusState, SizeReadings, StructureReadings
from psgraph.methods.plus.swaps import swap_triangles
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.triangles import (
    second_largest_degree,
    transitivity,
    wedge_count,
)
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["PSGraphPlus"]

Labels = NDArray[np.int32]

CLOSE, CLOSE_WHERE_EDGES_STAY = 0.02, 0.1  # how far the number of triangles may be off


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
    resets
        Allow a node's degree to be replaced by a fresh draw between two measurements.

    Notes
    -----
    Most of the window's ε is spent once per window: 29 % on structure (degree curve, edges between
    degree classes, triangles) and 61 % on node degrees, which are asked at every timestamp instead
    where released degrees show that they change too fast. 8 % is spread over the window for edge
    counts, and 2 % tells how many edges stay. A component that is switched off leaves its share to
    the others.

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
    records = (
        Clustering,
        DegreeCurve,
        Drift,
        HubRows,
        Nodes,
        PlusMeasurement,
        PlusState,
        Shares,
        SizeReadings,
        StructureReadings,
        Track,
    )
    remembers_snapshot: ClassVar[bool] = True

    def __init__(
        self,
        *,
        curve: bool = True,
        hubs: bool = True,
        persistence: bool = True,
        clustering: bool = True,
        resets: bool = True,
    ) -> None:
        self.curve = checked_flag("curve", curve)
        self.hubs = checked_flag("hubs", hubs)
        self.persistence = checked_flag("persistence", persistence)
        self.clustering = checked_flag("clustering", clustering)
        self.resets = checked_flag("resets", resets)
        self._known: _Known | None = None

    @property
    def _parts(self) -> Parts:
        return Parts(self.curve, self.hubs, self.persistence, self.clustering)

    def request(self, state: PlusState | None, spending: Accountant) -> Fraction:
        """Ask for much where a window opens and little elsewhere; see `schedule`.

        Privacy: from released values and public spends. proofs/psgraph-plus.md.
        """
        return self._shares(state, spending).total

    def _shares(self, state: PlusState | None, spending: Accountant) -> Shares:
        return shares_of(self._parts, spending, "undecided" if state is None else state.mode)

    def plan(self, guarantee: WEventPrivacy, *, nodes: int) -> list[NoisePlan]:
        del nodes  # the noise does not depend on it
        rows = []
        for case, shares in _cases(self._parts, guarantee).items():
            for query, subject in SUBJECTS.items():
                label, sensitivity = LABELS[query]
                if epsilon := getattr(shares, query):
                    rows.append(NoisePlan(case, label, epsilon, sensitivity, subject))
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
        if first.triangles:
            remarks.append(
                f"Triangles are asked once per window with ε = {exact_decimal(first.triangles)} by "
                "the ladder mechanism, whose noise depends on the common neighbours of nodes."
            )
        if first.reserved:
            remarks.append(
                "Edges kept are counted in two snapshots and paid for by both: half is reserved "
                "where a window begins, half is spent at the timestamp after."
            )
        return remarks

    def measure(
        self,
        snapshot: Snapshot,
        state: PlusState | None,
        budget: Budget,
        engine: Engine,
        *,
        previous: Snapshot | None = None,
    ) -> PlusMeasurement:
        """Ask the questions that are scheduled for this timestamp.

        Privacy: the shares of this timestamp for one edge of `snapshot`; for one edge of
        `previous` what its timestamp has reserved. Classes and hubs are functions of released
        values. proofs/psgraph-plus.md.
        """
        shares = self._shares(state, budget.spending)
        if shares.total > budget.epsilon:
            raise MethodError(
                f"method {self.name!r} was granted less than it requested for this timestamp"
            )
        with phase("sizes"):
            sizes = measure_sizes(snapshot, previous, shares, budget, engine)
        with phase("degrees"):
            step = self._degree_step(state, sizes)
        classes = degree_classes(step.wanted)
        hubs = step.order[: hub_count(step.order.size)]
        with phase("structure"):
            structure = measure_structure(snapshot, classes, hubs, shares, budget, engine)
        divided = bool(shares.mixing or shares.hubs)
        return PlusMeasurement(sizes, classes if divided else None, structure)

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
        sizes, structure = measurement.sizes, measurement.structure
        with phase("degrees"):
            step = self._degree_step(state, sizes)
            self._known = None
        kept = kept_share(step.persistence)
        with phase("mixing"):
            track = _mixing_track(state, step.edge_count, sizes, structure)
            shares = track.level if track.seen.all() else None
            classes = measurement.classes
            if classes is None:
                classes = degree_classes(step.wanted)
            mixing = class_mixing(step.wanted, classes, shares, step.edge_count)
            rows = _hub_rows(state, sizes, structure, step, classes, mixing, kept)
            labels, identities = classes, np.arange(CLASSES, dtype=np.uint64)
            if rows is not None:
                mixing = with_hubs(rows, mixing, step.wanted, classes)
                labels = classes.copy()
                labels[rows.hubs] = CLASSES + np.arange(rows.hubs.size, dtype=np.int32)
                identities = np.concatenate([identities, step.numbers[rows.hubs]])
            # Where edges stay, blocks are rounded in the same way from one timestamp to the next.
            block_seed = sizes.seed
            if state is not None and steadiness(kept) > 0:
                block_seed = state.block_seed
            blocks = integer_blocks(mixing.matrix, identities, block_seed)
            target = Target(step.wanted, labels, *blocks, step.edge_count)
        with phase("realisation"):
            candidates = old_edges(state, sizes.roster, kept, generator(sizes.seed, 2))
            edges = realise(target, kept=candidates, rng=generator(sizes.seed, 3))
        with phase("clustering"):
            clustering = Clustering.start() if state is None else state.clustering
            plain = None if candidates[0].size else edges
            clustering = _measured_clustering(clustering, target, plain, sizes, structure)
            edges = _swapped(edges, clustering, target, kept, sizes.seed)
        return PlusState(
            roster=sizes.roster,
            u=edges.u,
            v=edges.v,
            edge_count=step.edge_count,
            edges_per_node=step.edges_per_node,
            persistence=step.persistence,
            curve_track=step.curve_track,
            curve=step.curve,
            nodes=step.nodes,
            mixing=track,
            hub_rows=rows,
            block_seed=block_seed,
            clustering=clustering,
            mode=step.mode,
            new_share=step.new_share,
        )

    def synthesise(
        self, state: PlusState, rng: np.random.Generator, engine: Engine
    ) -> SyntheticGraph:
        """Return the graph that `update` made."""
        del rng, engine
        return SyntheticGraph(state.roster, state.u, state.v)

    def summary(self, state: PlusState) -> Mapping[str, Any]:
        return {
            "noisy_edges": state.edge_count,
            "edges_kept": round(kept_share(state.persistence), 4),
            "node_degrees": state.mode,
            "hub_rows": state.hub_rows is not None,
        }


def _cases(parts: Parts, guarantee: WEventPrivacy) -> dict[str, Shares]:
    """The kinds of timestamps there are, with what each spends."""
    spending = Accountant(guarantee)
    first = shares_of(parts, spending, "undecided")
    if guarantee.window == 1:
        return {"every timestamp": first}
    cases = {"first timestamp": first}
    spending = spending.record(first.total)
    cases["second timestamp"] = shares_of(parts, spending, "undecided")
    for _ in range(guarantee.window - 1):
        spending = spending.record(shares_of(parts, spending, "undecided").total)
    cases["a window begins, degrees every timestamp"] = shares_of(parts, spending, "steady")
    for _ in range(guarantee.window):
        spending = spending.record(shares_of(parts, spending, "periodic").total)
    cases["a window begins, degrees once per window"] = shares_of(parts, spending, "periodic")
    return cases


def _mixing_track(
    state: PlusState | None, edges: int, sizes: SizeReadings, structure: StructureReadings
) -> Track:
    """The filtered share of edges in each pair of classes."""
    track = Track.unseen(CELLS, drift=0.0025) if state is None else state.mixing
    if structure.noisy_class_edges is None or edges == 0:
        return track
    noise = laplace_variance(float(1 / sizes.shares.mixing)) / edges**2
    scale = np.maximum(track.level, 0.003) ** 2
    return track.observe(structure.noisy_class_edges / edges, noise, scale)


def _hub_rows(
    state: PlusState | None,
    sizes: SizeReadings,
    structure: StructureReadings,
    step: DegreeStep,
    classes: Labels,
    mixing: Mixing,
    kept: float,
) -> HubRows | None:
    """The hub rows of this timestamp, if anything is known about them."""
    hubs = step.order[: hub_count(step.order.size)] if structure.hubs is None else structure.hubs
    before = None if state is None else state.hub_rows
    still = np.full(hubs.size, -1, dtype=np.int64)
    if before is not None and state is not None:
        index = np.full(len(sizes.roster), -1, dtype=np.int64)
        where = sizes.roster.positions(state.roster.ids[before.hubs])
        index[where[where >= 0]] = np.flatnonzero(where >= 0)
        still = index[hubs]
    noisy = None
    if structure.noisy_hub_edges is not None:
        noise = laplace_variance(float(1 / sizes.shares.hubs))
        noisy = (*hub_matrices(structure.noisy_hub_edges, hubs.size), noise)
    if not hubs.size:
        return None
    return advance(before, still, hubs, mixing, step.wanted, classes, kept=kept, noisy=noisy)


def _measured_clustering(
    clustering: Clustering,
    target: Target,
    plain: Edges | None,
    sizes: SizeReadings,
    structure: StructureReadings,
) -> Clustering:
    """Update the clustering target where triangles were measured.

    They are compared with a graph that has the same degrees and mixing, but keeps no edges:
    `plain`, or one that is built here.
    """
    if structure.noisy_triangles is None or structure.noisy_reach is None:
        return clustering
    nodes = target.degrees.size
    if plain is None:
        none = np.zeros(0, dtype=np.int32)
        plain = realise(target, kept=(none, none), rng=generator(sizes.seed, 4))
    reach = min(
        float(second_largest_degree(plain, nodes)),
        max(structure.noisy_reach, 0) + float(1 / sizes.shares.common),
    )
    noise = ladder_variance(reach, nodes=nodes, epsilon=float(sizes.shares.triangles))
    return clustering.measured(
        structure.noisy_triangles,
        noise,
        degrees=target.degrees,
        wedges=wedge_count(plain, nodes),
        unclustered=transitivity(plain, nodes),
    )


def _swapped(edges: Edges, clustering: Clustering, target: Target, kept: float, seed: int) -> Edges:
    """Swap edges towards the wanted number of triangles, unless it is close enough.

    A swap replaces two edges: the more edges stay in truth, the more it costs.
    """
    nodes = target.degrees.size
    share = clustering.wanted(target.degrees)
    if share is None:
        return edges
    return swap_triangles(
        edges,
        nodes=nodes,
        labels=target.labels,
        triangles=round(share * wedge_count(edges, nodes) / 3),
        tolerance=max(CLOSE, CLOSE_WHERE_EDGES_STAY * steadiness(kept)),
        rng=generator(seed, 5),
    )
