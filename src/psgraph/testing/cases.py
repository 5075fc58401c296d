"""Small graphs that find mistakes, and one way to run a method on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from psgraph.engines.threads import LocalEngine
from psgraph.graph import UNDIRECTED, Kind, Roster, Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.private import Previous
from psgraph.methods.timestamp import Timestamp, draw_graph, measure_timestamp
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.privacy.unit import Edge, Unit

__all__ = [
    "Step",
    "all_graphs",
    "leaves",
    "measure",
    "neighbouring_pairs",
    "neighbours",
    "rerun",
    "run",
    "spending",
    "streams",
]

ENGINE = LocalEngine()
ALLOWANCE = Fraction(1, 5)
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


def _snapshot(roster: Roster, edges: Pairs) -> Snapshot:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return Snapshot(roster, pairs[:, 0], pairs[:, 1])


def _path(nodes: int) -> Pairs:
    return [(x, x + 1) for x in range(nodes - 1)]


def _complete(nodes: int) -> Pairs:
    return [(x, y) for x in range(nodes) for y in range(x + 1, nodes)]


def streams() -> dict[str, list[Snapshot]]:
    """Streams every method must be defined on, by name."""
    some = [*_path(9), (0, 4), (2, 7)]
    named = Roster([f"node {letter}" for letter in "hgfedcba"])
    return {
        "a roster without nodes": [_snapshot(Roster.range(0), [])] * 2,
        "one node": [_snapshot(Roster.range(1), [])] * 2,
        "two nodes": [_snapshot(Roster.range(2), edges) for edges in ([], [(0, 1)])],
        "a graph without edges": [_snapshot(Roster.range(12), [])] * 2,
        "a complete graph": [_snapshot(Roster.range(12), _complete(12))] * 2,
        "a graph of 50 nodes": [_snapshot(Roster.range(50), _path(50))] * 3,
        "ids that are text": [_snapshot(named, _path(8))] * 2,
        "a roster that changes": [
            _snapshot(Roster(range(10)), some),
            _snapshot(Roster(range(5, 20)), some),
            _snapshot(Roster([3]), []),
            _snapshot(Roster(range(100, 109)), some),
            _snapshot(Roster.range(0), []),
            _snapshot(Roster(range(30)), _path(30)),
        ],
    }


def neighbours() -> dict[str, tuple[Snapshot, Snapshot]]:
    """Pairs of snapshots that differ in one edge, by name."""
    roster = Roster.range(12)
    return {
        "no edges, and one edge": (_snapshot(roster, []), _snapshot(roster, [(3, 8)])),
        "a path, and one edge less": (
            _snapshot(roster, _path(12)),
            _snapshot(roster, _path(12)[:5] + _path(12)[6:]),
        ),
        "a node without edges, and with one": (
            _snapshot(roster, _path(11)),
            _snapshot(roster, [*_path(11), (0, 11)]),
        ),
        "a complete graph, and one edge less": (
            _snapshot(roster, _complete(12)),
            _snapshot(roster, _complete(12)[1:]),
        ),
    }


def all_graphs(nodes: int, kind: Kind = UNDIRECTED) -> list[Snapshot]:
    """Return every graph on 0, …, nodes − 1; graph number g has pair i if bit i of g is set."""
    roster = Roster.range(nodes)
    u, v = kind.all_pairs(nodes)
    held = (np.arange(1 << u.size)[:, None] >> np.arange(u.size)) & 1 == 1
    return [Snapshot(roster, u[row], v[row], kind=kind) for row in held]


def neighbouring_pairs(
    nodes: int, kind: Kind = UNDIRECTED, unit: Unit | None = None
) -> Iterator[tuple[int, int]]:
    """Yield the numbers of all pairs of graphs that differ by one step of the unit (one edge)."""
    bits, most = kind.pairs(nodes), (unit or Edge()).edges
    steps = [
        sum(1 << bit for bit in chosen)
        for count in range(1, most + 1)
        for chosen in combinations(range(bits), count)
    ]
    for number in range(1 << bits):
        yield from ((number, number | step) for step in steps if not number & step)


def _fresh(snapshot: Snapshot) -> Snapshot:
    """A snapshot of its own, which nobody else has a view of."""
    return Snapshot(snapshot.roster, snapshot.u.copy(), snapshot.v.copy())


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
    for ends in (snapshot.u, snapshot.v):
        ends.flags.writeable = True
        ends[...] = 0


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
