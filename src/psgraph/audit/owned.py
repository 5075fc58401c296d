"""Neighbours whose unit is an owner: tables of rows, read with and without the rows of one owner.

The streams are read by the readers that users have, from rows in random order, so that replaying
them covers the bound on what an owner contributes as well as what a method does with it. Before a
pair is replayed, its snapshots are compared: the edges in use of all other owners are equal, at
most θ edges differ, and rows that come again are used again.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from psgraph._runtime.arrays import Integers
from psgraph.audit.neighbours import EPSILONS, Neighbours
from psgraph.audit.places import Random
from psgraph.audit.transcripts import Divergence
from psgraph.graph import Kind, Roster, Snapshot, TwoSidedRoster
from psgraph.graph.kind import UNDIRECTED
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Owner, Row, Unit
from psgraph.streams.input import read_stream

__all__ = ["owned_streams"]

_BOUNDS = (1, 2, 5)
_OWNERS, _ROWS = 12, 60


def owned_streams(pairs: int, *, seed: int = 3, kind: Kind = UNDIRECTED) -> Iterator[Neighbours]:
    """Make pairs of streams that differ in all rows of one owner at each timestamp of a window.

    Of flows there are also pairs that differ in one row, and have no owners.

    >>> pair = next(owned_streams(1))
    >>> pair.guarantee.unit, len(pair.one), sorted(pair.differing)
    (Owner(column='rider', at_most=1, flows=False), 3, [1])
    """
    columns = ["rider", *("u", "v") * (kind.sides == 2), *("",) * kind.flows]
    for number in range(pairs):
        random = np.random.default_rng([seed, number])
        column = columns[number % len(columns)]
        bound = _BOUNDS[number // len(columns) % len(_BOUNDS)]
        unit = Owner(column, bound, kind.flows) if column else Row()
        window = 1 + number % 3
        epsilon = EPSILONS[random.integers(len(EPSILONS))]
        guarantee = WEventPrivacy(epsilon, window, unit)
        yield _pair(guarantee, kind, random)


def _pair(guarantee: WEventPrivacy, kind: Kind, random: Random) -> Neighbours:
    unit, window = guarantee.unit, guarantee.window
    nodes = int(random.integers(8, 40))
    sizes = (nodes - nodes // 2, nodes // 2) if kind.two_sided else (nodes, nodes)
    timestamps = 2 * window + 1
    start = int(random.integers(1, timestamps - window + 1))
    differing = range(start, start + window)
    rows = _rows(sizes, random)
    with_all, without = [], []
    for timestamp in range(timestamps):
        if timestamp > 1:  # the first rows come again
            stay = random.random(len(rows)) < 0.8
            rows = np.concatenate([rows[stay], _rows(sizes, random)[: np.count_nonzero(~stay)]])
        some = int(random.integers(len(rows)))
        stays = np.arange(len(rows)) != some
        if isinstance(unit, Owner):
            column = {"u": 1, "v": 2}.get(unit.column, 0)
            stays = rows[:, column] != rows[some, column]
        with_all.append(rows)
        without.append(rows[stays] if timestamp in differing else rows)
    read = partial(_read, unit=unit, kind=kind, sizes=sizes, random=random)
    one, other = read(with_all), read(without)
    return Neighbours(
        unit.text,
        one,
        other,
        guarantee,
        frozenset(differing),
        check=partial(_check, one, other, frozenset(differing), unit),
    )


def _rows(sizes: tuple[int, int], random: Random) -> Integers:
    """Rows of owner, u and v; few owners have many."""
    owner = random.integers(_OWNERS, size=_ROWS) * random.integers(2, size=_ROWS)
    ends = [random.integers(size, size=_ROWS) for size in sizes]
    return np.stack([owner, *ends], axis=1)


def _read(
    tables: list[Integers],
    *,
    unit: Unit,
    kind: Kind,
    sizes: tuple[int, int],
    random: Random,
) -> tuple[Snapshot, ...]:
    """Read rows in a random order, as users do."""
    shuffled = [rows[random.permutation(len(rows))] for rows in tables]
    t = np.repeat(np.arange(len(tables)), [len(rows) for rows in tables])
    owner, u, v = np.concatenate(shuffled).T
    frame = pa.table({"t": t, "u": u, "v": v, "rider": [f"r{each}" for each in owner.tolist()]})
    nodes: dict[str, Any] = {"roster": Roster.range(sizes[0]), "kind": kind.name}
    if kind.two_sided:
        roster = TwoSidedRoster.range(sum(sizes))
        nodes = {"left": roster.left, "right": roster.right}
    return tuple(
        read_stream(
            frame,
            **nodes,
            times=range(len(tables)),
            owner=unit.column if isinstance(unit, Owner) else None,
            at_most=unit.at_most if isinstance(unit, Owner) else None,
            flows=kind.flows,
            weights=kind.largest_weight if kind.weighted and not kind.flows else None,
        )
    )


def _check(
    one: tuple[Snapshot, ...],
    other: tuple[Snapshot, ...],
    differing: frozenset[int],
    unit: Unit,
) -> None:
    """Raise a `Divergence` if the bound does not keep what it promises."""
    if _used(one[0]) != _used(one[1]):
        raise Divergence("owners", "rows that come again are not used again")
    for timestamp, (mine, theirs) in enumerate(zip(one, other, strict=True)):
        if timestamp not in differing and mine != theirs:
            raise Divergence("owners", f"timestamp {timestamp} differs outside of the window")
        with_all, without = _used(mine), _used(theirs)
        if any(without[pair] > with_all.get(pair, 0) for pair in without):
            raise Divergence("owners", "without an owner others have more edges in use")
        weighted = mine.kind.weighted and not mine.kind.flows
        lost = {pair: n - without.get(pair, 0) for pair, n in with_all.items()}
        lost = {pair: min(n, 1) if weighted else n for pair, n in lost.items() if n}
        if sum(lost.values()) > unit.edges:
            raise Divergence("owners", "without an owner more edges are lost than it may have")
        side = unit.side if isinstance(unit, Owner) else None
        if side is not None and len({pair[side == "second"] for pair in lost}) > 1:
            raise Divergence("owners", "without an owner another one has fewer edges in use")


def _used(snapshot: Snapshot) -> dict[tuple[int, int], int]:
    """The edges in use, with their weights."""
    weight = np.ones(snapshot.u.size, np.int64) if snapshot.weight is None else snapshot.weight
    pairs = zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True)
    return dict(zip(pairs, weight.tolist(), strict=True))
