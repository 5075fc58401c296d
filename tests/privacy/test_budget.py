"""Epsilons are read exactly, and everything that is none is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import BudgetError, InvalidArgument, exact_decimal
from psgraph.privacy.guarantee import WEventPrivacy, exact_epsilon, exact_fraction, round_down

NOT_AN_EPSILON = [
    0,
    -1,
    "0",
    "-0.5",
    "-1/3",
    "0/5",
    0.0,
    -0.1,
    float("nan"),
    float("inf"),
    float("-inf"),
    "nan",
    "inf",
    "-Infinity",
    Decimal("NaN"),
    Decimal("sNaN"),
    "",
    " ",
    "one",
    "1,5",
    "1/0",
    "1/2/3",
    "1/x",
    "0x10",
    "1e",
    None,
    True,
    False,
    [1],
    1j,
    b"1",
    np.float32(0.5),
    "1e400",
    "1e-400",
    Fraction(0),
    Fraction(-1, 3),
]


@pytest.mark.parametrize("value", NOT_AN_EPSILON, ids=repr)
def test_wrong_epsilons_are_refused(value):
    with pytest.raises(BudgetError, match=r"^epsilon\b") as caught:
        exact_epsilon(value)
    assert isinstance(caught.value, InvalidArgument)
    assert caught.value.exit_code == 2
    with pytest.raises(BudgetError):
        WEventPrivacy(value, window=5)


@pytest.mark.parametrize("value", ["nan", float("inf"), "1e400", "one", -2])
def test_the_message_names_the_parameter(value):
    with pytest.raises(BudgetError, match=r"^threshold\b"):
        exact_epsilon(value, name="threshold")


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        ("1", Fraction(1)),
        (" 0.1 ", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("1e-3", Fraction(1, 1000)),
        (0.1, Fraction(1, 10)),
        (1e-7, Fraction(1, 10**7)),
        (3, Fraction(3)),
        (Fraction(2, 7), Fraction(2, 7)),
        (Decimal("0.25"), Fraction(1, 4)),
        (np.float64(0.3), Fraction(3, 10)),
        (np.int64(4), Fraction(4)),
    ],
)
def test_epsilons_are_read_exactly(value, exact):
    assert exact_epsilon(value) == exact


def test_a_numpy_integer_does_not_overflow_later():
    epsilon = exact_epsilon(np.int64(3))
    assert type(epsilon.numerator) is int
    assert epsilon * 10**30 == 3 * 10**30


@given(st.decimals(min_value="1e-20", max_value="1e20", allow_nan=False))
def test_text_and_decimals_agree(value):
    if value > 0:
        assert exact_epsilon(str(value)) == exact_epsilon(value) == Fraction(value)


@given(st.floats(min_value=1e-200, max_value=1e200))
def test_a_float_stands_for_what_it_prints(value):
    assert exact_epsilon(value) == Fraction(repr(value))


@given(st.fractions())
def test_exact_numbers_are_written_and_read_back(value):
    assert exact_fraction(exact_decimal(value)) == value


@pytest.mark.parametrize("text", ["1e9", "", "one", " 1", "1/0", "1.", "+1", "１", None, 1, "nan"])
def test_other_texts_are_no_exact_numbers(text):
    with pytest.raises((ValueError, ZeroDivisionError)):
        exact_fraction(text)


@pytest.mark.parametrize("window", [0, -1, 1.0, 2.5, "5", None, True, [5], float("nan")])
def test_wrong_windows_are_refused(window):
    with pytest.raises(BudgetError, match="window"):
        WEventPrivacy("1", window)


@pytest.mark.parametrize("window", [1, 5, np.int32(7)])
def test_the_even_share(window):
    guarantee = WEventPrivacy("1", window)
    assert guarantee.per_timestamp * int(window) == 1
    assert type(guarantee.window) is int


def test_guarantees_are_values():
    assert WEventPrivacy("0.5", 3) == WEventPrivacy(Fraction(1, 2), np.int64(3))
    with pytest.raises(AttributeError):
        WEventPrivacy("1", 5).epsilon = Fraction(9)  # type: ignore[misc]


def test_the_promise_in_words():
    several, one = WEventPrivacy("1/3", 5), WEventPrivacy("2", 1)
    assert "any 5 consecutive timestamps" in several.text
    assert "with ε = 1/3:" in several.text
    assert several.text.startswith("Over ")
    assert one.text.startswith("Each release satisfies ε-edge differential privacy with ε = 2")
    assert str(one) == "ε-edge differential privacy with ε = 2 over any 1 timestamp"
    assert str(several).endswith("over any 5 consecutive timestamps")


@given(
    st.fractions(min_value=0, max_value=100, max_denominator=10**12),
    st.integers(1, 10**6),
    st.integers(1, 50),
)
def test_round_down(value, denominator, largest):
    numerator, used = round_down(value, denominator=denominator, largest=largest)
    rounded = Fraction(numerator, used)
    assert rounded <= min(value, largest)
    assert used <= denominator
    if value < largest:
        assert value - rounded < Fraction(1, denominator)
    if value.denominator <= denominator and value <= largest:
        assert rounded == value
