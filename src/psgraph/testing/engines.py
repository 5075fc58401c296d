"""Checks that an engine keeps the protocol of `psgraph.engines.runner.Runner`.

They run small jobs and compare with what the protocol promises, and with the graphs and files that
the local engine makes. The functions they run stand at the top of this module, so that workers of
any engine can import them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Job, Runner
from psgraph.engines.sampling import PairCounts, sample
from psgraph.engines.threads import LocalEngine
from psgraph.graph import DIRECTED, Kind, Roster, SyntheticGraph
from psgraph.graph.kind import pack
from psgraph.graph.parts import EdgeParts, Pairs, ranges
from psgraph.publication.graph_files import encode_parts

__all__ = ["EngineConformance", "check_engine"]

TASKS = 23


@dataclass(frozen=True)
class EngineConformance:
    """That an engine passed, and what was checked."""

    engine: str
    checks: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"engine {self.engine}:", *(f"  ✓ {check}" for check in self.checks)])


def check_engine(runner: Runner) -> EngineConformance:
    """Check an engine with small jobs; takes a second, or a few on a cluster.

    Parameters
    ----------
    runner
        An engine as it would be handed to a publisher. Give it few `part_nodes` if it can be, so
        that graphs of a few hundred nodes have several parts.

    Raises
    ------
    AssertionError
        At the first check that fails, saying which.

    Examples
    --------
    >>> print(check_engine(LocalEngine(part_nodes=64)))
    engine LocalEngine:
      ✓ is a runner
      ✓ maps in the order of the items
      ✓ sums over all items
      ✓ reduces in any grouping
      ✓ shuffles keys into sorted parts, repeats included
      ✓ stores parts in order
      ✓ keeps kinds and weights
      ✓ raises the error of a task and can be used afterwards
      ✓ gives the same when a job runs again
      ✓ samples the graphs of the local engine
      ✓ encodes to the bytes of the local engine
    """
    name = type(runner).__name__
    for title, check in CHECKS.items():
        try:
            check(runner)
        except AssertionError as error:
            raise AssertionError(f"engine {name} fails “{title}”: {error}") from None
        except Exception as error:
            raise AssertionError(
                f"engine {name} fails “{title}”: {type(error).__name__}: {error}"
            ) from error
    return EngineConformance(name, tuple(CHECKS))


# ---- what tasks do ----


class Unlucky(Exception):
    """Raised by a task on purpose."""


def square(number: int, shift: int) -> int:
    return number * number + shift


def add_counts(number: int, length: int, ones: Integers, totals: Integers) -> None:
    ones[number % length] += 1
    totals[0] += number


def pair_of(number: int) -> tuple[int, int]:
    return number, number


def extremes(results: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Smallest and largest: the same however results are grouped."""
    lows, highs = zip(*results, strict=True)
    return min(lows), max(highs)


def fails_at(number: int, wrong: int) -> Any:
    if number == wrong:
        raise Unlucky
    return part_edges((number, number), number) if wrong == 0 else number


def draw_keys(number: int, nodes: int) -> Integers:
    """Random keys, the first of which all tasks draw."""
    rng = np.random.default_rng(number)
    u, v = np.sort(rng.choice(nodes, (30, 2)), axis=1).T
    apart = u < v
    return np.append(pack([0], [nodes - 1]), pack(u[apart], v[apart]))


def part_edges(between: tuple[int, int], nodes: int) -> tuple[Positions, Positions]:
    """Join every node of a range to the next one."""
    u = np.arange(between[0], min(between[1], nodes - 1), dtype=np.int32)
    return u, u + np.int32(1)


def part_pairs(between: tuple[int, int], nodes: int, kind: Kind) -> Pairs:
    """Lead from every node of a range to the one before it, with a weight if there are weights."""
    u = np.arange(max(between[0], 1), min(between[1], nodes), dtype=np.int32)
    return Pairs(u, u - np.int32(1), u.astype(np.int64) % 9 + 1 if kind.weighted else None)


# ---- the checks ----


def _is_a_runner(runner: Runner) -> None:
    assert isinstance(runner, Runner), "it lacks map, sum, reduce, shuffle, store or part_nodes"
    assert runner.part_nodes >= 1, "part_nodes is not positive"


def _maps(runner: Runner) -> None:
    found = list(runner.map(Job(square, iter(range(TASKS)), (1,))))
    assert found == [square(number, 1) for number in range(TASKS)], "other results, or their order"
    assert list(runner.map(Job(square, [], (1,)))) == [], "results without items"


def _sums(runner: Runner) -> None:
    ones, totals = runner.sum(Job(add_counts, range(TASKS), (5,)), sizes=(5, 1))
    assert ones.dtype == totals.dtype == np.int64, "sums are not 64-bit integers"
    expected = np.bincount(np.arange(TASKS) % 5)
    assert ones.tolist() == expected.tolist(), "the first array is wrong"
    assert totals.tolist() == [sum(range(TASKS))], "the second array is wrong"
    (nothing,) = runner.sum(Job(add_counts, [], (5,)), sizes=(3,))
    assert nothing.tolist() == [0, 0, 0], "sums over nothing are not zero"


def _reduces(runner: Runner) -> None:
    for tasks in (1, 2, TASKS):
        found = runner.reduce(Job(pair_of, range(tasks)), extremes)
        assert tuple(found) == (0, tasks - 1), f"{tasks} results are combined to something else"
    assert runner.reduce(Job(square, range(TASKS), (0,)), sum) == sum(
        square(number, 0) for number in range(TASKS)
    ), "a sum of results is wrong"
    assert runner.reduce(Job(square, [], (0,)), sum) == 0, "no results are not combined"


def _shuffles(runner: Runner) -> None:
    for nodes in _sizes(runner):
        jobs = [Job(draw_keys, [task, task + 1], (nodes,)) for task in range(3)]
        parts = runner.shuffle(iter(jobs), nodes=nodes)
        tasks = [key for job in jobs for item in job.items for key in draw_keys(item, nodes)]
        _check_parts(parts, nodes, runner, sorted(tasks))
    assert runner.shuffle([], nodes=0).edge_count == 0, "a graph without nodes has edges"


def _stores(runner: Runner) -> None:
    for nodes in _sizes(runner):
        between = list(ranges(nodes, runner.part_nodes))
        parts = runner.store(Job(part_edges, between, (nodes,)), nodes=nodes)
        _check_parts(parts, nodes, runner, pack(np.arange(nodes - 1), np.arange(1, nodes)))


def _keeps_kinds(runner: Runner) -> None:
    for nodes in _sizes(runner):
        between = list(ranges(nodes, runner.part_nodes))
        for kind in (DIRECTED, DIRECTED.with_weights(9)):
            parts = runner.store(Job(part_pairs, between, (nodes, kind)), nodes=nodes, kind=kind)
            assert parts.kind == kind, "stored parts are of another kind"
            whole = parts.whole()
            assert whole.u.tolist() == list(range(1, nodes)), "other edges, or their order"
            weights = None if whole.weight is None else whole.weight.tolist()
            expected = [node % 9 + 1 for node in range(1, nodes)] if kind.weighted else None
            assert weights == expected, "other weights"
            pieces = Pairs.joined([read() for read in parts.edges()])
            alike = [np.array_equal(*each) for each in zip(pieces, whole, strict=True)]
            assert all(alike), "the whole is not the sum of the parts"
            assert (pieces.weight is None) == (weights is None), "parts lack the weights"
        drawn = runner.shuffle([Job(draw_keys, [1], (nodes,))], nodes=nodes, kind=DIRECTED)
        assert drawn.kind == DIRECTED, "shuffled parts are of another kind"


def _raises(runner: Runner) -> None:
    job, nodes = Job(fails_at, range(TASKS), (TASKS // 2,)), 2 * runner.part_nodes
    for run in (
        lambda: list(runner.map(job)),
        lambda: runner.reduce(job, sum),
        lambda: runner.shuffle([Job(fails_at, [0], (0,))], nodes=nodes).edges()[0](),
        lambda: runner.store(Job(fails_at, [0, 1], (0,)), nodes=nodes).edges()[0](),
    ):
        try:
            run()
        except Unlucky:
            continue
        raise AssertionError("the error of a task is not raised")
    _maps(runner)


def _repeats(runner: Runner) -> None:
    (nodes, *_) = _sizes(runner)
    once, again = (_keys(sample(runner, *_models(nodes), seed=7)) for _ in range(2))
    assert once == again, "the same job gives other edges"
    other = _keys(sample(runner, *_models(nodes), seed=8))
    assert once != other, "another seed gives the same edges"


def _samples(runner: Runner) -> None:
    for nodes in _sizes(runner):
        found = sample(runner, *_models(nodes), seed=3)
        expected = sample(LocalEngine(threads=1), *_models(nodes), seed=3)
        assert found.edge_count > 0, "no edges are drawn"
        assert _keys(found) == _keys(expected), "other edges are drawn"


def _encodes(runner: Runner) -> None:
    for nodes in _sizes(runner):
        rosters = Roster.range(nodes), Roster([f"n{node:05d}" for node in range(nodes)])
        for roster in rosters:
            files = []
            for each in (runner, LocalEngine(threads=1, part_nodes=runner.part_nodes)):
                parts = sample(each, *_models(nodes), seed=4)
                graph = SyntheticGraph.from_parts(roster, parts)
                files.append([bytes(part) for part in encode_parts(graph, each)])
            assert files[0] == files[1], "other bytes"


CHECKS: dict[str, Callable[[Runner], None]] = {
    "is a runner": _is_a_runner,
    "maps in the order of the items": _maps,
    "sums over all items": _sums,
    "reduces in any grouping": _reduces,
    "shuffles keys into sorted parts, repeats included": _shuffles,
    "stores parts in order": _stores,
    "keeps kinds and weights": _keeps_kinds,
    "raises the error of a task and can be used afterwards": _raises,
    "gives the same when a job runs again": _repeats,
    "samples the graphs of the local engine": _samples,
    "encodes to the bytes of the local engine": _encodes,
}


def _sizes(runner: Runner) -> Iterator[int]:
    """Numbers of nodes in one part and, if parts are small, in several."""
    yield 90
    if runner.part_nodes < 1000:
        yield 3 * runner.part_nodes + 1


def _models(nodes: int) -> tuple[Blocks, PairCounts]:
    """Edges inside three communities, and exact numbers of edges between them."""
    labels = (np.arange(nodes) % 3).astype(np.int32)
    everyone = np.arange(3, dtype=np.int32)
    weights = np.random.default_rng(1).pareto(1.5, nodes) + 1
    a, b = everyone[[0, 0, 1]], everyone[[1, 2, 2]]
    inside = Blocks(weights, labels, everyone, everyone, np.full(3, 9 / weights.sum()))
    return inside, PairCounts(labels, a, b, np.array([5, 0, 9]))


def _keys(parts: EdgeParts) -> list[int]:
    found = [pack(*read()) for read in parts.edges()]
    return [key for keys in found for key in keys.tolist()]


def _check_parts(parts: EdgeParts, nodes: int, runner: Runner, expected: Any) -> None:
    """Compare parts with the sorted keys that they should hold."""
    between = list(ranges(nodes, runner.part_nodes))
    reads = parts.edges()
    assert len(reads) == len(between), "there is not one part for every range of nodes"
    for read, (first, last) in zip(reads, between, strict=True):
        u, v = read()
        assert u.dtype == v.dtype == np.int32, "positions are not 32-bit integers"
        inside = (u >= first) & (u < last)
        assert inside.all(), "an edge is in the part of other nodes"
    assert _keys(parts) == list(expected), "other edges, or their order"
    assert _keys(parts) == pack(*parts.whole()).tolist(), "the whole is not the sum of the parts"
    assert parts.edge_count == len(list(expected)), "edge_count is wrong"
