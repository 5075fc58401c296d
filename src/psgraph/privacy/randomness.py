"""Random words, and exact draws from their bits in compiled code.

Words come from an AES-256-CTR keystream, keyed by the operating system or by a seed.

The samplers read words without taking them (`peek`) and then report how many they used
(`consume`). A sampler that runs out of words in the middle of a draw requests more and starts
that draw again *on the same words*, so running out can't favour draws that need few.

A forked process holds a copy of the key. Two signs show that a process is not the one that keyed
a source: its process id, and how many forks Python has counted. Either one alone can fail: C code
may fork without Python noticing, and a child may get the id of a dead ancestor.
"""

from __future__ import annotations

import hashlib
import os
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from psgraph._runtime.arrays import Words
from psgraph._runtime.jit import kernel
from psgraph.errors import InvalidArgument, MethodError

__all__ = [
    "Cursor",
    "RandomSource",
    "bernoulli_exp",
    "bernoulli_exp_one",
    "bit_width",
    "one_in",
    "ran_out",
    "random_bits",
    "uniform_below",
]

_forks = 0  # how many forks by Python lie between this process and the first one
_BLOCK = 1 << 15  # words generated at a time: 256 KiB, which stays in the cache


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def _process() -> tuple[int, int]:
    """What tells this process from those it was forked from."""
    return os.getpid(), _forks


class RandomSource:
    """A stream of uniform 64-bit words.

    Use `RandomSource.secure()` for releases and `RandomSource.seeded(seed)` for research. Anyone
    who knows the seed can reproduce the words of a seeded source, so it is not private.

    Examples
    --------
    >>> source = RandomSource.seeded(7)
    >>> source.private
    False
    >>> first = source.peek(2)[0]
    >>> source.consume(1)
    >>> first == RandomSource.seeded(7).peek(1)[0]
    np.True_
    """

    def __init__(self, key: bytes, *, private: bool) -> None:
        self.private = private
        self._start(key)

    def _start(self, key: bytes) -> None:
        self._keyed_by = _process()
        # A key is used for one stream only, so the counter may start at zero.
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._words = np.empty(0, dtype=np.uint64)
        self._next = 0

    @classmethod
    def secure(cls) -> RandomSource:
        """Return a source keyed with 256 bits from the operating system."""
        return cls(os.urandom(32), private=True)

    @classmethod
    def seeded(cls, seed: int, *, timestamp: int = 0) -> RandomSource:
        """Return a repeatable source for research. Its releases are marked as not private.

        Every timestamp has its own stream, so that a resumed run gives the same releases as
        one that was not interrupted.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InvalidArgument(f"a seed must be an integer of at least 0, not {seed!r}")
        key = hashlib.sha256(b"psgraph seed\0%d\0%d" % (seed, timestamp)).digest()
        return cls(key, private=False)

    def __reduce_ex__(self, _: object) -> NoReturn:
        """Refuse to be copied or pickled: both would go through the same words."""
        raise MethodError(
            "a random source can't be copied: noise that is drawn twice protects nothing\n"
            "Draw from the one source, or make another one with RandomSource.secure()."
        )

    def peek(self, words: int) -> NDArray[np.uint64]:
        """Return at least `words` of the next words, without taking them."""
        if self.private and self._keyed_by != _process():
            # A forked child holds a copy of the key and would draw the parent's noise.
            self._start(os.urandom(32))
        left = self._words[self._next :]
        if left.size < words:
            fresh = max(words - left.size, _BLOCK)
            made = np.frombuffer(self._stream.update(bytes(8 * fresh)), dtype="<u8")
            self._words = np.concatenate([left, made.astype(np.uint64, copy=False)])
            self._next = 0
            left = self._words
        return left

    def consume(self, words: int) -> None:
        """Take `words` of the words that `peek` returned."""
        self._next += words

    def bits(self, count: int) -> int:
        """Draw a uniform integer of `count` bits. For the few draws outside compiled code."""
        words = -(-count // 64)
        value = int.from_bytes(self.peek(words)[:words].astype("<u8").tobytes(), "little")
        self.consume(words)
        return value & ((1 << count) - 1)


# ---- reading bits: uniform integers and Bernoulli(exp(−x)), exactly ----

Cursor = tuple[int, np.uint64, int]
"""A position in an array of words: next word, rest of the current word, bits in that rest.

It goes in and comes out of kernels, so that the compiler keeps it in registers. A draw that runs
out of words leaves a cursor beyond their end (`ran_out`); its caller starts it again on the same
bits, with more words behind them. See `psgraph.privacy.samplers.Sampler.run`.
"""

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
