"""Simulated trips of people between places: rows that belong to somebody, and nobody exists.

No public data has trips of 100,000 riders who can be told apart, so this stream is drawn, always
the same for a seed.

*Places* are points in the unit square with weights from a Pareto distribution (exponent 1.2, at
most 300 times the least). *Riders* have a home, drawn by weight, and a work place, drawn by weight
and distance: weight · exp(−distance ÷ 0.2). They have a rate of going out, from a beta distribution
with mean `active`, and a usual number of further rows when they do, log-normal (median 1, σ = 0.8).
At a timestamp a rider who goes out makes 1 + Poisson(usual number) rows: seven in ten between home
and work, either way, the others from one of the two to a place drawn by weight and distance. A row
from a place to itself becomes one from home to work. Riders and places stay as they are, so that
ties persist; there is no trend and no season.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from psgraph._runtime.arrays import Floats, Integers
from psgraph.streams.demo import pareto_weights

__all__ = ["riders_rows"]

_TAIL, _LARGEST = 1.2, 300.0
_NEAR = 0.2
_USUAL = 0.7
_SPREAD = 0.8
_STEADY = 2.0  # of the beta distribution: the smaller, the less riders are alike


def riders_rows(
    *, riders: int, places: int, active: float, timestamps: int = 10, seed: int = 8
) -> pa.Table:
    """Return a table with columns t, owner, u and v: a row for every trip.

    Parameters
    ----------
    active
        The share of riders who go out at a timestamp.

    Examples
    --------
    >>> rows = riders_rows(riders=1_000, places=20, active=0.3, timestamps=2)
    >>> rows.column_names, 500 < len(rows) < 3_000
    (['t', 'owner', 'u', 'v'], True)
    >>> rows == riders_rows(riders=1_000, places=20, active=0.3, timestamps=2)
    True
    """
    rng = np.random.default_rng(seed)
    weights = pareto_weights(places, rng, exponent=_TAIL, largest=_LARGEST)
    where = rng.random((places, 2))
    apart = np.linalg.norm(where[:, None] - where[None], axis=2)
    near = np.cumsum(weights * np.exp(-apart / _NEAR), axis=1)
    home = rng.choice(places, size=riders, p=weights / weights.sum())
    work = _drawn(near, home, rng)
    work = np.where(work == home, (home + 1) % places, work)
    rate = rng.beta(_STEADY * active, _STEADY * (1 - active), riders)
    usual = np.exp(_SPREAD * rng.standard_normal(riders))
    tables = []
    for timestamp in range(timestamps):
        out = np.flatnonzero(rng.random(riders) < rate)
        owner = np.repeat(out, 1 + rng.poisson(usual[out]))
        ends = np.stack([home[owner], work[owner]])
        back = (rng.random(owner.size) < 0.5).astype(np.int64)
        row = np.arange(owner.size)
        u, v = ends[back, row], ends[1 - back, row]
        v = np.where(rng.random(owner.size) < _USUAL, v, _drawn(near, u, rng))
        loop = u == v
        u, v = np.where(loop, ends[0], u), np.where(loop, ends[1], v)
        t = np.full(owner.size, timestamp)
        tables.append(pa.table({"t": t, "owner": owner, "u": u, "v": v}))
    return pa.concat_tables(tables)


def _drawn(near: Floats, origin: Integers, rng: np.random.Generator) -> Integers:
    """Draw a destination for each origin, from the sums of weights of its line."""
    points = rng.random(origin.size) * near[origin, -1]
    found = np.empty(origin.size, dtype=np.int64)
    for place in np.unique(origin):
        here = origin == place
        found[here] = np.searchsorted(near[place], points[here], side="right")
    return np.minimum(found, near.shape[0] - 1)
