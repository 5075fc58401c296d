"""Exact epsilons and the guarantee they add up to."""

from __future__ import annotations

import math
import numbers
import operator
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from psgraph.errors import BudgetError, exact_decimal

__all__ = [
    "ONE_EDGE",
    "EpsilonLike",
    "WEventPrivacy",
    "exact_epsilon",
    "exact_fraction",
    "round_down",
]

EpsilonLike = str | int | float | Fraction | Decimal

ONE_EDGE = "one edge of one snapshot"
"""The unit of privacy inside a timestamp: neighbouring snapshots differ in one edge."""


def exact_epsilon(value: EpsilonLike, *, name: str = "epsilon") -> Fraction:
    """Read an epsilon exactly.

    Text is read as a decimal or a fraction. A float stands for its shortest decimal form, so
    that ``0.1`` means one tenth and not the binary number next to it.

    >>> exact_epsilon("0.1"), exact_epsilon(0.1), exact_epsilon("1/3")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 3))
    """
    shown = repr(value) if isinstance(value, str) else str(value)
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, numbers.Rational):
            # A NumPy integer would stay inside the fraction and overflow in its arithmetic.
            exact = Fraction(int(value.numerator), int(value.denominator))
        elif isinstance(value, str) and "/" in value:
            exact = Fraction(value.strip())
        elif isinstance(value, (str, float, Decimal)):
            decimal = Decimal(value.strip() if isinstance(value, str) else str(value))
            if not decimal.is_finite():
                raise BudgetError(f"{name} must be finite, not {shown}")
            if decimal and abs(decimal.adjusted()) > 300:
                raise BudgetError(f"{name} must lie between 1e-300 and 1e300, not {shown}")
            exact = Fraction(decimal)
        else:
            raise ValueError
    except BudgetError:
        raise
    except (ValueError, InvalidOperation, ZeroDivisionError):
        raise BudgetError(
            f"{name} must be a positive number such as 1, 0.5 or 1/3, not {shown}"
        ) from None
    if exact <= 0:
        raise BudgetError(f"{name} must be greater than 0, not {shown}")
    return exact


_EXACT = re.compile(r"-?\d{1,4000}([./]\d{1,4000})?", re.ASCII)


def exact_fraction(text: object) -> Fraction:
    """Read back what `exact_decimal` wrote; a `ValueError` for anything else.

    `Fraction` itself also takes exponents, and would work on ``1e999999999`` for hours.

    >>> exact_fraction("0.2"), exact_fraction("-1/3"), exact_fraction("7")
    (Fraction(1, 5), Fraction(-1, 3), Fraction(7, 1))
    >>> exact_fraction("1e9")
    Traceback (most recent call last):
    ValueError: not an exact number
    """
    if not isinstance(text, str) or not _EXACT.fullmatch(text):
        raise ValueError("not an exact number")
    return Fraction(text)


def round_down(value: Fraction, *, denominator: int, largest: int) -> tuple[int, int]:
    """The largest multiple of ``1/denominator`` not above `value` or `largest`, as ``(a, b)``.

    Samplers work with machine integers. Rounding **down** means a little more noise than was
    paid for, never less. A value that is already a small fraction is kept as it is.

    >>> round_down(Fraction(19, 400), denominator=2**40, largest=2**20)
    (19, 400)
    """
    if value >= largest:
        return largest, 1
    if value.denominator <= denominator:
        return value.numerator, value.denominator
    rounded = Fraction(math.floor(value * denominator), denominator)
    return rounded.numerator, rounded.denominator


@dataclass(frozen=True)
class WEventPrivacy:
    """Over any `window` consecutive timestamps, all releases together are ε-edge private.

    Parameters
    ----------
    epsilon
        The privacy budget of a window: text such as ``"1"`` or ``"1/3"``, a `Fraction`, a
        `Decimal`, an integer or a float (read by its shortest decimal form).
    window
        w, the number of consecutive timestamps the budget is for.

    Examples
    --------
    >>> guarantee = WEventPrivacy(epsilon="1", window=5)
    >>> guarantee.per_timestamp
    Fraction(1, 5)
    >>> print(guarantee)
    ε-edge differential privacy with ε = 1 over any 5 consecutive timestamps
    """

    epsilon: Fraction
    window: int

    def __init__(self, epsilon: EpsilonLike, window: int) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        try:
            whole = 0 if isinstance(window, bool) else operator.index(window)
        except TypeError:
            whole = 0
        if whole < 1:
            raise BudgetError(f"window must be an integer of at least 1, not {window!r}")
        object.__setattr__(self, "window", whole)

    @property
    def per_timestamp(self) -> Fraction:
        """ε/w, the even share of one timestamp."""
        return self.epsilon / self.window

    @property
    def promise(self) -> str:
        """The guarantee in one sentence."""
        epsilon = exact_decimal(self.epsilon)
        if self.window == 1:
            releases, changed = "Each release satisfies", "one edge more or less"
        else:
            releases = (
                f"Over any {self.window} consecutive timestamps all releases together satisfy"
            )
            changed = "one edge more or less at each of these timestamps"
        return (
            f"{releases} ε-edge differential privacy with ε = {epsilon}: {changed} "
            f"changes the probability of any result by a factor of at most exp({epsilon})."
        )

    def __str__(self) -> str:
        plural = "timestamp" if self.window == 1 else "consecutive timestamps"
        return (
            f"ε-edge differential privacy with ε = {exact_decimal(self.epsilon)} over any "
            f"{self.window} {plural}"
        )
