"""Neighbours: pairs of streams, the hard ones first, each with a setting of its own.

Two streams are neighbours if they have the same rosters, times and kind and differ, inside one
window, by at most one edge per timestamp: one has it and the other has not, or both have it with
different weights. A pair consists of a *place* (`psgraph.audit.places`), the graph and that edge, a
*pattern*, the timestamps at which they differ, and a *setting*: the guarantee, the size, the nodes
that come and go, restarts, and answers that replace drawn ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.audit.places import PLACES, Board, Graph, Place, Random, cliques, crowded, places_of
from psgraph.graph import DIRECTED, UNDIRECTED, Kind, Roster, Snapshot
from psgraph.methods.queries import EdgeCount
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.query import CountQuery, CountsQuery, Query

__all__ = [
    "EPSILONS",
    "PATTERNS",
    "SIZES",
    "WINDOWS",
    "Answers",
    "Manner",
    "Neighbours",
    "attaining_streams",
    "hard_streams",
    "neighbouring_streams",
    "unrelated_streams",
]

Manner = Literal["drawn", "large", "none", "wild"]

WINDOWS = (1, 2, 3, 4, 5, 6, 7)
EPSILONS = tuple(map(Fraction, ("1/10", "1/2", "1", "2", "6", "20")))
SIZES = ((4, 16), (32, 60), (101, 150), (200, 300))  # the least and the largest number of nodes
_OFTEN = (0.60, 0.30, 0.07, 0.03)
_WEIGHTS = (2, 5, 40)  # largest ones
_LONG = 3  # the longest window of graphs with more than a hundred nodes
_RESTARTED, _GROWING, _CHANGING, _SCRIPTED = 0.25, 0.2, 0.2, 0.5
_REWEIGHTED, _SAME_WEIGHT = 0.6, 0.7


@dataclass(frozen=True)
class Answers:
    """Noisy counts that replace the ones drawn while recording.

    A promise of pure ε holds for every transcript, not only for likely ones. So the auditor may
    choose the outputs, and with them every branch that depends on released values.

    Attributes
    ----------
    manner
        "drawn" leaves answers alone; "large" multiplies and "none" clears them; "wild" multiplies
        each cell by a random factor.
    fixed
        The answers of single queries that are one number, by timestamp and label.
    seed
        Of the random factors.
    """

    manner: Manner = "drawn"
    fixed: Mapping[tuple[int, str], int] = field(default_factory=dict)
    seed: int = 0

    def given(self, timestamp: int, call: int, query: Query[Any], drawn: Any) -> Any:
        """The answer to a query: the `call`-th one of its timestamp."""
        if (timestamp, query.label) in self.fixed:
            return self.fixed[timestamp, query.label]
        if self.manner == "drawn" or not isinstance(query, CountQuery | CountsQuery):
            return drawn
        counts = np.asarray(drawn)
        if self.manner == "none":
            counts = np.zeros_like(counts)
        elif self.manner == "large":
            counts = counts * (50 if counts.ndim == 0 else 4)
        else:
            random = np.random.default_rng([self.seed, timestamp, call])
            factors = (0, 1, 10, 100) if counts.ndim == 0 else (-1, 0, 1, 1, 2, 10)
            counts = counts * random.choice(factors, size=counts.shape)
        return int(counts) if isinstance(drawn, int) else counts.astype(drawn.dtype)


@dataclass(frozen=True)
class Neighbours:
    """Two neighbouring streams, and the setting in which they are published.

    Attributes
    ----------
    name
        Which hard case they are.
    one, other
        The streams.
    guarantee
        What is promised; the streams differ inside one of its windows.
    differing
        The timestamps at which they differ by an edge.
    restarts
        The timestamps before which the publication is interrupted.
    answers
        Those that replace drawn ones.
    roster
        "same", "growing" or "changing".
    unrelated
        Whether the two streams have nothing in common but their rosters. What is public must then
        still be the same, given the same answers; only the exact answers may be far apart.
    reweighted
        The differing timestamps at which both have the edge, with different weights.
    own
        Whether a method is replayed with its own parameters, never with those of a variant.
    check
        Raises a `Divergence` if the two streams were not made as they should be.
    number
        Its place among the pairs of its kind, which decides on variant and seed; None: counted.
    """

    name: str
    one: tuple[Snapshot, ...]
    other: tuple[Snapshot, ...]
    guarantee: WEventPrivacy
    differing: frozenset[int]
    restarts: frozenset[int] = frozenset()
    answers: Answers = Answers()
    roster: str = "same"
    unrelated: bool = False
    reweighted: frozenset[int] = frozenset()
    own: bool = False
    check: Callable[[], None] = field(default=lambda: None, compare=False)
    number: int | None = None

    def __str__(self) -> str:
        setting = f"w = {self.guarantee.window}, ε = {self.guarantee.epsilon}"
        kind = "" if self.kind == UNDIRECTED else f", {self.kind}"
        return f"{self.name}; {setting}, {len(self.one[0].roster)} nodes{kind}"

    @property
    def kind(self) -> Kind:
        """The kind of all snapshots."""
        return self.one[0].kind


PATTERNS = (
    "first",
    "last",
    "middle",
    "window",
    "a lasting edge, in one window",
    "a lasting edge, once",
)


# ---- streams ----


def neighbouring_streams(
    pairs: int,
    *,
    seed: int = 0,
    windows: tuple[int, ...] = WINDOWS,
    epsilons: tuple[Fraction, ...] = EPSILONS,
    sizes: tuple[tuple[int, int], ...] = SIZES,
    plain: bool = False,
    kind: Kind = UNDIRECTED,
) -> Iterator[Neighbours]:
    """Make pairs of neighbouring streams of 2w + 1 timestamps.

    All combinations of place and pattern come in turn, each in a random setting.

    Parameters
    ----------
    pairs
        How many.
    windows, epsilons, sizes
        To choose from. In the pattern "window" each of w timestamps differs, by an edge of its own.
    plain
        Whether nothing is restarted, no node comes or goes, and all answers are drawn.
    kind
        That of all streams. If it has weights, the largest one varies.

    Examples
    --------
    >>> pair = next(neighbouring_streams(1, windows=(3,)))
    >>> pair.name, sorted(pair.differing), len(pair.one)
    ('no edges, and one edge (first)', [0], 7)
    >>> [abs(a.u.size - b.u.size) for a, b in zip(pair.one, pair.other)]
    [1, 0, 0, 0, 0, 0, 0]
    """
    places = list(places_of(kind).items())
    often = np.array(_OFTEN[: len(sizes)])
    for number in range(pairs):
        random = np.random.default_rng([seed, number])
        name, place = places[number % len(places)]
        pattern = PATTERNS[number // len(places) % len(PATTERNS)]
        least, most = sizes[random.choice(len(sizes), p=often / often.sum())]
        nodes = int(random.integers(least, most + 1))
        window = int(random.choice([w for w in windows if w <= _LONG or nodes <= 100] or windows))
        epsilon = epsilons[random.integers(len(epsilons))]
        guarantee = WEventPrivacy(epsilon, window=window)
        if kind.weighted:
            kind = kind.with_weights(int(random.choice(_WEIGHTS)))
        pair = _pair(place, pattern, random, guarantee, Board.of(kind, nodes), plain=plain)
        yield replace(pair, name=f"{name} ({pattern})")


def hard_streams(kind: Kind = UNDIRECTED) -> Iterator[Neighbours]:
    """Make the pairs that open paths which random settings rarely open.

    Communities so large that they are found, and searched for again at once; a dense graph without
    any; the most nodes; nodes that join while the released edge counts stay the same, so that
    a method continues with what it knows of the others, also after a restart; and released edge
    counts that fall twice where a window begins, come back and rise, fall for good, or begin with
    a part-period.
    """
    made = partial(_hard, kind)
    found = made("the edge between two communities", "first", epsilon=20, window=3, nodes=80)
    joined = made("a bridge", "first", epsilon=6, window=2, nodes=60, roster="growing")
    kept = replace(_counting(joined, [100] * len(joined.one)), restarts=frozenset({3}))
    fallen = made("an edge of a dense graph", "window", epsilon=6, window=3, nodes=50)
    sparse = made("a bridge", "window", epsilon=6, window=3, nodes=50)
    back, low = (400, 400, 400, 20, -1000, 400, 1200), (400, 400, 20, 20, 20, 20, 20)
    yield found
    yield made("an edge of a dense graph", "first", epsilon=20, window=1, nodes=64)
    yield made("a random edge", "middle", epsilon=2, window=1, nodes=300)
    yield _unrelated(kept, found)
    yield _unrelated(found, joined)
    yield _counting(fallen, low, "wild")
    yield _unrelated(_counting(fallen, back), joined)
    yield _unrelated(_counting(sparse, (20, *[800] * (len(sparse.one) - 1))), fallen)


def _hard(
    kind: Kind,
    name: str,
    pattern: str,
    *,
    epsilon: int,
    window: int,
    nodes: int,
    roster: str = "same",
) -> Neighbours:
    guarantee, random = WEventPrivacy(epsilon, window=window), np.random.default_rng(nodes)
    place, board = places_of(kind)[name], Board.of(kind, nodes)
    pair = _pair(place, pattern, random, guarantee, board, plain=True, roster=roster)
    return replace(pair, name=f"{name} ({pattern})")


def _counting(pair: Neighbours, edges: Sequence[int], manner: Manner = "drawn") -> Neighbours:
    """The pair, where these numbers of edges are released."""
    fixed = {(timestamp, EdgeCount.label): count for timestamp, count in enumerate(edges)}
    return replace(pair, answers=Answers(manner, fixed))


def attaining_streams(kind: Kind = UNDIRECTED) -> Iterator[Neighbours]:
    """Make the pairs that attain a stated sensitivity and are rare among random ones.

    Of directed graphs, an edge between two nodes without others makes both active, where ε and the
    roster are large enough for active nodes to be counted.

    In cliques of c + 1 nodes, whose released degrees are nearly exact at large ε, triangles are
    counted among the first c edges of every node: see `cliques`. Which those are is drawn, and
    about half of the draws attain the sensitivity, so there are several pairs. A query that reads
    two snapshots moves where an edge is missing from one, also if the other is in another window.
    """
    if kind == DIRECTED:
        alone = "two nodes with no other edge"
        for window in (1, 2):
            yield _lasting(f"between {alone}", PLACES[alone], 40, 20, window, kind)
    if kind != UNDIRECTED:
        return
    fours, fives = partial(cliques, size=4), partial(cliques, size=5)
    for window in (1, 2):
        yield _lasting("between two of many cliques of 4", fours, 32, 20, window)
    for nodes in (40, 40, 45, 50, 55, 60):
        yield _lasting("between two of many cliques of 5", fives, nodes, 10, window=1)
    for nodes in (48, 48, 52, 56, 60, 60, 64, 64):
        name = "that closes more triangles than its ends have edges in the count"
        yield _lasting(name, crowded, nodes, 8, window=1)


def _lasting(
    name: str, place: Place, nodes: int, epsilon: int, window: int, kind: Kind = UNDIRECTED
) -> Neighbours:
    """Three equal snapshots with an edge that is missing from one of them."""
    board = Board.of(kind, nodes)
    graph, edge = place(np.random.default_rng(nodes), board)
    without = board.snapshot(graph)
    graph[edge] = True
    one, other = [board.snapshot(graph)] * 3, [board.snapshot(graph)] * 3
    other[window - 1] = without
    guarantee = WEventPrivacy(epsilon, window=window)
    differing = frozenset({window - 1})
    return Neighbours(f"an edge {name}", tuple(one), tuple(other), guarantee, differing, own=True)


def unrelated_streams(
    pairs: int, *, seed: int = 1, kind: Kind = UNDIRECTED
) -> Iterator[Neighbours]:
    """Make pairs of streams that differ in everything private.

    Whatever a method shows is a function of its noisy answers. So two unrelated streams that are
    given the same answers show the same, and a decision that looks at the truth does not.

    >>> pair = next(unrelated_streams(1))
    >>> pair.unrelated, all(one.roster == other.roster for one, other in zip(pair.one, pair.other))
    (True, True)
    """
    streams = neighbouring_streams(
        2 * pairs,
        seed=seed,
        windows=WINDOWS[:3],
        epsilons=EPSILONS[3:],
        sizes=SIZES[1:],
        kind=kind,
    )
    for one, other in zip(streams, streams, strict=True):
        yield _unrelated(one, other)


def _unrelated(one: Neighbours, other: Neighbours) -> Neighbours:
    """The first stream of each, in the setting of the first pair."""
    rosters = [snapshot.roster for snapshot in one.one]
    theirs = [
        _moved(other.one[k % len(other.one)], roster, one.kind) for k, roster in enumerate(rosters)
    ]
    return replace(
        one,
        name=f"{one.name} and {other.name}",
        other=tuple(theirs),
        differing=frozenset(range(len(rosters))),
        unrelated=True,
        reweighted=frozenset(),
    )


def _moved(snapshot: Snapshot, roster: Roster, kind: Kind) -> Snapshot:
    """The same graph, as far as it fits, on other nodes."""
    u, v = snapshot.u, snapshot.v - snapshot.roster.offset
    inside = (u < roster.sizes[0]) & (v < roster.sizes[-1])
    weight = None if snapshot.weight is None else snapshot.weight[inside]
    return Snapshot(roster, u[inside], v[inside] + roster.offset, kind=kind, weight=weight)


def _pair(
    place: Place,
    pattern: str,
    random: Random,
    guarantee: WEventPrivacy,
    board: Board,
    *,
    plain: bool,
    roster: str = "same",
) -> Neighbours:
    window, timestamps = guarantee.window, 2 * guarantee.window + 1
    start = int(random.integers(timestamps - window + 1))
    differing = {
        "first": {0},
        "last": {timestamps - 1},
        "middle": {window},
        "window": set(range(start, start + window)),
        "a lasting edge, in one window": set(range(start, start + window)),
        "a lasting edge, once": {start},
    }[pattern]
    lasting = "lasting" in pattern
    graph, edge = place(random, board)
    graphs = []
    for timestamp in range(timestamps):
        if timestamp:
            graph = _churned(graph, board, random)
        if timestamp in differing and timestamp and not lasting:
            graph, edge = place(random, board)
        if lasting:
            graph[edge] = True
        graphs.append((graph.copy(), edge))
    for timestamp in sorted(differing):  # so that what two snapshots have in common differs
        for around in {timestamp - 1, timestamp + 1} & set(range(timestamps)) - differing:
            graphs[around][0][graphs[timestamp][1]] |= random.random() < 0.5
    if not plain and (draw := random.random()) < _GROWING + _CHANGING:
        roster = "growing" if draw < _GROWING else "changing"
    ends = {node for timestamp in differing for node in board.nodes_of(graphs[timestamp][1])}
    there = _presence(roster, random, board.nodes, timestamps, always=sorted(ends))
    restarts, answers = frozenset[int](), Answers()
    if not plain:
        if random.random() < _RESTARTED:
            restarts = frozenset((1 + random.integers(timestamps - 1, size=2)).tolist())
        if random.random() < _SCRIPTED:
            manners = get_args(Manner)
            answers = Answers(manners[random.integers(1, len(manners))], seed=timestamps)
    weights, reweighted = _weights(board, timestamps, random), set[int]()
    one, other = [], []
    for timestamp, (graph, edge) in enumerate(graphs):
        weight = next(weights)
        if timestamp in differing and weight is not None and random.random() < _REWEIGHTED:
            reweighted.add(timestamp)
            graph[edge] = True
        one.append(board.snapshot(graph, there[timestamp], weight))
        if timestamp in reweighted:
            assert weight is not None
            weight[edge] = _other_weight(board, int(weight[edge]), random)
        elif timestamp in differing:
            graph[edge] ^= True
        other.append(board.snapshot(graph, there[timestamp], weight))
    return Neighbours(
        "",
        tuple(one),
        tuple(other),
        guarantee,
        frozenset(differing),
        restarts,
        answers,
        roster,
        reweighted=frozenset(reweighted),
    )


def _churned(graph: Graph, board: Board, random: Random) -> Graph:
    """The graph of the next timestamp: a few edges go, a few come."""
    kept = graph & (random.random(graph.shape) < 0.9)
    return kept | board.random(random, mean_degree=0.3)


def _weights(board: Board, timestamps: int, random: Random) -> Iterator[Integers | None]:
    """The weight of every pair at each timestamp, most of them as before; None without weights."""
    if board.kind.largest_weight is None:
        yield from [None] * timestamps
        return
    weights = _drawn_weights(board, random)
    for _ in range(timestamps):
        stays = random.random(weights.shape) < _SAME_WEIGHT
        weights = np.where(stays, weights, _drawn_weights(board, random))
        yield weights.copy()


def _drawn_weights(board: Board, random: Random) -> Integers:
    """Log-uniform weights: as many small as large ones."""
    assert board.kind.largest_weight is not None
    exponents = random.random((board.rows, board.columns)) * np.log(board.kind.largest_weight + 1)
    return np.floor(np.exp(exponents)).astype(np.int64)


def _other_weight(board: Board, weight: int, random: Random) -> int:
    """A weight that differs: the smallest, the largest, or the one next to it."""
    largest = board.kind.largest_weight
    assert largest is not None
    found = sorted({1, largest, max(weight - 1, 1), min(weight + 1, largest)} - {weight})
    return found[random.integers(len(found))]


def _presence(
    kind: str, random: Random, nodes: int, timestamps: int, *, always: list[int]
) -> NDArray[np.bool_]:
    """Which nodes are on the roster of each timestamp; each is there for one stretch of time."""
    joins, leaves = np.zeros(nodes, dtype=np.int64), np.full(nodes, timestamps)
    if kind != "same":
        some = random.random(nodes) < 0.3
        joins[some] = random.integers(0, timestamps, some.sum())
    if kind == "changing":
        some = random.random(nodes) < 0.3
        leaves[some] = random.integers(1, timestamps + 1, some.sum())
    joins[always], leaves[always] = 0, timestamps
    now = np.arange(timestamps)[:, None]
    return np.asarray((joins <= now) & (now < leaves))
