"""How the window's ε is divided: between timestamps, and between the queries of one.

The edge count is measured at every timestamp; how many edges stayed since the timestamp before,
once per window. Everything else is bought from a *pool* after looking at the noisy edge count.
Structure (degree curve, mixing, triangles) is bought once per window, node degrees once per window
(*periodic*) or at every timestamp (*steady*), whichever is better by released degrees. A fifth of
the pool is a reserve for jumps of the edge count.

Privacy: a timestamp requests its fixed shares and all that is free of the pool, and gives back what
it does not buy. Shares depend on the public parameters, the number of the timestamp, the public
history of spends and released values. proofs/psgraph-plus.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal

from psgraph.graph.kind import Kind
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = [
    "ENOUGH_FOR_HUBS",
    "Components",
    "KindShares",
    "Mode",
    "Occasion",
    "Shares",
    "fixed_shares",
    "least_shares",
    "purchase",
    "shares_of",
    "typical_shares",
    "with_search",
]

Mode = Literal["undecided", "periodic", "steady"]

EDGES, MOST_EDGES = Fraction(8, 100), Fraction(16, 100)  # of ε, over the window
EDGES_AT_ONCE = Fraction(16, 1000)  # what one timestamp should have, between these two
PERSISTENCE = Fraction(2, 100)  # of ε, half of it at each of two timestamps
STRUCTURE = Fraction(32, 100)  # of what is left, the pool; the rest goes to nodes
STRUCTURE_AT_JUMPS = Fraction(40, 100)  # of what is bought there
STEADY_STRUCTURE = Fraction(75, 100)  # of its share, where degrees are measured every timestamp
FIRST = Fraction(66, 100)  # of the pool, spent at the first timestamp of a stream
RESERVE = Fraction(20, 100)  # of the pool, left where a window opens
LEAST = Fraction(4, 100)  # of the pool: less than this buys nothing but noise
DOUBLING, LEAST_PART = 0.7, 0.3  # a jump by this (log scale) takes all that is free, none less
CURVE, MIXING, TRIANGLES = (Fraction(share, 100) for share in (40, 32, 28))
# Where edges have two sides there are no triangles; directed graphs share with two counts more.
SIDE_MIXING, RECIPROCITY, ACTIVE = (Fraction(share, 100) for share in (40, 14, 6))
WEIGHTS = Fraction(20, 100)  # of structure, where edges carry weights
KEPT_WEIGHTS = Fraction(40, 100)  # of what edges kept have there
ENOUGH_FOR_HUBS = 1  # a release of node degrees with this ε or more also measures hub rows

NONE = Fraction(0)


@dataclass(frozen=True)
class Components:
    """Which optional queries are made.

    `reciprocity` also counts active nodes; `two_sides` and `weights` say of which kind edges are.
    """

    curve: bool = True
    hubs: bool = True
    persistence: bool = True
    clustering: bool = True
    reciprocity: bool = False
    two_sides: bool = False
    weights: bool = False

    def on(self, kind: Kind) -> Components:
        """Return the components for graphs of a kind."""
        if kind.sides == 1:
            return replace(self, weights=kind.weighted)
        return replace(
            self,
            hubs=False,
            clustering=False,
            reciprocity=kind.directed,
            two_sides=True,
            weights=kind.weighted,
        )


@dataclass(frozen=True)
class Shares:
    """What one timestamp spends on each query; 0 where it is not made.

    Attributes
    ----------
    timestamp, window
        Its number and w.
    pool
        What a whole window may spend on structure and nodes: all but edge counts and edges kept.
    opens
        Whether structure and nodes are bought for a window from here on.
    edges, persistence, curve, nodes, mixing, hubs, growth, blocks, triangles
        The ε of each query.
    reserved
        Booked here for the persistence query of the next timestamp, which reads this snapshot.
    """

    timestamp: int
    window: int
    pool: Fraction
    opens: bool
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
        """What is spent whatever is bought: known from the number of the timestamp alone."""
        return self.edges + self.persistence + self.reserved

    @cached_property
    def bought(self) -> Fraction:
        """What is spent on structure and nodes."""
        return self.curve + self.mixing + self.triangles + self.on_nodes

    @cached_property
    def total(self) -> Fraction:
        return self.fixed + self.bought

    @cached_property
    def on_nodes(self) -> Fraction:
        """What is spent on node degrees, hub rows and communities."""
        return self.nodes + self.hubs + self.growth + self.blocks

    @property
    def node_window(self) -> Fraction:
        """What a whole window spends on nodes."""
        return self.pool - STRUCTURE * self.pool

    @property
    def needs_degrees(self) -> bool:
        """Whether any query depends on the degrees of this timestamp."""
        return bool(self.mixing or self.hubs or self.growth or self.triangles)


@dataclass(frozen=True)
class KindShares(Shares):
    """Shares with those of queries that only some kinds of graphs have.

    Attributes
    ----------
    active, reciprocity, weights, kept_weights
        The ε of active nodes, reciprocated pairs, weight classes, and edges kept in their class.
    reserved_weights
        Booked here for edges kept in their weight class, at the next timestamp.
    """

    active: Fraction = NONE
    reciprocity: Fraction = NONE
    weights: Fraction = NONE
    kept_weights: Fraction = NONE
    reserved_weights: Fraction = NONE

    @cached_property
    def fixed(self) -> Fraction:
        plain = self.edges + self.persistence + self.reserved
        return plain + self.kept_weights + self.reserved_weights

    @cached_property
    def bought(self) -> Fraction:
        structure = self.curve + self.mixing + self.triangles
        return structure + self.active + self.reciprocity + self.weights + self.on_nodes


@dataclass(frozen=True)
class Occasion:
    """What released values say about a timestamp before anything is bought.

    Attributes
    ----------
    mode
        How often node degrees are measured.
    due
        Whether the last purchase for a window was w timestamps ago, or there was none.
    waits
        Whether the edge count has just fallen: it may come back at the next timestamp.
    jump
        How far the edge count has moved from what structure and nodes were bought for, on a log
        scale; 0 if it has not.
    searches
        Whether communities were found for the first time at the timestamp before.
    """

    mode: Mode = "undecided"
    due: bool = True
    waits: bool = False
    jump: float = 0.0
    searches: bool = False


def fixed_shares(components: Components, spending: Accountant) -> tuple[Shares, Fraction]:
    """Return what the next timestamp spends in any case, and what is free beyond that.

    >>> fixed, free = fixed_shares(Components(), Accountant(WEventPrivacy("1", window=5)))
    >>> float(fixed.total), float(fixed.pool), float(free)
    (0.026, 0.9, 0.9)
    """
    window, timestamp = spending.guarantee.window, spending.timestamps
    fixed = _fixed(components, spending.guarantee, timestamp)
    spent = NONE
    recent = spending.recent[-(window - 1) :] if window > 1 else ()
    for back, total in enumerate(reversed(recent), start=1):
        spent += total - _fixed(components, spending.guarantee, timestamp - back).fixed
    return replace(fixed, timestamp=timestamp), max(fixed.pool - spent, NONE)


def purchase(components: Components, fixed: Shares, free: Fraction, occasion: Occasion) -> Shares:
    """Return the shares of a timestamp, of which structure and nodes take at most what is free.

    Most of a window's pool is spent where the window opens. The rest is a reserve that a jump of
    the edge count spends; unspent, it expires with the window.
    """
    structure, nodes = _amounts(fixed, free, occasion)
    opens = occasion.due and bool(structure)
    shares = replace(_with_structure(components, fixed, structure), opens=opens)
    return _with_nodes(shares, nodes, hubs=components.hubs)


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
    for name in ("active", "reciprocity", "weights", "kept_weights"):
        least[name] = getattr(shares, name, NONE)
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
    epsilon, window = guarantee.epsilon, guarantee.window
    persistence = PERSISTENCE * epsilon if components.persistence else NONE
    edges = min(max(EDGES * epsilon, EDGES_AT_ONCE * window), MOST_EDGES * epsilon)
    plain = not (components.two_sides or components.weights)
    make = Shares if plain else KindShares
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
    if components.weights:
        parts["weights"] = WEIGHTS * sum(parts.values()) / (1 - WEIGHTS)
    unit = epsilon / sum(parts.values())
    return replace(shares, **{name: part * unit for name, part in parts.items()})


def _with_nodes(shares: Shares, epsilon: Fraction, *, hubs: bool) -> Shares:
    for_hubs = epsilon / 2 if hubs and epsilon >= ENOUGH_FOR_HUBS else NONE
    return replace(shares, nodes=epsilon - for_hubs, hubs=for_hubs)
