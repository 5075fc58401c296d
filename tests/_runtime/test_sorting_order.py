"""Orders and distinct values of large and small arrays, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph._runtime.sorting import distinct, sorting_order


@pytest.mark.parametrize(("size", "largest"), [(0, 1), (100, 50), (5_000, 1), (5_000, 2**60)])
def test_the_order_sorts_and_keeps_equal_keys_in_place(size, largest):
    rng = np.random.default_rng(0)
    keys = rng.integers(largest, size=size)
    before = keys.copy()
    assert np.array_equal(sorting_order(keys), np.argsort(keys, kind="stable"))
    assert np.array_equal(keys, before)


@pytest.mark.parametrize("span", [3, 10**9])
def test_distinct_values_are_those_of_numpy(span):
    values = np.random.default_rng(0).integers(-span, span, size=400)
    found, index = distinct(values)
    assert np.array_equal(found, np.unique(values))
    assert np.array_equal(found[index], values)


def test_nothing_has_no_distinct_values():
    found, index = distinct(np.zeros(0, dtype=np.int64))
    assert not found.size
    assert not index.size
