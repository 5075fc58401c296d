"""From released sizes to a wanted degree for every node: one timestamp's worth.

Edge count, degree curve, node filter and wanted degrees in the order in which they build on each
other, for each side of the edges. `measure` needs the result for the queries about structure,
`update` needs it again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels, read_only
from psgraph.methods.plus.coupling import coupled_classes, coupling
from psgraph.methods.plus.curve import DegreeCurve, fit_curve
from psgraph.methods.plus.jumps import Verdict, judge, prior_state
from psgraph.methods.plus.mixing import degree_classes
from psgraph.methods.plus.modes import Largest, next_mode, top_count
from psgraph.methods.plus.nodes import Nodes, measured_nodes
from psgraph.methods.plus.schedule import KindShares, Mode
from psgraph.methods.plus.state import (
    AnyState,
    KindReadings,
    Purpose,
    Side,
    SidedState,
    SideReadings,
    SizeReadings,
)
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.wanted import ranked, wanted_degrees

__all__ = [
    "DegreeStep",
    "SideStep",
    "degree_step",
    "kept_share",
    "kept_share_track",
    "steadiness",
]

CLEARLY_KEPT = 1.5  # standard deviations
MOSTLY_NEW = 0.5  # where no more edges than this stay, nothing is done to keep them
MOST_NOISE = 64  # scales of Laplace noise
OTHER_SIDE = 16  # what the second side adds to the numbers of purposes
USUAL_RECIPROCITY = 0.25  # how far reciprocity drifts, relative to the whole range


@dataclass(frozen=True)
class SideStep:
    """Estimates about one side of the edges.

    Attributes
    ----------
    order
        Positions from the largest estimated degree to the smallest.
    wanted
        The degree that every node should have.
    """

    curve_track: Track
    curve: DegreeCurve | None
    nodes: Nodes
    order: Integers
    wanted: Integers
    new_share: float

    @cached_property
    def classes(self) -> Labels:
        """The degree class of every node."""
        return degree_classes(self.wanted)

    @cached_property
    def numbers(self) -> NDArray[np.uint64]:
        """A random number for every node that stays with it, below 2⁵²."""
        ties = self.nodes.ties[: self.wanted.size]
        return (ties.astype(np.float64) * 2.0**52).astype(np.uint64)


@dataclass(frozen=True)
class DegreeStep:
    """Estimates that depend on the size readings alone.

    Attributes
    ----------
    prior
        The state before, as far as it still holds after a jump of the edge count.
    sides
        One, if the ends of edges are alike; the wanted degrees then add up to 2·`edge_count`
        wherever possible. Otherwise two, each of which adds up to `edge_count`.
    active, reciprocity
        As in `SidedState`; of directed graphs.
    """

    prior: AnyState | None
    edges_per_node: Track
    persistence: Track
    edge_count: int
    sides: tuple[SideStep, ...]
    active: Track
    reciprocity: Track
    mode: Mode


@lru_cache(maxsize=1)  # `measure` and the `update` that follows take the same step
def degree_step(
    state: AnyState | None, sizes: SizeReadings, *, resets: bool, use_curve: bool
) -> DegreeStep:
    """Estimate edge count and degrees from the size readings and the past.

    Parameters
    ----------
    resets
        Whether a node's degree may be replaced by a fresh draw between measurements.
    use_curve
        Whether degrees are matched to the fitted degree distribution.
    """
    nodes_now = len(sizes.roster)
    verdict = judge(state, nodes=nodes_now, noisy_edges=sizes.noisy_edge_count, shares=sizes.shares)
    stale = max(verdict.size, 0.0 if state is None else state.jumps.stale)
    state = prior_state(state, verdict, sizes.shares)
    per_node = _edges_per_node(state, sizes)
    edge_count = _edge_count(per_node, sizes)
    kept_track = kept_share_track(state, sizes, verdict)
    filter_side = _SideFilter(
        sizes,
        edge_count=edge_count,
        relative_variance=float(per_node.variance[0]),
        resets=resets,
        jump=0.0 if verdict.kind == "back" else stale,
        learns=verdict.restless or not stale,
    )
    sides = [
        filter_side(None if state is None else state.sides[number], readings, number)
        for number, readings in enumerate(sizes.sides)
    ]
    mode: Mode = "undecided" if state is None else state.mode
    if any(side.largest is not None for side in sides):
        mode = next_mode(
            mode,
            [side.largest for side in sides if side.largest is not None],
            node_window=sizes.shares.node_window,
            window=sizes.shares.window,
            kept=(float(kept_track.level[0]), float(kept_track.variance[0])),
        )
    active, reciprocity = _dyad_tracks(state, sizes, edge_count)
    steady = steadiness(kept_share(kept_track))
    ranks = [side.steadied(steady) for side in sides]
    if sizes.kind.directed:
        ranks = _coupled(sides, ranks, active, reciprocity)
    return DegreeStep(
        prior=state,
        edges_per_node=per_node,
        persistence=kept_track,
        edge_count=edge_count,
        sides=tuple(
            side.step(rank, sizes, edge_count, number, use_curve=use_curve)
            for number, (side, rank) in enumerate(zip(sides, ranks, strict=True))
        ),
        active=active,
        reciprocity=reciprocity,
        mode=mode,
    )


# ---- shares of edges that stay, of active nodes and of reciprocated edges


def kept_share_track(state: AnyState | None, sizes: SizeReadings, verdict: Verdict) -> Track:
    """Return the filtered share κ of edges that stay; it starts at 0, as nothing is known.

    Where the edge count fell or came back, a count of edges kept says nothing about other times.
    """
    if state is None:
        return Track.start(0.0, variance=0.08, drift=0.0025)
    fell = verdict.kind in ("fall", "back")
    if sizes.noisy_kept_edges is None or state.edge_count == 0 or fell:
        return state.persistence
    noise = laplace_variance(float(1 / sizes.shares.persistence)) / state.edge_count**2
    observed = np.array([sizes.noisy_kept_edges / state.edge_count])
    return state.persistence.observe(observed, noise, np.ones(1)).clipped(0.0, 1.0)


def kept_share(track: Track) -> float:
    """Return κ, or 0 where it can't be told from 0: an estimate that is clipped there is too large.

    >>> kept_share(Track.start(0.2, variance=0.04, drift=0.0025))
    0.0
    """
    share, variance = float(track.level[0]), float(track.variance[0])
    return share if share > CLEARLY_KEPT * math.sqrt(variance) else 0.0


def steadiness(share: float) -> float:
    """Return how much to do to let edges stay: 0 where most are new, 1 where all of them stay.

    >>> steadiness(0.4), steadiness(0.75), steadiness(1.0)
    (0.0, 0.5, 1.0)
    """
    return max(0.0, (share - MOSTLY_NEW) / (1 - MOSTLY_NEW))


def _dyad_tracks(
    state: AnyState | None, sizes: SizeReadings, edge_count: int
) -> tuple[Track, Track]:
    """The filtered shares of active nodes, and of edges whose reverse is there as well."""
    active = reciprocity = Track.unseen(1, drift=0.0025)
    if isinstance(state, SidedState):
        active, reciprocity = state.active, state.reciprocity
    if not isinstance(sizes, KindReadings) or not isinstance(sizes.shares, KindShares):
        return active, reciprocity
    nodes, scale = len(sizes.roster), np.full(1, USUAL_RECIPROCITY)
    if sizes.noisy_active_nodes is not None and nodes:
        noise = laplace_variance(float(2 / sizes.shares.active)) / nodes**2
        observed = np.array([sizes.noisy_active_nodes / nodes])
        active = active.observe(observed, noise, scale).clipped(0.0, 1.0)
    if sizes.noisy_reciprocated is not None and edge_count:
        noise = laplace_variance(float(1 / sizes.shares.reciprocity)) * (2 / edge_count) ** 2
        observed = np.array([2 * sizes.noisy_reciprocated / edge_count])
        reciprocity = reciprocity.observe(observed, noise, scale).clipped(0.0, 1.0)
    return active, reciprocity


# ---- the edge count


def _edges_per_node(state: AnyState | None, sizes: SizeReadings) -> Track:
    nodes = len(sizes.roster)
    if state is None:
        track, scale = Track.start(1.5, variance=1.0, drift=0.05), 1.0
    else:
        track = state.edges_per_node
        scale = max(float(track.level[0]), 0.5) ** 2
    if nodes == 0:
        return track
    edges, noise = _measured_edges(sizes)
    observed = np.array([edges / nodes])
    most = sizes.kind.pairs(*sizes.roster.sizes) / nodes
    track = track.observe(observed, noise / nodes**2, np.array([scale]), most=most)
    return track.clipped(0.5 / nodes, np.inf)


def _measured_edges(sizes: SizeReadings) -> tuple[float, float]:
    """Return the noisy number of edges and its variance.

    Noisy degrees add up to the number of edge ends as well. With few nodes their sum is the better
    reading; the two are weighted by their precision.
    """
    noise = laplace_variance(float(1 / sizes.shares.edges))
    if sizes.noisy_degrees is None:
        return sizes.noisy_edge_count, noise
    summed, other = _summed_degrees(sizes)
    share = other / (noise + other)
    return share * sizes.noisy_edge_count + (1 - share) * summed, share * noise


def _summed_degrees(sizes: SizeReadings) -> tuple[float, float]:
    """Return the number of edges that noisy degrees add up to, and its variance."""
    found = [_noisy_degrees(side, sizes) for side in sizes.sides]
    noise = laplace_variance(float(2 / sizes.shares.nodes))
    (sums, counts) = zip(*((float(d.sum()), d.size) for d in found if d is not None), strict=True)
    if len(counts) == 1:
        return sums[0] / 2, counts[0] * noise / 4
    total = sum(counts)  # each side counts all edges, the smaller one with less noise
    weighted = sums[0] * counts[1] + sums[1] * counts[0]
    return weighted / total, counts[0] * counts[1] * noise / total


def _edge_count(per_node: Track, sizes: SizeReadings) -> int:
    nodes, pairs = len(sizes.roster), sizes.kind.pairs(*sizes.roster.sizes)
    return round(min(max(float(per_node.level[0]) * nodes, min(1, pairs)), pairs))


def _noisy_degrees(side: SideReadings, sizes: SizeReadings) -> Integers | None:
    if side.noisy_degrees is None:
        return None
    scale = float(2 / sizes.shares.nodes)
    return _believable(side.noisy_degrees, scale, most=side.largest + 1)


def _believable(noisy: Integers, scale: float, *, most: int) -> Integers:
    """Limit noisy counts of 0 to `most` to what Laplace noise of a scale can explain.

    A count beyond has a probability below e^−64. It would lead the estimators to numbers that they
    can't represent, and tells nothing more than the limit does.
    """
    reach = math.ceil(MOST_NOISE * scale)
    return np.clip(noisy, -reach, most + reach)


# ---- one side


@dataclass(frozen=True)
class _FilteredSide:
    """Curve and nodes of one side after a timestamp.

    Attributes
    ----------
    before
        What was known of the side.
    scale
        That of the noise on degrees measured at this timestamp, None if there was none.
    largest
        The largest nodes, where degrees were measured.
    """

    before: Side | None
    readings: SideReadings
    curve_track: Track
    curve: DegreeCurve | None
    nodes: Nodes
    new_share: float
    scale: float | None = None
    largest: Largest | None = None

    def steadied(self, most: float) -> Floats:
        """Return estimates moved to the degrees of the last graph, by `most` standard deviations.

        Nodes whose estimates differ by less than their doubt are in no particular order. Ordering
        them as in the last graph lets them keep their degrees, and with them their edges.
        """
        nodes, estimates = self.nodes, self.nodes.degrees
        if self.before is None or most == 0 or not self.before.degrees.size:
            return estimates
        before, roster = self.before.degrees.astype(np.float64), self.before.nodes.roster
        if roster is not nodes.roster:
            there = roster.positions(nodes.roster.ids)
            before = np.where(there >= 0, before[there], estimates)
        variance = np.where(nodes.measured, nodes.variance[: estimates.size], nodes.fresh_mean)
        doubt = most * np.sqrt(np.maximum(variance, 0.0))
        return np.clip(before, estimates - doubt, estimates + doubt)

    def step(
        self, rank: Floats, sizes: SizeReadings, edge_count: int, number: int, *, use_curve: bool
    ) -> SideStep:
        """Return the estimates with a wanted degree for every node; `rank` orders the nodes."""
        estimates = self.nodes.degrees
        order = ranked(rank, self.nodes.ties[: estimates.size])
        alike = sizes.kind.sides == 1
        wanted = wanted_degrees(
            estimates,
            order,
            shares=self.curve.shares if use_curve and self.curve is not None else np.zeros(0),
            total=2 * edge_count if alike else edge_count,
            largest=self.readings.largest,
            sure_scale=self.scale,
            rng=sizes.random(Purpose.WANTED_DEGREES, number * OTHER_SIDE),
            even=alike,
        )
        return SideStep(
            curve_track=self.curve_track,
            curve=self.curve,
            nodes=self.nodes,
            order=order,
            wanted=read_only(wanted),  # as it comes out of a ledger: see `PlusState`
            new_share=self.new_share,
        )


@dataclass(frozen=True)
class _SideFilter:
    """Filters the readings of a side; see `measured_nodes` for the parameters.

    `relative_variance` is that of the filtered edges per node.
    """

    sizes: SizeReadings
    edge_count: int
    relative_variance: float
    resets: bool
    jump: float
    learns: bool

    def __call__(self, before: Side | None, readings: SideReadings, number: int) -> _FilteredSide:
        sizes, nodes_now = self.sizes, len(readings.roster)
        curve_track = self._curve_track(before, readings)
        nodes = Nodes.start() if before is None else before.nodes
        generator = sizes.random(Purpose.NEW_NODES, number * OTHER_SIDE)
        nodes = nodes.joined(readings.roster, generator)
        side = _FilteredSide(
            before,
            readings,
            curve_track,
            None if before is None else before.curve,
            nodes,
            0.0 if before is None else before.new_share,
        )
        noisy_degrees = _noisy_degrees(readings, sizes)
        if noisy_degrees is None or not nodes_now:
            return side
        scale, timestamp = float(2 / sizes.shares.nodes), sizes.shares.timestamp
        ends = 2 / sizes.kind.sides * len(sizes.roster) / nodes_now  # per edge, of a node
        curve = fit_curve(
            noisy_degrees,
            scale=scale,
            curve=curve_track.level,
            curve_variance=curve_track.variance,
            mean_degree=2 / sizes.kind.sides * self.edge_count / nodes_now,
            mean_variance=ends**2 * self.relative_variance + 1e-12,
            before=side.curve,
            largest=readings.largest,
        )
        was_measured, steps = nodes.measured, timestamp - nodes.released
        nodes = measured_nodes(
            nodes,
            noisy_degrees,
            scale=scale,
            timestamp=timestamp,
            curve=curve,
            resets=self.resets,
            jump=self.jump,
            learns=self.learns,
        )
        estimates = nodes.degrees
        largest = ranked(estimates, nodes.ties[:nodes_now])[: top_count(nodes_now)]
        new_share = side.new_share
        if was_measured.any():
            share = _energy(estimates[largest], ~was_measured[largest])
            new_share = 0.5 * new_share + 0.5 * share / steps
        return replace(
            side,
            curve=curve,
            nodes=nodes,
            new_share=new_share,
            scale=scale,
            largest=Largest(estimates[largest], nodes.drift, new_share),
        )

    def _curve_track(self, before: Side | None, readings: SideReadings) -> Track:
        track = Track.unseen(0, drift=1e-4) if before is None else before.curve_track
        noisy_curve, nodes = readings.noisy_curve, len(readings.roster)
        if noisy_curve is None or not noisy_curve.size or not nodes:
            return track
        track = track.widened(noisy_curve.size)
        noise_scale = float(2 / self.sizes.shares.curve)
        noisy_curve = _believable(noisy_curve, noise_scale, most=nodes)
        scale = np.clip(track.level[: noisy_curve.size], 0.02, 1)
        return track.observe(noisy_curve / nodes, laplace_variance(noise_scale) / nodes**2, scale)


def _energy(degrees: Floats, chosen: NDArray[np.bool_]) -> float:
    """Return the share of squared degrees that the chosen nodes have."""
    total = float((degrees**2).sum())
    return float((degrees[chosen] ** 2).sum()) / total if total > 0 else 0.0


def _coupled(
    sides: list[_FilteredSide], ranks: list[Floats], active: Track, reciprocity: Track
) -> list[Floats]:
    """Return numbers that order nodes by both of their degrees, where both curves are known."""
    one, other = sides
    if one.curve is None or other.curve is None or not ranks[0].size:
        return ranks
    joint = coupling(
        one.curve,
        other.curve,
        active=(float(active.level[0]), float(active.variance[0])),
        reciprocity=float(reciprocity.level[0]),
    )
    doubts = [
        np.where(side.nodes.measured, side.nodes.variance[: rank.size], np.inf)
        for side, rank in zip(sides, ranks, strict=True)
    ]
    return list(coupled_classes(joint, ranks, doubts))
