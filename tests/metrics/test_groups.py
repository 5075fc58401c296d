"""Groups of optional metrics: what is asked for is measured, and nothing else."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import InvalidArgument
from psgraph.graph import UNDIRECTED, Roster, Snapshot, SyntheticGraph
from psgraph.metrics import GROUPS, METRICS, PAPER_METRICS, compare, default_metrics, groups_for
from psgraph.metrics.fidelity import MoreMetrics
from psgraph.metrics.groups import chosen_groups
from psgraph.metrics.metric import Pair

from .graphs import pairs

EVERY = tuple(GROUPS)
NAMES = [metric.name for group in groups_for(UNDIRECTED).values() for metric in group.metrics]
CHANGE = [metric.name for metric in groups_for(UNDIRECTED)["stream"].metrics]
LABELS = [metric.name for metric in GROUPS["labels"].metrics]  # where nodes have any


def test_every_metric_is_described_once_and_in_words():
    described = [*PAPER_METRICS, *(metric for group in GROUPS.values() for metric in group.metrics)]
    assert len({metric.name for metric in described}) == len(described)
    assert len({metric.words for metric in described}) == len(described)
    assert default_metrics()[:5] == PAPER_METRICS
    for metric in described:
        assert metric.reading.endswith(".")
        assert len(metric.words) <= 30
        assert metric.arrow == {"higher": "↑", "lower": "↓"}[metric.better]


def test_a_metric_has_one_name_in_data_and_in_words():
    for name, metric in METRICS.items():
        assert metric.name == name
        assert metric.words.lower() == name.replace("_", " ")
    assert {metric.unit for metric in METRICS.values()} == {"%", "nats", "steps", ""}


def test_every_metric_stands_in_the_documentation():
    text = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
    assert [name for name in METRICS if name not in text] == []
    assert [name for name in GROUPS if f"`{name}`" not in text] == []


@given(st.lists(pairs(), min_size=1, max_size=4), st.sets(st.sampled_from(EVERY)))
@settings(max_examples=40, deadline=None)
def test_what_is_asked_for_is_measured(stream, groups):
    originals, releases = zip(*stream, strict=True)
    comparison = compare(originals, releases, groups=sorted(groups))
    known = groups_for(UNDIRECTED)
    expected = [metric.name for name in EVERY if name in groups for metric in known[name].metrics]
    assert comparison.groups == tuple(name for name in EVERY if name in groups)
    assert all(list(row.more) == expected for row in comparison.rows)
    assert list(comparison.more_mean) == list(comparison.more_std) == expected
    plain = compare(originals, releases)
    assert [row.fidelity for row in plain.rows] == [row.fidelity for row in comparison.rows]
    for name in expected:
        values = [row.more[name] for row in comparison.rows if row.more[name] is not None]
        if not values:
            assert comparison.more_mean[name] is comparison.more_std[name] is None
            continue
        assert comparison.more_mean[name] == pytest.approx(statistics.fmean(values))
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        assert comparison.more_std[name] == pytest.approx(spread)


@given(st.lists(pairs(), min_size=2, max_size=4))
@settings(max_examples=40, deadline=None)
def test_change_is_measured_against_the_timestamp_before(stream):
    comparison = compare(*zip(*stream, strict=True), groups=["stream"])
    assert comparison.rows[0].more == dict.fromkeys(CHANGE)
    found = [row.more for row in comparison.rows[1:]]
    assert found == [
        groups_for(UNDIRECTED)["stream"].compute(Pair.of(*after, before=Pair.of(*before)))
        for before, after in pairwise(stream)
    ]


@given(st.lists(pairs(), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_identical_streams_are_perfect(stream):
    originals = [original for original, _ in stream]
    copies = [SyntheticGraph(graph.roster, graph.u, graph.v) for graph in originals]
    higher = {
        metric.name
        for group in GROUPS.values()
        for metric in group.metrics
        if metric.better == "higher"
    }
    for row in compare(originals, copies, groups=EVERY).rows:
        for name, value in row.more.items():
            assert value in (None, 1.0 if name in higher else 0.0)
            assert value is not None or name in (*CHANGE, *LABELS)


def test_nothing_more_unless_asked_for():
    star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    comparison = compare([star], [SyntheticGraph(star.roster, [0], [1])])
    assert comparison.groups == ()
    assert comparison.rows[0].more == comparison.more_mean == comparison.more_std == {}
    assert "more" not in json.dumps(comparison.to_dict())
    assert len(comparison.table()[0]) == 2 + len(default_metrics())
    assert hash(comparison) == hash(compare([star], [SyntheticGraph(star.roster, [0], [1])]))


def test_plain_data_and_table():
    star = Snapshot(Roster.range(4), [0, 0, 0], [1, 2, 3])
    path = SyntheticGraph(star.roster, [0, 1, 2], [1, 2, 3])
    comparison = compare([star] * 2, [path] * 2, groups=["stream", "structure"])
    data = json.loads(json.dumps(comparison.to_dict(), allow_nan=False))
    assert data["more"]["groups"] == ["structure", "stream"]
    assert data["rows"][0]["more"]["snapshot_overlap_error"] is None
    assert data["rows"][1]["more"]["snapshot_overlap_error"] == 0.0
    assert data["more"]["mean"]["snapshot_overlap_error"] == 0.0
    assert data["more"]["mean"]["degree_change_correlation"] is None
    assert data["more"]["std"]["degree_variance_error"] == 0.0
    columns, rows = comparison.table()
    assert all(len(row) == len(columns) for row in rows)
    overlap = columns.index("snapshot overlap error, %")
    assert [row[overlap] for row in rows] == ["–", "0.0", "0.0 ± 0.0"]
    assert [row[columns.index("degree change correlation")] for row in rows] == ["–"] * 3


@pytest.mark.parametrize("groups", [["path"], ["paths", "Stream"], "nothing", [""]])
def test_unknown_groups_are_refused_before_anything_is_read(groups):
    def unread():
        pytest.fail("the stream was read")
        yield

    with pytest.raises(InvalidArgument):
        compare(unread(), unread(), groups=groups)


def test_one_name_will_do_and_order_does_not_matter():
    assert tuple(chosen_groups("paths")) == ("paths",)
    assert tuple(chosen_groups(reversed(EVERY))) == EVERY
    assert MoreMetrics(EVERY).names == tuple(NAMES)
