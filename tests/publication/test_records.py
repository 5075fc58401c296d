"""Stored records come back the same, and damaged ones are refused without a traceback."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import pickle
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from psgraph.engines.threads import LocalEngine
from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.budget import Budget
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.records import decode, encode
from tests.refusals import refused


@dataclass(frozen=True)
class Thing:
    value: Any
    other: Any = None


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and (one.tobytes() == other.tobytes())
        )
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, field.name), getattr(other, field.name))
            for field in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return type(other) is float and one.hex() == other.hex()
    return type(one) is type(other) and one == other


def round_trip(record: Any, *classes: type) -> Any:
    data, rosters = encode(record)
    return decode(data, classes=classes, rosters=rosters.get)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False)
    | st.fractions()
    | arrays.arrays(
        st.sampled_from(["i1", "u1", "i2", "i4", "u4", "i8", "u8", "f4", "f8", "bool"]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    )
    | st.sets(st.integers(-5, 50)).map(lambda ids: Roster(sorted(ids)))
    | st.sets(st.text(max_size=3).filter(lambda t: "\0" not in t and t.isprintable())).map(
        lambda ids: Roster(sorted(ids))
    ),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.builds(Thing, inner, inner),
    max_leaves=8,
)


@given(st.builds(Thing, values, values))
@settings(max_examples=200)
def test_round_trip(record):
    assert same(round_trip(record, Thing), record)


@pytest.mark.parametrize("order", ["<", ">"])
def test_byte_order_is_normalised(order):
    array = np.arange(5, dtype=f"{order}i4")
    back = round_trip(Thing(array), Thing).value
    assert back.dtype == np.dtype("<i4")
    assert back.tolist() == [0, 1, 2, 3, 4]


def test_arrays_that_are_not_contiguous():
    array = np.arange(12).reshape(3, 4)[:, ::2]
    assert np.array_equal(round_trip(Thing(array), Thing).value, array)


@pytest.mark.parametrize(
    "value",
    [[1], {"a": 1}, b"x", 1j, {1}, Thing, np.array(["a"]), np.array([1j]), np.array([None])],
    ids=repr,
)
def test_what_has_no_stored_form_is_refused(value):
    with refused(DataError, "unstorable"):
        encode(Thing(value))


def test_a_state_goes_on_after_being_stored():
    """A decoded state is as good as the original: the next timestamp comes out the same."""
    ends = np.random.default_rng(1).integers(0, 300, size=(2, 900))
    snapshot = Snapshot(Roster.range(300), *ends)
    method, engine = PSGraph(), LocalEngine()

    def measure(state: Any) -> Any:
        budget = Budget(Fraction(1), Sampler(RandomSource.seeded(7)))
        return method.measure(PrivateSnapshot(snapshot, budget, engine), state)

    first = measure(None)
    state = method.update(None, round_trip(first, *method.records))
    assert same(state, method.update(None, first))
    stored = round_trip(state, *method.records)
    assert same(stored, state)
    assert same(measure(stored), measure(state))
    graphs = [
        method.synthesise(each, None, np.random.default_rng(3), engine) for each in (stored, state)
    ]
    assert graphs[0] == graphs[1]


# ---- damage ----


def written(content: Any, arrays_: bytes = b"") -> bytes:
    text = json.dumps(content).encode()
    return b"PSR1" + len(text).to_bytes(8, "little") + text + arrays_


def refuses(data: bytes) -> None:
    with refused(DataError, "damaged"):
        decode(data, classes=[Thing], rosters={}.get)


@pytest.mark.parametrize(
    "content",
    [
        [1],
        1.5,
        {},
        {"a": 1, "b": 2},
        {"unknown": 1},
        {"tuple": 3},
        {"tuple": [[1]]},
        {"fraction": "1/0"},
        {"fraction": "1e999999999"},
        {"fraction": 1},
        {"float": "zero"},
        {"float": 1},
        {"roster": "nobody"},
        {"roster": []},
        {"record": "Popen", "fields": {}},
        {"record": "Thing", "fields": [1]},
        {"record": "Thing", "fields": {"value": 1, "more": 2, "other": 3}},
        {"record": "Thing", "fields": {}},
        {"record": ["Thing"], "fields": {"value": 1}},
        {"record": "Thing"},
        {"array": 1},
        {"array": {"type": "|O", "as": "|O", "shape": [1]}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [-1]}},
        {"array": {"type": "<i8", "as": "<i8", "shape": ["1"]}},
        {"array": {"type": "<i8", "as": "<i8", "shape": 1}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [10**30]}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [0, 10**30]}},
        {"array": {"type": ["<i8"], "as": "<i8", "shape": [1]}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [2]}},
        {"array": {"shape": [1]}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [1], "zstd": 8}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [1], "zstd": "8"}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [1], "zstd": -1}},
        {"array": {"type": "<i8", "as": "<i8", "shape": [10**9], "zstd": 8}},
    ],
    ids=str,
)
def test_wrong_content_is_refused(content):
    refuses(written(content, bytes(8)))


@pytest.mark.parametrize("numbers", [np.zeros(1 << 20), np.arange(1 << 18)], ids=["same", "rising"])
def test_large_arrays_are_compressed(numbers):
    """Also the array that zstd makes smallest, all of one value, is within the limit."""
    data, _ = encode(Thing(numbers))
    assert len(data) < numbers.nbytes / 2
    assert same(round_trip(Thing(numbers), Thing), Thing(numbers))
    refuses(data[:-1])
    refuses(data.replace(b'"shape":[', b'"shape":[1', 1))


def test_wrong_frames_are_refused():
    good, _ = encode(Thing(np.arange(300)))
    refuses(b"")
    refuses(b"PSR2" + good[4:])
    refuses(good + b"x")
    refuses(good[:-1])
    refuses(good[:4] + (1 << 62).to_bytes(8, "little") + good[12:])
    refuses(pickle.dumps(Thing(1)))


@given(st.data())
@settings(max_examples=300)
def test_damage_is_refused_or_harmless(data):
    """A flipped byte is noticed or gives another record; never anything but a DataError."""
    record = Thing((Fraction(1, 3), 2.5, np.arange(4), "text"), Thing(None))
    good, _ = encode(record)
    at = data.draw(st.integers(0, len(good) - 1))
    bad = bytearray(good)
    bad[at] = data.draw(st.integers(0, 255))
    with contextlib.suppress(DataError):
        decode(bytes(bad), classes=[Thing], rosters={}.get)


@given(st.binary(max_size=60))
def test_anything_at_all(content):
    for data in (content, b"PSR1" + content, written(None)[:12] + content):
        with contextlib.suppress(DataError):
            decode(data, classes=[Thing], rosters={}.get)


def test_deep_nesting_is_refused():
    refuses(b"PSR1" + (10**5 * 2).to_bytes(8, "little") + b"[" * 10**5 + b"]" * 10**5)
