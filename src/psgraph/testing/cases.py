"""Small graphs that find mistakes, and one way to run a method on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.threads import LocalEngine
from psgraph.graph import UNDIRECTED, Kind, Roster, Snapshot, SyntheticGraph, TwoSidedRoster
from psgraph.graph.kind import find_kind
from psgraph.methods.base import Method
from psgraph.methods.private import Previous
from psgraph.methods.timestamp import Timestamp, draw_graph, measure_timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.privacy.unit import Edge, Owner, Unit

__all__ = [
    "Step",
    "all_graphs",
    "kinds_of",
    "leaves",
    "measure",
    "neighbouring_pairs",
    "neighbours",
    "rerun",
    "reweighted_pairs",
    "run",
    "spending",
    "streams",
]

ENGINE = LocalEngine()
ALLOWANCE = Fraction(1, 5)
ROWS = 2  # of a pair, at most, in all small graphs of flows
WEIGHT = 5  # the largest one of checked streams: classes 1, 2, 3–4 and one that is not full
Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Step:
    """What one timestamp left behind."""

    timestamp: Timestamp
    graph: SyntheticGraph

    @property
    def measurement(self) -> Any:
        return self.timestamp.measurement

    @property
    def state(self) -> Any:
        return self.timestamp.state


def _roster(kind: Kind, ids: Sequence[Any]) -> Roster:
    """Return a roster of these ids; the first half of them on the left if there are two sides."""
    half = len(ids) - len(ids) // 2
    return TwoSidedRoster(ids[:half], ids[half:]) if kind.two_sided else Roster(ids)


def _snapshot(kind: Kind, roster: Roster, edges: Pairs, *, more: int = 0) -> Snapshot:
    """Return a graph; every pair has a weight of its own, and the last edge `more` of it."""
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    weight = None
    if kind.largest_weight is not None:
        largest = WEIGHT if kind.flows else kind.largest_weight
        weight = 1 + (7 * pairs[:, 0] + 3 * pairs[:, 1]) % largest
        weight[-1:] += more
    return Snapshot(roster, pairs[:, 0], pairs[:, 1] + roster.offset, kind=kind, weight=weight)


def _path(kind: Kind, nodes: int) -> Pairs:
    """Edges along a line of nodes: to and fro between the sides, or partly in both directions."""
    if kind.two_sided:
        return [(x // 2 + x % 2, x // 2) for x in range(nodes - 1)]
    forward = [(x, x + 1) for x in range(nodes - 1)]
    return forward + ([(y, x) for x, y in forward[::3]] if kind.directed else [])


def _complete(kind: Kind, roster: Roster) -> Pairs:
    u, v = kind.all_pairs(*roster.sizes)
    return list(zip(u.tolist(), v.tolist(), strict=True))


def kinds_of(method: Method[Any, Any]) -> list[Kind]:
    """Return every kind that a method publishes, with weights and flows if it publishes them."""
    plain = [find_kind(name) for name in sorted(method.kinds, reverse=True)]
    weighted = [kind.with_weights(WEIGHT) for kind in plain if method.publishes_weights]
    two_sides = [kind for kind in plain if kind.sides == 2 and method.publishes_flows]
    return plain + weighted + [kind.with_flows() for kind in two_sides]


def streams(kind: Kind = UNDIRECTED) -> dict[str, list[Snapshot]]:
    """Streams of a kind that every method must be defined on, by name."""

    def of(ids: Sequence[Any], edges: Pairs) -> Snapshot:
        return _snapshot(kind, _roster(kind, ids), edges)

    twelve, last = range(12), 3 if kind.two_sided else 7
    some = [*_path(kind, 9), (0, 3), (2, last)]
    letters = [f"node {letter}" for letter in "hgfedcba"]
    found = {
        "a roster without nodes": [of([], [])] * 2,
        "one node": [of([0], [])] * 2,
        "two nodes": [of(range(2), edges) for edges in ([], _path(kind, 2))],
        "a graph without edges": [of(twelve, [])] * 2,
        "a complete graph": [of(twelve, _complete(kind, _roster(kind, twelve)))] * 2,
        "a graph of 50 nodes": [of(range(50), _path(kind, 50))] * 3,
        "ids that are text": [of(letters, _path(kind, 8))] * 2,
        "a roster that changes": [
            of(range(10), some),
            of(range(5, 20), some),
            of([3], []),
            of(range(100, 109), some),
            of([], []),
            of(range(30), _path(kind, 30)),
        ],
    }
    if kind.two_sided:
        many = TwoSidedRoster(range(9), [3])
        star = [(x, 0) for x in range(9)]
        found["one node on a side"] = [_snapshot(kind, many, edges) for edges in (star, [])]
        found["no nodes on a side"] = [_snapshot(kind, TwoSidedRoster([], [3, 4]), [])] * 2
    if kind.directed:
        there, back = [(0, x) for x in range(1, 12)], [(x, 0) for x in range(1, 12)]
        found["edges from one node only, and to it"] = [of(twelve, there), of(twelve, back)]
    return found


def neighbours(kind: Kind = UNDIRECTED) -> dict[str, tuple[Snapshot, Snapshot]]:
    """Pairs of snapshots of a kind that differ in one edge or its weight, by name."""
    roster = _roster(kind, range(12))
    path, complete = _path(kind, 12), _complete(kind, roster)
    shorter, last = _path(kind, 11), (0, 5 if kind.two_sided else 11)
    cases: dict[str, tuple[Pairs, Pairs]] = {
        "no edges, and one edge": ([], [(3, 5)]),
        "a path, and one edge less": (path, path[:5] + path[6:]),
        "a node without edges, and with one": (shorter, [*shorter, last]),
        "a complete graph, and one edge less": (complete, complete[1:]),
    }
    if kind.weighted:  # the rest is tried without weights
        cases = {name: cases[name] for name in ("no edges, and one edge",)}
    elif kind.directed:
        cases["one direction, and both"] = (shorter, [*shorter, shorter[1][::-1]])
    found = {
        name: tuple(_snapshot(kind, roster, edges) for edges in pair)
        for name, pair in cases.items()
    }
    if kind.largest_weight is not None:
        for name, edges in (("one edge", [(3, 5)]), ("a path", path)):
            lighter, heavier = (
                _snapshot(kind, roster, edges, more=more)
                for more in (0, 1 if kind.flows else kind.largest_weight)
            )
            found[f"{name}, and another weight"] = lighter, heavier
    return found  # type: ignore[return-value]


# ---- all small graphs ----


@cache
def all_graphs(
    *sizes: int, kind: Kind = UNDIRECTED, unit: Unit | None = None
) -> tuple[Snapshot, ...]:
    """Return every graph on rosters of these sizes, of nodes 0, 1, ….

    Graph number g has pair i if digit i of g is not 0, in base 2, or in base W + 1 for weights up
    to W: then the digit is the weight; of flows, up to two rows.

    Owners are first ends. If the unit is an owner, graphs have the edges that are used of those.
    """
    roster: Roster = Roster.range(sizes[0])
    if kind.two_sided:
        roster = TwoSidedRoster(*map(Roster.range, sizes))
    u, v = kind.all_pairs(*sizes)
    base = _base(kind)
    weights = np.arange(base**u.size)[:, None] // base ** np.arange(u.size) % base
    ends = v if isinstance(unit, Owner) and unit.side == "second" else u
    counted = weights if kind.flows else weights > 0
    made: list[Snapshot] = []
    for row, count in zip(weights, counted, strict=True):
        owned = np.bincount(ends, count, minlength=sum(sizes)).astype(np.int64)
        used = _used(row, ends, kind, unit) if isinstance(unit, Owner) else row
        made.append(
            Snapshot(
                roster,
                u[used > 0],
                v[used > 0] + roster.offset,
                kind=kind,
                weight=used[used > 0] if kind.weighted else None,
                owner_sizes=owned[owned > 0],
            )
        )
    return tuple(made)


def _used(weights: Integers, ends: Integers, kind: Kind, unit: Owner) -> Integers:
    """The edges that are used of each owner: the first ones in an order that is mixed but fixed."""
    used, order = (
        np.zeros_like(weights),
        np.argsort(np.arange(weights.size) * 7 % 11, kind="stable"),
    )
    left = dict.fromkeys(ends.tolist(), unit.at_most)
    for pair in order.tolist():
        most = left[int(ends[pair])]
        rows = min(int(weights[pair]), most) if kind.flows else int(weights[pair] > 0 and most > 0)
        used[pair] = rows if kind.flows else rows * weights[pair]
        left[int(ends[pair])] -= rows
    return used


def neighbouring_pairs(
    *sizes: int, kind: Kind = UNDIRECTED, unit: Unit | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of all pairs of graphs of which one has one step of the unit more.

    A step is one edge, with any weight; or all edges of an owner, who is an end of them.
    """
    base, most = _base(kind), (unit or Edge()).edges
    places = [base**pair for pair in range(kind.pairs(*sizes))]
    if isinstance(unit, Owner):
        ends = kind.all_pairs(*sizes)[unit.side == "second"]
        for owner in np.unique(ends).tolist():
            own = [place for place, end in zip(places, ends.tolist(), strict=True) if end == owner]
            for number in range(base ** len(places)):
                without = number - sum(number // place % base * place for place in own)
                if without != number:
                    yield without, number
        return
    for number in range(base ** len(places)):
        free = [place for place in places if number // place % base == 0]
        for count in range(1, most + 1):
            for chosen in combinations(free, count):
                for weights in product(range(1, base), repeat=count):
                    steps = zip(chosen, weights, strict=True)
                    yield number, number + sum(place * weight for place, weight in steps)


def reweighted_pairs(*sizes: int, kind: Kind) -> Iterator[tuple[int, int]]:
    """Yield the numbers of all pairs of graphs that differ in the weight of one edge."""
    base = _base(kind)
    places = [base**pair for pair in range(kind.pairs(*sizes))]
    for number, place in product(range(base ** len(places)), places):
        weight = number // place % base
        if weight:
            yield from ((number, number + place * more) for more in range(1, base - weight))


def _base(kind: Kind) -> int:
    return 1 + (ROWS if kind.flows else kind.largest_weight or 1)


# ---- one way to run a method ----


def _fresh(snapshot: Snapshot) -> Snapshot:
    """A snapshot of its own, which nobody else has a view of."""
    weight = None if snapshot.weight is None else snapshot.weight.copy()
    ends = snapshot.u.copy(), snapshot.v.copy()
    return Snapshot(snapshot.roster, *ends, kind=snapshot.kind, weight=weight)


def spending(*, allowance: Fraction = ALLOWANCE, window: int = 1) -> Accountant:
    """An accountant that has booked nothing, with the even share `allowance`."""
    return Accountant(WEventPrivacy(allowance * window, window=window))


def measure(
    method: Method[Any, Any],
    snapshot: Snapshot,
    state: Any,
    *,
    seed: int,
    accountant: Accountant,
    previous: Previous | None = None,
    measured: Callable[[], object] = lambda: None,
) -> Timestamp:
    """Measure one timestamp, with the noise that belongs to `seed`."""
    sampler = Sampler(RandomSource.seeded(seed))
    return measure_timestamp(
        method, snapshot, state, accountant, sampler, ENGINE, previous=previous, measured=measured
    )


def rerun(
    method: Method[Any, Any], state: Any, before: SyntheticGraph | None, *, seed: int
) -> SyntheticGraph:
    """The graph of a state and of the release before, with the numbers that belong to `seed`."""
    return draw_graph(method, state, before, seed, ENGINE)


def run(
    method: Method[Any, Any],
    snapshots: Sequence[Snapshot],
    *,
    seed: int = 0,
    allowance: Fraction = ALLOWANCE,
    window: int = 1,
    poison: bool = False,
) -> Iterator[Step]:
    """Publish a stream. With `poison` the edges are overwritten as soon as they are measured."""
    state, previous, graph = None, None, None
    accountant = spending(allowance=allowance, window=window)
    for index, given in enumerate(snapshots):
        snapshot = _fresh(given)
        timestamp = measure(
            method,
            snapshot,
            state,
            seed=100 * seed + index,
            accountant=accountant,
            previous=previous,
            measured=partial(_overwrite, snapshot) if poison else lambda: None,
        )
        accountant, state = timestamp.spending, timestamp.state
        previous = Previous.of(_fresh(given), timestamp.charges)
        graph = rerun(method, state, graph, seed=100 * seed + index)
        yield Step(timestamp, graph)


def _overwrite(snapshot: Snapshot) -> None:
    for array in (snapshot.u, snapshot.v, snapshot.weight):
        if array is not None:
            array.flags.writeable = True
            array[...] = 0


def leaves(value: Any, name: str = "") -> dict[str, Any]:
    """The plain values and arrays in a record, by their path."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif isinstance(value, tuple | list):
        fields = [(str(index), item) for index, item in enumerate(value)]
    else:
        return {name: value}
    found: dict[str, Any] = {}
    for field_name, item in fields:
        found |= leaves(item, f"{name}.{field_name}" if name else field_name)
    return found
