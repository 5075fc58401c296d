"""From released sizes to a wanted degree for every node: one timestamp's worth.

Edge count, degree curve, node filter and wanted degrees in the order in which they build on each
other. `measure` needs the result for the queries about structure, `update` needs it again.

Which nodes are large comes from the nodes, how many are large from the curve: nodes are ranked by
their filtered degrees, and rank r gets the degree that the fitted curve has at rank r. Beyond the
last point of the curve that is known, nodes keep their own estimates. The sum is then brought to
twice the edge count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels, read_only
from psgraph._runtime.kernels import sorting_order
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.plus.curve import DegreeCurve, fit_curve
from psgraph.methods.plus.jumps import Verdict, judge, prior_state
from psgraph.methods.plus.mixing import degree_classes
from psgraph.methods.plus.modes import Mode, next_mode, top_count
from psgraph.methods.plus.nodes import Nodes, measured_nodes
from psgraph.methods.plus.state import PlusState, Purpose, SizeReadings
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = [
    "DegreeStep",
    "degree_step",
    "exact_sum",
    "kept_share",
    "kept_share_track",
    "ranked",
    "steadiness",
    "wanted_degrees",
]

CLEARLY_KEPT = 1.5  # standard deviations
MOSTLY_NEW = 0.5  # where no more edges than this stay, nothing is done to keep them
SURE, UNSURE = 1.1, 1.4  # how far the excess of the largest nodes may be stretched
DENSE = 0.02  # above this density the sum is corrected from 3 % on, otherwise from 25 %
ROUNDS = 50
ROUNDING = 6  # decimals; estimates that are mathematically equal must be ties
TIE_BITS = 11  # of the random number that orders ties
MOST_DEGREE = 2.0**31  # no node has more, and the keys of ranks still fit into 63 bits
MOST_NOISE = 64  # scales of Laplace noise


@dataclass(frozen=True)
class DegreeStep:
    """Estimates that depend on the size readings alone.

    Attributes
    ----------
    prior
        The state before, as far as it still holds after a jump of the edge count.
    order
        Positions from the largest estimated degree to the smallest.
    numbers
        A random number for every node that stays with it, below 2⁵².
    wanted
        The degree that every node should have; the sum is 2·`edge_count` wherever possible.
    """

    prior: PlusState | None
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


@lru_cache(maxsize=1)  # `measure` and the `update` that follows take the same step
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
    verdict = judge(state, nodes=nodes_now, noisy_edges=sizes.noisy_edge_count, shares=sizes.shares)
    stale = max(verdict.size, 0.0 if state is None else state.jumps.stale)
    state = prior_state(state, verdict, sizes.shares)
    per_node = _edges_per_node(state, sizes)
    edge_count = _edge_count(per_node, nodes_now)
    curve_track = _curve_track(state, sizes)
    curve = None if state is None else state.curve
    before = Nodes.start() if state is None else state.nodes
    nodes = before.joined(sizes.roster, sizes.random(Purpose.NEW_NODES))
    mode: Mode = "undecided" if state is None else state.mode
    new_share = 0.0 if state is None else state.new_share
    kept_track = kept_share_track(state, sizes, verdict)
    scale = None
    noisy_degrees = _noisy_degrees(sizes)
    if noisy_degrees is not None and nodes_now:
        scale = float(2 / sizes.shares.nodes)
        curve = fit_curve(
            noisy_degrees,
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
            noisy_degrees,
            scale=scale,
            timestamp=timestamp,
            curve=curve,
            resets=resets,
            jump=0.0 if verdict.kind == "back" else stale,
            learns=verdict.restless or not stale,
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
            kept=(float(kept_track.level[0]), float(kept_track.variance[0])),
        )
    estimates = nodes.degrees
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
        rng=sizes.random(Purpose.WANTED_DEGREES),
    )
    return DegreeStep(
        prior=state,
        edges_per_node=per_node,
        persistence=kept_track,
        edge_count=edge_count,
        curve_track=curve_track,
        curve=curve,
        nodes=nodes,
        order=order,
        numbers=(ties.astype(np.float64) * 2.0**52).astype(np.uint64),
        wanted=read_only(wanted),  # as it comes out of a ledger: see `PlusState`
        mode=mode,
        new_share=new_share,
    )


def kept_share_track(state: PlusState | None, sizes: SizeReadings, verdict: Verdict) -> Track:
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
    noise, noisy_degrees = laplace_variance(float(1 / sizes.shares.edges)), _noisy_degrees(sizes)
    if noisy_degrees is None:
        return sizes.noisy_edge_count, noise
    other = noisy_degrees.size * laplace_variance(float(2 / sizes.shares.nodes)) / 4
    share = other / (noise + other)
    halves = float(noisy_degrees.sum()) / 2
    return share * sizes.noisy_edge_count + (1 - share) * halves, share * noise


def _noisy_degrees(sizes: SizeReadings) -> Integers | None:
    if sizes.noisy_degrees is None:
        return None
    scale = float(2 / sizes.shares.nodes)
    return _believable(sizes.noisy_degrees, scale, most=len(sizes.roster))


def _believable(noisy: Integers, scale: float, *, most: int) -> Integers:
    """Limit noisy counts of 0 to `most` to what Laplace noise of a scale can explain.

    A count beyond has a probability below e^−64. It would lead the estimators to numbers that they
    can't represent, and tells nothing more than the limit does.
    """
    reach = math.ceil(MOST_NOISE * scale)
    return np.clip(noisy, -reach, most + reach)


def _edge_count(per_node: Track, nodes: int) -> int:
    pairs = UNDIRECTED.pairs(nodes)
    return round(min(max(float(per_node.level[0]) * nodes, min(1, pairs)), pairs))


def _curve_track(state: PlusState | None, sizes: SizeReadings) -> Track:
    track = Track.unseen(0, drift=1e-4) if state is None else state.curve_track
    if sizes.noisy_curve is None or not sizes.noisy_curve.size:
        return track
    nodes = len(sizes.roster)
    track = track.widened(sizes.noisy_curve.size)
    noise_scale = float(2 / sizes.shares.curve)
    noisy_curve = _believable(sizes.noisy_curve, noise_scale, most=nodes)
    scale = np.clip(track.level[: noisy_curve.size], 0.02, 1)
    return track.observe(noisy_curve / nodes, laplace_variance(noise_scale) / nodes**2, scale)


def _steadied(state: PlusState | None, nodes: Nodes, estimates: Floats, most: float) -> Floats:
    """Move estimates towards the degrees of the last graph, by `most` standard deviations.

    Nodes whose estimates differ by less than their doubt are in no particular order. Ordering them
    as in the last graph lets them keep their degrees, and with them their edges.
    """
    if state is None or most == 0 or not len(state.roster):
        return estimates
    before = state.degrees.astype(np.float64)
    if state.roster is not nodes.roster:
        there = state.roster.positions(nodes.roster.ids)
        before = np.where(there >= 0, before[there], estimates)
    variance = np.where(nodes.measured, nodes.variance[: estimates.size], nodes.fresh_mean)
    doubt = most * np.sqrt(np.maximum(variance, 0.0))
    return np.clip(before, estimates - doubt, estimates + doubt)


def _energy(degrees: Floats, chosen: NDArray[np.bool_]) -> float:
    """Return the share of squared degrees that the chosen nodes have."""
    total = float((degrees**2).sum())
    return float((degrees[chosen] ** 2).sum()) / total if total > 0 else 0.0


# ---- wanted degrees


def ranked(estimates: Floats, ties: NDArray[np.floating]) -> Integers:
    """Return positions from the largest estimate to the smallest.

    >>> ranked(np.array([1.0, 5.0, 1.0]), np.array([0.9, 0.1, 0.2]))
    array([1, 2, 0])
    """
    rounded = np.rint(np.minimum(estimates, MOST_DEGREE) * 10.0**ROUNDING).astype(np.int64)
    keys = rounded.max(initial=0) - rounded << TIE_BITS
    return sorting_order(keys | (ties * 2.0**TIE_BITS).astype(np.int64))


def wanted_degrees(
    estimates: Floats,
    order: Integers,
    *,
    shares: Floats,
    edge_count: int,
    sure_scale: float | None,
    rng: np.random.Generator,
) -> Integers:
    """Return a degree for every node, with the sum 2·`edge_count` wherever that is possible.

    Parameters
    ----------
    estimates, order
        Filtered degrees, and positions from the largest to the smallest.
    shares
        c_1, …, c_{k*}: the share of nodes with at least k neighbours.
    sure_scale
        The scale of the noise on degrees measured at this timestamp, None if there was none.
        The largest nodes are *sure* if it is small against their degrees.
    """
    nodes = estimates.size
    if nodes < 2 or edge_count == 0:
        return np.zeros(nodes, dtype=np.int64)
    total = 2 * edge_count
    sorted_degrees, top, sure = _by_rank(estimates[order], shares, total, sure_scale)
    sorted_degrees = _shifted(sorted_degrees, total, fixed=top if sure else 0)
    degrees = np.empty(nodes)
    degrees[order] = sorted_degrees
    whole = np.floor(degrees + rng.random(nodes)).astype(np.int64)
    return exact_sum(np.clip(whole, 0, nodes - 1), total, rng)


def _by_rank(
    estimates: Floats, shares: Floats, total: int, sure_scale: float | None
) -> tuple[Floats, int, bool]:
    """Return degrees by rank, how many ranks keep their own estimate, and whether they are sure."""
    nodes, known = estimates.size, min(shares.size, estimates.size - 1)
    if known == 0:
        weight = estimates.sum()
        scaled = estimates * (total / weight) if weight > 0 else np.full(nodes, total / nodes)
        return scaled, nodes, False
    counts = np.clip(np.floor(nodes * shares[:known] + 0.5).astype(np.int64), 0, nodes)
    # Rank r has as many neighbours as there are points of the curve at or above it.
    steps = np.bincount(counts, minlength=nodes + 1)
    degrees = (known - np.cumsum(steps)[:nodes]).astype(np.float64)
    top = int(np.clip(np.rint(nodes * shares[known - 1]), 1, nodes))
    excess = np.maximum(estimates[:top] - known, 0)
    sure = sure_scale is not None and 10 * sure_scale < float(estimates[:top].mean())
    limit = SURE if sure else UNSURE
    missing = total - float(degrees[top:].sum()) - top * known
    have = float(excess.sum())
    if have > 0:
        excess *= np.clip(missing / have, 1 / limit, limit)
    degrees[:top] = known + excess
    return degrees, top, sure


def _shifted(degrees: Floats, total: int, *, fixed: int) -> Floats:
    """Move the log-odds of being connected by a constant until the sum is right.

    The first `fixed` ranks are left alone unless they hold nearly everything.
    """
    nodes = degrees.size
    degrees = np.clip(degrees, 0, nodes - 1)
    tolerance = 0.03 if total > 2 * DENSE * UNDIRECTED.pairs(nodes) else 0.25
    if abs(float(degrees.sum()) - total) <= tolerance * total:
        return degrees
    if fixed == nodes or float(degrees[:fixed].sum()) >= 0.9 * total:
        fixed = 0
    chance = np.clip(degrees[fixed:] / (nodes - 1), 0, 1 - 0.5 / nodes)
    wanted = total - float(degrees[:fixed].sum())
    low, high = -12.0, 12.0
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        odds = chance * np.exp(middle)
        if (nodes - 1) * float((odds / (1 - chance + odds)).sum()) < wanted:
            low = middle
        else:
            high = middle
    odds = chance * np.exp((low + high) / 2)
    return np.concatenate([degrees[:fixed], (nodes - 1) * odds / (1 - chance + odds)])


def exact_sum(degrees: Integers, total: int, rng: np.random.Generator) -> Integers:
    """Add or remove single neighbours by systematic sampling until the sum is `total`.

    A node gains in proportion to its degree and loses in proportion to its degree − 1, so that
    none drops to 0 unless it must. If the sum is then odd, the largest degree loses one.

    >>> exact_sum(np.array([3, 1, 1, 0]), 8, np.random.default_rng(1)).sum()
    np.int64(8)
    """
    degrees = degrees.copy()
    most = degrees.size - 1
    for _ in range(ROUNDS):
        missing = total - int(degrees.sum())
        if missing == 0:
            break
        if missing > 0:
            room = most - degrees
            weights = np.where(room > 0, degrees, 0)
            weights = weights if weights.any() else (room > 0).astype(np.int64)
            degrees += np.minimum(_systematic(weights, missing, rng), room)
        else:
            weights = np.maximum(degrees - 1, 0)
            weights = weights if weights.any() else degrees
            degrees -= np.minimum(_systematic(weights, -missing, rng), degrees)
    if int(degrees.sum()) % 2:
        degrees[np.argmax(degrees)] -= 1
    return degrees


def _systematic(weights: Integers, count: int, rng: np.random.Generator) -> Integers:
    """Draw `count` items in proportion to their weights, evenly spread; how often each came up."""
    ends = np.cumsum(weights)
    if not ends.size or ends[-1] == 0:
        return np.zeros(weights.size, dtype=np.int64)
    points = np.floor(ends * (count / ends[-1]) - rng.random()) + 1
    points = np.clip(points, 0, count).astype(np.int64)
    points[-1] = count
    return np.diff(points, prepend=0)
