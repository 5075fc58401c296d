"""Random numbers for synthesis, keyed by block or edge: a repeated task draws the same edges.

A block's stream starts at Philox(key, block), a function of the sealed seed and the block alone,
and continues with xoshiro256++. So blocks can be drawn in any order, by any thread or worker, and
again after a failure. Not for noise on private values.

References: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011); Blackman and Vigna,
"Scrambled Linear Pseudorandom Number Generators" (2021).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph._runtime.arrays import Words
from psgraph._runtime.jit import kernel

__all__ = ["derived_key", "exponential", "keyed_uniform", "philox", "start_stream", "uniform"]

Whole = int | np.integer[Any]

_MASK = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLY_0, _MULTIPLY_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEP_0, _STEP_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_TO_UNIT = 2.0**-53


def derived_key(seed: int, *purpose: int) -> int:
    """Return a key of 64 bits for one use of a seed.

    >>> derived_key(1, 0) == derived_key(1, 0), derived_key(1, 0) == derived_key(1, 1)
    (True, False)
    """
    sequence = np.random.SeedSequence(seed, spawn_key=purpose)
    return int(sequence.generate_state(1, np.uint64)[0])


@kernel
def philox(counter_low: Whole, counter_high: Whole, key: Whole) -> tuple[np.uint64, np.uint64]:
    """Philox4x32-10: 128 random bits from a counter of 128 bits and a key of 64 bits."""
    c0, c1 = np.uint64(counter_low) & _MASK, np.uint64(counter_low) >> _HALF
    c2, c3 = np.uint64(counter_high) & _MASK, np.uint64(counter_high) >> _HALF
    k0, k1 = np.uint64(key) & _MASK, np.uint64(key) >> _HALF
    for _ in range(10):
        first, second = _MULTIPLY_0 * c0, _MULTIPLY_1 * c2
        c0, c2 = (second >> _HALF) ^ c1 ^ k0, (first >> _HALF) ^ c3 ^ k1
        c1, c3 = second & _MASK, first & _MASK
        k0, k1 = (k0 + _STEP_0) & _MASK, (k1 + _STEP_1) & _MASK
    return c0 | (c1 << _HALF), c2 | (c3 << _HALF)


@kernel
def start_stream(state: Words, key: Whole, block: Whole, piece: Whole) -> None:
    """Set the state to the beginning of the stream of a piece of a block."""
    for half in range(2):
        first, second = philox(block, 2 * piece + half, key)
        state[2 * half], state[2 * half + 1] = first, second
    state[0] |= np.uint64(1)  # the state must not be all zeros


@kernel
def keyed_uniform(u: Whole, v: Whole, key: Whole) -> float:
    """A uniform number in (0, 1] that belongs to an edge."""
    word, _ = philox(u, v, key)
    return (np.float64(word >> np.uint64(11)) + 1.0) * _TO_UNIT


@kernel
def _word(state: Words) -> np.uint64:
    """The next word of xoshiro256++."""
    total = state[0] + state[3]
    result = ((total << np.uint64(23)) | (total >> np.uint64(41))) + state[0]
    shifted = state[1] << np.uint64(17)
    state[2] ^= state[0]
    state[3] ^= state[1]
    state[1] ^= state[2]
    state[0] ^= state[3]
    state[2] ^= shifted
    state[3] = (state[3] << np.uint64(45)) | (state[3] >> np.uint64(19))
    return result


@kernel
def uniform(state: Words) -> float:
    """A uniform number in [0, 1)."""
    return np.float64(_word(state) >> np.uint64(11)) * _TO_UNIT


@kernel
def exponential(state: Words) -> float:
    """An exponential variable of mean 1."""
    return -np.log(1.0 - uniform(state))
