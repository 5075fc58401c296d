"""How the window's ε is divided: between timestamps, and between the queries of one.

Structure (degree curve, mixing, triangles) is asked once per window with a whole window's share.
Node degrees are asked once per window (*periodic*) or at every timestamp (*steady*), whichever the
released degrees say is better. The edge count is asked at every timestamp, and once per window how
many edges are still there from the timestamp before.

Privacy: shares depend on the public parameters, the number of the timestamp, the public history of
spends and released values. proofs/psgraph-plus.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph.methods.plus.nodes import Drift
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = [
    "Mode",
    "Parts",
    "Shares",
    "next_mode",
    "shares_of",
    "top_count",
    "typical_shares",
    "with_search",
]

Mode = Literal["undecided", "periodic", "steady"]

EDGES, MOST_EDGES = Fraction(8, 100), Fraction(16, 100)  # of ε, over the window
EDGES_AT_ONCE = Fraction(16, 1000)  # what one timestamp should have, between these two
PERSISTENCE = Fraction(2, 100)  # of ε, half of it at each of two timestamps
STRUCTURE = Fraction(32, 100)  # of what is left; the rest goes to nodes
CURVE, MIXING, TRIANGLES = (Fraction(share, 100) for share in (40, 32, 28))
# Degrees are asked at every timestamp if asking once per window has this multiple of the error and,
# where hub rows would be lost, this relative squared error. The second pair ends it again.
SWITCH, STAY = (3.0, 0.05), (1.8, 0.03)
ENOUGH_FOR_HUBS = 1  # a release of node degrees with this ε or more also asks for hub rows

NONE = Fraction(0)


@dataclass(frozen=True)
class Parts:
    """Which optional queries are asked."""

    curve: bool = True
    hubs: bool = True
    persistence: bool = True
    clustering: bool = True


@dataclass(frozen=True)
class Shares:
    """What one timestamp spends on each query; 0 where it is not asked.

    Attributes
    ----------
    timestamp, window
        Its number and w.
    node_window
        What a whole window may spend on `nodes`, `hubs`, `growth` and `blocks`.
    edges, persistence, curve, nodes, mixing, hubs, growth, blocks, triangles
        The ε of each query.
    reserved
        Booked here for the persistence query of the next timestamp, which reads this snapshot.
    """

    timestamp: int
    window: int
    node_window: Fraction
    edges: Fraction
    persistence: Fraction
    reserved: Fraction
    curve: Fraction
    nodes: Fraction
    mixing: Fraction
    hubs: Fraction
    growth: Fraction
    blocks: Fraction
    triangles: Fraction

    @cached_property
    def fixed(self) -> Fraction:
        """All but what is spent on nodes: known from the number of the timestamp alone."""
        structure = self.curve + self.mixing + self.triangles
        return self.edges + self.persistence + self.reserved + structure

    @cached_property
    def total(self) -> Fraction:
        return self.fixed + self.on_nodes

    @cached_property
    def on_nodes(self) -> Fraction:
        """What is spent on node degrees, hub rows and communities."""
        return self.nodes + self.hubs + self.growth + self.blocks

    @property
    def opens_window(self) -> bool:
        """Whether structure is asked."""
        return self.timestamp % self.window == 0


def shares_of(
    parts: Parts, spending: Accountant, mode: Mode, *, all_that_is_free: bool = False
) -> Shares:
    """Return what the next timestamp spends.

    With `all_that_is_free` it spends on nodes whatever the window has left.

    >>> spending = Accountant(WEventPrivacy("1", window=5))
    >>> shares = shares_of(Parts(), spending, "undecided")
    >>> float(shares.total), float(shares.nodes), float(shares.edges)
    (0.62, 0.306, 0.016)
    """
    window, timestamp = spending.guarantee.window, spending.timestamps
    fixed = replace(_fixed(parts, spending.guarantee, timestamp), timestamp=timestamp)
    spent = NONE
    recent = spending.recent[-(window - 1) :] if window > 1 else ()
    for back, total in enumerate(reversed(recent), start=1):
        spent += total - _fixed(parts, spending.guarantee, timestamp - back).fixed
    free = max(fixed.node_window - spent, NONE)
    wanted = free if all_that_is_free else min(_wanted(fixed, mode, free), free)
    return _with_nodes(fixed, wanted, hubs=parts.hubs)


def with_search(shares: Shares, *, growth: Fraction, blocks: Fraction, hubs: bool) -> Shares:
    """Return shares that spend part of what is granted for nodes on a search for communities."""
    rest = _with_nodes(shares, shares.on_nodes - growth - blocks, hubs=hubs)
    return replace(rest, growth=growth, blocks=blocks)


def typical_shares(parts: Parts, guarantee: WEventPrivacy) -> dict[str, Shares]:
    """Return what each kind of timestamp spends, by a description of it."""
    spending, window = Accountant(guarantee), guarantee.window
    first = shares_of(parts, spending, "undecided")
    cases = {"first timestamp": first}
    spending = spending.record(first.total)
    if window == 1:
        return {**cases, "every later timestamp": shares_of(parts, spending, "undecided")}
    cases["second timestamp"] = shares_of(parts, spending, "undecided")
    modes: tuple[tuple[Mode, str], ...] = (
        ("steady", "degrees every timestamp"),
        ("periodic", "degrees once per window"),
    )
    for mode, words in modes:
        for _ in range(2 * window - spending.timestamps % window):
            spending = spending.record(shares_of(parts, spending, mode).total)
        cases[f"a window begins, {words}"] = shares_of(parts, spending, mode)
        for step in range(window - 1):
            spending = spending.record(shares_of(parts, spending, mode).total)
            if step == 0 and window > 2:
                cases[f"after a window begins, {words}"] = shares_of(parts, spending, mode)
        cases[f"a window ends, {words}"] = shares_of(parts, spending, mode)
    return cases


def _fixed(parts: Parts, guarantee: WEventPrivacy, timestamp: int) -> Shares:
    """The shares of a timestamp without those of the nodes, and without its number."""
    opens = timestamp % guarantee.window == 0
    follows = timestamp > 0 and (timestamp - 1) % guarantee.window == 0
    return _fixed_kind(parts, guarantee, opens, follows)


@lru_cache(maxsize=64)
def _fixed_kind(parts: Parts, guarantee: WEventPrivacy, opens: bool, follows: bool) -> Shares:
    """The fixed shares of a timestamp that opens a window, follows one that does, or neither."""
    epsilon, window = guarantee.epsilon, guarantee.window
    persistence = PERSISTENCE * epsilon if parts.persistence else NONE
    edges = min(max(EDGES * epsilon, EDGES_AT_ONCE * window), MOST_EDGES * epsilon)
    rest = epsilon - edges - persistence
    asked = {
        "curve": CURVE if parts.curve else NONE,
        "mixing": MIXING,
        "triangles": TRIANGLES if parts.clustering else NONE,
    }
    unit = STRUCTURE * rest / sum(asked.values()) if opens else NONE
    return Shares(
        timestamp=0,
        window=window,
        node_window=rest - STRUCTURE * rest,
        edges=edges / window,
        persistence=persistence / 2 if follows else NONE,
        reserved=persistence / 2 if opens else NONE,
        nodes=NONE,
        hubs=NONE,
        growth=NONE,
        blocks=NONE,
        **{name: share * unit for name, share in asked.items()},
    )


def _wanted(shares: Shares, mode: Mode, free: Fraction) -> Fraction:
    """x_t before it is limited to what is free."""
    window, timestamp = shares.window, shares.timestamp
    if window == 1:
        return shares.node_window
    if timestamp == 0:
        return shares.node_window / 2
    if mode == "periodic":
        return free if shares.opens_window else NONE
    if timestamp < window:
        return shares.node_window / (2 * (window - 1))
    return shares.node_window / window


def _with_nodes(shares: Shares, epsilon: Fraction, *, hubs: bool) -> Shares:
    for_hubs = epsilon / 2 if hubs and epsilon >= ENOUGH_FOR_HUBS else NONE
    return replace(shares, nodes=epsilon - for_hubs, hubs=for_hubs)


def next_mode(
    mode: Mode,
    *,
    top: Floats,
    drift: Drift,
    new_share: float,
    node_window: Fraction,
    window: int,
) -> Mode:
    """Choose between one good measurement per window and a poor one at every timestamp.

    Both are compared by the expected relative squared error of the largest nodes.

    Parameters
    ----------
    top
        The filtered degrees of the largest nodes.
    drift
        How degrees change.
    new_share
        The share of squared degrees among them that is new in each step.
    """
    if not drift.known or not top.size or window == 1:
        return mode
    total = float(node_window)
    steady_noise, periodic_noise = 8 * window**2 / total**2, 8 / total**2
    level = np.maximum(top, 1e-6)
    rows = np.stack([level, level**2])
    doubt = np.sqrt((rows * np.linalg.solve(drift.information, rows)).sum(axis=0))
    moved = np.maximum(drift.rates @ rows - doubt, 0.02)
    square = level**2
    steady = float((_settled(moved, steady_noise) / square).mean())
    steady += new_share * steady_noise / (steady_noise + float(square.mean()))
    between = moved * (window - 1) / 2
    periodic = float(((_settled(window * moved, periodic_noise) + between) / square).mean())
    periodic += new_share * (window - 1) / 2
    ratio, error = STAY if mode == "steady" else SWITCH
    if node_window < ENOUGH_FOR_HUBS or node_window >= ENOUGH_FOR_HUBS * window:
        error = 0.0  # both have hub rows, or neither has
    return "steady" if periodic > max(ratio * steady, error) else "periodic"


def _settled(drift: Floats, noise: float) -> Floats:
    """Return the variance at which a random-walk filter settles."""
    return (np.sqrt(drift**2 + 4 * drift * noise) - drift) / 2


def top_count(nodes: int) -> int:
    """Return how many nodes count as the largest: 1 %, and at least 5."""
    return min(nodes, max(5, math.ceil(nodes / 100)))
