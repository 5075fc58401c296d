"""Drawing in parts: the same edges however they are cut, run and repeated; and their files."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from psgraph.engines.rank_one import Blocks
from psgraph.engines.released import ReleasedParts
from psgraph.engines.runner import Job
from psgraph.engines.sampling import sample
from psgraph.engines.threads import LocalEngine
from psgraph.errors import OutputError
from psgraph.graph.kind import pack
from tests.engines.drawing import NODES, RUNNERS, drawn, keys


@pytest.mark.parametrize(("threads", "part_nodes", "memory"), RUNNERS)
def test_a_drawn_graph_depends_on_neither_threads_nor_parts(threads, part_nodes, memory):
    parts = drawn(LocalEngine(threads=threads, part_nodes=part_nodes, memory=memory))
    assert len(parts.edges()) == -(-NODES // part_nodes)
    one_part = drawn(LocalEngine(threads=1))
    assert keys(parts) == keys(one_part)
    assert parts.edge_count > 1000


def test_other_seeds_draw_other_graphs():
    engine = LocalEngine(threads=1)
    assert keys(drawn(engine)) != keys(drawn(engine, seed=2))


def test_models_of_one_graph_have_random_numbers_of_their_own():
    """The same block for two halves of the nodes: their edges must not be copies."""
    labels = np.array([0] * 50 + [1] * 50, dtype=np.int32)
    block, rate = labels[:1], np.array([0.5])
    halves = [Blocks(np.ones(100), half, block, block, rate) for half in (labels, 1 - labels)]
    u, v = sample(LocalEngine(threads=1), *halves, seed=1).whole()
    drawn_keys = u % 50 * 50 + v % 50
    repeated = drawn_keys.size - np.unique(drawn_keys).size
    assert 200 < repeated < 420  # 306 expected if they are unrelated


@pytest.mark.parametrize("memory", [0, 1 << 20])
def test_a_part_can_be_read_again(memory):
    parts = drawn(LocalEngine(threads=2, part_nodes=64, memory=memory))
    for read in parts.edges():
        once, again = read(), read()
        assert np.array_equal(once.u, again.u)
        assert np.array_equal(once.v, again.v)


@pytest.mark.parametrize("memory", [0, 3000, 8000, 1 << 20])
def test_no_more_stays_in_memory_than_may(tmp_path, monkeypatch, memory):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parts = drawn(LocalEngine(threads=1, part_nodes=30, memory=memory))
    (directory,) = tmp_path.iterdir()
    in_files = sum(file.stat().st_size for file in directory.iterdir())
    assert 8 * parts.edge_count - memory <= in_files <= 16 * parts.edge_count
    assert bool(in_files) == (memory < 1 << 20)


def test_scratch_files_go_with_the_last_of_their_parts(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    parts = drawn(LocalEngine(threads=1, part_nodes=64, memory=0))
    assert isinstance(parts, ReleasedParts)
    (directory,) = tmp_path.iterdir()
    assert directory.stat().st_mode & 0o077 == 0
    read = parts.edges()[0]
    edges = read().u.size
    del parts
    gc.collect()
    assert read().u.size == edges > 0  # one part is still in use
    del read
    gc.collect()
    assert not list(tmp_path.iterdir())


def _fail(item: int) -> np.ndarray:
    if item == 3:
        raise ZeroDivisionError
    return pack(np.arange(50), 50)


@pytest.mark.parametrize("threads", [1, 2])
def test_scratch_files_go_after_an_error(tmp_path, monkeypatch, threads):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    runner = LocalEngine(threads=threads, part_nodes=10, memory=0)
    with pytest.raises(ZeroDivisionError):
        runner.shuffle([Job(_fail, range(5))], nodes=51)
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_disk_that_can_not_be_written_is_named_with_its_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(OutputError):
        drawn(LocalEngine(threads=1, part_nodes=64))
