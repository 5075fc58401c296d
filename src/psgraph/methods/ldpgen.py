"""LDPGen: nodes clustered by noisy numbers of neighbours in each group, then a block model."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels
from psgraph._runtime.jit import kernel
from psgraph._runtime.resources import phase
from psgraph.engines import counting
from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Job, Runner
from psgraph.engines.sampling import sample
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import Pairs
from psgraph.methods.audit_cases import AuditCases
from psgraph.methods.base import Caveat, Method, NoisePlan
from psgraph.methods.parameters import checked_flag, checked_integer
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.methods.steps.block_model import synthesis_seed
from psgraph.methods.steps.consistency import norm_sub
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.query import CountsQuery

__all__ = ["LDPGen", "LDPGenMeasurement", "LDPGenState", "k_means"]

FIRST, SECOND = "degrees into random groups", "degrees into clusters"
ITERATIONS = 50
LDP_SCALE = Caveat(
    Fraction(2),
    "The noise is that of the local model, for one node's list of neighbours; an edge is in "
    "two lists, so the epsilon for an edge is twice the one charged.",
)


@dataclass(frozen=True)
class LDPGenMeasurement:
    """What LDPGen learned from one snapshot: noisy values only."""

    roster: Roster
    groups: int
    labels: Labels
    noisy_group_degrees: NDArray[np.int64]
    seed: int


@dataclass(frozen=True)
class LDPGenState:
    """LDPGen's estimate of the graph.

    ``mean_degrees[a, c, b]`` is how many neighbours in group b a node has that is in group a and
    in cluster c.
    """

    roster: Roster
    labels: Labels
    clusters: Labels
    mean_degrees: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GroupDegrees(CountsQuery):
    """Every node's neighbours in each group, node by node.

    Privacy: one edge moves one entry of each of its two ends by 1; `labels` are public or
    released. `sensitivity` is 2, or 1 for the noise of the local model, which provides 2·ε only.
    """

    label: str
    labels: Labels
    groups: int
    sensitivity: int = 2

    proof = "proofs/ldpgen.md"
    subject = "a node's number of neighbours in a group"

    def shape(self, nodes: int) -> tuple[int, ...]:
        return (nodes * self.groups,)

    def answer(self, edges: PrivateEdges) -> Integers:
        job = Job(_add_group_degrees, edges.parts.edges(), (self.labels, self.groups))
        (degrees,) = edges.engine.sum(job, sizes=(self.labels.size * self.groups,))
        return degrees


def _add_group_degrees(
    read: Callable[[], Pairs], labels: Labels, groups: int, degrees: Integers
) -> None:
    part = read()
    counting.add_group_degrees(part.u, part.v, labels, degrees.reshape(labels.size, groups))


class LDPGen(Method[LDPGenMeasurement, LDPGenState]):
    """Static graph synthesis by clusters of similar nodes; timestamps are independent.

    Parameters
    ----------
    first_groups
        k₀, the number of random groups in the first phase (the paper: 2).
    most_groups
        Upper limit of k₁, the number of groups in the second phase.
    consistent
        Noisy degrees below zero are set to zero, as published, which makes the graph far too
        dense; with this option NormSub is used instead, which keeps their sum.
    ldp_scale
        Use the smaller noise of the original local model, for comparison. It provides only
        **2·ε** for an edge, and certificates say so.

    Notes
    -----
    Privacy: half of ε for each phase. An edge is in the lists of both of its ends (sensitivity
    2). Clustering, k₁ and the graph come from noisy values.

    Steps: nodes are put into k₀ random groups, and every node's neighbours in each are counted
    with noise. k-means on these counts makes k₁ groups, and the neighbours in these are counted
    with new noise. k-means again finds clusters of similar nodes; inside a group the counts are
    averaged over each cluster. x in group a and y in group b are then connected with probability
    proportional to (neighbours of x in b)·(neighbours of y in a), so that the number of edges
    between the groups is the mean of what the two sides say.

    Differences from the original: it was made for the local model, where each node's list is
    protected; for the same ε in the central edge model the noise doubles. Its formula for k₁ is
    not available: k₁ = d̄ / σ is used, with d̄ the noisy mean degree and σ the standard deviation of
    the noise, within 2 and `most_groups`: with more groups the counts would drown in the noise.

    O(m + n·k₁²) time and O(m + n·k₁) memory.

    References
    ----------
    Qin et al., "Generating Synthetic Decentralized Social Graphs with Local Differential
    Privacy", CCS 2017.

    Examples
    --------
    >>> LDPGen(most_groups=16).parameters()
    {'first_groups': 2, 'most_groups': 16, 'consistent': False, 'ldp_scale': False}
    """

    name = "ldpgen"
    title, colour, marker = "LDPGen", "#cc79a7", "v"
    records = (LDPGenMeasurement, LDPGenState)
    queries = (GroupDegrees,)

    def __init__(
        self,
        *,
        first_groups: int = 2,
        most_groups: int = 64,
        consistent: bool = False,
        ldp_scale: bool = False,
    ) -> None:
        self.first_groups = checked_integer("first_groups", first_groups, least=1)
        self.most_groups = checked_integer("most_groups", most_groups, least=2)
        self.consistent = checked_flag("consistent", consistent)
        self.ldp_scale = checked_flag("ldp_scale", ldp_scale)

    @property
    def caveat(self) -> Caveat | None:
        """Noise at the scale of the local model provides 2·ε."""
        return LDP_SCALE if self.ldp_scale else None

    @property
    def _sensitivity(self) -> int:
        return 1 if self.ldp_scale else 2

    def _query(self, label: str, labels: Labels, groups: int) -> GroupDegrees:
        return GroupDegrees(label, labels, groups, sensitivity=self._sensitivity)

    def audit_cases(self) -> AuditCases:
        return AuditCases(
            variants={
                "consistent counts": {"consistent": True},
                "more first groups": {"first_groups": 5},
            },
            branches={
                "two groups": lambda measured, _: measured.groups == 2,
                "more groups": lambda measured, _: measured.groups > 2,
            },
        )

    def plan(
        self, guarantee: WEventPrivacy, *, nodes: int, kind: Kind = UNDIRECTED
    ) -> list[NoisePlan]:
        del nodes, kind
        case, nobody = "every timestamp", np.empty(0, dtype=np.int32)
        first, second = _split(guarantee.per_timestamp)
        groups = self.first_groups
        return [
            replace(
                NoisePlan.of(case, self._query(FIRST, nobody, groups), first, terms=groups),
                counts="degree",
            ),
            NoisePlan.of(case, self._query(SECOND, nobody, groups), second),
        ]

    def measure(self, private: PrivateSnapshot, state: LDPGenState | None) -> LDPGenMeasurement:
        """Measure neighbour counts with noise, twice.

        Privacy: all of the budget for one edge (twice as much with `ldp_scale`), half in each
        phase. The second phase depends on the first through noisy values. proofs/ldpgen.md.
        """
        del state  # timestamps are independent
        first_epsilon, second_epsilon = _split(private.remaining)
        nodes = len(private.roster)
        random_groups = (private.random_order(nodes) % self.first_groups).astype(np.int32)
        with phase("perturbation"):
            query = self._query(FIRST, random_groups, self.first_groups)
            noisy = private.ask(query, epsilon=first_epsilon).reshape(-1, self.first_groups)
        with phase("communities"):
            groups = self._groups(noisy, first_epsilon)
            labels = k_means(noisy, groups, iterations=ITERATIONS, seed=private.random_seed())
        with phase("perturbation"):
            query = self._query(SECOND, labels, groups)
            noisy = private.ask(query, epsilon=second_epsilon).reshape(-1, groups)
        return LDPGenMeasurement(private.roster, groups, labels, noisy, private.random_seed())

    def _groups(self, noisy: NDArray[np.int64], epsilon: Fraction) -> int:
        """Return k₁, the number of groups at which a count is about as large as its noise."""
        deviation = math.sqrt(2) * float(self._sensitivity / epsilon)
        mean_degree = noisy.sum() / max(noisy.shape[0], 1)
        return int(np.clip(round(mean_degree / deviation), 2, self.most_groups))

    def update(self, state: LDPGenState | None, measurement: LDPGenMeasurement) -> LDPGenState:
        del state
        groups, labels = measurement.groups, measurement.labels
        noisy = measurement.noisy_group_degrees
        with phase("communities"):
            clusters = k_means(noisy, groups, iterations=ITERATIONS, seed=measurement.seed)
        with phase("perturbation"):
            degrees = (
                norm_sub(noisy.reshape(-1)).reshape(noisy.shape)
                if self.consistent
                else np.maximum(noisy, 0)
            )
            cells = labels.astype(np.int64) * groups + clusters
            sizes = np.bincount(cells, minlength=groups * groups)
            sums = [np.bincount(cells, column, minlength=sizes.size) for column in degrees.T]
            mean_degrees = np.stack(sums, axis=1) / np.maximum(sizes, 1)[:, None]
        return LDPGenState(
            measurement.roster, labels, clusters, mean_degrees.reshape(groups, groups, groups)
        )

    def synthesise(
        self,
        state: LDPGenState,
        previous: SyntheticGraph | None,
        rng: np.random.Generator,
        engine: Runner,
    ) -> SyntheticGraph:
        del previous
        with phase("reconstruction"):
            parts = sample(engine, *_blocks(state), seed=synthesis_seed(rng))
            return SyntheticGraph.from_parts(state.roster, parts)

    def summary(self, state: LDPGenState) -> Mapping[str, Any]:
        return {"groups": state.mean_degrees.shape[0]}


def _split(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Split ε into the shares of the two phases."""
    return epsilon / 2, epsilon - epsilon / 2


def _blocks(state: LDPGenState) -> list[Blocks]:
    """Return one block model for each r < k₁, with the pairs of groups a + b ≡ r (mod k₁).

    A node's weight depends on the group at the other end. In such a model each group meets
    one other (or itself), and all models together have every pair once.
    """
    labels, means = state.labels, state.mean_degrees
    groups = means.shape[0]
    sizes = np.bincount(labels * groups + state.clusters, minlength=groups * groups)
    totals = (sizes.reshape(groups, groups, 1) * means).sum(axis=1)
    models = []
    for shift in range(groups):
        a = np.arange(groups, dtype=np.int32)
        b = (shift - a) % groups
        out, back = totals[a, b], totals[b, a]
        listed = (a <= b) & (out > 0) & (back > 0)
        # (mean of the two totals) · (share of x in one) · (share of y in the other)
        rates = (out + back)[listed] / (2 * out * back)[listed]
        weights = means[labels, state.clusters, b[labels]]
        models.append(Blocks(weights, labels, a[listed], b[listed], rates))
    return models


# ---- k-means: the same bytes wherever a release is replayed, so one thread and one order ----


def k_means(points: NDArray[np.int64], clusters: int, *, iterations: int, seed: int) -> Labels:
    """Return the cluster of every row of `points`: 0, …, clusters − 1. Lloyd's algorithm.

    Parameters
    ----------
    iterations
        The most rounds to make; it ends earlier when nothing moves.
    seed
        Of the k-means++ start.

    Notes
    -----
    A cluster that lost its last point starts again from the point furthest from its centre.
    O(n · clusters · columns) time a round.

    Examples
    --------
    >>> k_means(np.array([[0], [9], [1], [8]]), 2, iterations=9, seed=1).tolist() in (
    ...     [0, 1, 0, 1], [1, 0, 1, 0])
    True
    """
    floats = points.astype(np.float64)
    if not floats.size:
        return np.zeros(points.shape[0], dtype=np.int32)
    rng = np.random.Generator(np.random.PCG64(seed))
    centres = _start(floats, clusters, rng)
    labels = np.full(points.shape[0], -1, dtype=np.int32)
    distances = np.empty(points.shape[0])
    for _ in range(iterations):
        if not _assign(floats, centres, labels, distances):
            break
        _move(floats, centres, labels, distances)
    return labels


@kernel
def _distance(points: Floats, row: int, centres: Floats, centre: int) -> float:
    total = 0.0
    for column in range(points.shape[1]):
        difference = points[row, column] - centres[centre, column]
        total += difference * difference
    return total


@kernel
def _start(points: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """Choose centres by k-means++: each is a point, with probability ∝ its squared distance."""
    rows = points.shape[0]
    centres = np.empty((clusters, points.shape[1]))
    nearest = np.full(rows, np.inf)
    chosen = min(int(rng.random() * rows), rows - 1)
    for centre in range(clusters):
        centres[centre] = points[chosen]
        total = 0.0
        for row in range(rows):
            nearest[row] = min(nearest[row], _distance(points, row, centres, centre))
            total += nearest[row]
        # Walk to a uniform point of the sum; if all points are centres, stay at the last.
        left = rng.random() * total
        for row in range(rows):
            left -= nearest[row]
            if left < 0.0:
                chosen = row
                break
    return centres


@kernel
def _assign(points: Floats, centres: Floats, labels: Labels, distances: Floats) -> bool:
    """Assign every point to its nearest centre; return whether any changed."""
    changed = False
    for row in range(points.shape[0]):
        best, least = 0, np.inf
        for centre in range(centres.shape[0]):
            distance = _distance(points, row, centres, centre)
            if distance < least:
                best, least = centre, distance
        changed |= labels[row] != best
        labels[row], distances[row] = best, least
    return changed


@kernel
def _move(points: Floats, centres: Floats, labels: Labels, distances: Floats) -> None:
    """Move every centre to the mean of its points."""
    sizes = np.zeros(centres.shape[0], dtype=np.int64)
    centres[:] = 0.0
    for row in range(points.shape[0]):
        sizes[labels[row]] += 1
        centres[labels[row]] += points[row]
    for centre in range(centres.shape[0]):
        if sizes[centre]:
            centres[centre] /= sizes[centre]
        else:
            furthest = np.argmax(distances)
            centres[centre] = points[furthest]
            distances[furthest] = 0.0
