"""Labels from noisy rows: the part of a growth pass that reads released values.

Nodes are labelled one after the other. The row of a node counts its edges to the nodes passed
before it, by their label, plus noise; its own label is set from that row and used by the rows of
all later nodes. `GrowthPass` draws such rows from private edges, `follow` repeats the labelling
from released ones, and `rehearse` runs a whole pass on a synthetic graph. All three run the same
compiled step, so that the same rows always give the same labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph._runtime.jit import kernel

__all__ = ["Plan", "Progress", "Rows", "follow", "rehearse"]

Evidence = NDArray[np.float32]
Rows = NDArray[np.int32]

TOWARDS = 0.4  # the share of its edges that a node is supposed to have inside its community
LARGEST = 1 << 30  # noisy counts are cut off here, to be stored in four bytes


@dataclass(frozen=True)
class Plan:
    """Everything a pass is made with besides the edges: public or already released.

    Attributes
    ----------
    order
        Positions of the nodes in the order of the pass.
    weights
        The estimated degree of every node, positive.
    evidence
        Nodes × labels: what speaks for each label from earlier passes.
    dealt
        How many nodes at the front get labels in turn, whatever their rows say. Without that most
        hubs would end up under one label.
    """

    order: Integers
    weights: Floats
    evidence: Evidence
    dealt: int

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return int(self.evidence.shape[1])


@dataclass(frozen=True)
class Progress:
    """What a pass changes as it goes along.

    Attributes
    ----------
    evidence
        Nodes × labels, of earlier passes and of this one.
    found
        The label of every node, −1 for those still to come.
    """

    plan: Plan
    evidence: Evidence
    found: Labels
    passed: Floats  # sums of weights per label, and in all
    placed: Integers  # how many nodes are labelled
    constants: Floats  # per stub; ε; how many nodes are dealt out

    @classmethod
    def start(cls, plan: Plan, epsilon: float) -> Progress:
        """Start a pass whose rows have noise of scale 1/`epsilon`."""
        per_stub = 1 / max(float(plan.weights.sum()), 1e-9)
        return cls(
            plan,
            plan.evidence.copy(),
            found=np.full(plan.order.size, -1, dtype=np.int32),
            passed=np.zeros(plan.labels + 1),
            placed=np.zeros(1, dtype=np.int64),
            constants=np.array([per_stub, epsilon, plan.dealt]),
        )

    def count(
        self, nodes: Integers, starts: Integers, neighbours: Labels, noise: Integers, rows: Rows
    ) -> None:
        """Fill in the rows of the next nodes and label them; their noise is used up."""
        _label(
            nodes,
            starts,
            neighbours,
            noise,
            rows,
            self.plan.weights,
            self.evidence,
            self.found,
            self.passed,
            self.placed,
            self.constants,
        )

    def place(self, nodes: Integers, rows: Rows) -> None:
        """Label the next nodes from rows that are filled in."""
        nothing, nobody = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
        self.count(nodes, nothing, nobody, nothing.reshape(0, self.plan.labels), rows)


def follow(plan: Plan, rows: Rows, epsilon: float) -> Progress:
    """Repeat a pass from its noisy rows.

    >>> order, weights = np.array([0, 1, 2]), np.ones(3)
    >>> plan = Plan(order, weights, np.zeros((3, 2), dtype=np.float32), dealt=2)
    >>> rows = np.array([[0, 0], [0, 0], [0, 9]], dtype=np.int32)
    >>> follow(plan, rows, 1.0).found
    array([0, 1, 1], dtype=int32)
    """
    progress = Progress.start(plan, epsilon)
    progress.place(plan.order, rows)
    return progress


def rehearse(
    plan: Plan, starts: Integers, neighbours: Labels, epsilon: float, rng: np.random.Generator
) -> Labels:
    """Return the labels that a pass would set on a synthetic graph, with noise from `rng`."""
    shape = plan.evidence.shape
    noise = rng.geometric(-np.expm1(-epsilon), shape) - rng.geometric(-np.expm1(-epsilon), shape)
    progress = Progress.start(plan, epsilon)
    rows = np.empty(shape, dtype=np.int32)
    progress.count(plan.order, starts, neighbours, noise[plan.order], rows)
    return progress.found


@kernel
def _label(
    nodes: Integers,
    starts: Integers,
    neighbours: Labels,
    noise: Integers,
    rows: Rows,
    weights: Floats,
    evidence: Evidence,
    found: Labels,
    passed: Floats,
    placed: Integers,
    constants: Floats,
) -> None:
    """Place the nodes in turn, each after its row is filled in.

    A row is its noise plus the edges to nodes that are labelled. Without noise the rows are
    those that were released.
    """
    for index in range(nodes.size):
        node = nodes[index]
        if noise.size > 0:
            for at in range(starts[node], starts[node + 1]):
                label = found[neighbours[at]]
                if label >= 0:
                    noise[index, label] += 1
            for label in range(rows.shape[1]):
                rows[node, label] = min(max(noise[index, label], -LARGEST), LARGEST)
        _place(node, rows, weights, evidence, found, passed, placed, constants)


@kernel
def _place(
    node: int,
    rows: Rows,
    weights: Floats,
    evidence: Evidence,
    found: Labels,
    passed: Floats,
    placed: Integers,
    constants: Floats,
) -> None:
    """Set the label of a node from its released row.

    Every label gains the Laplace log-likelihood ratio of "a share of the edges goes there"
    against "none does"; the label with the most evidence is chosen.
    """
    labels = rows.shape[1]
    weight, per_stub, epsilon = weights[node], constants[0], constants[1]
    inside = TOWARDS * weight * passed[labels] * per_stub
    best = 0
    for label in range(labels):
        without = (1 - TOWARDS) * weight * passed[label] * per_stub
        noisy = rows[node, label]
        gained = (abs(noisy - without) - abs(noisy - without - inside)) * epsilon
        evidence[node, label] += gained
        if evidence[node, label] > evidence[node, best]:
            best = label
    if placed[0] < constants[2]:
        best = placed[0] % labels
    found[node] = best
    passed[best] += weight
    passed[labels] += weight
    placed[0] += 1
