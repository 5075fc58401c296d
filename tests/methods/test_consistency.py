"""NormSub against a brute-force search for the shift that keeps the sum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from psgraph.methods.steps.consistency import norm_sub, norm_sub_threshold, norm_sub_within

vectors = st.one_of(
    st.lists(st.integers(-50, 50), min_size=1, max_size=40),
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=12),
    st.lists(st.sampled_from([-3, -2, 0, 1, 7]), min_size=1, max_size=60),
)


def shift_by_bisection(values: list[int]) -> float:
    """δ with Σ max(x − δ, 0) = Σ x: the left side falls as δ grows."""
    total = sum(values)
    low, high = Fraction(0), Fraction(max(values))
    for _ in range(120):
        middle = (low + high) / 2
        if sum(max(x - middle, 0) for x in values) > total:
            low = middle
        else:
            high = middle
    return float(high)


@given(vectors)
@example([5])
@example([0])
@example([3, -3])
@example([3, -2])
@example([1, 1, 1, -3])
@example([10**9, -(10**9) + 1])
def test_against_bisection(values):
    noisy = np.array(values, dtype=np.int64)
    consistent = norm_sub(noisy)
    assert (consistent >= 0).all()
    if sum(values) <= 0:
        assert not consistent.any()
        return
    assert consistent.sum() == pytest.approx(sum(values), rel=1e-9)
    delta = shift_by_bisection(values)
    scale = max(1.0, float(np.abs(noisy).max()))
    assert consistent == pytest.approx(np.maximum(noisy - delta, 0), abs=1e-9 * scale)


@given(vectors)
def test_the_threshold_sees_only_how_often_values_occur(values):
    noisy = np.array(values, dtype=np.int64)
    delta = norm_sub_threshold(*np.unique(noisy, return_counts=True))
    assert np.array_equal(np.maximum(noisy - delta, 0.0), norm_sub(noisy))
    if sum(values) > 0:
        assert 0 <= delta < max(values)
    else:
        assert delta == math.inf


@given(vectors, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_is_kept(values, shuffler):
    order = list(range(len(values)))
    shuffler.shuffle(order)
    noisy = np.array(values, dtype=np.int64)
    assert np.array_equal(norm_sub(noisy[order]), norm_sub(noisy)[order])
    rising = np.argsort(noisy, kind="stable")
    assert (np.diff(norm_sub(noisy)[rising]) >= 0).all()


@given(st.lists(st.integers(0, 20), min_size=1, max_size=30))
def test_consistent_values_are_left_alone(values):
    noisy = np.array(values, dtype=np.int64)
    assert np.array_equal(norm_sub(noisy), noisy)


def test_nothing():
    empty = np.zeros(0, dtype=np.int64)
    assert norm_sub(empty).size == 0
    assert norm_sub_threshold(empty, empty) == math.inf
    assert norm_sub_within(empty, empty.astype(np.int32)).size == 0


@given(st.lists(st.tuples(st.integers(-30, 30), st.integers(0, 4)), min_size=1, max_size=40))
def test_within_communities(pairs):
    noisy = np.array([value for value, _ in pairs], dtype=np.int64)
    labels = np.array([label for _, label in pairs], dtype=np.int32)
    found = norm_sub_within(noisy, labels)
    for label in range(5):
        mine = labels == label
        assert found[mine] == pytest.approx(norm_sub(noisy[mine]))
