"""Numbers as text: they can be read back to the digits that are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph._runtime.numbers import significant, with_deviation


@given(st.floats(1e-9, 1e9), st.floats(0, 1e9))
def test_a_mean_and_its_deviation_keep_three_digits_of_the_larger(mean: float, std: float) -> None:
    shown = [float(part.replace(",", "")) for part in with_deviation(mean, std).split(" ± ")]
    assert shown == pytest.approx([mean, std], rel=6e-3, abs=6e-3 * max(mean, std) + 1e-6)


def test_what_is_not_finite_is_undefined() -> None:
    assert with_deviation(float("inf"), 1.0) == "undefined"


@given(st.floats(1e-3, 999_499))
def test_three_significant_digits_are_kept_below_a_million(value: float) -> None:
    assert float(significant(value).replace(",", "")) == pytest.approx(value, rel=6e-3)
