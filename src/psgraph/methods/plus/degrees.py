"""From released sizes to a wanted degree for every node: one timestamp's worth.

Edge count, degree curve, node filter and targets in the order in which they build on each other.
`measure` needs the result before it asks for structure, `update` needs it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus.curve import DegreeCurve, fit_curve
from psgraph.methods.plus.mixing import degree_classes
from psgraph.methods.plus.nodes import Nodes, measured_nodes
from psgraph.methods.plus.persistence import kept_share, kept_share_track, steadiness
from psgraph.methods.plus.schedule import Mode, next_mode, top_count
from psgraph.methods.plus.state import PlusState, SizeReadings
from psgraph.methods.plus.targets import ranked, wanted_degrees
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.triangles import node_degrees

__all__ = ["DegreeStep", "degree_step", "generator"]


@dataclass(frozen=True)
class DegreeStep:
    """Estimates that depend on the size readings alone.

    Attributes
    ----------
    order
        Positions from the largest estimated degree to the smallest.
    numbers
        A random number for every node that stays with it, below 2⁵².
    wanted
        The degree that every node should have; the sum is 2·`edge_count` wherever possible.
    """

    edges_per_node: Track
    persistence: Track
    edge_count: int
    curve_track: Track
    curve: DegreeCurve | None
    nodes: Nodes
    order: Integers
    numbers: NDArray[np.uint64]
    wanted: Integers
    mode: Mode
    new_share: float

    @cached_property
    def classes(self) -> Labels:
        """The degree class of every node."""
        return degree_classes(self.wanted)


def generator(seed: int, purpose: int) -> np.random.Generator:
    """Return a generator for one purpose, from the seed sealed in a measurement."""
    return np.random.Generator(np.random.PCG64([seed, purpose]))


def degree_step(
    state: PlusState | None, sizes: SizeReadings, *, resets: bool, use_curve: bool
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
    per_node = _edges_per_node(state, sizes)
    edge_count = _edge_count(per_node, nodes_now)
    curve_track = _curve_track(state, sizes)
    curve = None if state is None else state.curve
    before = Nodes.start() if state is None else state.nodes
    nodes = before.joined(sizes.roster, generator(sizes.seed, 0))
    mode: Mode = "undecided" if state is None else state.mode
    new_share = 0.0 if state is None else state.new_share
    scale = None
    if sizes.noisy_degrees is not None and nodes_now:
        scale = float(2 / sizes.shares.nodes)
        curve = fit_curve(
            sizes.noisy_degrees,
            scale=scale,
            curve=curve_track.level,
            curve_variance=curve_track.variance,
            mean_degree=2 * edge_count / nodes_now,
            mean_variance=4 * float(per_node.variance[0]) + 1e-12,
            before=curve,
        )
        timestamp = sizes.shares.timestamp
        was_measured = nodes.measured
        steps = timestamp - nodes.released
        nodes = measured_nodes(
            nodes,
            sizes.noisy_degrees,
            scale=scale,
            timestamp=timestamp,
            curve=curve,
            resets=resets,
        )
        estimates = nodes.degrees
        largest = ranked(estimates, nodes.ties[:nodes_now])[: top_count(nodes_now)]
        if was_measured.any():
            share = _energy(estimates[largest], ~was_measured[largest])
            new_share = 0.5 * new_share + 0.5 * share / steps
        mode = next_mode(
            mode,
            top=estimates[largest],
            drift=nodes.drift,
            new_share=new_share,
            node_window=sizes.shares.node_window,
            window=sizes.shares.window,
        )
    estimates = nodes.degrees
    kept_track = kept_share_track(state, sizes)
    steady = steadiness(kept_share(kept_track))
    ties = nodes.ties[:nodes_now]
    order = ranked(_steadied(state, nodes, estimates, steady), ties)
    shares = curve.shares if use_curve and curve is not None else np.zeros(0)
    wanted = wanted_degrees(
        estimates,
        order,
        shares=shares,
        edge_count=edge_count,
        sure_scale=scale,
        rng=generator(sizes.seed, 1),
    )
    return DegreeStep(
        edges_per_node=per_node,
        persistence=kept_track,
        edge_count=edge_count,
        curve_track=curve_track,
        curve=curve,
        nodes=nodes,
        order=order,
        numbers=(ties.astype(np.float64) * 2.0**52).astype(np.uint64),
        wanted=wanted,
        mode=mode,
        new_share=new_share,
    )


def _edges_per_node(state: PlusState | None, sizes: SizeReadings) -> Track:
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
    track = track.observe(observed, noise / nodes**2, np.array([scale]), most=(nodes - 1) / 2)
    return track.clipped(0.5 / nodes, np.inf)


def _measured_edges(sizes: SizeReadings) -> tuple[float, float]:
    """Return the noisy number of edges and its variance.

    Noisy degrees add up to twice the number of edges as well. With few nodes their sum is the
    better reading; the two are weighted by their precision.
    """
    noise = laplace_variance(float(1 / sizes.shares.edges))
    if sizes.noisy_degrees is None:
        return sizes.noisy_edge_count, noise
    other = sizes.noisy_degrees.size * laplace_variance(float(2 / sizes.shares.nodes)) / 4
    share = other / (noise + other)
    halves = float(sizes.noisy_degrees.sum()) / 2
    return share * sizes.noisy_edge_count + (1 - share) * halves, share * noise


def _edge_count(per_node: Track, nodes: int) -> int:
    pairs = UNDIRECTED.pairs(nodes)
    return round(min(max(float(per_node.level[0]) * nodes, min(1, pairs)), pairs))


def _curve_track(state: PlusState | None, sizes: SizeReadings) -> Track:
    track = Track.unseen(0, drift=1e-4) if state is None else state.curve_track
    if sizes.noisy_curve is None or not sizes.noisy_curve.size:
        return track
    nodes = len(sizes.roster)
    track = track.widened(sizes.noisy_curve.size)
    noise = laplace_variance(float(2 / sizes.shares.curve)) / nodes**2
    scale = np.clip(track.level[: sizes.noisy_curve.size], 0.02, 1)
    return track.observe(sizes.noisy_curve / nodes, noise, scale)


def _steadied(state: PlusState | None, nodes: Nodes, estimates: Floats, most: float) -> Floats:
    """Move estimates towards the degrees of the last graph, by `most` standard deviations.

    Nodes whose estimates differ by less than their doubt are in no particular order. Ordering them
    as in the last graph lets them keep their degrees, and with them their edges.
    """
    if state is None or most == 0 or not len(state.roster):
        return estimates
    size = len(state.roster)
    before = node_degrees(state.u, state.v, size).astype(np.float64)
    if state.roster is not nodes.roster:
        there = state.roster.positions(nodes.roster.ids)
        before = np.where(there >= 0, before[there], estimates)
    variance = np.where(nodes.measured, nodes.variance[: estimates.size], nodes.fresh_mean)
    doubt = most * np.sqrt(variance)
    return np.clip(before, estimates - doubt, estimates + doubt)


def _energy(degrees: Floats, chosen: NDArray[np.bool_]) -> float:
    """Return the share of squared degrees that the chosen nodes have."""
    total = float((degrees**2).sum())
    return float((degrees[chosen] ** 2).sum()) / total if total > 0 else 0.0
