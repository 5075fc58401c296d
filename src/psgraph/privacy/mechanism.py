"""What a mechanism is: the only way out for a private value.

A mechanism holds private values and draws a noisy result from them. It states the unit it
protects, its sensitivity and the note that proves it; `Budget.run` charges for it, leaves a trace
and lets it draw. psgraph's own are in `psgraph.privacy.mechanisms` and beside the methods that use
them; a plug-in brings its own by subclassing `Mechanism`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeVar

from psgraph.errors import MethodError
from psgraph.privacy.guarantee import ONE_EDGE
from psgraph.privacy.samplers import Sampler

__all__ = ["Mechanism", "Sensitivity", "per_edge"]

Output = TypeVar("Output", covariant=True)


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


class Mechanism(ABC, Generic[Output]):
    """A randomised function of private values that is ε-private for its unit.

    A subclass is a frozen dataclass: its fields are the private values and public settings, and
    it checks them in ``__post_init__``. The exponential mechanism over a million candidates and
    noise on one integer look the same from outside.

    Attributes
    ----------
    name
        What the trace and the certificate call it, such as ``"discrete Laplace"``.
    sensitivity
        How much one unit moves what is measured; a class attribute or a field.
    proof
        The note that proves ε-privacy, or says what is missing.
    proven
        False where ε-privacy is not proven. A method that runs such a mechanism has to state a
        `psgraph.methods.base.Caveat`, or nothing is published.

    Examples
    --------
    A mechanism of a plug-in, randomised response on one bit:

    >>> from psgraph.privacy.budget import Budget
    >>> from psgraph.privacy.randomness import RandomSource
    >>> @dataclass(frozen=True)
    ... class NoisyBit(Mechanism[bool]):
    ...     bit: bool
    ...     name = "randomised response"
    ...     proof = "noisy-bit.md"
    ...     sensitivity = per_edge(1)
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
    sensitivity: Sensitivity

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of what is measured: public."""

    @abstractmethod
    def draw(self, sampler: Sampler, epsilon: Fraction) -> Output:
        """The noisy result, with all randomness from `sampler`. Called by `Budget.run` only.

        Privacy: `epsilon` for the unit of `sensitivity`, as `proof` shows.
        """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # A dataclass would print its fields, which are private.
        if "__repr__" not in vars(cls):
            cls.__repr__ = Mechanism.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}>"
