"""PSGraph+ as a whole: every valid input, exact spends, replay, restarts."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from psgraph.errors import InvalidArgument, MethodError
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.queries import KeptEdges
from psgraph.metrics import edge_overlap
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import GIVEN_BACK, Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import decode, encode
from psgraph.publication.verification import verify
from psgraph.testing import check_method
from psgraph.testing.cases import leaves

from .snapshots import (
    ENGINE,
    asking,
    hubs_and_leaves,
    noisy_budget,
    publish,
    random_snapshot,
    released,
)

NOTHING = {"curve": False, "hubs": False, "persistence": False, "clustering": False}


@pytest.mark.parametrize("method", [PSGraphPlus(), PSGraphPlus(**NOTHING, resets=False)])
def test_it_keeps_the_protocol(method):
    assert check_method(method).method == "psgraph-plus"


def snapshot(nodes, edges) -> Snapshot:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    roster = nodes if isinstance(nodes, Roster) else Roster.range(nodes)
    return Snapshot(roster, pairs[:, 0], pairs[:, 1])


def complete(nodes: int) -> Snapshot:
    return snapshot(nodes, np.argwhere(np.triu(np.ones((nodes, nodes)), 1)))


def star(nodes: int) -> Snapshot:
    return snapshot(nodes, [(0, x) for x in range(1, nodes)])


def part_of(whole: Snapshot, share: float, roster: Roster | None = None) -> Snapshot:
    chosen = np.random.default_rng(2).random(whole.u.size) < share
    return Snapshot(roster or whole.roster, whole.u[chosen], whole.v[chosen])


BIG = hubs_and_leaves(300)
STREAMS = {
    "no nodes": [snapshot(0, [])] * 3,
    "one node": [snapshot(1, [])] * 3,
    "two nodes": [snapshot(2, []), snapshot(2, [(0, 1)]), snapshot(2, [])],
    "no edges": [snapshot(50, [])] * 3,
    "no edges at first": [snapshot(300, []), BIG, BIG],
    "complete graphs": [complete(3), complete(30), complete(30)],
    "stars": [star(300), star(300), star(40)],
    "a tenth and back": [BIG, part_of(BIG, 0.1), BIG, BIG],
    "a roster that doubles": [BIG, Snapshot(Roster.range(600), BIG.u, BIG.v), BIG],
    "disjoint rosters": [BIG, Snapshot(Roster(range(1000, 1300)), BIG.u, BIG.v), BIG],
    "other kinds of ids": [BIG, snapshot(Roster(["a", "b", "c"]), [(0, 1)]), BIG],
    "a roster that vanishes": [BIG, snapshot(0, []), BIG],
}


@pytest.mark.parametrize("case", STREAMS)
@pytest.mark.parametrize(
    ("epsilon", "window"), [("1", 1), ("0.01", 3), ("50", 2), ("4", 3), ("1", 200)]
)
def test_it_is_defined_on_every_valid_stream(case, epsilon, window):
    stream = STREAMS[case]
    rows = list(publish(PSGraphPlus(), stream, epsilon=epsilon, window=window))
    assert all(budget.spent == granted for granted, budget, _, _ in rows)
    assert sum(granted for granted, *_ in rows[-window:]) <= Fraction(epsilon)
    states = [row[3] for row in rows]
    for snapshot, state, graph in zip(stream, states, released(states), strict=True):
        assert graph.roster == snapshot.roster
        assert graph.edge_count == state.edge_count
        assert (graph.u < graph.v).all()


def graphs_of(method, stream, *, window=4) -> list[SyntheticGraph]:
    return list(released(row[3] for row in publish(method, stream, epsilon="40", window=window)))


def test_a_graph_that_stays_is_published_with_the_right_size_and_degrees():
    *_, graph = graphs_of(PSGraphPlus(), [BIG] * 8)
    true = np.bincount(np.concatenate([BIG.u, BIG.v]), minlength=300)
    degrees = np.bincount(np.concatenate([graph.u, graph.v]), minlength=300)
    assert graph.edge_count == pytest.approx(BIG.u.size, rel=0.01)
    assert np.corrcoef(true, degrees)[0, 1] > 0.99
    assert np.abs(true - degrees).mean() < 0.8


def test_edges_persist_as_they_do_in_truth():
    graphs = graphs_of(PSGraphPlus(), [BIG] * 8)
    assert edge_overlap(graphs[6], graphs[7]) > 0.8
    rng = np.random.default_rng(1)
    changing = [random_snapshot(rng, 300, 0.02) for _ in range(8)]
    graphs = graphs_of(PSGraphPlus(), changing)
    assert edge_overlap(graphs[6], graphs[7]) < 0.1


def test_edges_persist_in_windows_of_one_too():
    graphs = graphs_of(PSGraphPlus(), [BIG] * 4, window=1)
    assert edge_overlap(graphs[2], graphs[3]) > 0.7


def test_nothing_is_kept_where_persistence_is_switched_off():
    graphs = graphs_of(PSGraphPlus(persistence=False), [BIG] * 4)
    assert edge_overlap(graphs[2], graphs[3]) < 0.7


def test_states_and_measurements_survive_storage():
    method = PSGraphPlus()
    for _, _, measurement, state in publish(method, [BIG] * 4, epsilon="8", window=3):
        for record in (measurement, state):
            data, rosters = encode(record)
            again = decode(data, classes=method.records, rosters=rosters.get)
            assert encode(again)[0] == data
    assert state.hub_rows is not None  # every kind of record was among them


def test_the_same_measurements_give_the_same_states_in_another_process():
    state = None
    for _, _, measurement, expected in publish(PSGraphPlus(), [BIG] * 4, epsilon="8", window=3):
        state = PSGraphPlus().update(state, measurement)
        assert encode(state)[0] == encode(expected)[0]


def test_a_state_is_no_larger_than_its_roster():
    dense = complete(120)
    for *_, state in publish(PSGraphPlus(), [dense] * 3, epsilon="8", window=3):
        assert max(each.size for each in leaves(state).values() if hasattr(each, "size")) < 3000


def test_a_graph_keeps_edges_of_the_release_that_is_handed_in():
    *_, (_, _, _, state) = publish(PSGraphPlus(), [BIG] * 8, epsilon="40", window=4)
    one, other = (
        PSGraphPlus().synthesise(state, before, np.random.default_rng(1), ENGINE)
        for before in (None, SyntheticGraph(BIG.roster, BIG.u, BIG.v))
    )
    assert edge_overlap(one, BIG) < 0.5 < 0.8 < edge_overlap(other, BIG)


def test_less_than_it_requested_is_refused_before_anything_is_measured():
    accountant = Accountant(WEventPrivacy("1", window=5))
    budget = noisy_budget(Fraction(1, 5), accountant, 1)
    with pytest.raises(MethodError):
        PSGraphPlus().measure(asking(BIG, budget), None)
    assert budget.spent == 0


def labels_of(release) -> set[str]:
    return {charge.label for charge in release.certificate.charges}


def test_a_published_stream_is_verified_and_remade_byte_by_byte(tmp_path):
    with Publisher(PSGraphPlus(), WEventPrivacy("4", window=3), out=tmp_path) as publisher:
        releases = [publisher.publish(BIG) for _ in range(5)]
    assert all(release.certificate.window_spent <= 4 for release in releases)
    assert verify(tmp_path).timestamps == 5
    files = {path: path.read_bytes() for path in tmp_path.glob("0*")}
    for path in files:
        path.unlink()
    with Publisher(PSGraphPlus(), WEventPrivacy("4", window=3), out=tmp_path) as publisher:
        for _ in range(5):
            publisher.publish(BIG)
    assert {path: path.read_bytes() for path in files} == files


def test_edges_kept_are_skipped_after_a_restart_and_their_share_is_not_spent(tmp_path):
    guarantee = WEventPrivacy("4", window=3)
    with Publisher(PSGraphPlus(), guarantee, out=tmp_path / "one") as publisher:
        unbroken = [publisher.publish(BIG) for _ in range(2)]
    with Publisher(PSGraphPlus(), guarantee, out=tmp_path / "two") as publisher:
        publisher.publish(BIG)
    with Publisher(PSGraphPlus(), guarantee, out=tmp_path / "two") as publisher:
        publisher._cursor = 1  # as after `resume`: the first snapshot is not handed in again
        restarted = publisher.publish(BIG)
    kept = KeptEdges.label
    assert kept in labels_of(unbroken[1])
    assert kept not in labels_of(restarted)
    assert restarted.certificate.spent == unbroken[1].certificate.spent
    charged = sum(
        charge.epsilon for charge in restarted.certificate.charges if charge.mechanism != GIVEN_BACK
    )
    assert restarted.certificate.spent - charged == Fraction(1, 100) * 4


def test_a_snapshot_handed_in_again_serves_the_query_about_edges_kept(tmp_path):
    guarantee = WEventPrivacy("4", window=3)
    with Publisher(PSGraphPlus(), guarantee, out=tmp_path) as publisher:
        publisher.publish(BIG)
    with Publisher(PSGraphPlus(), guarantee, out=tmp_path) as publisher:
        publisher.publish(BIG)  # handed back
        assert KeptEdges.label in labels_of(publisher.publish(BIG))


def test_the_plan_names_the_queries_of_each_kind_of_timestamp():
    rows = PSGraphPlus().plan(WEventPrivacy("4", window=5), nodes=1000)
    cases = {row.case for row in rows}
    assert len(cases) == 12
    assert {row.label for row in rows} >= {"edges", "degrees", "degree curve", "edges kept"}
    assert {row.case for row in PSGraphPlus().plan(WEventPrivacy("1", window=1), nodes=9)} == {
        "first timestamp",
        "every later timestamp",
    }


def test_the_plan_says_what_its_rows_cannot():
    remarks = " ".join(PSGraphPlus().plan_remarks(WEventPrivacy("1", window=5), nodes=9))
    assert "ladder mechanism" in remarks
    assert "once per window" in remarks
    assert "a search for them takes up to 75 %" in remarks
    assert "edges between labels" in remarks
    off = PSGraphPlus(clustering=False, persistence=False, communities=False)
    assert len(off.plan_remarks(WEventPrivacy("1", window=5), nodes=9)) == 3


@pytest.mark.parametrize(
    "name", ["curve", "hubs", "persistence", "clustering", "communities", "resets"]
)
def test_switches_are_booleans(name):
    with pytest.raises(InvalidArgument, match=name):
        PSGraphPlus(**{name: "yes"})
    assert PSGraphPlus.from_settings({name: "false"}).parameters()[name] is False


def test_the_summary_holds_released_facts():
    *_, (_, _, _, state) = publish(PSGraphPlus(), [BIG] * 2, epsilon="1", window=2)
    summary = PSGraphPlus().summary(state)
    assert summary["noisy_edges"] == state.edge_count
    assert summary["node_degrees"] in ("undecided", "periodic", "steady")


# ---- answers that no one expects: the mechanisms may return any integer ----

EXTREME = [0, 1, -1, 10**6, -(10**6), 2**40, -(2**40), 2**46, -(2**46), 2**62, -(2**62)]
LABELS = sorted({query.label for query in PSGraphPlus.queries})


def forced(answer, values):
    """An answer of the same form, made of the given values."""
    if np.shape(answer) == ():
        return int(values[0])
    limits = np.iinfo(answer.dtype)
    shaped = np.resize(np.array(values, np.int64), answer.shape)
    return np.clip(shaped, limits.min, limits.max).astype(answer.dtype)


@settings(max_examples=60)
@given(
    answers=st.lists(
        st.dictionaries(
            st.sampled_from(LABELS), st.lists(st.sampled_from(EXTREME), min_size=1, max_size=3)
        ),
        min_size=2,
        max_size=5,
    ),
    nodes=st.sampled_from([2, 3, 7, 60]),
    epsilon=st.sampled_from(["1/1000", "1/4", "8", "128"]),
    window=st.sampled_from([1, 3]),
)
@example(answers=[{"degrees": [10**6]}] * 3, nodes=60, epsilon="8", window=3)
@example(answers=[{"degrees": [2**40, -(2**40)]}] * 5, nodes=60, epsilon="8", window=3)
@example(answers=[{"degree curve": [2**46]}] * 5, nodes=60, epsilon="128", window=3)
@example(answers=[{label: [-(2**62)] for label in LABELS}] * 5, nodes=60, epsilon="8", window=3)
def test_extreme_answers_give_valid_graphs_without_a_platform_dependent_cast(
    answers, nodes, epsilon, window
):
    run = Budget.run
    rng = np.random.default_rng(1)
    graphs = [rng.integers(0, nodes, (4 * nodes, 2)) for _ in answers]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with Publisher(PSGraphPlus(), WEventPrivacy(epsilon, window), seed=1) as publisher:
            for values, pairs in zip(answers, graphs, strict=True):

                def answer(budget, mechanism, *, values=values, label, **options):
                    drawn = run(budget, mechanism, label=label, **options)
                    return forced(drawn, values[label]) if label in values else drawn

                patch.setattr(Budget, "run", answer)
                graph = publisher.publish(snapshot(nodes, pairs[pairs[:, 0] != pairs[:, 1]])).graph
                keys = graph.u.astype(np.int64) * nodes + graph.v
                assert (graph.u < graph.v).all()
                assert graph.v.max(initial=0) < nodes
                assert np.unique(keys).size == keys.size
