"""What a mechanism is: the only way out for a private value.

A mechanism holds the exact answer to a query and draws a noisy result from it. It states its
sensitivity to one edge and the note that proves it; `Budget.run` charges for it, leaves a trace and
lets it draw. psgraph's own are in `psgraph.privacy.mechanisms` and beside the methods that use
them; a plug-in brings its own by subclassing `Mechanism`, and a `Query` that builds it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.errors import MethodError
from psgraph.privacy.samplers import Sampler

__all__ = ["Mechanism", "changed_cells", "changed_edges"]


Output = TypeVar("Output", covariant=True)


class Mechanism(ABC, Generic[Output]):
    """A randomised function of private values that is ε-private for one edge.

    A subclass is a frozen dataclass: its fields are the private values and public settings, and
    it checks them in ``__post_init__``. The exponential mechanism over a million candidates and
    noise on one integer look the same from outside.

    Attributes
    ----------
    name
        What the trace and the certificate call it, such as ``"discrete Laplace"``.
    sensitivity
        How much one edge moves what is measured; a class attribute or a field.
    proof
        The note that proves ε-privacy, or says what is missing.
    proven
        False where ε-privacy is not proven. A method that runs such a mechanism has to state a
        `psgraph.methods.base.Caveat`, or nothing is published.

    Examples
    --------
    A mechanism of a plug-in, randomised response on one bit:

    >>> from dataclasses import dataclass
    >>> from psgraph.privacy.budget import Budget
    >>> from psgraph.privacy.randomness import RandomSource
    >>> @dataclass(frozen=True)
    ... class NoisyBit(Mechanism[bool]):
    ...     bit: bool
    ...     name = "randomised response"
    ...     proof = "noisy-bit.md"
    ...     sensitivity = 1
    ...
    ...     @property
    ...     def shape(self):
    ...         return (1,)
    ...
    ...     def draw(self, sampler, epsilon):
    ...         # The bit flips with probability 1/(1 + e^ε).
    ...         return bool(int(self.bit) + sampler.discrete_laplace(1, epsilon)[0] > 0)
    >>> budget = Budget(Fraction(1), Sampler(RandomSource.seeded(5)))
    >>> noisy_bit = budget.run(NoisyBit(True), epsilon=Fraction(1), label="is it dense?")
    >>> budget.trace[0].mechanism, NoisyBit(True)
    ('randomised response', <NoisyBit of shape (1,)>)
    """

    name: ClassVar[str]
    proof: ClassVar[str]
    proven: ClassVar[bool] = True
    sensitivity: int

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of what is measured: public."""

    @abstractmethod
    def draw(self, sampler: Sampler, epsilon: Fraction) -> Output:
        """The noisy result, with all randomness from `sampler`. Called by `Budget.run` only.

        Privacy: `epsilon` for one edge, as `proof` shows.
        """

    def distance(self, other: Self) -> int:
        """How far apart two measurements of one query are, in the norm `sensitivity` is stated in.

        For the auditor, which compares the measurements of two neighbouring snapshots: their
        distance is at most the sensitivity, or the sensitivity is wrong. By default the L1
        distance of all integers among the fields; a mechanism that holds anything else private
        defines its own.

        Raises
        ------
        MethodError
            If something differs that has to be public: a shape, a setting, a label.
        """
        apart = 0
        for field in fields(self):  # type: ignore[arg-type]
            mine, theirs = (
                np.asarray(getattr(self, field.name)),
                np.asarray(getattr(other, field.name)),
            )
            self.same_public(field.name, mine.shape == theirs.shape)
            public = field.name == "sensitivity"
            if not public and mine.dtype.kind in "iu" and theirs.dtype.kind in "iu":
                apart += int(np.abs(mine.astype(object) - theirs.astype(object)).sum())
            else:
                self.same_public(field.name, bool(np.all(mine == theirs)))
        return apart

    def same_public(self, name: str, same: bool) -> None:
        """Refuse two measurements that differ in something public; for `distance`."""
        if not same:
            raise MethodError(f"{type(self).__name__}: the public setting {name!r} differs")

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A dataclass would print its fields, which are private.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Mechanism.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}>"


def changed_cells(ones: Integers, others: Integers) -> int:
    """Count the cells that are in one of two sets only.

    >>> changed_cells(np.array([1, 4, 6]), np.array([1, 5, 6]))
    2
    """
    return int(np.setxor1d(ones, others).size)


def changed_edges(
    starts: Integers,
    neighbours: NDArray[Any],
    other_starts: Integers,
    other_neighbours: NDArray[Any],
) -> int:
    """Count the edges by which two adjacency lists of the same nodes differ."""
    nodes = starts.size - 1

    def keys(begin: Integers, ends: NDArray[Any]) -> Integers:
        owners = np.repeat(np.arange(nodes, dtype=np.int64), np.diff(begin))
        return owners * nodes + ends

    return changed_cells(keys(starts, neighbours), keys(other_starts, other_neighbours)) // 2
