"""Random words: an AES-256-CTR keystream, keyed by the operating system or by a seed.

The samplers read words without taking them (`peek`) and then say how many they used
(`consume`). A sampler that runs out of words in the middle of a draw asks for more and starts
that draw again *on the same words*, so running out can't favour draws that need few.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from psgraph.errors import InvalidArgument

__all__ = ["RandomSource"]

_forks = 0  # how often the process this one descends from was forked
_BLOCK = 1 << 15  # words made at a time: 256 KiB, which stays in the cache


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class RandomSource:
    """A stream of uniform 64-bit words.

    Use `RandomSource.secure()` for releases and `RandomSource.seeded(seed)` for research. What a
    seeded source makes can be made again by anyone who knows the seed, so it is not private.

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
        self._forks = _forks
        # A key is used for one stream only, so the counter may start at zero.
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._words = np.empty(0, dtype=np.uint64)
        self._next = 0

    @classmethod
    def secure(cls) -> RandomSource:
        """Keyed with 256 bits from the operating system."""
        return cls(os.urandom(32), private=True)

    @classmethod
    def seeded(cls, seed: int, *, timestamp: int = 0) -> RandomSource:
        """Repeatable, for research. Releases made with it are marked as not private.

        Every timestamp has a stream of its own, so that a run which was interrupted goes on
        just as it would have.
        """
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise InvalidArgument(f"a seed must be a whole number of at least 0, not {seed!r}")
        key = hashlib.sha256(b"psgraph seed\0%d\0%d" % (seed, timestamp)).digest()
        return cls(key, private=False)

    def peek(self, words: int) -> NDArray[np.uint64]:
        """At least `words` of the words to come, without taking them."""
        if self.private and self._forks != _forks:
            # A forked child holds a copy of the key: going on would draw the parent's noise.
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
        """Take `words` of the words last looked at."""
        self._next += words

    def bits(self, count: int) -> int:
        """A uniform integer of `count` bits. For the few draws made outside compiled code."""
        words = -(-count // 64)
        value = int.from_bytes(self.peek(words)[:words].astype("<u8").tobytes(), "little")
        self.consume(words)
        return value & ((1 << count) - 1)
