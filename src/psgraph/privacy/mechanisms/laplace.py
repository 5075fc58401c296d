"""Integers plus discrete Laplace noise. Proof: proofs/discrete-laplace.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.errors import MethodError
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.samplers import Sampler

__all__ = ["LaplaceCount", "LaplaceCounts", "check_integers"]


def check_integers(values: NDArray[Any]) -> None:
    """Refuse anything but integers: a float would carry more of a private value than noise hides.

    >>> check_integers(np.array([0.5]))
    Traceback (most recent call last):
    psgraph.errors.MethodError: only integers can be measured, not float64
    """
    if values.dtype.kind not in "iu":
        raise MethodError(f"only integers can be measured, not {values.dtype}")


@dataclass(frozen=True)
class LaplaceCounts(Mechanism[Integers]):
    """Integers plus independent discrete Laplace noise of scale Δ/ε.

    Parameters
    ----------
    values
        Integers in an array of any shape: private.
    sensitivity
        Δ, how far all of them together move in the L1 norm.

    Notes
    -----
    Privacy: ε for the stated unit. proofs/discrete-laplace.md.
    """

    values: Integers
    sensitivity: int

    name = "discrete Laplace"
    proof = "proofs/discrete-laplace.md"

    def __post_init__(self) -> None:
        check_integers(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Integers:
        noise = sampler.discrete_laplace(self.values.size, epsilon / self.sensitivity)
        # Reshaped, so that broadcasting can't share one noise value between several values.
        return self.values.astype(np.int64) + noise.reshape(self.values.shape)


@dataclass(frozen=True)
class LaplaceCount(Mechanism[int]):
    """One integer plus discrete Laplace noise of scale Δ/ε.

    Parameters
    ----------
    value
        An integer: private.
    sensitivity
        Δ, how far it moves.

    Notes
    -----
    Privacy: ε for the stated unit. proofs/discrete-laplace.md.
    """

    value: int
    sensitivity: int

    name = "discrete Laplace"
    proof = "proofs/discrete-laplace.md"
    shape = (1,)

    def __post_init__(self) -> None:
        check_integers(np.array([self.value]))

    def draw(self, sampler: Sampler, epsilon: Fraction) -> int:
        noisy = LaplaceCounts(np.array([self.value]), self.sensitivity).draw(sampler, epsilon)
        return int(noisy[0])
