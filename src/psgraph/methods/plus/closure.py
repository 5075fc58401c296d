"""Triangles of graphs in parts: some stubs are joined inside small groups of nodes first.

Every node has a random place that stays with it. Places are cut into groups of about 16 to 32
nodes, pairs of these into larger groups, and so on. Nodes join some of their stubs inside the
smallest group, those that are left in the next, up to a whole range of places. Small nodes get
dense neighbourhoods, large ones use their stubs up in larger groups. Degrees and blocks stay what
they are. The groups stay too: edges that are kept keep their triangles, and new ones meet them.

How large a share of stubs has to be joined so is found out on one range: the smallest share with
enough triangles. Post-processing of sealed values and of the release before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions, Words
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.kernels import add_key, has_key, key_set
from psgraph.engines.counter_based import start_stream, uniform
from psgraph.engines.counting import triangle_count
from psgraph.engines.runner import Job, Runner
from psgraph.graph.kind import UNDIRECTED, pack_pair
from psgraph.graph.parts import Read
from psgraph.methods.plus.spans import Span
from psgraph.methods.plus.stub_tables import Layout

__all__ = ["Places", "closed_parts", "places_of"]

SMALLEST = 16  # nodes of a group, at least on average
DENSITY = 0.5  # of the pairs of a group, joined in one round
ROUNDS = 3
FUTILE = 8  # a group is left when fewer than one pair in eight can be joined
SPARED = 0.95  # of the edges of a block at most are drawn in groups
TRIED = (0.2, 0.4, 0.65, 0.95)  # shares of stubs
NEAR = (0.96, 1.04)  # and these times the one that seems right
DECIMALS = 4  # of a share: the last bits of a logarithm don't matter

_SHARES, _PAIRS = range(2)  # pieces of a stream


@dataclass(frozen=True)
class Places:
    """The places of nodes.

    Attributes
    ----------
    nodes
        The nodes by place.
    begins
        Where the smallest groups begin.
    levels
        Ranges of places consist of 2ˡᵉᵛᵉˡˢ of the smallest groups.
    """

    nodes: Positions
    begins: Positions
    levels: int

    @property
    def ranges(self) -> int:
        """How many ranges there are."""
        return (self.begins.size - 1) >> self.levels

    def groups(self, number: int) -> Positions:
        """Return where the smallest groups of a range begin and the last of them ends."""
        first = number << self.levels
        return self.begins[first : first + (1 << self.levels) + 1]

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first place of a range and the first after it."""
        groups = self.groups(number)
        return int(groups[0]), int(groups[-1])


def places_of(numbers: Words, layout: Layout) -> Places:
    """Return the places of nodes with these random numbers, in ranges of at most a width or so.

    >>> places = places_of(np.arange(1000, dtype=np.uint64), Layout(1000, 300))
    >>> places.ranges, places.begins.size - 1, sorted(places.nodes) == list(range(1000))
    (4, 32, True)
    """
    coarse = (layout.ranges - 1).bit_length()
    fine = max((layout.nodes // SMALLEST).bit_length() - 1, coarse)
    return Places(*_placed(numbers, fine), fine - coarse)


@kernel
def _placed(numbers: Words, bits: int) -> tuple[Positions, Positions]:
    """Sort nodes by the first bits of a hash of their numbers; where those of each hash begin."""
    groups = np.empty(numbers.size, dtype=np.int32)
    begins = np.zeros((1 << bits) + 1, dtype=np.int32)
    for node in range(numbers.size):
        mixed = (numbers[node] + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
        groups[node] = mixed >> np.uint64(32) >> np.uint64(32 - bits)
        begins[groups[node] + 1] += 1
    for group in range(begins.size - 1):
        begins[group + 1] += begins[group]
    free, nodes = begins[:-1].copy(), np.empty(numbers.size, dtype=np.int32)
    for node in range(numbers.size):
        nodes[free[groups[node]]] = node
        free[groups[node]] += 1
    return nodes, begins


def closed_parts(
    runner: Runner,
    rest: Positions,
    labels: Labels,
    left: Integers,
    places: Places,
    there: Sequence[Read],
    degrees: Integers,
    triangles: int,
    key: int,
) -> tuple[Sequence[Read], int] | None:
    """Return functions that read edges which close triangles, by ranges of an engine's own width.

    None if there are enough triangles already.

    Parameters
    ----------
    rest
        Stubs of every node. Those of hubs are not joined in groups.
    left
        Edges wanted between groups of labels a ≤ b.
    there
        Read edges that are there already.
    degrees
        Wanted degrees of all nodes.
    triangles
        How many are wanted in the graph, beyond those by chance.
    """
    inside = _inside(runner, there, places)
    shared = rest, labels, left, int(_class_stubs(rest, labels, len(left))), places, key
    first, last = places.bounds(0)
    nodes = places.nodes[first:last]
    pilot = _class_stubs(degrees[nodes], labels[nodes], len(left))
    goal = triangles * float(pilot) / max(float(_class_stubs(degrees, labels, len(left))), 1.0)
    share = _share(runner, (0, inside[0]), shared, goal)
    if not share:
        return None
    items = [(number, read, share) for number, read in enumerate(inside)]
    parts = runner.shuffle([Job(_closed_keys, items, shared)], nodes=degrees.size)
    return parts.edges(), parts.part_nodes


def _share(
    runner: Runner, range_: tuple[int, Read | None], shared: tuple[object, ...], goal: float
) -> float:
    """The share of stubs to join in groups, for a number of triangles in a range."""
    found: dict[float, float] = {}

    def count(shares: Sequence[float]) -> None:
        items = [(*range_, share) for share in shares]
        counts = runner.map(Job(_closed_triangles, items, shared))
        found.update(zip(shares, counts, strict=True))

    count([0.0])
    if goal - found[0.0] < 1:
        return 0.0
    count(TRIED)
    guess = _interpolated(found, goal)
    count([round(min(guess * near, TRIED[-1]), DECIMALS) for near in NEAR])
    return _interpolated(found, goal)


def _interpolated(found: dict[float, float], goal: float) -> float:
    """The share at which the count reaches a goal, on a log-log scale."""
    base = found[0.0]
    points = [(share, max(found[share] - base, 0.5)) for share in sorted(found) if share > 0]
    wanted = goal - base
    before = (points[0][0] / 8, 0.5)
    for at in points:
        if at[1] >= wanted:
            if before[1] >= wanted:
                return before[0]
            slope = log(wanted / before[1]) / log(at[1] / before[1])
            return round(before[0] * exp(slope * log(at[0] / before[0])), DECIMALS)
        before = at
    return points[-1][0]


def _inside(runner: Runner, there: Sequence[Read], places: Places) -> list[Read | None]:
    """How edges with both ends in one range are read, as places, for every range."""
    if not there:
        return [None] * places.ranges
    nodes = places.nodes.size
    ranks = np.empty(nodes, dtype=np.int32)
    ranks[places.nodes] = np.arange(nodes, dtype=np.int32)
    bounds = places.begins[:: 1 << places.levels]
    moved = runner.shuffle([Job(_moved_keys, there, (ranks, bounds))], nodes=nodes)
    reads, width = moved.edges(), moved.part_nodes
    spans: list[Read | None] = []
    for number in range(places.ranges):
        first, last = places.bounds(number)
        spans.append(Span(reads[first // width : max(-(-last // width), 1)], first, last))
    return spans


def _class_stubs(stubs: Integers | Positions, labels: Labels, groups: int) -> int:
    """How many stubs nodes other than hubs have."""
    return int(stubs[labels < groups].sum())


# ---- tasks ----


def _moved_keys(read: Read, ranks: Positions, bounds: Positions) -> Integers:
    u, v = read()
    x, y = _together(u, v, ranks, bounds)
    return UNDIRECTED.keys(x, y)


@kernel
def _together(
    u: Positions, v: Positions, ranks: Positions, bounds: Positions
) -> tuple[Positions, Positions]:
    """The places of the ends of edges inside one range."""
    x, y, found = np.empty(u.size, dtype=np.int32), np.empty(u.size, dtype=np.int32), 0
    width = ranks.size // (bounds.size - 1)
    for edge in range(u.size):
        one, other = ranks[u[edge]], ranks[v[edge]]
        at = min(one // width, bounds.size - 2)  # about the number of its range
        while bounds[at] > one:
            at -= 1
        while bounds[at + 1] <= one:
            at += 1
        if bounds[at] <= other < bounds[at + 1]:
            x[found], y[found] = one, other
            found += 1
    return x[:found], y[:found]


def _closed_keys(
    item: tuple[int, Read | None, float],
    rest: Positions,
    labels: Labels,
    left: Integers,
    stubs: int,
    places: Places,
    key: int,
) -> Integers:
    x, y, _ = _close(item, rest, labels, left, stubs, places, key)
    nodes = _nodes(places, item[0])
    return UNDIRECTED.keys(nodes[x], nodes[y])


def _closed_triangles(item: tuple[int, Read | None, float], *shared: object) -> int:
    x, y, old = _close(item, *shared)  # type: ignore[arg-type]
    u, v = (np.concatenate([before, new]) for before, new in zip(old, (x, y), strict=True))
    first, last = shared[4].bounds(item[0])  # type: ignore[attr-defined]
    return triangle_count(u, v, last - first)


def _nodes(places: Places, number: int) -> Positions:
    first, last = places.bounds(number)
    return places.nodes[first:last]


def _close(
    item: tuple[int, Read | None, float],
    rest: Positions,
    labels: Labels,
    left: Integers,
    stubs: int,
    places: Places,
    key: int,
) -> tuple[Positions, Positions, tuple[Positions, Positions]]:
    """Edges that are joined in the groups of a range, and those that are there: as places."""
    number, read, share = item
    groups, nodes = places.groups(number), _nodes(places, number)
    first = groups[0]
    old_x = old_y = nodes[:0]
    if read is not None:
        old_x, old_y = (end - first for end in read())
    here, some = rest[nodes], labels[nodes]
    allowed = SPARED * left * (_class_stubs(here, some, len(left)) / max(stubs, 1))
    free = _stubs_to_close(here, some, len(left), share, np.uint64(key), number)
    x, y = _closed(
        free, some, groups - first, places.levels, allowed.astype(np.int64), old_x, old_y,
        np.uint64(key), number,
    )  # fmt: skip
    return x, y, (old_x, old_y)


@kernel
def _stubs_to_close(
    rest: Positions, labels: Labels, groups: int, share: float, key: np.uint64, number: int
) -> Positions:
    """Share of the stubs of every node, rounded at random; none of hubs."""
    state = np.empty(4, dtype=np.uint64)
    start_stream(state, key, number, _SHARES)
    stubs = np.zeros(rest.size, dtype=np.int32)
    for node in range(rest.size):
        drawn = uniform(state)
        if labels[node] < groups:
            stubs[node] = min(int(share * rest[node] + drawn), rest[node])
    return stubs


@kernel
def _closed(
    stubs: Positions,
    labels: Labels,
    begins: Positions,
    levels: int,
    allowed: Integers,
    old_u: Positions,
    old_v: Positions,
    key: np.uint64,
    number: int,
) -> tuple[Positions, Positions]:
    """Join stubs inside groups, the smallest ones first; uses up `stubs` and `allowed`."""
    state = np.empty(4, dtype=np.uint64)
    start_stream(state, key, number, _PAIRS)
    total = stubs.sum()
    x, y = np.empty(total // 2, dtype=np.int32), np.empty(total // 2, dtype=np.int32)
    pool, found = np.empty(total, dtype=np.int32), 0
    taken = key_set(old_u.size + total // 2)
    for edge in range(old_u.size):
        add_key(taken, _key(old_u[edge], old_v[edge]))
    for level in range(levels + 1):
        for group in range(0, begins.size - 1, 1 << level):
            first, last = begins[group], begins[group + (1 << level)]
            most = max(int(DENSITY * (last - first - 1)), 1)
            for _ in range(ROUNDS):
                count = 0
                for node in range(first, last):
                    for _ in range(min(stubs[node], most)):
                        pool[count] = node
                        count += 1
                for at in range(count - 1, 0, -1):
                    other = int(uniform(state) * (at + 1))
                    pool[at], pool[other] = pool[other], pool[at]
                before = found
                for at in range(0, count - 1, 2):
                    one, other = pool[at], pool[at + 1]
                    if one == other:
                        continue
                    a = min(labels[one], labels[other])
                    b = max(labels[one], labels[other])
                    if allowed[a, b] <= 0 or has_key(taken, _key(one, other)):
                        continue
                    add_key(taken, _key(one, other))
                    allowed[a, b] -= 1
                    stubs[one] -= 1
                    stubs[other] -= 1
                    x[found], y[found] = one, other
                    found += 1
                if FUTILE * (found - before) < count // 2 or count < 2:
                    break
    return x[:found], y[:found]


@lean_kernel
def _key(one: int, other: int) -> int:
    return pack_pair(min(one, other), max(one, other), 32)
