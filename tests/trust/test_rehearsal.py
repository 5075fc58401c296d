"""Rehearsing on a public stream: what is run, in which order, and how it is read."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import DIRECTED, UNDIRECTED, Roster, Snapshot
from psgraph.methods.base import Caveat
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.terms import Promise
from psgraph.reports.rehearsal import (
    QUESTIONS,
    recommendations,
    rehearsal_dict,
    rehearsal_table,
    resemblance,
    smallest_epsilons,
    verdict,
)
from psgraph.streams.demo import demo_stream
from psgraph.trust.rehearsal import Cell, Rehearsal, rehearse, template, trial
from psgraph.trust.rehearsal.size import resize
from psgraph.trust.rehearsal.template import Shape
from psgraph.trust.reruns import rerun

QUICK = {"nodes": 300, "edges": 2_000, "timestamps": 2, "methods": ["tmf"], "epsilons": ["1"]}
GOOD = {
    "density_error": 0.01,
    "degree_divergence_smoothed": 0.02,
    "eigenvector_overlap": 0.9,
    "clustering_error": 0.05,
    "community_modularity_error": 0.05,
    "snapshot_overlap_error": 0.01,
}


def test_it_runs_every_choice_on_a_stream_of_the_wanted_size():
    steps: list[tuple[int, int]] = []
    found = rehearse(
        **{**QUICK, "epsilons": ["2", "1"]},
        windows=[2],
        repetitions=2,
        progress=lambda *step: steps.append(step),
    )
    assert (found.shape.nodes, found.shape.timestamps) == (300, 2)
    assert found.shape.edges == pytest.approx(2_000, rel=0.02)
    assert [float(cell.guarantee.epsilon) for cell in found.cells] == [1, 2]
    assert [len(cell.runs) for cell in found.cells] == [2, 2]
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert found.cells[0].spread("density_error") is not None
    assert not found.unfinished


def test_the_same_seed_gives_the_same_numbers_whatever_else_is_run():
    alone = rehearse(**QUICK, windows=[2], repetitions=1, seed=3)
    beside = rehearse(**{**QUICK, "epsilons": ["1", "3"]}, windows=[2], repetitions=1, seed=3)
    other = rehearse(**QUICK, windows=[2], repetitions=1, seed=4)
    assert alone.cells[0].runs == beside.cells[0].runs
    assert alone.cells[0].runs != other.cells[0].runs


def test_a_run_is_what_a_publisher_would_release():
    stream = demo_stream(nodes=300, timestamps=2)
    guarantee = WEventPrivacy("1", window=2)
    method = import_module("psgraph.methods.tmf").TmF()
    made = list(rerun(stream, method, guarantee, seed=5))
    with Publisher(method, guarantee, seed=5) as publisher:
        published = [release.graph for release in publisher.publish_all(stream)]
    assert [graph.u.tolist() for graph in made] == [graph.u.tolist() for graph in published]


def test_when_time_is_up_finished_choices_are_kept_and_others_named(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(trial, "monotonic", lambda: next(clock))
    # One tick for the deadline, then one for each timestamp: the second choice gets half of its.
    found = rehearse(**{**QUICK, "epsilons": ["1", "2"]}, windows=[2], repetitions=1, seconds=3)
    assert [float(cell.guarantee.epsilon) for cell in found.cells] == [1]
    assert [float(guarantee.epsilon) for _, guarantee in found.unfinished] == [2]


def test_one_number_keeps_the_mean_degree_of_the_public_stream():
    found = rehearse(
        "demo", nodes=900, timestamps=2, methods=["tmf"], epsilons=["1"], windows=[2], repetitions=1
    )
    assert found.shape.nodes == 900
    assert found.shape.mean_degree == pytest.approx(found.template.mean_degree, rel=0.02)


def test_a_public_file_is_read_with_the_nodes_that_occur_in_it(tmp_path: Path):
    rows = [(t, u, (u + 1 + t) % 40) for t in range(4) for u in range(40)]
    table = dict(zip("tuv", map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(table), tmp_path / "public.parquet")
    made = template.load_template(tmp_path / "public.parquet", timestamps=3)
    assert (made.nodes, made.timestamps, made.edges) == (40, 3, 40)


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(InvalidArgument, match="demo"):
        rehearse("nowhere", **QUICK, windows=[2])


def test_a_stream_without_snapshots_is_refused():
    with pytest.raises(DataError):
        rehearse([], **QUICK, windows=[2])


@pytest.mark.parametrize(
    "wrong",
    [
        {"methods": ["tmf", "tmf"]},
        {"methods": ["nobody"]},
        {"epsilons": []},
        {"epsilons": ["-1"]},
        {"repetitions": 0},
        {"timestamps": 0},
        {"nodes": 10, "edges": 46},
    ],
    ids=str,
)
def test_wrong_arguments_are_refused_before_anything_is_loaded(wrong, monkeypatch):
    def load(*_: object, **__: object) -> None:
        raise AssertionError("loaded a stream")

    monkeypatch.setattr(trial, "load_template", load)
    with pytest.raises(InvalidArgument):
        rehearse(**{**QUICK, "windows": [2], **wrong})


def test_streams_of_other_packages_are_found_by_entry_point(monkeypatch):
    class Point:
        def load(self) -> dict[str, object]:
            return {"ring": lambda: [Snapshot(Roster.range(3), [0, 1], [1, 2])]}

    monkeypatch.setattr(template, "entry_points", lambda **_: [Point()])
    assert template.public_stream_names() == ["demo", "ring"]
    assert template.load_template("ring", timestamps=5).nodes == 3


def test_the_laboratory_offers_its_data_sets():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    entry = project["project"]["entry-points"]["psgraph.public_streams"]["datasets"]
    module, _, name = entry.partition(":")
    offered = getattr(import_module(module), name)
    assert "as-733" in offered
    assert len(offered["demo"]()) == 12


# ---- reading ----


def _cell(epsilon: str, caveat: Caveat | None = None, **worse: float) -> Cell:
    guarantee = WEventPrivacy(epsilon, window=5)
    name = "blind" if caveat else "good"
    return Cell(name, guarantee, Promise(guarantee, caveat), ({**GOOD, **worse},))


def _varying(epsilon: str, *values: float) -> Cell:
    """A cell whose repetitions differ in their clustering error."""
    cell = _cell(epsilon)
    return replace(cell, runs=tuple({**GOOD, "clustering_error": each} for each in values))


def _rehearsal(*cells: Cell, degree: float = 10.0) -> Rehearsal:
    template = Shape(100, 500, 3, 0.1, 0.9, 0.1)
    shape = Shape(100, 50 * degree, 3, 0.1, 0.9, 0.1)
    return Rehearsal("demo", template, shape, cells, (), 1, 0)


def test_labels_are_those_of_the_public_stream():
    found = rehearse(**QUICK, windows=[2], repetitions=1, labels=True)
    assert found.labels == "department: 6 values"
    assert "label_modularity_error" in found.cells[0].runs[0]
    assert found.to_dict()["labels"] == found.labels
    columns, rows = rehearsal_table(found)
    assert columns[-1] == "labels"
    assert len(rows[0]) == len(columns)
    assert "labels" in rehearsal_dict(found)["questions"]


def test_labels_stay_with_their_nodes_when_a_stream_is_copied():
    made = template.load_template("demo", timestamps=2)
    twice = resize(made, nodes=2 * made.nodes, edges=round(2 * made.edges))
    assert twice.labels.column("department") == 2 * made.labels.column("department")


def test_a_stream_without_labels_is_refused_if_labels_are_wanted():
    with pytest.raises(InvalidArgument) as refused:
        rehearse(demo_stream(nodes=300, timestamps=2), labels=True)
    assert refused.value.code == "no_labels"


def test_verdicts_are_those_of_the_quality_report():
    hubs = QUESTIONS[2]
    cells = [_cell("1", eigenvector_overlap=value) for value in (0.8, 0.5, 0.49)]
    assert [verdict(cell, hubs) for cell in cells] == ["close", "some error", "poor"]


def test_the_smallest_epsilon_at_which_nothing_is_poor_is_recommended():
    found = _rehearsal(
        _cell("1/2", clustering_error=0.9), _cell("1", clustering_error=0.3), _cell("2")
    )
    (line,) = recommendations(found)
    assert line.startswith("w = 5: good with ε = 1: ")
    assert "triangles with some error" in line


def test_what_is_poor_at_every_epsilon_does_not_decide():
    found = _rehearsal(*(_cell(each, community_modularity_error=1.0) for each in ("1", "2")))
    (line,) = recommendations(found)
    assert "ε = 1" in line
    assert line.endswith("Poor at every ε tried: communities.")


def test_a_method_that_keeps_no_promise_is_marked_and_not_recommended():
    blind = _cell("1/2", Caveat(None, "It promises nothing."))
    (line,) = recommendations(_rehearsal(blind, _cell("2")))
    assert "good with ε = 2" in line
    assert recommendations(_rehearsal(blind)) == [
        "w = 5: no method that keeps the promise was rehearsed."
    ]
    assert rehearsal_table(_rehearsal(blind))[1][0][0] == "blind †"


def test_each_question_has_the_smallest_epsilon_at_which_it_is_close():
    found = _rehearsal(
        _cell("1", density_error=0.3, clustering_error=0.9, eigenvector_overlap=0.6),
        _cell("2", clustering_error=0.9, eigenvector_overlap=0.6),
    )
    _, rows = smallest_epsilons(found)
    shown = dict(rows)
    assert shown["How many edges are there?"] == "2 (good)"
    assert shown["Who are the hubs?"] == "never; some error from 1 (good)"
    assert shown["How clustered is it?"] == "never; poor throughout"


def test_a_value_near_a_threshold_does_not_count_as_reached():
    found = _rehearsal(_varying("1", 0.01, 0.13), _varying("2", 0.05, 0.06))
    assert verdict(found.cells[0], QUESTIONS[3]) == "close"
    assert dict(smallest_epsilons(found)[1])["How clustered is it?"] == "2 (good)"


def test_a_lucky_epsilon_below_a_worse_one_does_not_count_as_reached():
    found = _rehearsal(_cell("1"), _cell("2", clustering_error=0.3), _cell("4"))
    assert dict(smallest_epsilons(found)[1])["How clustered is it?"] == "4 (good)"


def test_a_stream_that_was_stretched_too_far_comes_with_a_warning():
    assert resemblance(_rehearsal(_cell("1"), degree=20.0)) is None
    assert resemblance(_rehearsal(_cell("1"), degree=40.0))


def test_a_stream_that_would_become_undirected_is_refused():
    """Resizing knows undirected graphs without weights only."""
    directed = Snapshot(Roster.range(3), [0, 1], [1, 0], kind=DIRECTED)
    weighted = Snapshot(Roster.range(3), [0], [1], kind=UNDIRECTED.with_weights(4), weight=[2])
    for snapshot in (directed, weighted):
        with pytest.raises(InvalidArgument) as refused:
            rehearse([snapshot], methods=["tmf"])
        assert refused.value.code == "kind"
