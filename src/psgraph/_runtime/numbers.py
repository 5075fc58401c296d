"""Numbers as text: the one place that rounds, groups digits and adds nouns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, isfinite, log10

from psgraph.errors import exact_decimal

__all__ = [
    "NO_VALUE",
    "abbreviated",
    "brief",
    "budget_words",
    "count",
    "exact_decimal",
    "joined",
    "percent",
    "power_of_ten",
    "significant",
    "tick",
    "with_deviation",
]

NO_VALUE = "–"
"""Stands where there is no number."""

_LONGEST_DECIMAL, _LONGEST_FRACTION = 8, 3  # characters
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun, in the singular or the plural.

    >>> count(1, "timestamp"), count(1234, "timestamp"), count(2, "community", "communities")
    ('1 timestamp', '1,234 timestamps', '2 communities')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def joined(parts: Sequence[str]) -> str:
    """Words as in a sentence.

    >>> joined(["a"]), joined(["a", "b"]), joined(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else "".join(parts)


def budget_words(value: Fraction) -> str:
    """An exact budget, after three digits of it where it is long.

    >>> budget_words(Fraction(569, 3000)), budget_words(Fraction(1, 5)), budget_words(Fraction(2))
    ('0.190 (569/3000)', '0.2', '2')
    """
    text = exact_decimal(value)
    if "/" not in text and len(text) <= _LONGEST_DECIMAL:
        return text
    return f"{float(value):#.3g}".rstrip(".") + f" ({text})"


def brief(value: Fraction) -> str:
    """An exact number if that is short, otherwise three digits of it.

    >>> brief(Fraction(19, 200)), brief(Fraction(1, 3)), brief(Fraction(473, 375))
    ('0.095', '1/3', '1.26')
    """
    text = exact_decimal(value)
    longest = _LONGEST_FRACTION if "/" in text else _LONGEST_DECIMAL
    return text if len(text) <= longest else f"{float(value):.3g}"


def percent(share: float, _: float | None = None) -> str:
    """A share in per cent; also a tick formatter for matplotlib, which passes a position.

    >>> percent(0.25), percent(0.001)
    ('25 %', '0.1 %')
    """
    return f"{100 * share:,g} %"


def significant(value: float) -> str:
    """Three significant digits with commas; a power of ten from a million on.

    >>> significant(0.01234), significant(12.34), significant(1234.5), significant(2.5e6)
    ('0.0123', '12.3', '1,234', '2.5 × 10⁶')
    """
    if abs(value) >= 1e6:
        return power_of_ten(value)
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def power_of_ten(value: float) -> str:
    """Two significant digits and a power of ten.

    >>> power_of_ten(1e6), power_of_ten(2e-5), power_of_ten(-31_415)
    ('10⁶', '2 × 10⁻⁵', '-3.1 × 10⁴')
    """
    mantissa, _, exponent = f"{value:.1e}".partition("e")
    power = "10" + str(int(exponent)).translate(_SUPERSCRIPT)
    return power if mantissa == "1.0" else f"{mantissa.removesuffix('.0')} × {power}"


def tick(value: float) -> str:
    """A number at the tick of an axis.

    >>> tick(2.5), tick(10_000), tick(1e6), tick(2e-5)
    ('2.5', '10,000', '10⁶', '2 × 10⁻⁵')
    """
    return f"{value:,.6g}" if value == 0 or 9.9e-5 < abs(value) < 9.9e4 else power_of_ten(value)


def abbreviated(number: float) -> str:
    """A large number in few characters.

    >>> abbreviated(250_000), abbreviated(1.5e6), abbreviated(0.5)
    ('250 k', '1.5 M', '0.5')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g} {letter}"
    return f"{number:g}"


def with_deviation(mean: float, deviation: float | None = None) -> str:
    """A mean, with its deviation if there is one, to three digits of the larger of the two.

    >>> with_deviation(12.345, 1.23), with_deviation(1234.5), with_deviation(3e7, 1e6)
    ('12.3 ± 1.2', '1,234', '3.00e+07 ± 1.00e+06')
    """
    parts = [mean] if deviation is None else [mean, deviation]
    if not all(isfinite(part) for part in parts):
        return "undefined"
    largest = max(abs(part) for part in parts)
    if largest >= 1e6:
        return " ± ".join(f"{part:.2e}" for part in parts)
    digits = 2 - floor(log10(largest)) if largest > 0 else 0
    return " ± ".join(f"{part:,.{min(max(digits, 0), 6)}f}" for part in parts)
