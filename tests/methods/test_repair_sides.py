"""Repairing a graph whose edges have two sides: every degree of a node has its own target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.engines.rank_one import Blocks
from psgraph.engines.sampling import sample
from psgraph.engines.sides import Sides
from psgraph.engines.threads import LocalEngine
from psgraph.graph.kind import DIRECTED, TWO_SIDED, pack, unpack
from psgraph.graph.parts import EdgeParts, MemoryParts
from psgraph.methods.psgraph.additions import free_keys
from psgraph.methods.psgraph.reconstruction import degrees_by_side, repaired
from tests.engines.drawing import RUNNERS, keys

ENGINE = LocalEngine(threads=1)
SIDES = {"directed": Sides(DIRECTED, (60,)), "two-sided": Sides(TWO_SIDED, (40, 25))}


def chosen(sides: Sides, numbers: list[int], part_nodes: int = 1 << 17) -> MemoryParts:
    """The graph of the pairs with these numbers."""
    kind, cells = sides.kind, np.array(sorted(set(numbers)), dtype=np.int64)
    u, v = kind.pair_of(cells, *sides.sizes, inside=kind.two_sided)
    u, v = (ends.astype(np.int32) for ends in (u, v + sides.offset))
    return MemoryParts(u, v, nodes=sides.nodes, part_nodes=part_nodes, kind=kind)


def repair(parts: EdgeParts, sides: Sides, wanted: np.ndarray, edge_count: int, **options) -> list:
    """The keys of a repaired graph; `wanted` is inside and then outside."""
    labels = (np.arange(sides.nodes) % 3).astype(np.int32)
    runner = options.pop("runner", LocalEngine(threads=1, part_nodes=parts.part_nodes))
    found = repaired(
        parts,
        labels=labels,
        inner_degrees=wanted[: sides.degrees],
        outer_degrees=wanted[sides.degrees :],
        edge_count=edge_count,
        seed=options.pop("seed", 1),
        runner=runner,
        sides=sides,
    )
    assert found.kind == sides.kind
    u, v = found.whole()
    assert sides.kind.is_normal(u, v)
    if sides.kind.two_sided and u.size:
        assert u.max() < sides.offset <= v.min()
    assert u.size == edge_count
    return keys(found)


@st.composite
def tasks(draw: st.DrawFn):
    if draw(st.booleans()):
        sides = Sides(DIRECTED, (draw(st.integers(1, 9)),))
    else:
        sides = Sides(TWO_SIDED, (draw(st.integers(1, 7)), draw(st.integers(1, 7))))
    number = st.integers(0, max(sides.pairs - 1, 0))
    numbers = draw(st.lists(number, max_size=sides.pairs)) if sides.pairs else []
    edge_count = draw(st.integers(0, sides.pairs))
    size = 2 * sides.degrees
    wanted = draw(st.lists(st.floats(0, sides.nodes), min_size=size, max_size=size))
    return sides, numbers, np.array(wanted), edge_count


@given(tasks(), st.integers(0, 1000))
@settings(max_examples=300)
def test_exactly_the_wanted_number_of_edges_whatever_the_parts(task, seed):
    sides, numbers, wanted, edge_count = task
    before = set(pack(*chosen(sides, numbers).whole()).tolist())
    found = [
        repair(chosen(sides, numbers, part_nodes), sides, wanted, edge_count, seed=seed)
        for part_nodes in (1 << 17, 3)
    ]
    assert found[0] == found[1]
    assert before <= set(found[0]) or set(found[0]) <= before  # it only adds or only removes


@pytest.mark.parametrize("start", ["empty", "complete"])
@pytest.mark.parametrize("sides", SIDES.values(), ids=SIDES.keys())
def test_the_degrees_of_each_side_come_close_to_those_wanted(sides: Sides, start: str) -> None:
    rng = np.random.default_rng(4)
    labels = (np.arange(sides.nodes) % 3).astype(np.int32)
    weights = (1 - rng.random(sides.degrees)) ** -0.5
    a, b = np.indices((3, 3)).reshape(2, -1).astype(np.int32)
    model = Blocks(weights, labels, a, b, np.full(9, 6 / weights.sum()), sides)
    target = sample(ENGINE, model, seed=1)
    wanted = degrees_by_side(target, labels, ENGINE).astype(float)
    begin = chosen(sides, [] if start == "empty" else list(range(sides.pairs)))
    u, v = unpack(np.array(repair(begin, sides, wanted, target.edge_count)))
    parts = MemoryParts(u, v, nodes=sides.nodes, kind=sides.kind)
    far, near = (
        np.abs(degrees_by_side(each, labels, ENGINE) - wanted).sum() for each in (begin, parts)
    )
    assert near < 0.4 * far  # partners are drawn at random: the degrees come near and no nearer
    found, all_wanted = (
        each.reshape(2, -1).sum(axis=0) for each in (degrees_by_side(parts, labels, ENGINE), wanted)
    )
    for side in sides.slices:
        assert np.corrcoef(found[side], all_wanted[side])[0, 1] > 0.8


@pytest.mark.parametrize(("threads", "part_nodes", "memory"), RUNNERS)
@pytest.mark.parametrize("factor", [0.4, 1.05, 3.0])
def test_a_repaired_graph_depends_on_neither_threads_nor_parts(
    threads: int, part_nodes: int, memory: int, factor: float
) -> None:
    rng = np.random.default_rng(7)
    for sides in SIDES.values():
        wanted = rng.integers(0, 9, 2 * sides.degrees).astype(float)
        numbers = rng.choice(sides.pairs, 250, replace=False).tolist()
        graphs = [
            repair(
                chosen(sides, numbers, runner.part_nodes),
                sides,
                wanted,
                int(250 * factor),
                runner=runner,
            )
            for runner in (
                ENGINE,
                LocalEngine(threads=threads, part_nodes=part_nodes, memory=memory),
            )
        ]
        assert graphs[0] == graphs[1]


@given(st.data())
@settings(max_examples=100)
def test_free_ordered_pairs_are_numbered_in_order(data):
    directed = data.draw(st.booleans())
    nodes = data.draw(st.integers(2, 9))
    offset = 0 if directed else data.draw(st.integers(1, nodes - 1))
    rows = nodes if directed else offset
    first = data.draw(st.integers(0, rows - 1))
    last = data.draw(st.integers(first, rows))
    pairs = [int(pack(u, v)) for u in range(first, last) for v in range(offset, nodes) if u != v]
    taken = [pair for pair in pairs if data.draw(st.booleans())]
    free = sorted(set(pairs) - set(taken))
    ranks = [rank for rank in range(len(free)) if data.draw(st.booleans())]
    arrays = (np.array(column, dtype=np.int64) for column in (taken, ranks))
    found = free_keys(next(arrays), first, last, nodes, next(arrays), directed, offset)
    assert found.tolist() == [free[rank] for rank in ranks]
