"""The generator of synthesis: known answers, and streams that have nothing in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from psgraph.engines.counter_based import (
    exponential,
    keyed_uniform,
    philox,
    start_stream,
    uniform,
)

ALL = 0xFFFFFFFFFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        (0, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (ALL, ALL, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ],
)
def test_philox_gives_the_published_answers(counter, key, expected):
    words = [int(word) for word in philox(np.uint64(counter), np.uint64(counter), np.uint64(key))]
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    assert " ".join(f"{half:08x}" for half in halves) == expected


def draws(draw, block: int, piece: int = 0, *, size: int = 20_000) -> np.ndarray:
    state = np.empty(4, dtype=np.uint64)
    start_stream(state, np.uint64(5), block, piece)
    return np.array([draw(state) for _ in range(size)])


def test_uniform_and_exponential_numbers():
    assert stats.kstest(draws(uniform, 1), "uniform").pvalue > 1e-3
    assert stats.kstest(draws(exponential, 2), "expon").pvalue > 1e-3


@pytest.mark.parametrize("other", [(4, 0), (3, 1)], ids=["of another block", "of another piece"])
def test_streams_are_unrelated(other):
    one = draws(uniform, 3)
    assert abs(np.corrcoef(one, draws(uniform, *other))[0, 1]) < 4 / np.sqrt(one.size)


def test_the_numbers_of_edges_are_uniform_and_unrelated():
    one, other = (
        np.array([keyed_uniform(7, v, np.uint64(key)) for v in range(20_000)]) for key in (1, 2)
    )
    assert stats.kstest(one, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(one, other)[0, 1]) < 4 / np.sqrt(one.size)
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 4 / np.sqrt(one.size)
