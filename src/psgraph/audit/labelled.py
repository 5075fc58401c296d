"""Neighbouring streams whose nodes have public labels.

Labels are part of the roster, so both streams of a pair have the same. They follow the two halves
of a graph, which is where its communities are, or say nothing; some are missing; and in some pairs
nodes change their label in the middle of the stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from psgraph.audit.neighbours import Neighbours, hard_streams, neighbouring_streams
from psgraph.graph import Roster, Snapshot

__all__ = ["LABELLED_FIRST", "labelled", "labelled_streams"]

_SIZES = ((32, 60), (101, 150))
_MISSING = 7  # one node in so many has no label
_VALUES = 3
LABELLED_FIRST = 5  # pairs on rare paths, before the random ones


def labelled_streams(pairs: int, *, seed: int = 2) -> Iterator[Neighbours]:
    """Make pairs with labels: some on rare paths, then random ones.

    >>> pair = next(labelled_streams(1))
    >>> pair.one[0].roster.label_columns
    ('half',)
    >>> all(one.roster == other.roster for one, other in zip(pair.one, pair.other))
    True
    """
    hard = list(hard_streams())
    yield labelled(hard[0])
    yield labelled(hard[0], columns=2)
    yield labelled(hard[3], changing=True)
    yield labelled(hard[4])
    yield labelled(hard[-2])
    for number, pair in enumerate(neighbouring_streams(pairs, seed=seed, sizes=_SIZES)):
        yield labelled(pair, columns=1 + number % 2, changing=number % 3 == 2)


def labelled(pair: Neighbours, *, columns: int = 1, changing: bool = False) -> Neighbours:
    """Give the nodes of a pair labels that depend on their ids and on the timestamp alone."""
    known: dict[tuple[int, ...], Roster] = {}
    nodes = max(int(snapshot.roster.ids.max(initial=0)) for snapshot in pair.one) + 1

    def relabelled(stream: tuple[Snapshot, ...]) -> tuple[Snapshot, ...]:
        made = []
        for timestamp, snapshot in enumerate(stream):
            late = changing and 2 * timestamp > len(stream)
            key = (*snapshot.roster.ids.tolist(), late)
            if key not in known:
                known[key] = _roster(snapshot.roster, nodes, columns=columns, late=late)
            made.append(Snapshot(known[key], snapshot.u, snapshot.v, time=snapshot.time))
        return tuple(made)

    return replace(
        pair,
        name=f"{pair.name}, with labels",
        one=relabelled(pair.one),
        other=relabelled(pair.other),
    )


def _roster(roster: Roster, nodes: int, *, columns: int, late: bool) -> Roster:
    ids = roster.ids
    half = np.where(2 * ids < nodes, "first", "second").astype(object)
    half[ids % _MISSING == 3] = None
    if late:
        half[ids % 5 == 0] = "first"
        half[ids % 11 == 1] = "new"
    table = {"half": half, "other": np.array([f"v{each % _VALUES}" for each in ids], dtype=object)}
    chosen = dict(list(table.items())[:columns])
    return Roster(ids, labels=chosen)
