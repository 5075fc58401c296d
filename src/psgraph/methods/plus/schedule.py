"""How the window's ε is divided: between timestamps, and between the queries of one.

The edge count is measured at every timestamp; how many edges stayed since the timestamp before,
once per window, and once more where that said nothing. Everything else is bought from a *pool*
after looking at the noisy edge count. Structure (degree curve, mixing, triangles, edges between
public labels) is bought once per window, node degrees once per window (*periodic*) or at every
timestamp (*steady*), whichever is better by released degrees. A fifth of the pool is a reserve for
jumps of the edge count.

Privacy: a timestamp requests its fixed shares and all that is free of the pool, and gives back what
it does not buy. Shares depend on the public parameters, the number of the timestamp, the public
history of spends and released values. proofs/psgraph-plus.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from psgraph.methods.plus.mixing import CELLS, SIDE_CELLS
from psgraph.methods.plus.shares import (
    NONE,
    STRUCTURE,
    Components,
    KindShares,
    Mode,
    Occasion,
    OwnerShares,
    Shares,
)
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = [
    "ENOUGH_FOR_HUBS",
    "counting_share",
    "fixed_shares",
    "least_shares",
    "purchase",
    "shares_of",
    "to_follow",
    "typical_shares",
    "with_few_edges",
    "with_labels",
    "with_search",
]

EDGES, MOST_EDGES = Fraction(8, 100), Fraction(16, 100)  # of ε, over the window
EDGES_AT_ONCE = Fraction(16, 1000)  # what one timestamp should have, between these two
PERSISTENCE = Fraction(2, 100)  # of ε, half of it at each of two timestamps
STRUCTURE_AT_JUMPS = Fraction(40, 100)  # of what is bought there
STEADY_STRUCTURE = Fraction(75, 100)  # of its share, where degrees are measured every timestamp
FIRST = Fraction(66, 100)  # of the pool, spent at the first timestamp of a stream
RESERVE = Fraction(20, 100)  # of the pool, left where a window opens
LEAST = Fraction(4, 100)  # of the pool: less than this buys nothing but noise
DOUBLING, LEAST_PART = 0.7, 0.3  # a jump by this (log scale) takes all that is free, none less
CURVE, MIXING, TRIANGLES = (Fraction(share, 100) for share in (40, 32, 28))
# Where edges have two sides there are no triangles; directed graphs share with two counts more.
SIDE_MIXING, RECIPROCITY, ACTIVE = (Fraction(share, 100) for share in (40, 14, 6))
# Where the unit is an owner, owners by their number of edges are counted instead of one side.
OWNER_SIZES, OTHER_CURVE, OWNER_MIXING, OWNER_RECIPROCITY = (
    Fraction(share, 100) for share in (23, 42, 27, 8)
)
WEIGHTS = Fraction(20, 100)  # of structure, where edges carry weights
KEPT_WEIGHTS = Fraction(40, 100)  # of what edges kept have there
ENOUGH_FOR_HUBS = 1  # a release of node degrees with this ε or more also measures hub rows
LABELS = Fraction(5, 100)  # of what is bought with structure, where nodes have public labels
MOST_LABELS = Fraction(10, 100)  # of the pool, on top of that where edges are few
FOLLOWED = Fraction(1, 2)  # of the reserve, at most, where the agreement of labels swings
DROWNED = 3.0  # mixing of classes is given up for labels if its noise is a third of all edges
SIDE_DROWNED = 5.0  # the same where edges have two sides, if it is a fifth of all edges
LOST = 0.25  # of all nodes: with more noise than that, active nodes are not counted
RECIPROCITY_DOUBT = 0.05  # of the share of edges whose reverse is there, where ε allows it
MOST_RECIPROCITY = Fraction(10, 100)  # of the pool, on top of its share where edges are few


def fixed_shares(components: Components, spending: Accountant) -> tuple[Shares, Fraction]:
    """Return what the next timestamp spends in any case, and what is free beyond that.

    Both are in the ε of one edge, of which the unit of the guarantee may have several.

    >>> fixed, free = fixed_shares(Components(), Accountant(WEventPrivacy("1", window=5)))
    >>> float(fixed.total), float(fixed.pool), float(free)
    (0.026, 0.9, 0.9)
    """
    window, timestamp = spending.guarantee.window, spending.timestamps
    fixed = _fixed(components, spending.guarantee, timestamp)
    spent = NONE
    recent = spending.recent[-(window - 1) :] if window > 1 else ()
    edges = spending.guarantee.unit.edges
    for back, total in enumerate(reversed(recent), start=1):
        spent += total / edges - _fixed(components, spending.guarantee, timestamp - back).fixed
    return replace(fixed, timestamp=timestamp), max(fixed.pool - spent, NONE)


def purchase(components: Components, fixed: Shares, free: Fraction, occasion: Occasion) -> Shares:
    """Return the shares of a timestamp, of which structure and nodes take at most what is free.

    Most of a window's pool is spent where the window opens. The rest is a reserve that a jump of
    the edge count spends; unspent, it expires with the window. So does what one more count of edges
    kept takes, here and at the next timestamp.
    """
    fixed, free = _with_count(components, fixed, free, occasion)
    structure, nodes = _amounts(fixed, free, occasion)
    opens = occasion.due and bool(structure)
    labels = LABELS * (structure + nodes) if components.labels and structure else NONE
    rest = 1 - LABELS if labels else 1
    shares = replace(_with_structure(components, fixed, rest * structure), opens=opens)
    shares = _with_labels(shares, labels)
    return _with_nodes(shares, rest * nodes, hubs=components.hubs)


def counting_share(components: Components, shares: Shares) -> Fraction:
    """Return what counting edges kept costs each of two timestamps."""
    others = shares.pool + shares.window * shares.edges
    return PERSISTENCE / 2 * others / (1 - PERSISTENCE) if components.persistence else NONE


def _with_count(
    components: Components, fixed: Shares, free: Fraction, occasion: Occasion
) -> tuple[Shares, Fraction]:
    """The shares with one more count of edges kept, or a reservation; what is free beyond that."""
    share = counting_share(components, fixed)
    if occasion.counts and not fixed.persistence and free >= share:
        fixed, free = replace(fixed, persistence=share), free - share
    if occasion.recounts and not fixed.reserved and free >= 2 * share:
        fixed, free = replace(fixed, reserved=share), free - 2 * share  # the next one needs its own
    return fixed, free


def _amounts(fixed: Shares, free: Fraction, occasion: Occasion) -> tuple[Fraction, Fraction]:
    """What is bought of structure and of nodes."""
    pool, window, mode = fixed.pool, fixed.window, occasion.mode
    for_structure, for_nodes = STRUCTURE * pool, pool - STRUCTURE * pool
    if window == 1:
        return for_structure, for_nodes
    if fixed.timestamp == 0:
        return for_structure, FIRST * pool - for_structure
    if occasion.waits:
        return NONE, NONE
    each = for_nodes / window
    if mode == "undecided" or (mode == "steady" and fixed.timestamp < window):
        each = (1 - FIRST) * pool / (window - 1)  # what the first timestamp has left
    each = each if free >= min(each, LEAST * pool) else NONE
    nodes = NONE if mode == "periodic" else min(each, free)
    if occasion.due and mode == "steady":
        structure = min(STEADY_STRUCTURE * for_structure, free - nodes)
        whole = structure + nodes
    elif occasion.due:
        whole = min((1 - RESERVE) * pool, free)
        structure = STRUCTURE * whole
    else:
        part = Fraction(round(1000 * min(max(occasion.jump / DOUBLING, LEAST_PART), 1.0)), 1000)
        whole = part * free if occasion.jump else nodes
        structure = min(STRUCTURE_AT_JUMPS * whole, whole - nodes)
    if structure < LEAST * pool:
        structure, whole = NONE, nodes
    nodes = whole - structure
    if occasion.searches and mode != "steady":
        nodes = free - structure
    return structure, nodes


def shares_of(components: Components, spending: Accountant, occasion: Occasion) -> Shares:
    """Return what the next timestamp spends on an occasion."""
    return purchase(components, *fixed_shares(components, spending), occasion)


def with_search(shares: Shares, *, growth: Fraction, blocks: Fraction, hubs: bool) -> Shares:
    """Return shares that spend part of what is bought for nodes on a search for communities."""
    rest = _with_nodes(shares, shares.on_nodes - growth - blocks, hubs=hubs)
    return replace(rest, growth=growth, blocks=blocks)


def with_labels(shares: Shares, *, need: float, edges: float, hubs: bool) -> Shares:
    """Return shares that spend more on labels where edges are few.

    It comes from the mixing of classes first, if that would drown in noise, and then from nodes.
    The sum does not change.

    Parameters
    ----------
    need
        What both queries about labels should have.
    edges
        About how many edges there are.
    """
    wanted = Fraction(round(10_000 * min(need, 1e6)), 10_000) - shares.on_labels
    extra = min(max(wanted, NONE), MOST_LABELS * shares.pool, shares.on_nodes / 2)
    if not shares.label_edges or not extra:
        return shares
    of_mixing = min(extra, shares.mixing) if _drowned(shares, edges, CELLS, DROWNED) else NONE
    rest = _with_nodes(shares, shares.on_nodes - (extra - of_mixing), hubs=hubs)
    return _with_labels(replace(rest, mixing=shares.mixing - of_mixing), shares.on_labels + extra)


def with_few_edges(shares: Shares, *, edges: float, nodes: int) -> Shares:
    """Return shares of a graph with two sides that give up what would drown in noise.

    The mixing of classes and the number of active nodes then leave their shares to the degree
    curves. Where edges are few, reciprocated pairs have more: of that, or else of nodes. The sum
    does not change.

    Parameters
    ----------
    edges, nodes
        About how many edges there are, and how many nodes.
    """
    if not isinstance(shares, KindShares) or not shares.curve:
        return shares
    spare = shares.mixing if _drowned(shares, edges, SIDE_CELLS, SIDE_DROWNED) else NONE
    lost = shares.active if 2 * math.sqrt(2) > LOST * float(shares.active) * nodes else NONE
    extra = NONE
    if shares.reciprocity:
        need = 2 * math.sqrt(2) / (RECIPROCITY_DOUBT * max(edges, 1.0))
        extra = Fraction(round(10_000 * min(need, 1e6)), 10_000) - shares.reciprocity
        extra = min(max(extra, NONE), MOST_RECIPROCITY * shares.pool)
    of_nodes = min(max(extra - spare - lost, NONE), shares.nodes / 2 if shares.window > 1 else NONE)
    more = min(extra, spare + lost + of_nodes)
    return replace(
        shares,
        mixing=shares.mixing - spare,
        active=shares.active - lost,
        reciprocity=shares.reciprocity + more,
        curve=shares.curve + spare + lost + of_nodes - more,
        nodes=shares.nodes - of_nodes,
    )


def _drowned(shares: Shares, edges: float, cells: int, part: float) -> bool:
    """Whether the noise on the mixing of classes is more than a part of all edges."""
    return bool(shares.mixing) and math.sqrt(2 * cells) / float(shares.mixing) > edges / part


def to_follow(shares: Shares, free: Fraction) -> Fraction:
    """Return what a timestamp may spend on following the agreement of labels between windows.

    All timestamps of a window together take at most half of the reserve.
    """
    if shares.on_labels or shares.window == 1:
        return NONE
    most = FOLLOWED * RESERVE * shares.pool / (shares.window - 1)
    return most if shares.bought + most <= free else NONE


def _with_labels(shares: Shares, epsilon: Fraction) -> Shares:
    return replace(shares, agreement=epsilon / 2, label_edges=epsilon - epsilon / 2)


def typical_shares(components: Components, guarantee: WEventPrivacy) -> dict[str, Shares]:
    """Return what each kind of timestamp spends, by a description of it."""
    window = guarantee.window
    stream = _ImaginedStream(components, guarantee)
    cases = {"first timestamp": stream.next(Occasion())}
    stream = stream.after(Occasion())
    if window == 1:
        return {**cases, "every later timestamp": stream.next(Occasion())}
    jump = Occasion(due=False, jump=1.0)
    cases["second timestamp"] = stream.next(Occasion(due=False))
    cases["a jump of the edge count at the second timestamp"] = stream.next(jump)
    modes: tuple[tuple[Mode, str], ...] = (
        ("steady", "degrees every timestamp"),
        ("periodic", "degrees once per window"),
    )
    for mode, words in modes:
        due, between = Occasion(mode), Occasion(mode, due=False)
        later = stream.after(between, window - 1).after(due).after(between, window - 1)
        cases[f"a window begins, {words}"] = later.next(due)
        later = later.after(due)
        if window > 2:
            cases[f"after a window begins, {words}"] = later.next(between)
        later = later.after(between, window - 2)
        cases[f"a window ends, {words}"] = later.next(between)
        later = later.after(between).after(due)
        cases[f"a jump of the edge count, {words}"] = later.next(replace(jump, mode=mode))
    return cases


@dataclass(frozen=True)
class _ImaginedStream:
    """A stream without data, which takes timestamps of equal spends together.

    Its cost depends on how often spends change and not on w, so that long windows are planned
    quickly.

    Attributes
    ----------
    timestamp
        The number of the next one.
    runs
        What the last w − 1 timestamps bought, and how many of them in a row did.
    spent
        The sum of that.
    """

    components: Components
    guarantee: WEventPrivacy
    timestamp: int = 0
    runs: tuple[tuple[Fraction, int], ...] = ()
    spent: Fraction = NONE

    def next(self, occasion: Occasion) -> Shares:
        """Return what the next timestamp spends."""
        fixed = _fixed(self.components, self.guarantee, self.timestamp)
        fixed = replace(fixed, timestamp=self.timestamp)
        return purchase(self.components, fixed, max(fixed.pool - self.spent, NONE), occasion)

    def after(self, occasion: Occasion, steps: int = 1) -> _ImaginedStream:
        """Return the stream after some timestamps of one window, all on the same occasion."""
        stream, end = self, self.timestamp + steps
        while stream.timestamp < end:
            bought = stream.next(occasion).bought
            unfilled = self.guarantee.window - 1 - min(stream.timestamp, self.guarantee.window - 1)
            count = min(end - stream.timestamp, unfilled or (stream.runs or ((NONE, 1),))[0][1])
            # Purchases are monotone in what is free, and that is linear in the number of steps:
            # equal at both ends, they are equal in between.
            while count > 1 and stream._buy(bought, count - 1).next(occasion).bought != bought:
                count //= 2
            stream = stream._buy(bought, count)
        return stream

    def _buy(self, bought: Fraction, count: int) -> _ImaginedStream:
        surplus = min(self.timestamp, self.guarantee.window - 1) + count
        surplus -= self.guarantee.window - 1
        runs, spent = [*self.runs, (bought, count)], self.spent + count * bought
        while surplus > 0:
            leaving, times = runs.pop(0)
            left = max(times - surplus, 0)
            if left:
                runs.insert(0, (leaving, left))
            spent -= (times - left) * leaving
            surplus -= times - left
        return replace(self, timestamp=self.timestamp + count, runs=tuple(runs), spent=spent)


def least_shares(components: Components, guarantee: WEventPrivacy) -> dict[str, Fraction]:
    """Return the least ε of each query of a timestamp that buys what others have left."""
    if guarantee.window == 1:
        return {}
    fixed = _fixed(components, guarantee, timestamp=1)
    shares = _with_structure(components, fixed, LEAST * fixed.pool)
    least = {
        "edges": shares.edges,
        "persistence": shares.persistence,
        "curve": shares.curve,
        "nodes": min(LEAST * fixed.pool, Fraction(ENOUGH_FOR_HUBS, 2)),
        "mixing": shares.mixing,
        "hubs": Fraction(ENOUGH_FOR_HUBS, 2) if components.hubs else NONE,
        "triangles": shares.triangles,
    }
    for name in ("active", "reciprocity", "weights", "kept_weights", "owner_sizes"):
        least[name] = getattr(shares, name, NONE)
    if components.labels:
        least |= dict.fromkeys(("agreement", "label_edges"), LABELS * LEAST * fixed.pool / 2)
    return {name: epsilon for name, epsilon in least.items() if epsilon}


def _fixed(components: Components, guarantee: WEventPrivacy, timestamp: int) -> Shares:
    """The shares of a timestamp before anything is bought, and without its number."""
    opens = timestamp % guarantee.window == 0
    follows = timestamp > 0 and (timestamp - 1) % guarantee.window == 0
    return _fixed_kind(components, guarantee, opens, follows)


@lru_cache(maxsize=64)
def _fixed_kind(
    components: Components, guarantee: WEventPrivacy, reserves: bool, follows: bool
) -> Shares:
    """The fixed shares, by whether edges kept are reserved for or counted at the timestamp."""
    steps, window = guarantee.unit.edges, guarantee.window
    epsilon = guarantee.epsilon / steps
    persistence = PERSISTENCE * epsilon if components.persistence else NONE
    edges = min(max(EDGES * epsilon, EDGES_AT_ONCE * window / steps), MOST_EDGES * epsilon)
    plain = not (components.two_sides or components.weights)
    make = Shares if plain else OwnerShares if components.owners else KindShares
    kept_weights = KEPT_WEIGHTS * persistence if components.weights else NONE
    pool, persistence = epsilon - edges - persistence, persistence - kept_weights
    shares = make(
        timestamp=0,
        window=window,
        pool=pool,
        opens=False,
        edges=edges / window,
        persistence=persistence / 2 if follows else NONE,
        reserved=persistence / 2 if reserves else NONE,
        curve=NONE,
        nodes=NONE,
        mixing=NONE,
        hubs=NONE,
        growth=NONE,
        blocks=NONE,
        triangles=NONE,
    )
    if not isinstance(shares, KindShares):
        return shares
    if isinstance(shares, OwnerShares):
        shares = replace(shares, at_most=components.owners)
    return replace(
        shares,
        kept_weights=kept_weights / 2 if follows else NONE,
        reserved_weights=kept_weights / 2 if reserves else NONE,
    )


def _with_structure(components: Components, shares: Shares, epsilon: Fraction) -> Shares:
    parts: dict[str, Any] = {
        "curve": CURVE if components.curve else NONE,
        "mixing": MIXING,
        "triangles": TRIANGLES if components.clustering else NONE,
    }
    if components.two_sides:
        parts = dict(zip(parts, (parts["curve"], SIDE_MIXING, NONE), strict=True))
    if components.reciprocity:
        parts |= {"active": ACTIVE, "reciprocity": RECIPROCITY}
    if components.owners:
        parts = {
            "owner_sizes": OWNER_SIZES,
            "curve": OTHER_CURVE if components.curve else NONE,
            "mixing": OWNER_MIXING if components.mixing else NONE,
            "reciprocity": OWNER_RECIPROCITY if components.reciprocity else NONE,
        }
        if components.mixing and not components.reciprocity:
            parts["mixing"] += OWNER_RECIPROCITY
    if components.weights:
        parts["weights"] = WEIGHTS * sum(parts.values()) / (1 - WEIGHTS)
    unit = epsilon / sum(parts.values())
    return replace(shares, **{name: part * unit for name, part in parts.items()})


def _with_nodes(shares: Shares, epsilon: Fraction, *, hubs: bool) -> Shares:
    for_hubs = epsilon / 2 if hubs and epsilon >= ENOUGH_FOR_HUBS else NONE
    return replace(shares, nodes=epsilon - for_hubs, hubs=for_hubs)
