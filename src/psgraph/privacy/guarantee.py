"""Exact epsilons and the guarantee they add up to."""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from psgraph.errors import BudgetError, exact_decimal
from psgraph.privacy.unit import Edge, Unit

__all__ = [
    "EpsilonLike",
    "PureEpsilon",
    "WEventPrivacy",
    "exact_epsilon",
    "exact_fraction",
    "round_down",
]

EpsilonLike = str | int | float | Fraction | Decimal

_EDGE = Edge()


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
class PureEpsilon:
    """The loss of pure differential privacy, the only one there is today.

    Losses of several releases add up, and k steps between neighbours lose k times as much.
    Another loss, such as that of approximate or zero-concentrated privacy, would be a second type
    beside this one.
    """

    epsilon: Fraction

    @property
    def text(self) -> str:
        """What the loss bounds, in words."""
        return (
            "changes the probability of any result by a factor of at most "
            f"exp({exact_decimal(self.epsilon)})"
        )

    @property
    def certainty(self) -> str:
        """How sure one can become who was 50 % sure: e^ε/(1 + e^ε), rounded, but never to 100 %.

        Only a loss that protects nothing, as above 20, is written as 100 %.

        >>> [PureEpsilon(Fraction(epsilon)).certainty for epsilon in (1, 8, 16, 50)]
        ['73.1 %', '99.97 %', '99.99999 %', '100 %']
        """
        epsilon = min(float(self.epsilon), 700.0)
        gained, doubt = 50 * math.tanh(epsilon / 2), 100 / (1 + math.exp(epsilon))
        if min(gained, doubt) < 1e-7:
            return "50 %" if gained < doubt else "100 %"
        decimals = max(1, -math.floor(math.log10(min(gained, doubt))))
        return f"{50 + gained:.{decimals}f} %"


@dataclass(frozen=True)
class WEventPrivacy:
    """Over any `window` consecutive timestamps, all releases together are ε-private for the unit.

    Parameters
    ----------
    epsilon
        The privacy budget of a window: text such as ``"1"`` or ``"1/3"``, a `Fraction`, a
        `Decimal`, an integer or a float (its shortest decimal form counts).
    window
        w, the number of consecutive timestamps the budget is for.
    unit
        What one step between neighbours changes at each of these timestamps; by default an edge.

    Examples
    --------
    >>> guarantee = WEventPrivacy(epsilon="1", window=5)
    >>> guarantee.per_timestamp
    Fraction(1, 5)
    >>> print(guarantee)
    ε-edge differential privacy with ε = 1 over any 5 consecutive timestamps
    >>> guarantee.to_dict()
    {'unit': 'one edge of one snapshot', 'epsilon': '1', 'window': 5}
    >>> WEventPrivacy.from_dict(guarantee.to_dict()) == guarantee
    True
    """

    epsilon: Fraction
    window: int
    unit: Unit

    def __init__(self, epsilon: EpsilonLike, window: int, unit: Unit = _EDGE) -> None:
        object.__setattr__(self, "epsilon", exact_epsilon(epsilon))
        try:
            whole = 0 if isinstance(window, bool) else operator.index(window)
        except TypeError:
            whole = 0
        if whole < 1:
            raise BudgetError(f"window must be an integer of at least 1, not {window!r}")
        object.__setattr__(self, "window", whole)
        if not isinstance(unit, Unit):
            raise BudgetError(f"unit must be a unit of privacy such as Edge(), not {unit!r}")
        object.__setattr__(self, "unit", unit)

    def on(self, *, directed: bool, weighted: bool, flows: bool = False) -> WEventPrivacy:
        """Return the guarantee for edges that have a direction, a weight or a number of rows."""
        unit = self.unit.on(directed=directed, weighted=weighted, flows=flows)
        return self if unit == self.unit else WEventPrivacy(self.epsilon, self.window, unit)

    @property
    def per_timestamp(self) -> Fraction:
        """ε/w, the even share of one timestamp."""
        return self.epsilon / self.window

    @property
    def loss(self) -> PureEpsilon:
        """What a window may lose."""
        return PureEpsilon(self.epsilon)

    @property
    def text(self) -> str:
        """The guarantee in one sentence. Certificates seal these words: they never change."""
        if self.window == 1:
            releases, when = "Each release satisfies", ""
        else:
            releases = (
                f"Over any {self.window} consecutive timestamps all releases together satisfy"
            )
            when = " at each of these timestamps"
        remarks = self.unit.remarks
        return (
            f"{releases} {self.unit.privacy} with ε = {exact_decimal(self.epsilon)}: "
            f"{self.unit.change(when)} {self.loss.text}."
            f"{remarks and ' '}{remarks}"
        )

    @property
    def meaning(self) -> str:
        """What ε means in numbers, to follow `text` wherever people read it. No file seals it.

        >>> print(WEventPrivacy("1", window=1).meaning)
        In numbers: someone who was 50 % sure of one edge at one timestamp before seeing the \
releases is at most 73.1 % sure afterwards, whatever else they know.
        """
        within = (
            "at one timestamp"
            if self.window == 1
            else f"within {self.window} consecutive timestamps"
        )
        return (
            f"In numbers: someone who was 50 % sure of {self.unit.noun} {within} before seeing the "
            f"releases is at most {self.loss.certainty} sure afterwards, whatever else they know."
        )

    def __str__(self) -> str:
        plural = "timestamp" if self.window == 1 else "consecutive timestamps"
        return (
            f"{self.unit.privacy} with ε = {exact_decimal(self.epsilon)} over any "
            f"{self.window} {plural}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return unit, ε and w for machines: the same keys in certificates and in every command."""
        return {
            **self.unit.to_dict(),
            "epsilon": exact_decimal(self.epsilon),
            "window": self.window,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> WEventPrivacy:
        """The inverse of `to_dict`; ignores other keys. A `ValueError` for an unknown unit."""
        return cls(content["epsilon"], content["window"], Unit.from_dict(content))
