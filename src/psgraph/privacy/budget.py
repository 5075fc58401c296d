"""The only ways out for a private value: mechanisms that charge a budget and leave a trace.

A method is handed a `Budget` for one timestamp. It gives noise only against epsilon, so a method
that lets private values out through mechanisms alone can't say more than it was allowed to. (A
method is still trusted code: it holds the snapshot while it measures.)

Composition is written out: calls on one budget are sequential and add up; `Budget.parallel`
makes budgets for parts of the edge set that don't overlap, of which only the largest counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph.errors import BudgetExceeded, MethodError, UnitMismatch, exact_decimal
from psgraph.privacy.arrangement import arrange
from psgraph.privacy.dendrogram import Dendrogram
from psgraph.privacy.dendrogram_walk import likelihood_sensitivity, walk_dendrogram
from psgraph.privacy.guarantee import ONE_EDGE, exact_fraction
from psgraph.privacy.mechanisms.exponential import choice_sweep
from psgraph.privacy.mechanisms.sparse import NoisyCounts, Threshold, sparse_noise
from psgraph.privacy.mechanisms.top import largest_cells
from psgraph.privacy.rectangles import Regions
from psgraph.privacy.samplers import Sampler
from psgraph.privacy.splits import choose_splits

__all__ = ["Budget", "Charge", "Sensitivity", "per_edge"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Sensitivity:
    """How far (in the L1 norm) a value can move when one `unit` is added or removed."""

    amount: int
    unit: str

    def __post_init__(self) -> None:
        if self.amount < 1:
            raise MethodError(f"a sensitivity must be at least 1, not {self.amount}")


def per_edge(amount: int) -> Sensitivity:
    """A sensitivity stated for one edge of one snapshot.

    >>> per_edge(2)
    Sensitivity(amount=2, unit='one edge of one snapshot')
    """
    return Sensitivity(amount, ONE_EDGE)


@dataclass(frozen=True)
class Charge:
    """One line of the trace: what was drawn and what it cost. Holds no private value."""

    mechanism: str
    label: str
    epsilon: Fraction
    sensitivity: int
    shape: tuple[int, ...]
    part: str = ""

    def to_dict(self) -> dict[str, object]:
        """For the certificate."""
        return {
            "label": self.label,
            "mechanism": self.mechanism,
            "epsilon": exact_decimal(self.epsilon),
            "sensitivity": self.sensitivity,
            "shape": list(self.shape),
            **({"part": self.part} if self.part else {}),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Charge:
        """The inverse of `to_dict`."""
        return cls(
            content["mechanism"],
            content["label"],
            exact_fraction(content["epsilon"]),
            content["sensitivity"],
            tuple(content["shape"]),
            content.get("part", ""),
        )


class Budget:
    """The epsilon of one timestamp, and the noise it buys.

    Parameters
    ----------
    epsilon
        What may be spent.
    sampler
        Where noise comes from.

    Examples
    --------
    >>> from psgraph.privacy.randomness import RandomSource
    >>> budget = Budget(Fraction(1), Sampler(RandomSource.seeded(5)))
    >>> noisy_edge_count = budget.noisy_count(
    ...     120, sensitivity=per_edge(1), epsilon=Fraction(1, 4), label="edges"
    ... )
    >>> budget.remaining
    Fraction(3, 4)
    >>> budget.trace[0].label, budget.trace[0].epsilon
    ('edges', Fraction(1, 4))
    """

    def __init__(self, epsilon: Fraction, sampler: Sampler, *, unit: str = ONE_EDGE) -> None:
        self.epsilon, self.unit = epsilon, unit
        self.spent = Fraction(0)
        self._sampler = sampler
        self._trace: list[Charge] = []
        self._part = ""

    def __repr__(self) -> str:
        return f"Budget({exact_decimal(self.remaining)} of {exact_decimal(self.epsilon)} left)"

    @property
    def remaining(self) -> Fraction:
        """What may still be spent."""
        return self.epsilon - self.spent

    @property
    def trace(self) -> tuple[Charge, ...]:
        """Every mechanism call so far, in order."""
        return tuple(self._trace)

    # ---- mechanisms ----

    def noisy_count(
        self, value: int, *, sensitivity: Sensitivity, epsilon: Fraction, label: str
    ) -> int:
        """One integer plus discrete Laplace noise of scale Δ/ε.

        Privacy: ε for the stated unit. proofs/discrete-laplace.md.
        """
        values = np.array([value])
        noisy = self.noisy_counts(values, sensitivity=sensitivity, epsilon=epsilon, label=label)
        return int(noisy[0])

    def noisy_counts(
        self, values: Integers, *, sensitivity: Sensitivity, epsilon: Fraction, label: str
    ) -> Integers:
        """Integers plus independent discrete Laplace noise of scale Δ/ε, Δ over all of them.

        Privacy: ε for the stated unit. proofs/discrete-laplace.md.
        """
        _only_whole_numbers(values, label)
        self._charge("discrete Laplace", label, epsilon, sensitivity, values.shape)
        rate = epsilon / sensitivity.amount
        noise = self._sampler.discrete_laplace(values.size, rate)
        # Broadcasting must not share one noise between several values.
        return values.astype(np.int64) + noise.reshape(values.shape)

    def noisy_sparse_counts(
        self,
        cells: Integers,
        counts: Integers,
        *,
        size: int,
        threshold: Threshold,
        sensitivity: Sensitivity,
        epsilon: Fraction,
        label: str,
    ) -> NoisyCounts:
        """As `noisy_counts` for a vector of `size` counts, zero but for `cells` (rising order).

        Only the noisy counts above ``threshold(values, how_often)`` come out, a function of the
        noisy vector's histogram.

        Privacy: ε for the stated unit, as post-processing of the whole noisy vector.
        proofs/sparse-noise.md.
        """
        _only_whole_numbers(counts, label)
        self._charge("discrete Laplace", label, epsilon, sensitivity, (size,))
        rate = epsilon / sensitivity.amount
        return sparse_noise(self._sampler, cells, counts, size=size, rate=rate, threshold=threshold)

    def largest_cells(
        self, ones: Integers, *, size: int, keep: int, epsilon: Fraction, label: str
    ) -> Integers:
        """Which `keep` of `size` cells, holding 0 but for a 1 in `ones`, are largest after noise.

        `ones` and what comes out are in rising order; ties are broken at random.

        Privacy: ε for one edge, where an edge is one cell, as post-processing of all cells with
        discrete Laplace noise of scale 1/ε. `keep` must be public or already released.
        proofs/largest-cells.md.
        """
        self._charge("discrete Laplace", label, epsilon, per_edge(1), (size,))
        return largest_cells(self._sampler, ones, size=size, keep=keep, rate=epsilon)

    def choose_communities(
        self,
        starts: Integers,
        neighbours: NDArray[np.int32],
        labels: NDArray[np.int32],
        *,
        strength: Fraction = Fraction(1, 2),
        epsilon: Fraction,
        label: str,
    ) -> NDArray[np.int32]:
        """One sweep in which every node picks a community by its number of neighbours there.

        A candidate with s neighbours has weight exp(strength·ε·s).

        Privacy: ε for one edge. An edge changes one score by 1 in the steps of its two ends, and
        each of these steps by a factor of at most exp(strength·ε), so the strength may be ½ at
        most. proofs/community-choice.md.
        """
        if not 0 < strength <= Fraction(1, 2):
            raise MethodError(f"{label}: the strength must lie in (0, 1/2], not {strength}")
        self._charge("exponential choice", label, epsilon, per_edge(1), labels.shape)
        return choice_sweep(self._sampler, starts, neighbours, labels, strength=strength * epsilon)

    def choose_splits(
        self, regions: Regions, *, least: int, grid: int, epsilon: Fraction, label: str
    ) -> Integers:
        """Where to cut each region into four, so that the densities of the parts differ.

        Each part has `least` valid cells or none. Returns a row and a column for each region,
        −1 where no split is possible (which is public). See `psgraph.privacy.splits`.

        Privacy: ε for one edge. An edge is in one region, and moves the gap between the largest
        and the smallest density by at most 1/`least`: exponential mechanism with exactly that
        sensitivity. The regions must be public or already released. proofs/der.md.
        """
        if least < 1:
            raise MethodError(f"{label}: a part must have at least 1 cell, not {least}")
        self._charge("exponential choice", label, epsilon, per_edge(1), (len(regions),))
        return choose_splits(self._sampler, regions, least=least, grid=grid, epsilon=epsilon)

    def arrange_edges(
        self, regions: Regions, *, drawn: Integers, epsilon: Fraction, label: str
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """So many cells of each region as `drawn` says: a set that hits x edges has weight e^εx.

        Returns rows and columns. See `psgraph.privacy.arrangement`.

        Privacy: ε for one edge. An edge is in one region and changes x by at most 1, in the same
        direction for all sets. Regions and `drawn` must be public or already released.
        proofs/der.md.
        """
        if (drawn < 0).any() or (drawn > regions.cells).any():
            raise MethodError(f"{label}: more cells were asked for than a region has")
        self._charge("exponential choice", label, epsilon, per_edge(1), (len(regions),))
        return arrange(self._sampler, regions, drawn=drawn, rate=epsilon)

    def walk_dendrogram(
        self,
        tree: Dendrogram,
        starts: Integers,
        neighbours: NDArray[np.int32],
        *,
        steps: int,
        epsilon: Fraction,
        label: str,
    ) -> Dendrogram:
        """A dendrogram that fits the edges, by `steps` steps of a Markov chain from `tree`.

        The stationary law has weights exp(ε·log-likelihood / 2ΔU). `tree` and `steps` must be
        public or already released. See `psgraph.privacy.dendrogram_walk`.

        Privacy: ε for one edge **if** the chain has reached its stationary law, which finitely
        many steps don't, and in floating point. A method that calls this must state a
        `psgraph.methods.base.Caveat`. proofs/privhrg.md.
        """
        self._charge("Markov chain", label, epsilon, per_edge(1), (tree.left.size,))
        sensitivity = likelihood_sensitivity(tree.leaves)
        rate = float(epsilon) / (2 * sensitivity) if sensitivity else 0.0
        return walk_dendrogram(self._sampler, tree, starts, neighbours, steps=steps, rate=rate)

    def unproven(self, *, epsilon: Fraction, label: str, shape: tuple[int, ...]) -> None:
        """Charge for a published procedure that is not known to be private.

        Privacy: none. A method that calls this must state a `psgraph.methods.base.Caveat`.
        """
        self._charge("unproven", label, epsilon, per_edge(1), shape)

    def parallel(self, epsilon: Fraction, *parts: str) -> tuple[Budget, ...]:
        """Budgets of `epsilon` each for parts of the edge set that have no edge in common.

        Privacy: ε once for all of them, since one edge is in one part only. What decides which
        part an edge is in must be public or already released. proofs/parallel-composition.md.
        """
        self._take(epsilon, " ∥ ".join(parts))
        return tuple(_Part(epsilon, self, name) for name in parts)

    # ---- draws that look at no data and cost nothing ----

    def random_order(self, size: int) -> Integers:
        """A uniformly random order of 0, …, size − 1."""
        return self._sampler.permutation(size)

    def random_labels(self, size: int, choices: int) -> Integers:
        """Independent uniform integers below `choices`, which may be 0 where none are wanted."""
        if size and choices < 1:
            raise MethodError(f"labels need at least 1 choice, not {choices}")
        return self._sampler.integers(size, choices)

    def random_seed(self) -> int:
        """32 random bits for a library that wants a seed."""
        return self._sampler.source.bits(32)

    # ---- bookkeeping ----

    def _charge(
        self,
        mechanism: str,
        label: str,
        epsilon: Fraction,
        sensitivity: Sensitivity,
        shape: tuple[int, ...],
    ) -> None:
        if sensitivity.unit != self.unit:
            raise UnitMismatch(
                f"{label}: the sensitivity is stated for {sensitivity.unit!r}, "
                f"but this budget protects {self.unit!r}"
            )
        self._take(epsilon, label)
        self._record(
            Charge(mechanism, label, epsilon, sensitivity.amount, tuple(shape), self._part)
        )

    def _take(self, epsilon: Fraction, label: str) -> None:
        if not isinstance(epsilon, Fraction) or epsilon <= 0:
            raise MethodError(f"{label}: epsilon must be a positive Fraction, not {epsilon!r}")
        if epsilon > self.remaining:
            raise BudgetExceeded(requested=epsilon, remaining=self.remaining, what=label)
        self.spent += epsilon

    def _record(self, charge: Charge) -> None:
        self._trace.append(charge)


def _only_whole_numbers(values: NDArray[Any], label: str) -> None:
    if values.dtype.kind not in "iu":
        raise MethodError(f"{label}: only whole numbers can be measured, not {values.dtype}")


class _Part(Budget):
    """The budget of one part; its trace goes into the budget it came from."""

    def __init__(self, epsilon: Fraction, whole: Budget, name: str) -> None:
        super().__init__(epsilon, whole._sampler, unit=whole.unit)
        self._whole = whole
        self._part = f"{whole._part} / {name}" if whole._part else name

    def _record(self, charge: Charge) -> None:
        super()._record(charge)
        self._whole._record(charge)
