"""PSGraph+ as a whole: every valid input, exact spends, replay, restarts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from psgraph.errors import InvalidArgument, MethodError
from psgraph.graph import Roster, Snapshot
from psgraph.methods.plus import PSGraphPlus
from psgraph.methods.plus.queries import KeptEdges
from psgraph.metrics import edge_overlap
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.records import decode, encode
from psgraph.publication.verification import verify
from psgraph.testing import check_method

from .snapshots import ENGINE, asking, hubs_and_leaves, noisy_budget, publish, random_snapshot

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
    stream, spent = STREAMS[case], []
    for index, (granted, budget, _, state) in enumerate(
        publish(PSGraphPlus(), stream, epsilon=epsilon, window=window)
    ):
        assert budget.spent == granted
        spent.append(granted)
        graph = PSGraphPlus().synthesise(state, None, np.random.default_rng(0), ENGINE)
        assert graph.roster == stream[index].roster
        assert graph.edge_count == state.edge_count
        assert (graph.u < graph.v).all()
    assert sum(spent[-window:]) <= Fraction(epsilon)


def test_a_graph_that_stays_is_published_with_the_right_size_and_degrees():
    *_, (_, _, _, state) = publish(PSGraphPlus(), [BIG] * 8, epsilon="40", window=4)
    true = np.bincount(np.concatenate([BIG.u, BIG.v]), minlength=300)
    degrees = np.bincount(np.concatenate([state.u, state.v]), minlength=300)
    assert state.edge_count == pytest.approx(BIG.u.size, rel=0.01)
    assert np.corrcoef(true, degrees)[0, 1] > 0.99
    assert np.abs(true - degrees).mean() < 0.8


def overlap(before, after) -> float:
    one, other = (PSGraphPlus().synthesise(state, None, None, ENGINE) for state in (before, after))
    return edge_overlap(one, other)


def test_edges_persist_as_they_do_in_truth():
    states = [row[3] for row in publish(PSGraphPlus(), [BIG] * 8, epsilon="40", window=4)]
    assert overlap(states[6], states[7]) > 0.8
    rng = np.random.default_rng(1)
    changing = [random_snapshot(rng, 300, 0.02) for _ in range(8)]
    states = [row[3] for row in publish(PSGraphPlus(), changing, epsilon="40", window=4)]
    assert overlap(states[6], states[7]) < 0.1


def test_edges_persist_in_windows_of_one_too():
    states = [row[3] for row in publish(PSGraphPlus(), [BIG] * 4, epsilon="40", window=1)]
    assert overlap(states[2], states[3]) > 0.7


def test_nothing_is_kept_where_persistence_is_switched_off():
    method = PSGraphPlus(persistence=False)
    states = [row[3] for row in publish(method, [BIG] * 4, epsilon="40", window=4)]
    assert overlap(states[2], states[3]) < 0.7


def test_states_and_measurements_survive_storage():
    method = PSGraphPlus()
    for _, _, measurement, state in publish(method, [BIG] * 4, epsilon="8", window=3):
        for record in (measurement, state):
            data, rosters = encode(record)
            again = decode(data, classes=method.records, rosters=rosters.get)
            assert encode(again)[0] == data
    assert state.hub_rows is not None  # every kind of record was among them


def test_the_same_measurements_give_the_same_graphs_in_another_process():
    """Without what `measure` keeps for `update`."""
    state = None
    for _, _, measurement, expected in publish(PSGraphPlus(), [BIG] * 4, epsilon="8", window=3):
        state = PSGraphPlus().update(state, measurement)
        assert encode(state)[0] == encode(expected)[0]


def test_less_than_it_requested_is_refused_before_anything_is_measured():
    accountant = Accountant(WEventPrivacy("1", window=5))
    budget = noisy_budget(Fraction(1, 5), accountant, 1)
    with pytest.raises(MethodError, match="less than it requested"):
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
    charged = sum(charge.epsilon for charge in restarted.certificate.charges)
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
    assert len(cases) == 8
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
    off = PSGraphPlus(clustering=False, persistence=False, communities=False)
    assert len(off.plan_remarks(WEventPrivacy("1", window=5), nodes=9)) == 1


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
