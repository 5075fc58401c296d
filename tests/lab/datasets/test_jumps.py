"""Streams with a jump: where it is, what it leaves, and which timestamps are judged."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.metrics import edge_overlap
from psgraph_lab.datasets import find_dataset, load_dataset
from psgraph_lab.datasets.jumps import JUMPS, SETTLED, judged_timestamps, jumped

RING = np.arange(2_000)
STREAM = [
    Snapshot(Roster.range(2_000), RING, (RING + 1) % 2_000, time=str(time)) for time in range(24)
]


def edges(jump: str) -> list[int]:
    return [snapshot.u.size for snapshot in jumped(f"mine:{jump}", STREAM)]


def test_each_jump_is_where_its_name_says() -> None:
    part, step = (lambda size: 10 < size < 80), (lambda size: 300 < size < 500)
    assert [time for time, size in enumerate(edges("part-first")) if part(size)] == [0]
    assert [time for time, size in enumerate(edges("part-middle")) if part(size)] == [9]
    assert [time for time, size in enumerate(edges("part-opening")) if part(size)] == [12]
    assert [time for time, size in enumerate(edges("rise")) if step(size)] == list(range(9))
    assert [time for time, size in enumerate(edges("fall")) if step(size)] == list(range(9, 24))
    assert [time for time, size in enumerate(edges("seasonal")) if size < 2_000] == [
        5,
        6,
        12,
        13,
        19,
        20,
    ]
    assert 800 < edges("merger")[0] < 1_200
    assert edges("merger")[9] == 2_000


def test_an_edge_that_stays_in_truth_stays_in_a_thinned_stream() -> None:
    before = jumped("mine:rise", STREAM)[:9]
    assert edge_overlap(before[0], before[8]) == 1


def test_rosters_taken_from_edges_shrink_with_them_and_given_ones_do_not() -> None:
    observed = [
        Snapshot(Roster(each.roster.ids, declared="edges"), each.u, each.v) for each in STREAM
    ]
    thin, whole = (jumped("mine:part-first", stream)[0] for stream in (observed, STREAM))
    assert len(thin.roster) < 200
    assert len(whole.roster) == 2_000
    assert edge_overlap(thin, whole) == 1


@pytest.mark.parametrize("name", JUMPS)
def test_the_same_timestamps_are_judged_without_the_jump(name: str) -> None:
    judged = judged_timestamps(f"mine:{name}", 24, 6)[""]
    assert judged == judged_timestamps(f"mine:{name}:without", 24, 6)[""]
    assert len(judged) in (6, 15)
    assert jumped(f"mine:{name}:without", STREAM) == STREAM


def test_a_part_period_itself_is_not_judged() -> None:
    assert judged_timestamps("mine:part-first", 24, 6) == {"": range(1, 7), SETTLED: range(3, 7)}
    assert judged_timestamps("mine:rise", 24, 6) == {"": range(9, 15), SETTLED: range(11, 15)}
    assert judged_timestamps("mine", 24, 6) == {"": range(24)}


def test_they_are_found_and_loaded_by_name() -> None:
    assert find_dataset("demo:rise").title == "Demo, five times the edges"
    loaded = load_dataset("demo:rise")
    assert len(loaded) == 12
    assert loaded[3].u.size < 0.3 * loaded[4].u.size
    with pytest.raises(InvalidArgument):
        find_dataset("demo:earthquake")
