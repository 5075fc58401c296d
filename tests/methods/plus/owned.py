"""Rows of owners, bounded without the readers: at most θ of each, by hashes of owner and pair."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Words
from psgraph.graph import Kind, Roster, Snapshot
from psgraph.privacy.unit import Owner

__all__ = ["bounded"]


def bounded(rows: Integers, unit: Owner, kind: Kind, roster: Roster, *, key: int) -> Snapshot:
    """Return the snapshot of the rows that are used.

    Parameters
    ----------
    rows
        Owners, positions of first ends, and of second ends on their side.
    key
        Of the coins.
    """
    owner, u, v = rows
    u, v = kind.ordered(u, v)
    order = np.lexsort((v, u, owner))
    owner, u, v = owner[order], u[order], v[order]
    new = np.ones(owner.size, dtype=bool)
    new[1:] = (np.diff(owner) != 0) | (np.diff(u) != 0) | (np.diff(v) != 0)
    begins = np.flatnonzero(new)
    again = np.arange(owner.size) - begins[np.cumsum(new) - 1]
    if not kind.flows:
        owner, u, v, again = owner[begins], u[begins], v[begins], again[begins]
    coins = _hashed(key, owner, u, v, again)
    order = np.lexsort((coins, owner))
    owner, u, v = owner[order], u[order], v[order]
    _, begins, sizes = np.unique(owner, return_index=True, return_counts=True)
    used = np.arange(owner.size) - np.repeat(begins, sizes) < unit.at_most
    return Snapshot(
        roster, u[used], v[used] + roster.offset, kind=kind, owner_sizes=sizes.astype(np.int64)
    )


def _hashed(key: int, *columns: Integers) -> Words:
    mixed = np.full(columns[0].size, key, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(31)
    return mixed
