"""What an engineer would do for flows: noise on the cells of the table of all pairs.

Both are given the rows that are in use, at most θ of an owner at a timestamp, like a method is, and
publish a table at every timestamp, with the same promise over any w of them:

* ``laplace-table``: discrete Laplace noise of scale θw/ε on every cell that can be a pair; cells
  above 0 are published. Pure ε.
* ``gaussian-table``: Gaussian noise on the cells that have a row, of which those above a threshold
  are published. (ε, δ) with δ = 1e-9, half for the noise and half for the threshold. One owner
  moves w tables by at most θ each, so by θ√w in all; the noise is the least of the analytic
  Gaussian mechanism (Balle and Wang, 2018). A cell that only this owner has holds j of its θ rows,
  of which there are at most θ/j: the threshold keeps all of them, at all timestamps, below δ/2.

Seeded NumPy noise on the true counts: for comparisons only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import exp, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from psgraph._runtime.arrays import Integers
from psgraph.errors import InvalidArgument
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["DELTA", "TABLES", "gaussian_scale", "gaussian_threshold", "noisy_tables"]

DELTA = 1e-9


def noisy_tables(
    name: str, given: Sequence[Snapshot], guarantee: WEventPrivacy, seed: int
) -> Iterator[SyntheticGraph]:
    """Yield a table for every snapshot of flows.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> from psgraph.graph.kind import DIRECTED
    >>> from psgraph.privacy.unit import Owner
    >>> kind, roster = DIRECTED.with_flows(), Roster.range(3)
    >>> rows = Snapshot(roster, [0, 1], [1, 2], kind=kind, weight=[900, 2])
    >>> promise = WEventPrivacy("20", 1, Owner("rider", 1))
    >>> [next(noisy_tables(name, [rows], promise, 0)).to_edges() for name in TABLES]
    [[(0, 1), (1, 2)], [(0, 1)]]
    """
    rng = np.random.default_rng(seed)
    for snapshot in given:
        if not snapshot.kind.flows:
            raise InvalidArgument("noise on tables of counts is for flows")
        u, v, count = TABLES[name](snapshot, guarantee, rng)
        there = count > 0
        yield SyntheticGraph(
            snapshot.roster,
            u[there],
            v[there],
            kind=snapshot.kind,
            weight=count[there],
            time=snapshot.time,
        )


_Counts = tuple[Integers, Integers, Integers]


def _laplace(snapshot: Snapshot, guarantee: WEventPrivacy, rng: np.random.Generator) -> _Counts:
    nodes, offset = len(snapshot.roster), snapshot.roster.offset
    firsts = np.arange(offset if snapshot.kind.two_sided else nodes)
    u, v = (each.ravel() for each in np.meshgrid(firsts, np.arange(offset, nodes), indexing="ij"))
    table = np.zeros((nodes, nodes), dtype=np.int64)
    assert snapshot.weight is not None
    table[snapshot.u, snapshot.v] = snapshot.weight
    apart = u != v
    u, v = u[apart], v[apart]
    rate = 1 - exp(-float(guarantee.epsilon) / guarantee.window / guarantee.unit.edges)
    noise = rng.geometric(rate, u.size) - rng.geometric(rate, u.size)
    return u, v, table[u, v] + noise


def _gaussian(snapshot: Snapshot, guarantee: WEventPrivacy, rng: np.random.Generator) -> _Counts:
    facts = float(guarantee.epsilon), guarantee.window, guarantee.unit.edges
    noise = gaussian_scale(*facts) * rng.standard_normal(snapshot.u.size)
    assert snapshot.weight is not None
    noisy = snapshot.weight + noise
    count = np.where(noisy > gaussian_threshold(*facts), np.rint(noisy), 0).astype(np.int64)
    return snapshot.u.astype(np.int64), snapshot.v.astype(np.int64), count


#: What makes the counts of a table, by name.
TABLES: Mapping[str, Callable[[Snapshot, WEventPrivacy, np.random.Generator], _Counts]] = {
    "laplace-table": _laplace,
    "gaussian-table": _gaussian,
}


@lru_cache(maxsize=64)
def gaussian_scale(epsilon: float, window: int, at_most: int) -> float:
    """Return the standard deviation of the noise on each cell.

    >>> round(gaussian_scale(1.0, 5, 2), 1), round(gaussian_scale(4.0, 5, 2), 1)
    (25.1, 6.8)
    """
    moved = at_most * sqrt(window)

    def excess(scale: float) -> float:
        half, cost = moved / scale / 2, epsilon * scale / moved
        return float(norm.cdf(half - cost) - exp(epsilon) * norm.cdf(-half - cost)) - DELTA / 2

    return float(brentq(excess, 1e-3 * moved, 1e3 * moved))


@lru_cache(maxsize=64)
def gaussian_threshold(epsilon: float, window: int, at_most: int) -> float:
    """Return what a noisy count has to exceed to be published.

    >>> round(gaussian_threshold(4.0, 5, 1), 1)
    22.5
    """
    scale = gaussian_scale(epsilon, window, at_most)
    return max(
        rows + scale * float(norm.isf(DELTA / 2 / window / (at_most // rows)))
        for rows in range(1, at_most + 1)
    )
