"""A model of the time: seconds = a·m/p + b·n + c·blocks + d, fitted to measured runs.

m is the number of edges, p the number of workers (threads or processes), n the number of nodes,
blocks the number of pairs of super-nodes that get noise. No term is negative. Runs are weighted
by 1/seconds, so that the model is about equally far off for small and for large graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph.engines.pairs import pair_count
from psgraph.methods.steps.communities import MOST_SUPERNODES

__all__ = ["TERMS", "CostModel", "Run", "fit_costs"]

SUPERNODE_SIZE = 20

TERMS = ("edges / workers", "nodes", "blocks", "constant")


@dataclass(frozen=True)
class Run:
    """The size of a graph, and the workers that publish it."""

    edges: int
    nodes: int
    workers: int

    @property
    def blocks(self) -> int:
        """The number of pairs of super-nodes."""
        groups = min(-(-self.nodes // SUPERNODE_SIZE), MOST_SUPERNODES)
        return pair_count(groups, inside=True)

    def terms(self) -> NDArray[np.float64]:
        """Return the terms of the model, without their factors."""
        return np.array([self.edges / self.workers, self.nodes, self.blocks, 1.0])


@dataclass(frozen=True)
class CostModel:
    """The fitted factors, in seconds, in the order of `TERMS`."""

    factors: NDArray[np.float64]

    def seconds(self, run: Run) -> float:
        """Return the time the model gives a run."""
        return float(self.factors @ run.terms())


def fit_costs(rows: Sequence[Mapping[str, Any]]) -> tuple[CostModel, list[Run]]:
    """Fit the model to rows of ``psgraph bench --large --json`` by non-negative least squares.

    >>> rows = [
    ...     {"edges": m, "nodes": n, "workers": 2, "seconds": {"total": 1e-6 * m / 2 + 2e-6 * n}}
    ...     for m, n in ((10**6, 10**6), (10**7, 10**6), (10**8, 10**7), (10**8, 10**8))
    ... ]
    >>> model, _ = fit_costs(rows)
    >>> round(model.seconds(Run(10**9, 10**8, workers=10)))
    300
    """
    from scipy.optimize import nnls

    runs = [Run(row["edges"], row["nodes"], row["workers"]) for row in rows]
    seconds = np.array([row["seconds"]["total"] for row in rows])
    terms = np.array([run.terms() for run in runs]) / seconds[:, None]
    sizes = np.maximum(terms.max(axis=0), 1e-300)  # terms of like size are solved more exactly
    factors, _ = nnls(terms / sizes, np.ones(len(runs)))
    return CostModel(factors / sizes), runs
