"""PSGraph+ with public labels: the code book, the estimates, and what is published."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import psgraph as pg
from psgraph.errors import RosterError, TermsChanged
from psgraph.graph import DIRECTED, UNDIRECTED, Roster, Snapshot
from psgraph.methods.plus.clustering import Clustering, Unclustered
from psgraph.methods.plus.label_blocks import LabelBlocks, LabelReadings
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.label_queries import AgreeingEdges, LabelEdges
from psgraph.methods.plus.mixing import Mixing
from psgraph.metrics import label_modularity
from psgraph.publication.records import decode, encode
from psgraph.streams.demo import demo_stream
from psgraph.testing import check_query

GUARANTEE = pg.WEventPrivacy("1/2", window=3)


def _book(**columns: list[str | None]) -> tuple[Roster, LabelBook]:
    count = len(next(iter(columns.values())))
    roster = Roster(range(count), labels=columns)
    book = LabelBook.of(roster)
    assert book is not None
    return roster, book


def test_rare_combinations_are_pooled_and_agree_with_nothing():
    teams = ["red"] * 60 + ["blue"] * 50 + ["one"] * 2 + [None] * 8
    roster, book = _book(team=teams)
    assert book.combinations == ((None,), ("blue",), ("red",))
    assert book.pooled == (1, 2)
    codes = book.codes(roster)
    assert set(codes[110:112].tolist()) == {book.count - 1}
    assert book.agreement.diagonal().tolist() == [0, 1, 1, 0]  # missing and pooled don't agree


def test_patterns_tell_which_columns_agree():
    _, book = _book(team=["a", "a", "b", "b"] * 10, site=["x", "y", "x", "y"] * 10)
    first = book.combinations.index(("a", "x"))
    patterns = [book.agreement[first, book.combinations.index(each)] for each in book.combinations]
    assert dict(zip(book.combinations, patterns, strict=True)) == {
        ("a", "x"): 3,
        ("a", "y"): 1,
        ("b", "x"): 2,
        ("b", "y"): 0,
    }


def test_values_that_are_new_later_join_the_pooled_ones():
    _, book = _book(team=["a", "b"] * 20)
    later = Roster(range(40), labels={"team": ["a"] * 20 + ["c"] * 20})
    assert set(book.codes(later)[20:].tolist()) == {book.count - 1}
    assert book.new_values(later) == [("c",)]


@pytest.mark.parametrize("columns", [1, 2])
def test_too_many_labels_are_refused_before_anything_is_spent(columns, tmp_path):
    nodes = 3000
    labels = {
        f"c{k}": [f"v{each % (350 if columns == 1 else 40 + k)}" for each in range(nodes)]
        for k in range(columns)
    }
    snapshot = Snapshot(Roster(range(nodes), labels=labels), [0], [1])
    with pg.Publisher(pg.PSGraphPlus(), GUARANTEE, out=tmp_path / "out") as publisher:
        with pytest.raises(RosterError) as refused:
            publisher.publish(snapshot)
        assert refused.value.code in ("labels_many", "labels_rare")
        assert publisher.spending.spent == 0


@pytest.mark.parametrize("teams", [["a", "b", None], ["a", "b", "c"]])
def test_one_edge_moves_both_queries_by_one(teams):
    def agreement(nodes: int) -> AgreeingEdges:
        roster, book = _book(team=[teams[each % 3] for each in range(max(nodes, 3))])
        return AgreeingEdges(book.codes(roster)[:nodes], book)

    def edges(nodes: int) -> LabelEdges:
        query = agreement(nodes)
        return LabelEdges(query.labels, query.book.count)

    check_query(agreement)
    check_query(edges)


def _chance(book: LabelBook, edges: int) -> Mixing:
    count = book.count
    stubs = np.append(np.full(count - 1, 2.0 * edges / (count - 1)), 0.0)
    sizes = np.append(np.full(count - 1, 1000), 0)
    matrix = np.outer(stubs, stubs) / max(stubs.sum(), 1)
    return Mixing(matrix, stubs, stubs, sizes)


def _after(book: LabelBook, inside: list[int], between: int, epsilon: Fraction) -> LabelBlocks:
    a, b = book.pairs
    last = book.count - 1
    cells = np.where(a == b, np.array([*inside, 0])[a], between) * ((a != last) & (b != last))
    sums = np.bincount(book.cell_patterns, weights=cells).astype(np.int64)
    edges = int(cells.sum())
    return LabelBlocks.start(book).observed(
        LabelReadings(sums, cells.astype(np.int64)),
        edges=edges,
        edges_variance=1.0,
        agreement=epsilon,
        label_edges=epsilon,
    )


def test_blocks_follow_clear_counts_and_keep_the_stubs():
    _, book = _book(team=["a", "b", "c"] * 20)
    known = _after(book, [900, 900, 900], 100, Fraction(10))
    chance = _chance(book, 3000)
    assert known.decided(chance).used
    blocks = known.blocks(chance)
    assert np.allclose(blocks.sum(axis=1), chance.stubs, rtol=2e-3)
    assert np.allclose(blocks.diagonal()[:3], 1800, rtol=0.02)


def test_labels_that_explain_nothing_are_not_used():
    _, book = _book(team=["a", "b", "c"] * 20)
    known = _after(book, [333, 333, 333], 667, Fraction(1))
    assert not known.decided(_chance(book, 3000)).used


def test_counts_that_drown_in_noise_are_shrunk_to_mixing_at_random():
    _, book = _book(team=["a", "b", "c"] * 20)
    known = _after(book, [50, 40, 40], 60, Fraction(1, 200))
    chance = _chance(book, 310)
    assert not known.decided(chance).used
    assert np.abs(known.blocks(chance) - chance.matrix).sum() < 0.35 * chance.matrix.sum()


def test_releases_have_the_modularity_of_the_labels_at_a_strong_budget():
    stream = demo_stream(timestamps=4, labels=True)
    with pg.Publisher(pg.PSGraphPlus(), GUARANTEE, seed=4) as publisher:
        releases = list(publisher.publish_all(stream))
    for snapshot, release in zip(stream, releases, strict=True):
        true = label_modularity(snapshot, "department")
        assert abs(label_modularity(release.graph, "department") - true) < 0.1 * true
        assert release.certificate.summary["labels_used"]
        assert "department" in release.certificate.roster
    charged = {charge.label for charge in releases[0].certificate.charges}
    assert {AgreeingEdges.label, LabelEdges.label} <= charged
    assert releases[0].certificate.summary["communities"] is False


def test_directed_graphs_say_that_they_do_not_follow_labels():
    teams = ["red", "blue"] * 30
    snapshot = Snapshot(
        Roster(range(60), labels={"team": teams}), range(59), range(1, 60), kind=DIRECTED
    )
    publisher = pg.Publisher(pg.PSGraphPlus(), GUARANTEE, seed=1)
    with publisher, pytest.warns(UserWarning, match="labels"):
        release = publisher.publish(snapshot)
    assert release.graph.roster.label_columns == ("team",)
    assert AgreeingEdges.label not in {each.label for each in release.certificate.charges}


@pytest.mark.parametrize("kind", [DIRECTED, DIRECTED.with_weights(9), UNDIRECTED.with_weights(9)])
def test_a_plan_with_labels_is_that_of_the_kind(kind):
    plain, rows = (
        {row.label for row in pg.plan(GUARANTEE, nodes=100, kind=kind, labels=labels).rows}
        for labels in (False, True)
    )
    more = {AgreeingEdges.label, LabelEdges.label} if kind.sides == 1 else set()
    assert rows - plain == more
    assert plain <= rows


def test_labels_imply_about_the_triangles_that_there_are():
    plain = Unclustered(nodes=20_000, wedges=4_500_000, triangles=14_000, second_largest_degree=300)
    for noisy in (-4_000, 10_000, 60_000):
        free, labelled = (
            Clustering.start().measured(noisy, plain, epsilon=0.03, by_label=by_label)
            for by_label in (False, True)
        )
        target = labelled.target(0.009, kept=0.0, steady=0.0, by_label=True)
        assert target is not None
        assert target >= 0.8 * 0.009
        assert labelled.excess <= max(free.excess, 2.5)


def test_with_labels_common_neighbours_of_the_plain_graph_say_how_noisy_triangles_are():
    plain = Unclustered(20_000, wedges=4_500_000, triangles=14_000, second_largest_degree=700)
    start = Clustering.start()
    drowned, clear = (
        start.measured(7_000, replace(plain, reach=reach), epsilon=0.1, by_label=True).excess
        for reach in (300, 3)
    )
    assert clear < 0.7
    assert drowned > 1.2


def test_fewer_triangles_than_labels_imply_are_believed_where_they_are_counted_well():
    plain = Unclustered(1_000, 1_100_000, 46_000, second_largest_degree=340, reach=190)
    start = Clustering.start()
    for step in range(3):
        start = start.measured(41_000 + step, plain, epsilon=0.3, by_label=True)
    assert 0.85 < start.excess < 0.95


def test_a_ledger_with_labels_is_resumed_and_gives_the_same_releases(tmp_path):
    stream = demo_stream(nodes=400, timestamps=5, labels=True)
    whole = _published(stream, tmp_path / "whole", [5])
    parts = _published(stream, tmp_path / "parts", [2, 5])
    assert whole == parts
    pg.verify(tmp_path / "parts")


def _published(stream, out, ends):
    for end in ends:
        with pg.Publisher(pg.PSGraphPlus(), GUARANTEE, out=out, seed=6) as publisher:
            found = [each.certificate.graph_sha256 for each in publisher.publish_all(stream[:end])]
    return found


def test_label_columns_cannot_change_in_a_running_stream(tmp_path):
    plain, stream = demo_stream(nodes=400), demo_stream(nodes=400, labels=True)
    with pg.Publisher(pg.PSGraphPlus(), GUARANTEE, seed=1) as publisher:
        publisher.publish(stream[0])
        with pytest.raises(TermsChanged) as refused:
            publisher.publish(plain[1])
    assert set(refused.value.changed) == {"labels"}


def test_states_with_labels_are_stored_and_read_back():
    _, book = _book(team=["a", "b", None] * 20)
    known = _after(book, [90, 90, 90], 10, Fraction(1))
    classes = [LabelBlocks, LabelBook, type(known.shares)]
    again = decode(encode(known)[0], classes=classes, rosters={}.get)
    assert again.book == book
    assert np.array_equal(again.cells.level, known.cells.level)


def test_no_window_exceeds_epsilon_with_labels_that_swing():
    rng = np.random.default_rng(0)
    roster = Roster(range(200), labels={"team": [str(each % 4) for each in range(200)]})
    stream = []
    for step in range(14):
        u, v = rng.integers(0, 200, (2, 12_000))
        inside = rng.random(u.size) < (0.95 if step % 2 else 0.55)
        v = np.where(inside, v - v % 4 + u % 4, v - v % 4 + (u + 1) % 4)
        keys = np.unique(np.minimum(u, v) * 200 + np.maximum(u, v))
        keys = rng.permutation(keys[keys // 200 != keys % 200])[:1000]
        stream.append(Snapshot(roster, keys // 200, keys % 200))
    guarantee = pg.WEventPrivacy("8", window=4)
    with pg.Publisher(pg.PSGraphPlus(), guarantee, seed=2) as publisher:
        releases = list(publisher.publish_all(stream))
    spent = [release.certificate.spent for release in releases]
    assert max(sum(spent[k : k + 4]) for k in range(len(spent))) <= 8
    asked = {AgreeingEdges.label, LabelEdges.label}
    followed = [
        {charge.label for charge in release.certificate.charges} & asked for release in releases
    ]
    assert {AgreeingEdges.label} in followed  # P alone, between windows


@pytest.mark.parametrize("value", [0, -1, 2**40, -(2**40), 2**62, -(2**62)])
def test_any_noisy_count_leads_to_a_block_matrix_with_the_right_stubs(value):
    _, book = _book(team=["a", "b", "c"] * 20)
    known = LabelBlocks.start(book).observed(
        LabelReadings(np.full(book.patterns, value), np.full(book.cells, value)),
        edges=3000,
        edges_variance=10.0,
        agreement=Fraction(1, 10),
        label_edges=Fraction(1, 10),
    )
    chance = _chance(book, 3000)
    blocks = known.decided(chance).blocks(chance)
    assert np.isfinite(blocks).all()
    assert np.allclose(blocks.sum(axis=1), chance.stubs, rtol=1e-2)
