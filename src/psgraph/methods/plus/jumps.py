"""Jumps of the released edge count: how one is recognised, and what becomes of older estimates.

Structure and node degrees are bought for a whole window. If the edge count then moves by more than
its noise and usual drift explain, they are stale: they are scaled to the new count, and bought
again from the reserve. A fall may be a part-period, a holiday or an outage, after which everything
is as before. Nothing is bought at its first timestamp, and the state before it is remembered for
a window.

Privacy: a function of the noisy edge count, the public roster and the state before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from psgraph.methods.plus.modes import KNOWN_SHARE
from psgraph.methods.plus.shares import Shares
from psgraph.methods.plus.state import AnyState, Jumps, Movement
from psgraph.methods.plus.tracking import laplace_variance

__all__ = ["Verdict", "judge", "prior_state", "recounts"]

CLEAR = 16.0  # squared standard deviations; Laplace noise exceeds 3 of them in 1.4 % of cases
LEAST = 0.14  # a smaller change (15 %, on a log scale) is not worth a purchase
ROSTER = 1.1  # a roster that grows or shrinks threefold is a jump if the edge count moves too
USUAL_DRIFT = 0.01  # at the second timestamp, before any drift is learned
FORGET = 0.4  # jumps by more than this (× 1.5) make structure start again
SAME_LEVEL, SAME_ROSTER = 0.3, 0.405  # within this of the state before a fall, it is back
MOST_FACTOR = 50.0


@dataclass(frozen=True)
class Verdict:
    """What a noisy edge count says about the estimates so far.

    Attributes
    ----------
    kind
        As in `Jumps.found`.
    size
        How far the count moved, on a log scale: since the last purchase where one is made.
    factor
        Edges per node, as a multiple of the estimate before.
    buys, waits
        Whether structure and nodes are bought again, or not before the next timestamp.
    restless
        Whether there was another jump within a window: what changes then is called drift.
    """

    kind: Movement = "none"
    size: float = 0.0
    factor: float = 1.0
    buys: bool = False
    waits: bool = False
    restless: bool = False

    @property
    def jumps(self) -> bool:
        """Whether the edge count is at a level for which nothing was bought."""
        return self.kind in ("rise", "fall")


def judge(state: AnyState | None, *, nodes: int, noisy_edges: int, shares: Shares) -> Verdict:
    """Compare the noisy edge count of a timestamp with what was known before it.

    Parameters
    ----------
    nodes
        The size of the public roster.
    noisy_edges
        The noisy edge count; that of owners where these are counted, and so below.
    shares
        Of this timestamp, for the noise of the edge count and its number.
    """
    if state is None or nodes == 0 or not len(state.roster):
        return Verdict()
    noise = laplace_variance(float(1 / shares.on_count))
    deviation = math.sqrt(noise)
    track = state.edges_per_node
    level, timestamp, jumps = float(track.level[0]), shares.timestamp, state.jumps
    now = max(noisy_edges, deviation / 2, 1.0)
    factor = min(max(now / (level * nodes), 1 / MOST_FACTOR), MOST_FACTOR)
    drift = track.drift if timestamp > 1 else USUAL_DRIFT
    usual = (
        float(track.variance[0]) + noise / nodes**2 + drift * max(level, shares.least_level) ** 2
    )
    apart, grown = abs(math.log(factor)), abs(math.log(nodes / len(state.roster)))
    clear = (noisy_edges / nodes - level) ** 2 > CLEAR * usual and apart > LEAST
    moved = grown > ROSTER and abs(noisy_edges - state.counted) >= 3 * deviation
    if not (clear or moved):
        if jumps.waiting:
            return Verdict("confirmed", size=jumps.stale, buys=True)
        return Verdict()
    size = max(apart if clear else 0.0, grown if moved else 0.0)
    restless = timestamp - jumps.last <= shares.window
    if now > state.counted:
        before = state.before_fall
        if before is not None:
            close = SAME_LEVEL * before.counted + 2 * deviation
            same = abs(math.log(nodes / max(len(before.roster), 1))) < SAME_ROSTER
            if same and abs(noisy_edges - before.counted) <= close:
                return Verdict("back", factor=1.0)
        return Verdict("rise", size, factor, buys=True, restless=restless)
    at_once = jumps.waiting or timestamp - jumps.last < shares.window
    return Verdict("fall", size, factor, buys=at_once, waits=not at_once, restless=restless)


def recounts(
    state: AnyState, verdict: Verdict, *, noisy_edges: int, shares: Shares, share: Fraction
) -> bool:
    """Return whether edges kept should be counted once more at the next timestamp.

    The count that is scheduled after a part-period says next to nothing: few edges could stay, and
    the noise is the same. After a rise there are enough of them.

    Parameters
    ----------
    share
        What a count costs each of two timestamps.
    """
    if not share or verdict.kind != "rise":
        return False
    noise = laplace_variance(float(1 / share))
    doubt = float(state.persistence.variance[0])
    if shares.persistence or state.jumps.recounts:  # a count is made here already
        here = noise / max(state.used, 1) ** 2
        doubt = doubt * here / (doubt + here)
    edges = noisy_edges * state.used / max(state.counted, 1)  # of each owner, if these are counted
    return doubt > KNOWN_SHARE > noise / max(edges, 1) ** 2


def prior_state(state: AnyState | None, verdict: Verdict, shares: Shares) -> AnyState | None:
    """Return the state that the measurement of a timestamp is combined with.

    Where structure is bought after a jump, what was known of it is forgotten; where it is not,
    an outdated degree curve is still better than none.
    """
    if state is None:
        return None
    if verdict.kind == "none":
        lost = shares.timestamp - state.jumps.last > shares.window
        before_fall: Any = None if lost else state.before_fall
        jumps = _next_jumps(state.jumps, verdict, shares)
        return replace(state, jumps=jumps, before_fall=before_fall)
    if verdict.kind == "back" and state.before_fall is not None:
        return replace(
            state.before_fall,
            edges_per_node=state.edges_per_node,
            persistence=state.persistence,
            mode=state.mode,
            opened=state.opened,
            jumps=_next_jumps(state.jumps, verdict, shares),
        )
    jumps = _next_jumps(state.jumps, verdict, shares)
    prior = replace(state.scaled(verdict.factor), jumps=jumps)
    if verdict.waits and state.before_fall is None:
        remembered: Any = state
        prior = replace(prior, before_fall=remembered)
    if verdict.size <= FORGET:
        return prior
    return prior.forgetting(curve=bool(shares.curve), mixing=bool(shares.mixing))


def _next_jumps(jumps: Jumps, verdict: Verdict, shares: Shares) -> Jumps:
    """The record after this timestamp."""
    stale = max(jumps.stale, verdict.size)
    return Jumps(
        found=verdict.kind,
        last=shares.timestamp if verdict.jumps else jumps.last,
        waiting=verdict.waits,
        stale=0.0 if shares.nodes or verdict.kind == "back" else stale,
        recounts=bool(shares.reserved) and shares.timestamp % shares.window != 0,
    )
