"""Compiled building blocks: the set of keys; orders and distinct values against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph._runtime import kernels
from psgraph._runtime.kernels import add_key, distinct, has_key, key_set, remove_key, sorting_order
from tests.privacy.interpreted import interpret


@given(st.lists(st.integers(0, 1 << 62) | st.integers(0, 9), max_size=60))
def test_it_holds_what_was_added_and_nothing_else(numbers: list[int]) -> None:
    keys, known = key_set(len(numbers)), set()
    for number in numbers:
        assert has_key(keys, number) == (number in known)
        assert add_key(keys, number) == (number not in known)
        known.add(number)
    assert set(keys[keys >= 0].tolist()) == known


def test_compiled_and_interpreted_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [5, 1 << 40, 5, 21, 0, 1 << 40]
    compiled = key_set(len(numbers))
    expected = [(add_key(compiled, number), has_key(compiled, number)) for number in numbers]
    interpret(monkeypatch)
    keys = kernels.key_set(len(numbers))
    with np.errstate(over="ignore"):  # hashes wrap around
        found = [(kernels.add_key(keys, n), bool(kernels.has_key(keys, n))) for n in numbers]
    assert found == expected
    assert keys.tolist() == compiled.tolist()


@pytest.mark.parametrize("capacity", [0, 1, 8, 9, 1000])
def test_it_is_at_most_half_full(capacity: int) -> None:
    slots = key_set(capacity).size
    assert slots >= 2 * capacity
    assert slots & (slots - 1) == 0


def test_keys_that_collide_are_kept_apart() -> None:
    keys = key_set(8)
    same = [key for key in range(2000) if int(kernels._slot(key_set(8), key)) == 15][:8]
    for key in same:  # all of them begin at the last slot, and wrap around
        assert add_key(keys, key)
    assert all(has_key(keys, key) for key in same)
    assert keys[15] == same[0]
    assert np.count_nonzero(keys >= 0) == 8


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 24)), max_size=200))
@settings(max_examples=200, deadline=None)
def test_a_key_set_behaves_like_a_python_set_when_keys_are_removed(
    steps: list[tuple[bool, int]],
) -> None:
    keys, reference = key_set(8), set[int]()  # 16 slots for up to 15 keys: long runs
    for adding, key in steps:
        if adding and len(reference) < 15:
            assert add_key(keys, key) == (key not in reference)
            reference.add(key)
        elif not adding:
            assert remove_key(keys, key) == (key in reference)
            reference.discard(key)
    assert {key for key in range(25) if has_key(keys, key)} == reference


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
