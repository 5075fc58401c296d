"""From released sizes to a wanted degree for every node: one timestamp's worth.

Edge count, degree curve, node filter and wanted degrees in the order in which they build on each
other, for each side of the edges. `measure` needs the result for the queries about structure,
`update` needs it again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph.methods.plus.coupling import aligned, coupled_levels, coupling, pooled
from psgraph.methods.plus.jumps import Verdict, judge, prior_state
from psgraph.methods.plus.modes import next_mode
from psgraph.methods.plus.nodes import laplace_update
from psgraph.methods.plus.owners import Owners, next_owners
from psgraph.methods.plus.readings import KindReadings, OwnedReadings, Purpose, SizeReadings
from psgraph.methods.plus.shares import KindShares, Mode, OwnerShares
from psgraph.methods.plus.sides import (
    OTHER_SIDE,
    FilteredSide,
    SideFilter,
    SideStep,
    curve_track,
    noisy_degrees,
)
from psgraph.methods.plus.state import RECIPROCITY, AnyState, OwnedState, SidedState
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = [
    "DegreeStep",
    "degree_step",
    "growth_since_fit",
    "kept_share",
    "kept_share_track",
    "robust_share",
    "steadiness",
]

CLEARLY_KEPT = 1.5  # standard deviations
MOSTLY_NEW = 0.5  # where no more edges than this stay, nothing is done to keep them
ALIGNMENTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the orders of the two sides, tried in turn
FEW_MORE, ROOM = 1.2, 1.1  # how many more nodes may have an edge, and edges be reciprocated
MOST_OWNERS = 1 << 30  # or rows of flows, of a timestamp
UNCLEAR = 0.2  # a smaller change of the edge count (log scale) leaves a fitted curve as it is
USUAL_ACTIVITY = 0.25  # how far the share of active nodes drifts, relative to the whole range
RECIPROCITY_DRIFT = 0.05  # how far reciprocity moves between two readings
LEAST_SCALE = 1e-6  # of noise on a share: with less, an update loses its digits


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
    owners
        What is known of owners, where they are counted in the place of edges.
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
    owners: Owners | None = None


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
    owners = _owners(state, sizes, per_node)
    edge_count = _edge_count(per_node, sizes, owners)
    used = edge_count if owners is None else owners.used
    each = 1.0 if owners is None else owners.used_mean
    kept_track = kept_share_track(state, sizes, verdict)
    filter_side = SideFilter(
        sizes,
        edge_count=used,
        relative_variance=each**2 * float(per_node.variance[0]),
        resets=resets,
        jump=0.0 if verdict.kind == "back" else stale,
        learns=verdict.restless or not stale,
    )
    before = [None] * sizes.kind.sides if state is None else state.sides
    tracks = [
        curve_track(side, readings, sizes)
        for side, readings in zip(before, sizes.sides, strict=True)
    ]
    believed, same = tracks, 0.0
    side_of_owners = sizes.owner_side if isinstance(sizes, OwnedReadings) else None
    if sizes.kind.directed and side_of_owners is None:
        *believed, same = pooled(*tracks)
    sides = [
        filter_side(before[number], number, tracks[number], believed[number], same)
        for number in range(sizes.kind.sides)
    ]
    mode: Mode = "undecided" if state is None else state.mode
    if any(side.largest is not None for side in sides):
        mode = next_mode(
            mode,
            [side.largest for side in sides if side.largest is not None],
            node_window=sizes.shares.node_window,
            window=sizes.shares.window,
            kept=(float(kept_track.level[0]), float(kept_track.variance[0])),
            moved=max(side.moved for side in sizes.sides if side.noisy_degrees is not None),
        )
    left_out = 1.0 if owners is None else max(edge_count, 1) / max(used, 1)
    active, reciprocity = _dyad_tracks(state, sizes, used, left_out)
    steady = steadiness(kept_share(kept_track))
    estimates = [side.steadied(steady) for side in sides]
    growth = [growth_since_fit(side, used, per_node) for side in sides]

    def wanted(ranks: Sequence[Floats]) -> list[SideStep]:
        ties = sides[0].ties
        return [
            side.step(rank, ties, sizes, edge_count, number, growth[number], use_curve, left_out)
            for number, (side, rank) in enumerate(zip(sides, ranks, strict=True))
        ]

    if owners is not None and isinstance(sizes, OwnedReadings) and side_of_owners is not None:
        steps = _owned(sides, estimates, owners, reciprocity, edge_count, sizes, wanted)
    elif sizes.kind.directed and not sizes.kind.flows:
        steps = _coupled(sides, estimates, active, reciprocity, edge_count, wanted)
    else:
        steps = wanted(estimates)
    return DegreeStep(
        prior=state,
        edges_per_node=per_node,
        persistence=kept_track,
        edge_count=edge_count,
        sides=tuple(steps),
        active=active,
        reciprocity=reciprocity,
        mode=mode,
        owners=owners,
    )


# ---- shares of edges that stay, of active nodes and of reciprocated edges


def kept_share_track(state: AnyState | None, sizes: SizeReadings, verdict: Verdict) -> Track:
    """Return the filtered share κ of edges that stay; it starts at 0, as nothing is known.

    Where the edge count fell or came back, a count of edges kept says nothing about other times.
    """
    if state is None:
        return Track.start(0.0, variance=0.08, drift=0.0025)
    fell = verdict.kind in ("fall", "back")
    if sizes.noisy_kept_edges is None or state.used == 0 or fell:
        return state.persistence
    noise = laplace_variance(float(1 / sizes.shares.persistence)) / state.used**2
    observed = np.array([sizes.noisy_kept_edges / state.used])
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
    state: AnyState | None, sizes: SizeReadings, edge_count: int, left_out: float
) -> tuple[Track, Track]:
    """The filtered shares of active nodes, and of edges whose reverse is there as well.

    Where only some edges are used, the reverse of an edge is used as often as any other.
    """
    active, reciprocity = Track.unseen(1, drift=0.0025), RECIPROCITY
    if isinstance(state, SidedState):
        active, reciprocity = state.active, state.reciprocity
    if not isinstance(sizes, KindReadings) or not isinstance(sizes.shares, KindShares):
        return active, reciprocity
    nodes, scale = len(sizes.roster), np.full(1, USUAL_ACTIVITY)
    if sizes.noisy_active_nodes is not None and nodes:
        noise = laplace_variance(float(2 / sizes.shares.active)) / nodes**2
        observed = np.array([sizes.noisy_active_nodes / nodes])
        active = active.observe(observed, noise, scale).clipped(0.0, 1.0)
    if sizes.noisy_reciprocated is not None and edge_count:
        noise = laplace_variance(float(1 / sizes.shares.reciprocity)) * (2 / edge_count) ** 2
        noise *= left_out**2
        seen = 2 * sizes.noisy_reciprocated / edge_count * left_out
        reciprocity = robust_share(reciprocity, seen, math.sqrt(noise / 2))
    return active, reciprocity


def robust_share(track: Track, observed: float, scale: float) -> Track:
    """Return a share after a reading of it with Laplace noise, which moves it only so far."""
    prior = float(track.variance[0]) + RECIPROCITY_DRIFT**2
    scale = max(scale, LEAST_SCALE)
    level, variance, _ = laplace_update(float(track.level[0]), prior, observed, scale)
    return replace(track, level=np.array([level]), variance=np.array([variance])).clipped(0.0, 1.0)


# ---- the edge count


def _edges_per_node(state: AnyState | None, sizes: SizeReadings) -> Track:
    nodes = len(sizes.roster)
    if state is None:
        track, scale = Track.start(1.5, variance=1.0, drift=0.05), 1.0
    else:
        track = state.edges_per_node
        scale = max(float(track.level[0]), sizes.shares.least_level) ** 2
    if nodes == 0:
        return track
    edges, noise = _measured_edges(sizes)
    observed = np.array([edges / nodes])
    most = sizes.kind.pairs(*sizes.roster.sizes) / nodes
    if isinstance(sizes, OwnedReadings) or sizes.kind.flows:
        most = np.inf
    track = track.observe(observed, noise / nodes**2, np.array([scale]), most=most)
    return track.clipped(0.5 / nodes, np.inf)


def _measured_edges(sizes: SizeReadings) -> tuple[float, float]:
    """Return the noisy number of edges and its variance.

    Noisy degrees add up to the number of edge ends as well. With few nodes their sum is the better
    reading; the two are weighted by their precision.
    """
    noise = laplace_variance(float(1 / sizes.shares.on_count))
    if isinstance(sizes, OwnedReadings):
        return _measured_owners(sizes, noise)
    if sizes.noisy_degrees is None:
        return sizes.noisy_edge_count, noise
    summed, other = _summed_degrees(sizes)
    share = other / (noise + other)
    return share * sizes.noisy_edge_count + (1 - share) * summed, share * noise


def _measured_owners(sizes: OwnedReadings, noise: float) -> tuple[float, float]:
    """Return the noisy number of owners and its variance; their classes add up to it as well."""
    found, shares = sizes.noisy_owner_sizes, sizes.shares
    if found is None or not isinstance(shares, OwnerShares):
        return sizes.noisy_edge_count, noise
    other = found.size * laplace_variance(float(1 / shares.on_sizes))
    share = other / (noise + other)
    return share * sizes.noisy_edge_count + (1 - share) * float(found.sum()), share * noise


def _summed_degrees(sizes: SizeReadings) -> tuple[float, float]:
    """Return the number of edges that noisy degrees add up to, and its variance."""
    found = [noisy_degrees(side, sizes) for side in sizes.sides]
    noise = laplace_variance(float(2 / sizes.shares.nodes))
    (sums, counts) = zip(*((float(d.sum()), d.size) for d in found if d is not None), strict=True)
    if len(counts) == 1:
        return sums[0] / 2, counts[0] * noise / 4
    total = sum(counts)  # each side counts all edges, the smaller one with less noise
    weighted = sums[0] * counts[1] + sums[1] * counts[0]
    return weighted / total, counts[0] * counts[1] * noise / total


def growth_since_fit(side: FilteredSide, edge_count: int, per_node: Track) -> float:
    """Return by how much there are clearly more edges than the fitted curve has: a factor.

    Where the curve could not be measured again after a jump, it may still be that of an earlier
    graph, which had as many edges as the curve implies.
    """
    if side.curve is None or not side.fitted_edges or not edge_count:
        return 1.0
    implied = side.curve.mean * len(side.readings.roster)
    apart = min((math.log(edge_count / each) for each in (side.fitted_edges, implied)), key=abs)
    doubt = math.sqrt(float(per_node.variance[0])) / max(float(per_node.level[0]), 1e-9)
    return math.exp(math.copysign(max(abs(apart) - UNCLEAR - 2 * doubt, 0.0), apart))


def _owners(state: AnyState | None, sizes: SizeReadings, per_node: Track) -> Owners | None:
    """What is known of owners after this timestamp, where they are counted."""
    shares = sizes.shares
    if not isinstance(sizes, OwnedReadings) or not isinstance(shares, OwnerShares):
        return None
    known = state.owners if isinstance(state, OwnedState) else Owners.start(sizes.at_most)
    nodes = len(sizes.roster)
    if sizes.owner_side is not None:
        most = len(sizes.roster.sides[sizes.owner_side])
    else:
        most = MOST_OWNERS
    count = min(max(round(float(per_node.level[0]) * nodes), min(1, nodes)), most)
    return next_owners(
        known.with_count(count),
        sizes.noisy_owner_sizes,
        noisy_count=count,
        epsilon=float(shares.on_sizes),
    )


def _edge_count(per_node: Track, sizes: SizeReadings, owners: Owners | None) -> int:
    nodes, pairs = len(sizes.roster), sizes.kind.pairs(*sizes.roster.sizes)
    edges = float(per_node.level[0]) * nodes if owners is None else owners.edges
    most = MOST_OWNERS if sizes.kind.flows and pairs else pairs
    return round(min(max(edges, min(1, pairs)), most))


# ---- both degrees of a node


def _owned(
    sides: list[FilteredSide],
    estimates: list[Floats],
    owners: Owners,
    reciprocity: Track,
    edge_count: int,
    sizes: OwnedReadings,
    wanted: Callable[[Sequence[Floats]], list[SideStep]],
) -> list[SideStep]:
    """Return wanted degrees where the nodes of one side are owners.

    Which node is which owner is made up: a random order that stays. In directed graphs it follows
    the measured degrees of the other side as far as edges could not be reciprocated otherwise.
    """
    side = sizes.owner_side
    assert side is not None
    step = wanted(estimates)[1 - side]
    rng = sizes.random(Purpose.WANTED_DEGREES, side * OTHER_SIDE)
    owned = owners.sizes(edge_count, sides[side].readings.largest)
    rank = sides[side].ties.astype(np.float64)
    made = sides[side].owned(rank, owned, edge_count, rng)
    if sizes.kind.directed and rank.size:
        least = ROOM * float(reciprocity.level[0]) * edge_count
        by_degree = np.empty(rank.size)
        by_degree[step.order] = np.linspace(1.0, 0.0, rank.size)
        for strength in ALIGNMENTS[1:]:
            if int(np.minimum(made.wanted, step.wanted).sum()) >= least:
                break
            mixed = (1 - strength) * rank + strength * by_degree
            made = sides[side].owned(mixed, owned, edge_count, rng)
    return [made, step] if side == 0 else [step, made]


def _coupled(
    sides: list[FilteredSide],
    estimates: list[Floats],
    active: Track,
    reciprocity: Track,
    edge_count: int,
    wanted: Callable[[Sequence[Floats]], list[SideStep]],
) -> list[SideStep]:
    """Return wanted degrees of nodes that were ordered by both of their degrees.

    The two orders are aligned until no more nodes have an edge than should, and until as many
    edges can be reciprocated as should be.
    """
    one, other = sides
    if one.curve is None or other.curve is None or not estimates[0].size:
        return wanted(estimates)
    share = float(reciprocity.level[0])
    doubts = [
        np.where(side.nodes.measured, side.nodes.variance[: estimate.size], np.inf)
        for side, estimate in zip(sides, estimates, strict=True)
    ]
    joint = coupling(
        (one.curve, other.curve),
        estimates,
        doubts,
        active=(float(active.level[0]), float(active.variance[0])),
        reciprocity=share,
    )
    levels = coupled_levels(joint, estimates, doubts)
    idle = float(joint.joint[0, 0])
    for strength in ALIGNMENTS:
        steps = wanted(aligned(levels, strength))
        first, second = (step.wanted for step in steps)
        neither = np.count_nonzero((first == 0) & (second == 0)) / first.size
        possible = int(np.minimum(first, second).sum())
        few = 1 - neither <= FEW_MORE * (1 - idle)
        if few and possible >= ROOM * share * edge_count:
            break
    return steps
