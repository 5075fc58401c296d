"""Graphs drawn in parts: the same for every engine, with the degrees and blocks that are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph import Publisher, WEventPrivacy
from psgraph.engines import threads
from psgraph.engines.runner import Job
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import Edges
from psgraph.graph.parts import EdgeParts, MemoryParts
from psgraph.methods.plus import PSGraphPlus, parts
from psgraph.methods.plus.closure import places_of
from psgraph.methods.plus.contingency import fitted, hypergeometric, random_table, stream
from psgraph.methods.plus.leftovers import completed
from psgraph.methods.plus.mixing import degree_classes, integer_blocks, rake
from psgraph.methods.plus.parts import Last, More, draw_parts
from psgraph.methods.plus.realisation import Target, quota_matrix, realise
from psgraph.methods.plus.sampled_edges import MOST_COUNTED, Sample, sample_edges, sample_for
from psgraph.methods.plus.spans import cut
from psgraph.methods.plus.stub_tables import Layout, stub_tables
from psgraph.methods.plus.synthesis import old_edges
from psgraph.methods.plus.triangles import count_triangles, second_largest_degree, wedge_count
from psgraph.methods.plus.unclustered import expected_unclustered
from psgraph.streams.demo import demo_stream

NODES, HUBS, WIDTH = 700, 20, 128


@pytest.fixture(autouse=True)
def small_ranges(monkeypatch):
    monkeypatch.setattr(parts, "WIDTH", WIDTH)


def target(seed: int = 1, mean: float = 6.0) -> Target:
    rng = np.random.default_rng(seed)
    weights = rng.pareto(2.0, NODES) + 0.5
    degrees = rng.poisson(mean * weights / weights.mean()).clip(0, NODES // 3)
    degrees[0] += degrees.sum() % 2
    labels = degree_classes(degrees)
    labels[np.argsort(-degrees)[:HUBS]] = 12 + np.arange(HUBS)
    count = 12 + HUBS
    stubs = np.bincount(labels, weights=degrees, minlength=count)
    sizes = np.bincount(labels, minlength=count)
    mixing = rake(np.outer(stubs, stubs) / stubs.sum(), stubs, sizes)
    blocks = integer_blocks(mixing, np.arange(count, dtype=np.uint64), seed, classes=12)
    return Target(degrees, labels, *blocks, int(degrees.sum()) // 2)


class TwiceEngine(LocalEngine):
    """Runs every task twice, as after the loss of a worker, and keeps the second result."""

    def map(self, job: Job) -> Iterator[object]:
        return super().map(job if job.work.__module__ == threads.__name__ else _doubled(job))

    def shuffle(self, jobs: Iterable[Job], **options: Any) -> EdgeParts:
        return super().shuffle(map(_doubled, jobs), **options)

    def store(self, job: Job, **options: Any) -> EdgeParts:
        return super().store(_doubled(job), **options)


def _doubled(job: Job) -> Job:
    return Job(_twice, job.items, (job,))


def _twice(item: object, job: Job) -> object:
    job.work(item, *job.shared)
    return job.work(item, *job.shared)


LOCAL = LocalEngine(threads=1)
ENGINES = [
    LOCAL,
    LocalEngine(threads=2, part_nodes=WIDTH),
    LocalEngine(threads=3, part_nodes=37, memory=0),
    LocalEngine(threads=2, part_nodes=300),
    TwiceEngine(threads=2, part_nodes=WIDTH),
]


def drawn(
    engine: LocalEngine, last: Last | None = None, seed: int = 7, triangles: int | None = None
) -> EdgeParts:
    more = None if triangles is None else More(triangles, numbers())
    return draw_parts(target(), last, seed, engine, more)


def numbers(seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(1 << 52, size=NODES, dtype=np.uint64)


def check(found: EdgeParts, wanted: Target) -> None:
    u, v = found.whole()
    keys = u.astype(np.int64) << 32 | v
    assert (u < v).all()
    assert (np.diff(keys) > 0).all()
    assert found.edge_count == u.size == wanted.edge_count
    assert np.array_equal(np.bincount(np.concatenate([u, v]), minlength=NODES), wanted.degrees)


def blocks_of(edges: EdgeParts | Edges, labels: np.ndarray, count: int) -> np.ndarray:
    u, v = (edges.u, edges.v) if isinstance(edges, Edges) else edges.whole()
    found = np.zeros((count, count), dtype=np.int64)
    a, b = labels[u], labels[v]
    np.add.at(found, (np.minimum(a, b), np.maximum(a, b)), 1)
    return found


# ---- tables ----


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.integers(0, 40), min_size=1, max_size=6),
    weights=st.lists(st.integers(0, 9), min_size=1, max_size=5),
    key=st.integers(0, 2**64 - 1),
)
def test_a_random_table_has_the_given_margins(rows, weights, key):
    columns = np.random.default_rng(key % 1000).multinomial(
        sum(rows), (np.array(weights) + 1) / (sum(weights) + len(weights))
    )
    table = random_table(stream(key, 0), np.array(rows), columns)
    assert (table >= 0).all()
    assert table.sum(axis=1).tolist() == rows
    assert np.array_equal(table.sum(axis=0), columns)


@pytest.mark.parametrize(("good", "bad", "draws"), [(5, 7, 4), (40, 3, 20), (100, 300, 50)])
def test_the_hypergeometric_distribution_is_exact(good, bad, draws):
    stats = pytest.importorskip("scipy.stats")
    state, count = stream(good, bad), 20_000
    found = [hypergeometric(state, good, bad, draws) for _ in range(count)]
    values = np.arange(draws + 1)
    expected = count * stats.hypergeom(good + bad, good, draws).pmf(values)
    seen = np.bincount(found, minlength=draws + 1)
    likely = expected > 5
    apart = ((seen - expected)[likely] ** 2 / expected[likely]).sum()
    assert apart < stats.chi2.ppf(0.9999, likely.sum() - 1)


def test_a_stream_draws_the_same_numbers_for_ever():
    state = stream(3, 1)
    assert [hypergeometric(state, 900, 1100, 100) for _ in range(6)] == [40, 50, 46, 58, 43, 46]


def test_fitted_quotas_use_all_stubs():
    quotas = np.triu(np.random.default_rng(1).integers(0, 50, (5, 5)))
    stubs = np.random.default_rng(2).integers(50, 400, 5)
    stubs[-1] += stubs.sum() % 2
    found = fitted(stream(1, 1), quotas, stubs, 5)
    assert (found >= 0).all()
    assert np.array_equal(found.sum(axis=0) + found.sum(axis=1), stubs)


def test_tables_deal_every_stub_of_a_range_once():
    wanted = target()
    rest, labels = wanted.degrees.astype(np.int32), wanted.labels
    layout = Layout(NODES, WIDTH)
    tables = stub_tables(rest, labels, quota_matrix(wanted), 12, layout, 5)
    assert np.array_equal(tables.cells, tables.cells.transpose(2, 3, 0, 1))
    dealt = tables.cells.sum(axis=(2, 3)) + tables.to_hubs.sum(axis=2)
    ranges = np.arange(NODES) // WIDTH
    stubs = np.zeros_like(dealt)
    np.add.at(stubs, (ranges[labels < 12], labels[labels < 12]), rest[labels < 12])
    assert (stubs >= dealt).all()
    assert (stubs - dealt).sum() <= 1


# ---- graphs ----


@pytest.mark.parametrize("engine", ENGINES)
def test_a_first_graph_is_the_same_on_every_engine(engine):
    found = drawn(engine)
    check(found, target())
    assert np.array_equal(np.stack(found.whole()), np.stack(drawn(ENGINES[0]).whole()))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("moves", [False, True])
def test_a_later_graph_is_the_same_on_every_engine(engine, moves):
    edges, roster = Edges(*drawn(ENGINES[0], seed=8).whole()), Roster.range(NODES)
    there = Roster(range(5, NODES + 5)) if moves else roster
    found = []
    for each in (ENGINES[0], engine):
        held = MemoryParts(edges.u, edges.v, nodes=NODES, part_nodes=each.part_nodes)
        graph = SyntheticGraph.from_parts(there, held)
        for triangles in (None, 500):
            found.append(drawn(each, Last(graph, roster, numbers(), 0.8), triangles=triangles))
            check(found[-1], target())
    assert np.array_equal(np.stack(found[0].whole()), np.stack(found[2].whole()))
    assert np.array_equal(np.stack(found[1].whole()), np.stack(found[3].whole()))
    offered, most = old_edges(graph, roster, numbers(), 0.8)
    in_memory = realise(target(), kept=offered, most_kept=most, rng=np.random.default_rng(1))
    moved = 5 if moves else 0
    old = set(zip((edges.u + moved).tolist(), (edges.v + moved).tolist(), strict=True))
    kept, before = (
        len(old & set(zip(u.tolist(), v.tolist(), strict=True)))
        for u, v in (found[0].whole(), (in_memory.u, in_memory.v))
    )
    assert kept == pytest.approx(before, rel=0.05)


def test_blocks_are_as_close_as_in_memory():
    wanted = target()
    quotas, found = quota_matrix(wanted), []
    whole = realise(wanted, rng=np.random.default_rng(1))
    for edges in (whole, drawn(ENGINES[1])):
        counted = blocks_of(edges, wanted.labels, quotas.shape[0])
        found.append(np.abs(counted - quotas).sum() / wanted.edge_count)
    assert found[1] <= found[0] + 0.02


def test_stubs_are_joined_across_parts_and_missing_edges_are_added():
    wanted, layout, engine = target(), Layout(NODES, WIDTH), LocalEngine(threads=1)
    edges = Edges(*drawn(engine).whole())
    some = np.random.default_rng(1).random(edges.u.size) < 0.9
    held = MemoryParts(edges.u[some], edges.v[some], nodes=NODES, part_nodes=WIDTH)
    reads, count = completed(engine, held.edges(), layout, wanted.degrees, wanted.edge_count, 4)
    assert count == wanted.edge_count == sum(read().u.size for read in reads)
    ends = np.concatenate([end for read in reads for end in read()])
    missed = np.abs(np.bincount(ends, minlength=NODES) - wanted.degrees).sum()
    assert missed < 0.01 * wanted.edge_count
    more, count = completed(engine, reads, layout, wanted.degrees, wanted.edge_count + 50, 4)
    assert count == wanted.edge_count + 50 == sum(read().u.size for read in more)


def test_parts_can_be_cut_at_any_width():
    edges = Edges(*drawn(ENGINES[0]).whole())
    held = MemoryParts(edges.u, edges.v, nodes=NODES, part_nodes=WIDTH)
    for width in (1, 50, 256, 1000):
        reads = cut(held.edges(), WIDTH, NODES, width)
        assert len(reads) == -(-NODES // width)
        assert np.array_equal(np.concatenate([read().u for read in reads]), edges.u)
        assert np.array_equal(np.concatenate([read().v for read in reads]), edges.v)


# ---- triangles ----


def test_triangles_by_chance_are_those_of_drawn_graphs():
    wanted = target(mean=12.0)
    computed = expected_unclustered(wanted)
    graphs = [realise(wanted, rng=np.random.default_rng(seed)) for seed in range(10)]
    counted = np.mean([count_triangles(graph, NODES) for graph in graphs])
    assert computed.triangles == pytest.approx(counted, rel=0.15)
    assert computed.wedges == wedge_count(graphs[0], NODES)
    assert computed.second_largest_degree == second_largest_degree(graphs[0], NODES)


@pytest.mark.parametrize("engine", ENGINES)
def test_closing_adds_about_the_triangles_that_are_wanted(engine):
    plain, more = (
        count_triangles(Edges(*drawn(engine, triangles=wanted).whole()), NODES)
        for wanted in (0, 400)
    )
    closed = drawn(engine, triangles=400)
    check(closed, target())
    assert more - plain == pytest.approx(400, rel=0.3)
    assert np.array_equal(np.stack(closed.whole()), np.stack(drawn(LOCAL, triangles=400).whole()))


def test_kept_edges_keep_their_triangles_and_new_ones_meet_them():
    roster, graphs = Roster.range(NODES), [drawn(LOCAL, triangles=400)]
    for seed in range(20, 24):
        last = Last(SyntheticGraph.from_parts(roster, graphs[-1]), roster, numbers(), 0.8)
        graphs.append(drawn(LOCAL, last, seed=seed, triangles=400))
    first, *_, end = (count_triangles(Edges(*graph.whole()), NODES) for graph in graphs)
    assert end == pytest.approx(first, rel=0.15)


def test_places_stay_with_their_nodes():
    nodes, width = 20_000, 3_000
    before = np.random.default_rng(1).integers(1 << 52, size=nodes, dtype=np.uint64)
    after = np.concatenate([before[1_000:], before[:7]])
    assert groups_of(before, width)[1_000:].tolist() == groups_of(after, width)[:-7].tolist()
    places = places_of(before, Layout(nodes, width))
    sizes = [last - first for first, last in map(places.bounds, range(places.ranges))]
    assert sum(sizes) == nodes
    assert max(sizes) < 1.1 * width
    assert abs(np.corrcoef(places.nodes, np.arange(nodes))[0, 1]) < 0.05  # not the order of ids


def groups_of(numbers: np.ndarray, width: int) -> np.ndarray:
    """The smallest group of every node."""
    places = places_of(numbers, Layout(numbers.size, width))
    groups = np.empty(numbers.size, dtype=np.int64)
    groups[places.nodes] = np.repeat(np.arange(places.begins.size - 1), np.diff(places.begins))
    return groups


def test_a_sample_holds_its_share_of_edges_whatever_the_parts():
    found = drawn(ENGINES[0])
    edges = sample_edges(found, Sample(0.4, 99), ENGINES[0])
    again = sample_edges(drawn(ENGINES[2]), Sample(0.4, 99), ENGINES[2])
    assert np.array_equal(edges.u, again.u)
    assert np.array_equal(edges.v, again.v)
    expected = 0.4 * found.edge_count
    assert abs(edges.u.size - expected) < 5 * np.sqrt(expected)


def test_a_sample_is_taken_of_many_edges_only():
    assert sample_for(MOST_COUNTED, 1) is None
    sample = sample_for(4 * MOST_COUNTED, 1)
    assert (sample.share, sample) == (0.25, sample_for(4 * MOST_COUNTED, 1))


# ---- releases ----


def test_a_lost_release_in_parts_is_drawn_again_from_sealed_values(tmp_path):
    snapshots = list(demo_stream(nodes=300, timestamps=3))
    engine, out = LocalEngine(threads=2, part_nodes=100), tmp_path / "releases"
    method = PSGraphPlus(communities=False)
    with Publisher(method, WEventPrivacy("4", window=3), out=out, engine=engine) as publisher:
        for snapshot in snapshots:
            publisher.publish(snapshot)
    files = [*(out / "000002").iterdir(), out / "000002.json"]
    before = {file: file.read_bytes() for file in files}
    assert len(files) > 2
    for file in files:
        file.unlink()
    (out / "000002").rmdir()
    again = LocalEngine(threads=1, part_nodes=100)
    with Publisher.resume(out, engine=again) as publisher:
        assert len(list(publisher.publish_all(snapshots))) == 3
    assert {file: file.read_bytes() for file in files} == before
