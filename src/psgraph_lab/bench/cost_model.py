"""A model of the time: seconds = (a·m + b·n)/p + c·m + d·n + e·blocks + f.

m is the number of edges, n the number of nodes, p the number of cores, blocks the number of pairs
of super-nodes that get noise. What the engine does is shared among the cores; the rest (noise,
choices, the ledger) runs on one. Both are fitted to processor time, which a busy machine changes
less than elapsed time. No factor is negative. Runs are weighted by 1/seconds, so that the model is
about equally far off for small and for large graphs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.steps.communities import MOST_SUPERNODES

__all__ = ["SERIAL", "SHARED", "CostModel", "Run", "fit_costs", "growth_exponent"]


def growth_exponent(points: Iterable[tuple[int, float]]) -> float | None:
    """Return the exponent between the smallest and the largest graph; None if there is only one.

    Parameters
    ----------
    points
        The number of edges and the seconds of every graph.

    Examples
    --------
    >>> growth_exponent([(1_000, 1.0), (100_000, 100.0), (10_000, 7.0)])
    1.0
    """
    ordered = sorted(points)
    if len({edges for edges, _ in ordered}) < 2:
        return None
    (edges, seconds), (most_edges, most_seconds) = ordered[0], ordered[-1]
    return math.log(most_seconds / seconds) / math.log(most_edges / edges)


SUPERNODE_SIZE = 20

SHARED = ("edges", "nodes")
SERIAL = ("edges", "nodes", "blocks", "constant")


@dataclass(frozen=True)
class Run:
    """The size of a graph, and the cores that publish it."""

    edges: int
    nodes: int
    workers: int
    method: str = "psgraph"

    @property
    def blocks(self) -> int:
        """The number of pairs of super-nodes, which only PSGraph has."""
        if self.method != "psgraph":
            return 0
        groups = min(-(-self.nodes // SUPERNODE_SIZE), MOST_SUPERNODES)
        return UNDIRECTED.cell_count(groups, inside=True)

    def terms(self) -> Floats:
        """Return the terms of the model, in the order of `SERIAL`."""
        return np.array([self.edges, self.nodes, self.blocks, 1.0])


@dataclass(frozen=True)
class CostModel:
    """The fitted factors, in seconds, in the order of `SHARED` and of `SERIAL`."""

    shared: Floats
    serial: Floats

    def cpu_seconds(self, run: Run) -> tuple[float, float]:
        """Return the processor time that cores share, and that of one core alone."""
        terms = run.terms()
        return float(self.shared @ terms[: len(SHARED)]), float(self.serial @ terms)

    def seconds(self, run: Run) -> float:
        """Return the time the model gives a run on cores that do nothing else."""
        shared, serial = self.cpu_seconds(run)
        return shared / run.workers + serial


def fit_costs(rows: Sequence[Mapping[str, Any]]) -> tuple[CostModel, list[Run]]:
    """Fit the model to rows of ``psgraph bench --large --json`` by non-negative least squares.

    >>> rows = [
    ...     {"edges": m, "nodes": n, "workers": 2, "verbs_cpu": {"all": 1e-6 * m},
    ...      "seconds": {"cpu": 1e-6 * m + 2e-6 * n}}
    ...     for m, n in ((10**6, 10**6), (10**7, 10**6), (10**8, 10**7), (10**8, 10**8))
    ... ]
    >>> model, _ = fit_costs(rows)
    >>> round(model.seconds(Run(10**9, 10**8, workers=10)))
    300
    """
    runs = [
        Run(row["edges"], row["nodes"], row["workers"], row.get("method", "psgraph"))
        for row in rows
    ]
    terms = np.array([run.terms() for run in runs])
    total = np.array([row["seconds"]["cpu"] for row in rows])
    shared = np.array([sum(row["verbs_cpu"].values()) for row in rows])
    serial = np.maximum(total - shared, 1e-3)
    return CostModel(_fit(terms[:, : len(SHARED)], shared), _fit(terms, serial)), runs


def _fit(terms: Floats, seconds: Floats) -> Floats:
    from scipy.optimize import nnls

    weighted = terms / seconds[:, None]
    sizes = weighted.max(axis=0)  # terms of like size are solved more exactly
    sizes[sizes == 0] = 1.0
    factors, _ = nnls(weighted / sizes, np.ones(seconds.size))
    return np.asarray(factors / sizes)
