from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph._runtime.hash_set import add_key, has_key, key_set, remove_key


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
