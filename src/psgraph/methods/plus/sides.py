"""What is known of the degrees on one side of the edges, filtered with the readings of a timestamp.

A graph whose edges have alike ends has one side. Directed graphs have one for out- and one for
in-degrees of the same nodes, two-sided graphs one for the left and one for the right.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels, Singles, read_only
from psgraph.methods.plus.curve import ALIKE, ON_A_SIDE, DegreeCurve, fit_curve
from psgraph.methods.plus.mixing import degree_classes
from psgraph.methods.plus.modes import Largest, top_count
from psgraph.methods.plus.nodes import Nodes, measured_nodes
from psgraph.methods.plus.readings import Purpose, SideReadings, SizeReadings
from psgraph.methods.plus.state import Side
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.wanted import exact_sum, grown_curve, ranked, unthinned, wanted_degrees

__all__ = ["OTHER_SIDE", "FilteredSide", "SideFilter", "SideStep", "curve_track", "noisy_degrees"]

MOST_NOISE = 64  # scales of Laplace noise
OTHER_SIDE = 16  # what the second side adds to the numbers of purposes


@dataclass(frozen=True)
class SideStep:
    """Estimates about one side of the edges.

    Attributes
    ----------
    order
        Positions from the largest estimated degree to the smallest.
    wanted
        The degree that every node should have.
    fitted_edges
        The number of edges when the curve was fitted.
    """

    curve_track: Track
    curve: DegreeCurve | None
    nodes: Nodes
    order: Integers
    wanted: Integers
    new_share: float
    fitted_edges: int

    @cached_property
    def classes(self) -> Labels:
        """The degree class of every node."""
        return degree_classes(self.wanted)

    @cached_property
    def numbers(self) -> NDArray[np.uint64]:
        """A random number for every node that stays with it, below 2⁵²."""
        ties = self.nodes.ties[: self.wanted.size]
        return (ties.astype(np.float64) * 2.0**52).astype(np.uint64)


def noisy_degrees(side: SideReadings, sizes: SizeReadings) -> Integers | None:
    if side.noisy_degrees is None:
        return None
    scale = float(side.moved / sizes.shares.nodes)
    return _believable(side.noisy_degrees, scale, most=side.largest + 1)


def _believable(noisy: Integers, scale: float, *, most: int) -> Integers:
    """Limit noisy counts of 0 to `most` to what Laplace noise of a scale can explain.

    A count beyond has a probability below e^−64. It would lead the estimators to numbers that they
    can't represent, and tells nothing more than the limit does.
    """
    reach = math.ceil(MOST_NOISE * scale)
    return np.clip(noisy, -reach, most + reach)


@dataclass(frozen=True)
class FilteredSide:
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
    fitted_edges: int
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

    @property
    def ties(self) -> Singles:
        """A random number for every node of the roster."""
        return self.nodes.ties[: len(self.readings.roster)]

    def step(
        self,
        rank: Floats,
        ties: Singles,
        sizes: SizeReadings,
        edge_count: int,
        number: int,
        growth: float,
        use_curve: bool,
        left_out: float = 1.0,
    ) -> SideStep:
        """Return the estimates with a wanted degree for every node; `rank` orders the nodes.

        Where `ties` have as many entries, they order nodes of the same rank. `growth` is the
        factor by which the number of edges has grown since the curve was fitted, `left_out` the
        number of edges for each that a bound on owners has left.
        """
        estimates = self.nodes.degrees
        estimates = left_out * estimates if left_out != 1 else estimates
        order = ranked(rank, ties if ties.size == rank.size else self.ties)
        alike = sizes.kind.sides == 1
        shares = self.curve.shares if use_curve and self.curve is not None else np.zeros(0)
        if not alike and shares.size and growth != 1:
            shares = grown_curve(shares, growth)
        if shares.size and left_out != 1:
            shares = unthinned(shares, min(1 / left_out, 1.0))
        wanted = wanted_degrees(
            estimates,
            order,
            shares=shares,
            total=2 * edge_count if alike else edge_count,
            largest=self.readings.largest,
            sure_scale=None if self.scale is None else left_out * self.scale,
            rng=sizes.random(Purpose.WANTED_DEGREES, number * OTHER_SIDE),
            even=alike,
        )
        return self._with(order, wanted)

    def owned(self, rank: Floats, owned: Integers, edge_count: int, rng: Generator) -> SideStep:
        """Return the estimates with wanted degrees of owners, the largest first.

        `rank` says which of the nodes are owners, and of what size.
        """
        order = ranked(rank, self.ties)
        wanted = np.zeros(order.size, dtype=np.int64)
        size = min(order.size, owned.size)
        wanted[order[:size]] = owned[:size]
        wanted = exact_sum(wanted, edge_count, rng, largest=self.readings.largest, even=False)
        return self._with(order, wanted)

    def _with(self, order: Integers, wanted: Integers) -> SideStep:
        return SideStep(
            curve_track=self.curve_track,
            curve=self.curve,
            nodes=self.nodes,
            order=order,
            wanted=read_only(wanted),  # as it comes out of a ledger: see `PlusState`
            new_share=self.new_share,
            fitted_edges=self.fitted_edges,
        )


@dataclass(frozen=True)
class SideFilter:
    """Filters the readings of a side; see `measured_nodes` for the parameters.

    `relative_variance` is that of the filtered edges per node.
    """

    sizes: SizeReadings
    edge_count: int
    relative_variance: float
    resets: bool
    jump: float
    learns: bool

    def __call__(
        self, before: Side | None, number: int, track: Track, believed: Track, same: float
    ) -> FilteredSide:
        """Filter the readings of side `number`.

        Parameters
        ----------
        track, believed
            The filtered curve, and what is believed of it where the other side is known as well.
        same
            How far both sides seem to have the same distribution: from 0 to 1.
        """
        sizes, readings = self.sizes, self.sizes.sides[number]
        nodes_now = len(readings.roster)
        nodes = Nodes.start() if before is None else before.nodes
        generator = sizes.random(Purpose.NEW_NODES, number * OTHER_SIDE)
        nodes = nodes.joined(readings.roster, generator)
        side = FilteredSide(
            before,
            readings,
            track,
            None if before is None else before.curve,
            nodes,
            0.0 if before is None else before.new_share,
            0 if before is None else before.fitted_edges,
        )
        noisy = noisy_degrees(readings, sizes)
        if noisy is None or not nodes_now:
            return side
        scale = float(readings.moved / sizes.shares.nodes)
        timestamp = sizes.shares.timestamp
        other = noisy_degrees(sizes.sides[1 - number], sizes) if same else None
        ends = 2 / sizes.kind.sides * len(sizes.roster) / nodes_now  # per edge, of a node
        curve = fit_curve(
            noisy,
            scale=scale,
            curve=believed.level,
            curve_variance=believed.variance,
            mean_degree=2 / sizes.kind.sides * self.edge_count / nodes_now,
            mean_variance=ends**2 * self.relative_variance + 1e-12,
            before=side.curve,
            largest=readings.largest,
            alike=None if other is None else (other, same),
            resolved=ALIKE if sizes.kind.sides == 1 else ON_A_SIDE,
        )
        was_measured, steps = nodes.measured, timestamp - nodes.released
        nodes = measured_nodes(
            nodes,
            noisy,
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
            fitted_edges=self.edge_count,
            scale=scale,
            largest=Largest(estimates[largest], nodes.drift, new_share),
        )


def curve_track(before: Side | None, readings: SideReadings, sizes: SizeReadings) -> Track:
    """Return the filtered shares of nodes with at least k edges."""
    track = Track.unseen(0, drift=1e-4) if before is None else before.curve_track
    noisy_curve, nodes = readings.noisy_curve, len(readings.roster)
    if noisy_curve is None or not noisy_curve.size or not nodes:
        return track
    track = track.widened(noisy_curve.size)
    noise_scale = float(readings.moved / sizes.shares.curve)
    noisy_curve = _believable(noisy_curve, noise_scale, most=nodes)
    scale = np.clip(track.level[: noisy_curve.size], 0.02, 1)
    return track.observe(noisy_curve / nodes, laplace_variance(noise_scale) / nodes**2, scale)


def _energy(degrees: Floats, chosen: NDArray[np.bool_]) -> float:
    """Return the share of squared degrees that the chosen nodes have."""
    total = float((degrees**2).sum())
    return float((degrees[chosen] ** 2).sum()) / total if total > 0 else 0.0
