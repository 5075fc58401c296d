"""Rosters, snapshots and synthetic graphs against plain Python sets."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument, OutsideRoster, RosterError
from psgraph.graph import Dropped, Graph, Roster, Snapshot, SyntheticGraph
from psgraph.graph.roster import DECLARATIONS, as_ids, distinct_ids

# Digests in ledgers of version 0.1.0.
GIVEN_1_2 = "291517f0dd8089ead4ff055346a1b25937f2755b1c70d8b4341fd8e1531d8f9d"
EDGES_A = "c488ebfdead5b29cb9399f23f667c9324c9682510b1194d206ccb0440dfe24aa"

integers = st.integers(-(2**63), 2**63 - 1)
near_integers = st.integers(-20, 40)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
id_kinds = st.sampled_from([integers, near_integers, words])


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """A roster of integers or strings, and pairs of its ids in any order and number."""
    ids = draw(id_kinds.flatmap(lambda kind: st.lists(kind, min_size=1, max_size=8, unique=True)))
    pairs = draw(st.lists(st.tuples(st.sampled_from(ids), st.sampled_from(ids)), max_size=20))
    return ids, pairs


def reference(pairs: list[tuple[Any, Any]]) -> tuple[set[tuple[Any, Any]], Dropped]:
    edges, loops, repeats = set(), 0, 0
    for a, b in pairs:
        edge = (min(a, b), max(a, b))
        if a == b:
            loops += 1
        elif edge in edges:
            repeats += 1
        else:
            edges.add(edge)
    return edges, Dropped(loops, repeats)


def check_invariants(graph: Graph) -> None:
    assert graph.u.dtype == graph.v.dtype == np.int32
    assert (graph.u < graph.v).all()
    keys = graph.u.astype(np.int64) * 2**32 + graph.v
    assert (np.diff(keys) > 0).all()
    assert not graph.u.flags.writeable
    assert not graph.v.flags.writeable


# ---- building ----


@given(edge_lists())
def test_edges_are_normalised_like_a_set_of_pairs(case: tuple[list[Any], list[Any]]) -> None:
    ids, pairs = case
    graph = Snapshot.from_edges(pairs, roster=Roster(ids), time="now")
    edges, dropped = reference(pairs)
    check_invariants(graph)
    assert graph.to_edges() == sorted(edges)
    assert graph.dropped == dropped
    assert graph.dropped.total == len(pairs) - len(edges)
    assert graph.time == "now"


@given(edge_lists())
def test_a_roster_from_the_edges_holds_the_nodes_with_an_edge(
    case: tuple[list[Any], list[Any]],
) -> None:
    _, pairs = case
    graph = Snapshot.from_edges(pairs, roster_from_edges=True)
    edges, dropped = reference(pairs)
    check_invariants(graph)
    assert graph.to_edges() == sorted(edges)
    assert graph.roster.ids.tolist() == sorted({end for edge in edges for end in edge})
    assert graph.roster.from_edges
    assert graph.dropped == dropped


@given(edge_lists(), st.randoms(use_true_random=False))
def test_order_and_direction_of_the_input_do_not_matter(
    case: tuple[list[Any], list[Any]], random: Any
) -> None:
    ids, pairs = case
    turned = [pair[::-1] if random.random() < 0.5 else pair for pair in pairs]
    random.shuffle(turned)
    shuffled = random.sample(ids, len(ids))
    one = Snapshot.from_edges(pairs, roster=Roster(ids))
    other = Snapshot.from_edges(turned, roster=Roster(shuffled))
    assert one == other
    assert one.roster.digest == other.roster.digest


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_positions_are_taken_in_any_integer_type(pairs: list[tuple[int, int]]) -> None:
    u, v = [a for a, _ in pairs], [b for _, b in pairs]
    expected = Snapshot(Roster.range(10), u, v)
    for dtype in (np.uint8, np.int16, np.uint32, np.int64, np.uint64):
        graph = Snapshot(Roster.range(10), np.array(u, dtype), np.array(v, dtype))
        assert graph == expected
        check_invariants(graph)


def test_the_callers_arrays_are_neither_kept_nor_changed() -> None:
    u, v = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    ids = np.array([5, 6, 7])
    roster = Roster(ids)
    graph = Snapshot(roster, u, v)
    u[0], v[0], ids[0] = 2, 2, 9
    assert graph.to_edges() == [(5, 6), (6, 7)]
    assert u.flags.writeable
    assert ids.flags.writeable


def test_earlier_drops_are_added() -> None:
    graph = Snapshot(Roster.range(3), [0, 0, 1], [1, 1, 1], dropped=Dropped(5, 7))
    assert graph.dropped == Dropped(6, 8)


@pytest.mark.parametrize(
    ("u", "v", "kind"),
    [
        ([0], [3], OutsideRoster),
        ([-1], [0], OutsideRoster),
        ([2**40], [0], OutsideRoster),
        ([0, 1], [1], DataError),
        ([[0]], [[1]], DataError),
        ([0.0], [1.0], DataError),
    ],
)
def test_wrong_positions_are_refused(u: Any, v: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Snapshot(Roster.range(3), u, v)


def test_a_stranger_is_refused_without_being_named() -> None:
    with pytest.raises(OutsideRoster) as caught:
        Snapshot.from_edges([("SECRET_NODE_4711", "a")], roster=Roster("ab"), time="day 3")
    assert "SECRET" not in str(caught.value)
    assert "day 3" in str(caught.value)


@pytest.mark.parametrize("edges", [[(1,)], [1], [None], 7, [{}]])
def test_broken_edge_lists_are_refused(edges: Any) -> None:
    with pytest.raises(DataError):
        Snapshot.from_edges(edges, roster=Roster.range(3))


def test_columns_of_different_length_or_type_are_refused() -> None:
    with pytest.raises(DataError):
        Snapshot.from_ids([1, 2], [1], roster=Roster.range(3))
    with pytest.raises(DataError):
        Snapshot.from_ids([1], ["a"], roster=Roster.range(3))


@pytest.mark.parametrize(("ids", "edges"), [(["1", "2"], [(1, 2)]), ([1, 2], [("1", "2")])])
def test_ids_of_the_wrong_type_are_reported_as_such(ids: Any, edges: Any) -> None:
    with pytest.raises(DataError) as caught:
        Snapshot.from_edges(edges, roster=Roster(ids))
    assert not isinstance(caught.value, OutsideRoster)


def test_no_roster_is_refused_and_the_ways_out_are_named() -> None:
    with pytest.raises(RosterError, match=r"roster=….*roster_from_edges=True"):
        Snapshot.from_edges([(1, 2)])
    with pytest.raises(InvalidArgument):
        Snapshot.from_edges([(1, 2)], roster=Roster.range(3), roster_from_edges=True)


def test_a_tuple_of_edges_is_refused_whatever_its_length() -> None:
    """As two edges it would look like two arrays, so that removing a third would change both."""
    edges = ((1, 2), (3, 4), (5, 6))
    for kept in range(4):
        with pytest.raises(DataError):
            Snapshot.from_edges(edges[:kept], roster=Roster.range(7))
    assert Snapshot.from_edges([*edges], roster=Roster.range(7)).u.size == 3
    assert Snapshot.from_edges(([1, 3], [2, 4]), roster=Roster.range(7)).to_edges() == [
        (1, 2),
        (3, 4),
    ]


# ---- rosters ----


@given(id_kinds.flatmap(lambda kind: st.tuples(st.lists(kind, unique=True), st.lists(kind))))
def test_positions_find_what_a_dictionary_finds(case: tuple[list[Any], list[Any]]) -> None:
    ids, sought = case
    roster = Roster(ids)
    expected = {id_: position for position, id_ in enumerate(sorted(ids))}
    for query in (sought, ids):
        assert roster.positions(query).tolist() == [expected.get(id_, -1) for id_ in query]
    assert roster.positions(sought).dtype == np.int32


@given(st.lists(near_integers, min_size=1), st.lists(near_integers, min_size=1))
def test_distinct_ids_are_those_of_a_set(a: list[int], b: list[int]) -> None:
    size = min(len(a), len(b))
    a, b = a[:size], b[:size]
    for factor in (1, 10**12):  # close together: a table; far apart: a sort
        found = distinct_ids(np.array(a) * factor, np.array(b) * factor)
        assert found.tolist() == sorted({id_ * factor for id_ in (*a, *b)})


def test_repeated_ids_are_counted() -> None:
    with pytest.raises(RosterError, match=r"\b2\b.*\b5\b"):
        Roster([1, 2, 1, 2, 3])


def test_equal_rosters() -> None:
    assert Roster([1, 2]) == Roster([2, 1])
    assert hash(Roster([1, 2])) == hash(Roster([2, 1]))
    assert Roster([1, 2]) != Roster([1, 2], declared="edges")
    assert Roster(["1"]) != Roster([1])
    assert Roster([1]) != [1]


def test_a_roster_states_what_the_publisher_declared() -> None:
    rosters = [Roster([1], declared=declared) for declared in DECLARATIONS]
    assert [roster.from_edges for roster in rosters] == [False, False, True]
    assert len({*rosters}) == len({roster.statement for roster in rosters}) == 3
    assert all("as declared by the publisher" in roster.statement for roster in rosters)
    assert "is public and not protected" in rosters[-1].statement
    with pytest.raises(InvalidArgument, match="given, nodes, edges"):
        Roster([1], declared="guessed")  # type: ignore[arg-type]


def test_digests_tell_rosters_apart() -> None:
    rosters = [
        Roster([]), Roster([1]), Roster(["1"]), Roster([1, 2]), Roster(["1", "2"]), Roster(["12"]),
        Roster([1], declared="edges"), Roster([1], declared="nodes"),
    ]  # fmt: skip
    assert len({roster.digest for roster in rosters}) == len(rosters)


def test_digests_stay_as_old_ledgers_have_them() -> None:
    assert Roster([1, 2]).digest == GIVEN_1_2
    assert Roster(["a"], declared="edges").digest == EDGES_A


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_ids_that_are_not_plain_text_are_refused(text: str) -> None:
    with pytest.raises(RosterError):
        Roster(["a", text])


def test_a_stranger_that_is_not_plain_text_is_refused() -> None:
    with pytest.raises(DataError):
        Roster(["a"]).positions(["\ud800"])


# ---- ids ----


@pytest.mark.parametrize(
    "ids",
    [
        [1, 2],
        (1, 2),
        {1: "", 2: ""},
        np.array([1, 2], dtype=np.uint64),
        np.array([1.0, 2.0]),
        pa.array([1, 2]),
        pa.chunked_array([[1], [2]]),
        polars.Series([1, 2]),
        [np.int8(1), 2],
    ],
)
def test_integers_come_in_many_forms(ids: Any) -> None:
    found = as_ids(ids)
    assert found.dtype == np.int64
    assert found.tolist() == [1, 2]


@pytest.mark.parametrize(
    "ids",
    [["a", "b"], np.array(["a", "b"]), pa.array(["a", "b"]), polars.Series(["a", "b"]), "ab"],
)
def test_strings_come_in_many_forms(ids: Any) -> None:
    found = as_ids(ids)
    assert found.dtype == object
    assert found.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "ids",
    [
        [1, None],
        ["a", None],
        [1, float("nan")],
        np.array([1, np.nan]),
        pa.array([1, None]),
        polars.Series(["a", None]),
        [1, "a"],
        [1, True],
        [b"a"],
        [np.array([1, 2]), np.array([3])],
        np.array([1.5]),
        np.array([2.0**60]),
        np.array([2**64 - 1], dtype=np.uint64),
        [2**64],
        np.array([True]),
        np.array(["2004-01-01"], dtype="datetime64[D]"),
        [[1, 2], [3, 4]],
        np.array(3),
        3,
    ],
)
def test_what_is_no_id_is_refused(ids: Any) -> None:
    with pytest.raises(DataError):
        as_ids(ids)
    with pytest.raises(RosterError):
        Roster(ids)


# ---- immutable values ----


@pytest.mark.parametrize(
    "graph", [Snapshot(Roster("ab"), [0], [1]), SyntheticGraph(Roster("ab"), [0], [1])]
)
def test_nothing_can_be_changed(graph: Graph) -> None:
    for value in (graph, graph.roster):
        for name in ("roster", "u", "v", "time", "dropped", "ids", "from_edges", "other"):
            with pytest.raises(AttributeError):
                setattr(value, name, 1)
            with pytest.raises(AttributeError):
                delattr(value, name)
    for array in (graph.u, graph.v, graph.roster.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]
    with pytest.raises(TypeError):
        hash(graph)


@pytest.mark.parametrize(
    "repeat", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_equal_and_as_frozen(repeat: Any) -> None:
    graph = Snapshot.from_edges(
        [("a", "b"), ("b", "a")], roster=Roster("abc", declared="edges"), time="t"
    )
    again = repeat(graph)
    assert again == graph
    assert (again.time, again.dropped, type(again)) == (graph.time, graph.dropped, Snapshot)
    assert again.roster.from_edges
    assert again.roster.digest == graph.roster.digest
    check_invariants(again)
    with pytest.raises(AttributeError):
        again.time = "later"


def test_equality_looks_at_kind_roster_and_edges() -> None:
    graph = Snapshot(Roster.range(3), [0], [1])
    assert graph == Snapshot(Roster.range(3), [1], [0])
    assert graph != Snapshot(Roster.range(4), [0], [1])
    assert graph != Snapshot(Roster.range(3), [0], [2])
    assert graph != SyntheticGraph(Roster.range(3), [0], [1])


def test_the_text_of_a_snapshot_does_not_depend_on_its_edges() -> None:
    roster = Roster(["SECRET_NODE_4711", "b"])
    assert repr(Snapshot(roster, [], [])) == repr(Snapshot(roster, [0], [1]))
    assert "SECRET" not in repr(Snapshot(roster, [0], [1])) + repr(roster)
    assert "1 edges" in repr(SyntheticGraph(roster, [0], [1]))
