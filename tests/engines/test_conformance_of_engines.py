"""The shared suite for engines, run on ours; and finding engines by name."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import numpy as np
import pytest

from psgraph.engines import runner as runner_module
from psgraph.engines.runner import ENGINES, Job, engine_names, find_engine, open_engine
from psgraph.engines.threads import LocalEngine
from psgraph.errors import InvalidArgument
from psgraph.testing import check_engine
from psgraph.testing.engines import CHECKS


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("part_nodes", [1 << 17, 64])
@pytest.mark.parametrize("memory", [0, 1 << 29])
def test_the_local_engine_passes(threads, part_nodes, memory):
    engine = LocalEngine(threads=threads, part_nodes=part_nodes, memory=memory)
    assert check_engine(engine).checks == tuple(CHECKS)


def test_the_dask_engine_passes(dask_engine):
    assert check_engine(dask_engine).checks == tuple(CHECKS)


# ---- engines that break the protocol are caught ----


class Reversed(LocalEngine):
    def map(self, job):
        return reversed(list(super().map(job)))


class OnlyOnce(LocalEngine):
    def shuffle(self, jobs, **graph):
        return super().shuffle((Job(_distinct, job.items, (job,)) for job in jobs), **graph)


def _distinct(item, job):
    return np.unique(job.work(item, *job.shared))[1:]


class Narrow(LocalEngine):
    def sum(self, job, *, sizes):
        return tuple(each.astype(np.int32) for each in super().sum(job, sizes=sizes))


class FirstOfTwo(LocalEngine):
    def reduce(self, job, combine):
        return combine(list(self.map(job))[:2])


class Silent(LocalEngine):
    def map(self, job):
        try:
            yield from super().map(job)
        except Exception:
            return


class Careless(LocalEngine):
    """Draws other edges each time."""

    calls = 0

    def shuffle(self, jobs, **graph):
        self.calls += 1
        return super().shuffle(list(jobs)[: 1 + self.calls % 2], **graph)


@pytest.mark.parametrize("engine", [Reversed, OnlyOnce, Narrow, FirstOfTwo, Silent, Careless])
def test_an_engine_that_breaks_the_protocol_is_caught(engine):
    with pytest.raises(AssertionError, match=engine.__name__):
        check_engine(engine(threads=1, part_nodes=64))


def test_something_else_is_no_engine():
    with pytest.raises(AssertionError):
        check_engine(object())


# ---- by name ----


def test_engines_are_found_by_name():
    assert [find_engine(name).__name__ for name in ENGINES] == ["LocalEngine", "DaskEngine"]
    with open_engine("local") as engine:
        assert isinstance(engine, LocalEngine)


def test_engines_of_other_packages_come_by_entry_point(monkeypatch):
    point = EntryPoint("mine", f"{__name__}:Reversed", runner_module.GROUP)
    monkeypatch.setattr(runner_module, "entry_points", lambda **_: [point])
    assert engine_names() == [*ENGINES, "mine"]
    assert find_engine("mine") is Reversed
    with open_engine("mine") as engine:
        assert isinstance(engine, Reversed)


def test_an_unknown_engine_and_a_scheduler_for_the_wrong_one_are_refused():
    with pytest.raises(InvalidArgument):
        find_engine("spark")
    with pytest.raises(InvalidArgument), open_engine("local", scheduler="tcp://127.0.0.1:1"):
        pass
