"""The set of keys that compiled code uses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph._runtime import hash_set
from psgraph._runtime.hash_set import add_key, has_key, key_set
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
    keys = hash_set.key_set(len(numbers))
    with np.errstate(over="ignore"):  # hashes wrap around
        found = [(hash_set.add_key(keys, n), bool(hash_set.has_key(keys, n))) for n in numbers]
    assert found == expected
    assert keys.tolist() == compiled.tolist()


@pytest.mark.parametrize("capacity", [0, 1, 8, 9, 1000])
def test_it_is_at_most_half_full(capacity: int) -> None:
    slots = key_set(capacity).size
    assert slots >= 2 * capacity
    assert slots & (slots - 1) == 0


def test_keys_that_collide_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = key_set(8)
    first, *_ = same = [key for key in range(2000) if int(hash_set._slot(key_set(8), key)) == 15][
        :8
    ]
    for key in same:  # all of them begin at the last slot, and wrap around
        assert add_key(keys, key)
    assert all(has_key(keys, key) for key in same)
    assert keys[15] == first
    assert np.count_nonzero(keys >= 0) == 8
