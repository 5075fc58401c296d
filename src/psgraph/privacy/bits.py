"""Reading random bits in compiled code: uniform integers and Bernoulli(exp(−x)), exactly.

The compiled functions read bits from an array of random words. Their position in it is a *cursor*
``(next word, rest of the current word, number of bits in that rest)`` that goes in and comes out,
so that the compiler keeps it in registers. A draw that runs out of words leaves a cursor beyond
their end (`ran_out`); its caller starts it again on the same bits, with more words behind them
(see `psgraph.privacy.randomness`).

Mechanisms with a sampler of their own build on these; see `psgraph.privacy.samplers.Sampler.run`.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Words
from psgraph._runtime.jit import kernel

__all__ = [
    "Cursor",
    "bernoulli_exp",
    "bernoulli_exp_one",
    "bit_width",
    "one_in",
    "ran_out",
    "random_bits",
    "uniform_below",
]

Cursor = tuple[int, np.uint64, int]

_TWELVE_FACTORIAL = 479_001_600


@kernel
def ran_out(words: Words, cursor: Cursor) -> bool:
    """Whether the last draw needed more words than there are; its result means nothing then."""
    return cursor[0] > words.size


@kernel
def random_bits(count: int, words: Words, cursor: Cursor) -> tuple[int, Cursor]:
    """`count` ≤ 62 fresh random bits as an integer."""
    index, held, left = cursor
    if left < count:
        # The rest of a word is dropped rather than joined to the next: that is cheaper, and
        # does not depend on the value of the bits.
        if index >= words.size:
            return 0, (words.size + 1, held, left)
        held, left = words[index], 64
        index += 1
    value = np.int64(held & ((np.uint64(1) << np.uint64(count)) - np.uint64(1)))
    return value, (index, held >> np.uint64(count), left - count)  # type: ignore[return-value]


@kernel
def bit_width(bound: int) -> int:
    """The number of bits that hold 0, …, bound − 1."""
    width = 0
    while (1 << width) < bound:
        width += 1
    return width


@kernel
def uniform_below(bound: int, width: int, words: Words, cursor: Cursor) -> tuple[int, Cursor]:
    """A uniform integer in [0, bound), by rejection from 2^width."""
    while True:
        value, cursor = random_bits(width, words, cursor)
        if value < bound or ran_out(words, cursor):
            return value, cursor


@kernel
def one_in(run: int, words: Words, cursor: Cursor) -> tuple[bool, Cursor]:
    """True with probability 1/run."""
    if run == 2:
        value, cursor = random_bits(1, words, cursor)
    else:
        value, cursor = uniform_below(run, bit_width(run), words, cursor)
    return value == 0, cursor


@kernel
def bernoulli_exp_one(words: Words, cursor: Cursor) -> tuple[bool, Cursor]:
    """True with probability exp(−1): a run of coins 1, 1/2, 1/3, … breaks at an odd coin.

    The run outlasts coin k with probability 1/k!, so one uniform integer below 12! settles the
    first twelve coins; in the one case of 12! where they all hold, the next are tossed singly.
    """
    value, cursor = uniform_below(_TWELVE_FACTORIAL, 29, words, cursor)
    bound, run = _TWELVE_FACTORIAL // 2, 2
    while value < bound and run < 12:
        run += 1
        bound //= run
    if value >= bound or ran_out(words, cursor):
        return run % 2 == 1, cursor
    while True:
        run += 1
        holds, cursor = one_in(run, words, cursor)
        if not holds or ran_out(words, cursor):
            return run % 2 == 1, cursor


@kernel
def bernoulli_exp(
    numerator: int, denominator: int, width: int, words: Words, cursor: Cursor
) -> tuple[bool, Cursor]:
    """True with probability exp(−numerator/denominator), for any non-negative rational.

    `width` is the number of bits that hold 0, …, denominator − 1.
    """
    while numerator > denominator:
        whole, cursor = bernoulli_exp_one(words, cursor)
        if not whole:
            return False, cursor
        numerator -= denominator
    run = 1
    while True:
        value, cursor = uniform_below(denominator, width, words, cursor)
        holds = value < numerator
        if holds and run > 1:
            holds, cursor = one_in(run, words, cursor)
        if not holds or ran_out(words, cursor):
            return run % 2 == 1, cursor
        run += 1
