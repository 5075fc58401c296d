"""The keystream: what it is, that it repeats when it should and doesn't when it mustn't."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from psgraph.audit.sampler_battery import p_value
from psgraph.errors import InvalidArgument, MethodError
from psgraph.privacy import randomness
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler


def test_the_words_are_aes_of_a_counter():
    """Block by block with AES alone, without the library's counter mode."""
    key = bytes(range(32))
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    expected = b"".join(block.update(counter.to_bytes(16, "big")) for counter in range(50))
    assert RandomSource(key, private=False).peek(100)[:100].astype("<u8").tobytes() == expected


def test_a_seed_repeats_and_another_does_not():
    one, same, other = (RandomSource.seeded(seed).peek(50)[:50] for seed in (7, 7, 8))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert not RandomSource.seeded(7).private
    later = RandomSource.seeded(7, timestamp=1).peek(50)[:50]
    assert not np.array_equal(one, later)


def test_secure_sources_differ():
    one, other = RandomSource.secure(), RandomSource.secure()
    assert one.private
    assert not np.array_equal(one.peek(4)[:4], other.peek(4)[:4])


@pytest.mark.parametrize("seed", [-1, 1.0, "1", True, None])
def test_wrong_seeds(seed):
    with pytest.raises(InvalidArgument):
        RandomSource.seeded(seed)


def test_peek_does_not_take_and_consume_does():
    source = RandomSource.seeded(1)
    words = source.peek(10).copy()
    assert np.array_equal(source.peek(10), words)
    source.consume(3)
    assert np.array_equal(source.peek(5)[:5], words[3:8])


@pytest.mark.parametrize("block", [1, 5, 64])
def test_the_stream_does_not_depend_on_the_block_size(block, monkeypatch):
    whole = RandomSource.seeded(5).peek(1000)[:1000].copy()
    monkeypatch.setattr(randomness, "_BLOCK", block)
    source = RandomSource.seeded(5)
    taken = []
    for size in (1, 7, 100, 3, 200, 689):
        taken.append(source.peek(size)[:size].copy())
        source.consume(size)
    assert np.array_equal(np.concatenate(taken), whole)


def test_bits():
    source = RandomSource.seeded(2)
    words = source.peek(2)[:2].astype("<u8").tobytes()
    assert source.bits(100) == int.from_bytes(words, "little") & ((1 << 100) - 1)
    assert source.bits(0) == 0
    draws = [source.bits(3) for _ in range(8000)]
    assert p_value(draws, dict.fromkeys(range(8), 1 / 8)) > 1e-3


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("holder", [lambda source: source, Sampler])
def test_a_source_is_not_copied(copied, holder):
    """A copy of a sampler shares its source, so that no word is used twice."""
    source = RandomSource.secure()
    source.peek(1)
    if copied is copy.copy and holder is Sampler:
        assert copied(holder(source)).source is source
        return
    with pytest.raises(MethodError):
        copied(holder(source))


def test_a_forked_process_with_the_id_of_its_parent_gets_another_key(monkeypatch):
    secure, seeded = RandomSource.secure(), RandomSource.seeded(1)
    before, again = secure.peek(4)[:4].copy(), seeded.peek(4)[:4].copy()
    monkeypatch.setattr(randomness, "_forks", randomness._forks)
    randomness._count_fork()  # what the system calls in the child
    assert not np.array_equal(secure.peek(4)[:4], before)
    assert np.array_equal(seeded.peek(4)[:4], again)  # a research run stays repeatable


FORKING = """
import ctypes, os, sys
from psgraph.privacy.randomness import RandomSource
secure, seeded = RandomSource.secure(), RandomSource.seeded(1)
secure.peek(1), seeded.peek(1)
reading, writing = os.pipe()
fork = os.fork if sys.argv[1] == "python" else ctypes.PyDLL(None).fork
if fork() == 0:
    os.write(writing, secure.peek(4)[:4].tobytes() + seeded.peek(4)[:4].tobytes())
    os._exit(0)
child = os.read(reading, 64)
os.wait()
parent = secure.peek(4)[:4].tobytes() + seeded.peek(4)[:4].tobytes()
assert len(child) == 64 and child[:32] != parent[:32] and child[32:] == parent[32:]
"""


@pytest.mark.parametrize("language", ["python", "c"])
def test_a_real_fork(language):
    """Python does not count a fork made by C code, but the process id differs."""
    subprocess.run([sys.executable, "-c", FORKING, language], check=True, timeout=60)
