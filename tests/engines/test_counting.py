"""Counting kernels and the queries on top of them, against the obvious Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph._runtime.kernels import sort_keys
from psgraph.engines.counting import run_lengths
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods import queries
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import EdgeCount, InnerDegrees, OuterDegrees, adjacency, block_counts

ENGINE = LocalEngine()


@st.composite
def labelled_graphs(draw: st.DrawFn) -> tuple[Snapshot, np.ndarray, int]:
    """A small graph with a block for every node; some blocks may be empty."""
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    edges = np.array(draw(st.lists(st.tuples(node, node), max_size=40)), dtype=np.int64)
    edges = edges.reshape(-1, 2)
    blocks = draw(st.integers(1, 6))
    labels = draw(st.lists(st.integers(0, blocks - 1), min_size=nodes, max_size=nodes))
    snapshot = Snapshot(Roster.range(nodes), edges[:, 0], edges[:, 1])
    return snapshot, np.array(labels, dtype=np.int32), blocks


def edges_of(snapshot: Snapshot) -> list[tuple[int, int]]:
    return list(zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True))


@given(labelled_graphs())
@settings(max_examples=60)
def test_degrees_inside_and_outside(drawn):
    snapshot, labels, _ = drawn
    inner, outer = Counter(), Counter()
    for x, y in edges_of(snapshot):
        (inner if labels[x] == labels[y] else outer).update((x, y))
    edges = PrivateEdges(snapshot, ENGINE)
    for query, expected in ((InnerDegrees, inner), (OuterDegrees, outer)):
        found = query(labels).answer(edges)
        assert found.tolist() == [expected[x] for x in range(labels.size)]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_edges_per_pair_of_blocks(dense, inside):
    @given(labelled_graphs())
    @settings(max_examples=60)
    def check(drawn):
        snapshot, labels, blocks = drawn
        expected = Counter()
        for x, y in edges_of(snapshot):
            pair = tuple(sorted((int(labels[x]), int(labels[y]))))
            if inside or pair[0] != pair[1]:
                expected[pair] += 1
        edges = PrivateEdges(snapshot, ENGINE)
        cells, counts = block_counts(edges, labels, blocks, inside=inside)
        a, b = UNDIRECTED.pair_of(cells, blocks, inside=inside)
        pairs = zip(a.tolist(), b.tolist(), strict=True)
        assert dict(zip(pairs, counts.tolist(), strict=True)) == dict(expected)
        assert (np.diff(cells) > 0).all()
        assert (cells < UNDIRECTED.cell_count(blocks, inside=inside)).all()

    with pytest.MonkeyPatch.context() as patch:
        if not dense:  # as if there were too many cells to write down
            patch.setattr(queries, "MOST_CELLS", -1)
        check()


@given(labelled_graphs())
@settings(max_examples=60)
def test_neighbour_lists(drawn):
    snapshot, labels, _ = drawn
    starts, neighbours = adjacency(PrivateEdges(snapshot, ENGINE))
    assert starts[0] == 0
    assert starts[-1] == neighbours.size == 2 * snapshot.u.size
    for x in range(labels.size):
        expected = {b for a, b in edges_of(snapshot) if a == x}
        expected |= {a for a, b in edges_of(snapshot) if b == x}
        assert neighbours[starts[x] : starts[x + 1]].tolist() == sorted(expected)


def test_edge_count():
    snapshot = Snapshot(Roster.range(4), [0, 1, 1], [1, 2, 2])
    assert EdgeCount().answer(PrivateEdges(snapshot, ENGINE)) == 2


# ---- numbering pairs of blocks ----


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 7])
def test_all_pairs_have_consecutive_numbers(blocks, inside):
    pairs = [(a, b) for a in range(blocks) for b in range(a + (not inside), blocks)]
    assert UNDIRECTED.cell_count(blocks, inside=inside) == len(pairs)
    a, b = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    assert UNDIRECTED.cell_of(a, b, blocks, inside=inside).tolist() == list(range(len(pairs)))
    back = UNDIRECTED.pair_of(np.arange(len(pairs)), blocks, inside=inside)
    assert np.array_equal(back[0], a)
    assert np.array_equal(back[1], b)


@given(st.integers(2, 500_000) | st.integers(2, 1 << 26), st.booleans(), st.data())
def test_numbers_and_pairs_are_inverse(blocks, inside, data):
    size = UNDIRECTED.cell_count(blocks, inside=inside)
    somewhere = st.integers(0, size - 1)
    # Around the first cell of a row the square root is most likely to be off by one.
    a = data.draw(st.integers(0, blocks - 2))
    row = int(UNDIRECTED.cell_of(np.array(a), np.array(a + 1), blocks, inside=inside))
    cells = np.array([0, size - 1, row, max(row - 1, 0), row + 1, data.draw(somewhere)])
    cells = cells[cells < size]
    a, b = UNDIRECTED.pair_of(cells, blocks, inside=inside)
    assert (a >= 0).all()
    assert (a <= b).all()
    assert inside or (a < b).all()
    assert (b < blocks).all()
    assert np.array_equal(UNDIRECTED.cell_of(a, b, blocks, inside=inside), cells)


# ---- sorting ----


@given(st.integers(1, 60), st.integers(0, 40_000), st.integers(0, 2**32))
@settings(max_examples=40)
def test_sort_keys(bits, size, seed):
    keys = np.random.default_rng(seed).integers(0, 1 << bits, size=size)
    expected = np.sort(keys)
    assert np.array_equal(sort_keys(keys, largest=(1 << bits) - 1), expected)


@pytest.mark.parametrize("largest", [0, 1, 2047, 2048, (1 << 22) - 1, 1 << 22])
def test_sort_keys_around_the_digits(largest):
    keys = np.full(1 << 15, largest, dtype=np.int64)
    keys[::3] = 0
    keys[1::3] = largest // 2
    assert np.array_equal(sort_keys(keys.copy(), largest=largest), np.sort(keys))


@given(st.lists(st.integers(0, 9), max_size=50))
def test_run_lengths(values):
    keys = np.sort(np.array(values, dtype=np.int64))
    found, counts = run_lengths(keys)
    expected = np.unique(keys, return_counts=True)
    assert np.array_equal(found, expected[0])
    assert np.array_equal(counts, expected[1])
