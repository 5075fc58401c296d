"""Neighbours: pairs of streams, the hard ones first.

Two streams are neighbours if they have the same rosters and times and differ, inside one window,
by at most one edge per timestamp. A pair consists of a *place*, the graph and the edge that is
added or removed, and a *pattern*, the timestamps at which it happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from psgraph.graph import UNDIRECTED, Roster, Snapshot

__all__ = [
    "PATTERNS",
    "PLACES",
    "Neighbours",
    "labellings",
    "neighbouring_streams",
]

Edge = tuple[int, int]
Edges = set[Edge]
Random = np.random.Generator


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring streams.

    Attributes
    ----------
    name
        Which hard case they are.
    one, other
        The streams.
    window
        The length of the window; the streams differ inside one such window.
    differing
        The timestamps at which they differ by an edge.
    """

    name: str
    one: tuple[Snapshot, ...]
    other: tuple[Snapshot, ...]
    window: int
    differing: frozenset[int]


def _random_edges(random: Random, nodes: int, *, mean_degree: float = 3.0) -> Edges:
    chosen = random.random((nodes, nodes)) < mean_degree / max(nodes - 1, 1)
    return {pair for pair in _all_pairs(nodes) if chosen[pair]}


def _pair(a: int, b: int) -> Edge:
    u, v = UNDIRECTED.ordered(a, b)
    return int(u), int(v)


def _all_pairs(nodes: int) -> Edges:
    u, v = UNDIRECTED.all_pairs(nodes)
    return set(zip(u.tolist(), v.tolist(), strict=True))


def _random(random: Random, nodes: int) -> tuple[Edges, Edge]:
    u, v = random.choice(nodes, size=2, replace=False)
    return _random_edges(random, nodes), _pair(int(u), int(v))


def _no_edges(random: Random, nodes: int) -> tuple[Edges, Edge]:
    return set(), _random(random, nodes)[1]


def _pendant(random: Random, nodes: int) -> tuple[Edges, Edge]:
    edges = {edge for edge in _random_edges(random, nodes) if nodes - 1 not in edge}
    return edges, (int(random.integers(nodes - 1)), nodes - 1)


def _bridge(random: Random, nodes: int) -> tuple[Edges, Edge]:
    half = nodes // 2
    edges = {(u, v) for u, v in _random_edges(random, nodes) if (u < half) == (v < half)}
    return edges, (int(random.integers(half)), half + int(random.integers(nodes - half)))


def _hub(random: Random, nodes: int) -> tuple[Edges, Edge]:
    star = {(0, v) for v in range(1, nodes - 1)}
    return star | _random_edges(random, nodes, mean_degree=1.0) - {(0, nodes - 1)}, (0, nodes - 1)


def _complete(random: Random, nodes: int) -> tuple[Edges, Edge]:
    return _all_pairs(nodes), _random(random, nodes)[1]


def _isolated(random: Random, nodes: int) -> tuple[Edges, Edge]:
    """The last two nodes have no edge but the one between them."""
    edges = {edge for edge in _random_edges(random, nodes) if max(edge) < nodes - 2}
    return edges, (nodes - 2, nodes - 1)


def _communities(random: Random, nodes: int) -> tuple[Edges, Edge]:
    """Two cliques, and the only edge that joins them."""
    half = nodes // 2
    edges = {(u, v) for u, v in _all_pairs(nodes) if (u < half) == (v < half)}
    return edges, (int(random.integers(half)), half + int(random.integers(nodes - half)))


def _triangles(random: Random, nodes: int) -> tuple[Edges, Edge]:
    """An edge between two nodes that have all others as common neighbours."""
    edges = {_pair(end, v) for end in (0, 1) for v in range(2, nodes)}
    return edges | _random_edges(random, nodes, mean_degree=1.0) - {(0, 1)}, (0, 1)


PLACES: dict[str, Callable[[Random, int], tuple[Edges, Edge]]] = {
    "no edges, and one edge": _no_edges,
    "a pendant edge": _pendant,
    "a bridge": _bridge,
    "an edge of a hub": _hub,
    "a complete graph, and one edge less": _complete,
    "two nodes with no other edge": _isolated,
    "the edge between two communities": _communities,
    "an edge that closes many triangles": _triangles,
    "a random edge": _random,
}

PATTERNS = (
    "first",
    "last",
    "middle",
    "window",
    "a lasting edge, in one window",
    "a lasting edge, once",
    "growing roster",
)


def neighbouring_streams(
    pairs: int, *, seed: int = 0, window: int = 3, nodes: tuple[int, int] = (4, 16), large: int = 60
) -> Iterator[Neighbours]:
    """Make pairs of neighbouring streams of 2w − 1 timestamps; all combinations in turn.

    Parameters
    ----------
    pairs
        How many.
    window
        w; in the pattern "window" each of w timestamps differs, by an edge of its own.
    nodes
        The least and the largest number of nodes.
    large
        The number of nodes of every eighth pair, where steps run that need more than a few.

    Examples
    --------
    >>> pair = next(neighbouring_streams(1))
    >>> pair.name, sorted(pair.differing), len(pair.one)
    ('no edges, and one edge (first)', [0], 5)
    >>> [abs(a.u.size - b.u.size) for a, b in zip(pair.one, pair.other)]
    [1, 0, 0, 0, 0]
    """
    places = list(PLACES.items())
    for number in range(pairs):
        name, place = places[number % len(places)]
        pattern = PATTERNS[number // len(places) % len(PATTERNS)]
        random = np.random.default_rng([seed, number])
        sizes = (large, large) if number % 8 == 7 else nodes
        yield _stream(f"{name} ({pattern})", place, pattern, random, window, sizes)


def _stream(
    name: str,
    place: Callable[[Random, int], tuple[Edges, Edge]],
    pattern: str,
    random: Random,
    window: int,
    nodes: tuple[int, int],
) -> Neighbours:
    timestamps = 2 * window - 1
    size = int(random.integers(nodes[0], nodes[1] + 1))
    start = int(random.integers(timestamps - window + 1))
    differing = {
        "first": {0},
        "last": {timestamps - 1},
        "middle": {window - 1},
        "window": set(range(start, start + window)),
        "a lasting edge, in one window": set(range(start, start + window)),
        "a lasting edge, once": {start},
        "growing roster": {window},
    }[pattern]
    one, other = [], []
    edges, edge = place(random, size)
    for timestamp in range(timestamps):
        if timestamp:
            edges = _churned(edges, random, size)
        if timestamp in differing and timestamp and "lasting" not in pattern:
            edges, edge = place(random, size)
        if "lasting" in pattern:
            edges = edges | {edge}
        grown = size + (timestamp if pattern == "growing roster" else 0)
        roster = Roster.range(grown)
        one.append(_snapshot(roster, edges))
        other.append(_snapshot(roster, edges ^ {edge} if timestamp in differing else edges))
    return Neighbours(name, tuple(one), tuple(other), window, frozenset(differing))


def _churned(edges: Edges, random: Random, nodes: int) -> Edges:
    """The graph of the next timestamp: a few edges go, a few come."""
    kept = {edge for edge in sorted(edges) if random.random() < 0.9}
    return kept | _random_edges(random, nodes, mean_degree=0.3)


def _snapshot(roster: Roster, edges: Edges) -> Snapshot:
    ends = np.array(sorted(edges), dtype=np.int64).reshape(-1, 2)
    return Snapshot(roster, ends[:, 0], ends[:, 1])


def labellings(nodes: int) -> Iterator[list[int]]:
    """Every way to put nodes into communities 0, …, H − 1, up to the names of these."""

    def extend(prefix: list[int]) -> Iterator[list[int]]:
        if len(prefix) == nodes:
            yield prefix
            return
        for label in range(max(prefix, default=-1) + 2):
            yield from extend([*prefix, label])

    yield from extend([])
