"""Released graphs of every kind, in parts and with weights: every engine gives the same bytes."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from psgraph.engines.runner import Job
from psgraph.engines.threads import LocalEngine
from psgraph.graph import DIRECTED, TWO_SIDED, UNDIRECTED, Kind, Roster, SyntheticGraph
from psgraph.graph import TwoSidedRoster as Sides
from psgraph.graph.formats.parquet import read_pairs
from psgraph.graph.parts import MemoryParts, Pairs, ranges
from psgraph.publication.graph_files import encode_parts
from tests.engines.cluster import PART_NODES, with_parts

NODES = 3 * PART_NODES + 5
KINDS = [
    each.with_weights(weights)
    for each in (UNDIRECTED, DIRECTED, TWO_SIDED)
    for weights in (None, 9)
]


@pytest.fixture(params=["memory", "files", "dask"])
def engine(request: pytest.FixtureRequest) -> Any:
    if request.param == "dask":
        return with_parts(request.getfixturevalue("dask_engine"), PART_NODES)
    memory = 1 << 20 if request.param == "memory" else 0
    return LocalEngine(threads=2, part_nodes=PART_NODES, memory=memory)


def graph_of(kind: Kind) -> SyntheticGraph:
    roster = Sides(range(40), range(NODES - 40)) if kind.two_sided else Roster.range(NODES)
    rng = np.random.default_rng(5)
    cells = rng.choice(kind.pairs(*roster.sizes), 300, replace=False)
    u, v = kind.pair_of(cells, *roster.sizes, inside=kind.two_sided)
    weight = rng.integers(1, 10, cells.size) if kind.weighted else None
    return SyntheticGraph(roster, u, v + roster.offset, kind=kind, weight=weight)


def edges_between(between: tuple[int, int], pairs: Pairs) -> Pairs:
    return pairs.between(*np.searchsorted(pairs.u, between).tolist())


def stored(engine: Any, graph: SyntheticGraph, kind: Kind) -> Any:
    job = Job(edges_between, list(ranges(NODES, PART_NODES)), (graph.parts.whole(),))
    return engine.store(job, nodes=NODES, kind=kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_parts_of_a_release_keep_kind_and_weights(engine: Any, kind: Kind) -> None:
    graph = graph_of(kind)
    parts = stored(engine, graph, kind)
    released = SyntheticGraph.from_parts(graph.roster, parts)
    assert released.kind == kind
    assert released == graph
    assert released.edge_count == 300
    expected = MemoryParts(
        *graph.parts.whole(), graph.weight, nodes=NODES, part_nodes=PART_NODES, kind=kind
    )
    for read, piece in zip(parts.edges(), expected.edges(), strict=True):
        copy = pickle.loads(pickle.dumps(read)) if "dask" in repr(type(engine)) else read
        assert np.array_equal(copy().u, piece().u)
        if kind.weighted:
            assert np.array_equal(copy().weight, piece().weight)
    for read, row in zip(parts.rows(), expected.rows(), strict=True):
        assert all(np.array_equal(*each) for each in zip(read(), row(), strict=True))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_engine_encodes_them_to_the_same_bytes(engine: Any, kind: Kind) -> None:
    graph = graph_of(kind)
    released = SyntheticGraph.from_parts(graph.roster, stored(engine, graph, kind))
    local = LocalEngine(threads=1, part_nodes=PART_NODES)
    memory = MemoryParts(
        *graph.parts.whole(), graph.weight, nodes=NODES, part_nodes=PART_NODES, kind=kind
    )
    expected = encode_parts(SyntheticGraph.from_parts(graph.roster, memory), local)
    files = [bytes(part) for part in encode_parts(released, engine)]
    assert files == [bytes(part) for part in expected]
    again = Pairs.joined([*decoded(files, graph.roster, kind)])
    assert [each.tolist() for each in again] == [graph.u.tolist(), graph.v.tolist()]
    assert np.array_equal(again.weight, graph.weight)  # type: ignore[arg-type]


def decoded(files: list[bytes], roster: Roster, kind: Kind) -> Iterator[Pairs]:
    for content in files:
        yield read_pairs(content, Path("part.parquet"), roster, kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_graph_of_one_part_or_none_keeps_kind_and_weights(engine: Any, kind: Kind) -> None:
    few = Pairs(np.array([0], np.int32), np.array([1], np.int32))
    if kind.weighted:
        few = Pairs(*few, np.array([3]))
    parts = engine.store(Job(edges_between, [(0, 2)], (few,)), nodes=2, kind=kind)
    assert parts.kind == kind
    assert parts.whole().v.tolist() == [1]
    empty = engine.store(Job(edges_between, [], (few,)), nodes=0, kind=kind)
    for each, edges in ((parts, [3]), (empty, [])):
        weight = each.whole().weight
        assert (None if weight is None else weight.tolist()) == (edges if kind.weighted else None)
