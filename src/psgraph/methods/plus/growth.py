"""The growth pass: every edge is counted once, in the row of its later end.

Nodes are labelled one after the other from noisy counts of their edges to the nodes passed before;
see `labelling`. Because an edge is counted in one row only, the sensitivity is 1, although the
labels adapt inside the pass. Proof: proofs/growth-pass.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph.errors import MethodError
from psgraph.methods.plus.labelling import Plan, Progress, Rows
from psgraph.privacy.mechanism import Mechanism, changed_edges
from psgraph.privacy.samplers import Sampler

__all__ = ["GrowthPass"]


CHUNK = 1 << 20  # noise values drawn at a time


@dataclass(frozen=True)
class GrowthPass(Mechanism[Rows]):
    """The rows of all nodes: edges to nodes earlier in the pass by label, with noise.

    Parameters
    ----------
    starts, neighbours
        The adjacency lists, private: those of x are ``neighbours[starts[x]:starts[x + 1]]``.
    plan
        Order, weights and earlier evidence: public or already released.

    Notes
    -----
    Privacy: ε for one edge. Given the rows before, an edge changes one cell of one row by 1.
    proofs/growth-pass.md.

    O(n·q + m) time for q labels; four bytes of memory per cell.
    """

    starts: Integers
    neighbours: Labels
    plan: Plan

    name = "growth pass"
    proof = "proofs/growth-pass.md"
    sensitivity = 1

    def __post_init__(self) -> None:
        plan, nodes = self.plan, self.starts.size - 1
        if not plan.order.size == plan.weights.size == plan.evidence.shape[0] == nodes:
            raise MethodError("order, weights and evidence must have one entry per node")
        if nodes and not (np.bincount(plan.order, minlength=nodes) == 1).all():
            raise MethodError("a growth pass must visit every node once")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.plan.evidence.shape

    def distance(self, other: Self) -> int:
        for name in ("order", "weights", "evidence", "dealt"):
            mine, theirs = getattr(self.plan, name), getattr(other.plan, name)
            self.same_public(name, np.array_equal(mine, theirs))
        return changed_edges(self.starts, self.neighbours, other.starts, other.neighbours)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Rows:
        plan, (nodes, labels) = self.plan, self.plan.evidence.shape
        rate = epsilon / self.sensitivity
        rows = np.empty((nodes, labels), dtype=np.int32)
        progress = Progress.start(plan, float(epsilon))
        step = max(CHUNK // labels, 1)
        for first in range(0, nodes, step):
            chunk = plan.order[first : first + step]
            noise = sampler.discrete_laplace(chunk.size * labels, rate).reshape(-1, labels)
            progress.count(chunk, self.starts, self.neighbours, noise, rows)
        return rows
