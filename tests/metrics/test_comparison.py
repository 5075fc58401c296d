"""`measure` and `compare`: every pair has a value, wrong pairs are refused."""

from __future__ import annotations

import json
import math
import statistics
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import Fidelity, compare, compute_fidelity, default_metrics

from .graphs import pairs, random_graph

PERFECT = Fidelity(
    **{metric.name: float(metric.better == "higher") for metric in default_metrics()}
)


@dataclass
class Release:
    graph: SyntheticGraph


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_defined_on_every_pair(pair):
    fidelity = compute_fidelity(*pair)
    assert all(math.isfinite(value) for value in fidelity.to_dict().values())
    assert 0 <= fidelity.eigenvector_overlap <= 1
    others = [value for name, value in fidelity.to_dict().items() if "overlap" not in name]
    assert min(others) >= -1e-12


@given(pairs())
@settings(max_examples=100, deadline=None)
def test_a_copy_is_perfect(pair):
    original = pair[0]
    copy = SyntheticGraph(original.roster, original.u, original.v)
    assert compute_fidelity(original, copy) == PERFECT


def test_worse_copies_measure_worse():
    graph = random_graph(1000, 5000, seed=1)
    original = Snapshot(graph.roster, graph.u, graph.v)
    kept = [SyntheticGraph(graph.roster, graph.u[::step], graph.v[::step]) for step in (1, 2, 4)]
    measured = [compute_fidelity(original, copy) for copy in kept]
    for name in ("degree_divergence", "degree_divergence_smoothed", "density_error"):
        values = [getattr(fidelity, name) for fidelity in measured]
        assert values == sorted(values)
        assert values[0] == 0 < values[1]
    assert measured[2].eigenvector_overlap < 1


@given(st.lists(pairs(), min_size=1, max_size=4))
@settings(max_examples=30, deadline=None)
def test_compare_averages_its_rows(stream):
    comparison = compare(
        (original for original, _ in stream), (Release(synthetic) for _, synthetic in stream)
    )
    assert [row.fidelity for row in comparison.rows] == [compute_fidelity(*pair) for pair in stream]
    assert [row.timestamp for row in comparison.rows] == list(range(len(stream)))
    for name, mean in comparison.mean.to_dict().items():
        values = [getattr(row.fidelity, name) for row in comparison.rows]
        assert mean == pytest.approx(statistics.fmean(values))
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        assert getattr(comparison.std, name) == pytest.approx(spread)


def test_plain_data_and_table():
    roster = Roster.range(3)
    stream = [Snapshot(roster, [0], [1], time=f"2024-0{month}-01") for month in (1, 2)]
    comparison = compare(stream, [SyntheticGraph(roster, [0, 1], [1, 2])] * 2)
    data = json.loads(json.dumps(comparison.to_dict()))
    assert data["curator_only"] is True
    assert data["timestamps"] == 2
    assert data["rows"][1]["time"] == "2024-02-01"
    assert data["mean"]["density_error"] == 1.0
    columns, rows = comparison.table()
    assert len(rows) == 3
    assert all(len(row) == len(columns) for row in rows)
    assert rows[0][:2] == ("0", "2024-01-01")
    assert rows[-1][columns.index("density error, %")] == "100 ± 0.0"


@pytest.mark.parametrize(("snapshots", "releases"), [(2, 1), (1, 2), (0, 1), (1, 0), (0, 0)])
def test_lengths_that_differ_are_refused(snapshots, releases):
    roster = Roster.range(2)
    with pytest.raises(DataError):
        compare(
            [Snapshot(roster, [0], [1])] * snapshots, [SyntheticGraph(roster, [], [])] * releases
        )


@pytest.mark.parametrize("other", [Roster.range(4), Roster([0, 1, 7]), Roster("abc")])
def test_another_roster_is_refused(other):
    with pytest.raises(DataError):
        compute_fidelity(Snapshot(Roster.range(3), [0], [1]), SyntheticGraph(other, [0], [1]))


def test_how_the_roster_was_obtained_does_not_matter():
    original = Snapshot.from_edges([(5, 6)], roster_from_edges=True)
    assert compute_fidelity(original, SyntheticGraph(Roster([5, 6]), [0], [1])) == PERFECT
