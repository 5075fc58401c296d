"""Predicted errors: from the releases alone, repeatable, bounded, and honest about their limits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import psgraph as pg
from psgraph.errors import DataError, InvalidArgument, VerificationFailed
from psgraph.graph import Roster, Snapshot
from psgraph.publication.certificate import Release
from psgraph.publication.locations import ledger_of
from psgraph.trust.expected import ExpectedErrors, expected_errors
from psgraph.trust.quantities import ERRORS, STATISTICS

GUARANTEE = pg.WEventPrivacy("4", window=2)


@pytest.fixture(scope="module")
def stream() -> list[Snapshot]:
    return list(pg.demo_stream(nodes=300, timestamps=3))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory, stream: list[Snapshot]) -> Path:
    out = tmp_path_factory.mktemp("trust") / "releases"
    with pg.Publisher(pg.TmF(), GUARANTEE, out=out) as publisher:
        list(publisher.publish_all(stream))
    return out


@pytest.fixture(scope="module")
def found(published: Path) -> ExpectedErrors:
    return expected_errors(published, repetitions=2)


def made_by(method: pg.Method, snapshots: list[Snapshot], seed: int | None = None) -> list[Release]:
    with pg.Publisher(method, GUARANTEE, seed=seed) as publisher:
        return list(publisher.publish_all(snapshots))


def test_every_error_and_statistic_is_there(found):
    assert set(found.errors) == set(ERRORS)
    assert set(found.statistics) == set(STATISTICS)
    assert all(len(each.over_time) == 3 for each in found.errors.values())
    assert all(len(each.ranges) == 3 for each in found.statistics.values())
    assert found.timestamps == found.releases == 3
    assert found.repetitions == 2


def test_intervals_contain_their_prediction(found):
    ranges = [each.overall for each in found.errors.values() if each.overall is not None]
    ranges += [each for one in found.statistics.values() for each in one.ranges if each is not None]
    assert len(ranges) > 20
    assert all(each.low <= each.high for each in ranges)
    shown = [each.overall for each in found.errors.values() if each.overall is not None]
    assert all(each.value in each for each in shown)


def test_the_same_seed_gives_the_same_bytes(published, found):
    again = expected_errors(published, repetitions=2)
    assert json.dumps(again.to_dict()) == json.dumps(found.to_dict())


def test_another_seed_gives_other_reruns(published, found):
    other = expected_errors(published, repetitions=2, seed=1)
    reruns = [
        (found.errors[name].rerun, other.errors[name].rerun)
        for name in ("degree_divergence", "clustering_error")
    ]
    assert all(one != two for one, two in reruns)


def test_what_it_says_is_strict_json(found):
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["verdicts"][-1]["answer"] == "never"


def test_printed_it_is_one_line_for_each_question(found):
    lines = str(found).splitlines()
    assert lines[0] == "3 releases of tmf, ε = 4, w = 2"
    assert len(lines) == 1 + len(found.verdicts) + len(found.notes)
    assert lines[1].startswith(found.verdicts[0].question)


def test_a_directory_a_reading_and_a_list_give_the_same(published, found):
    read = pg.read_releases(published)
    for releases in (read, list(read)):
        assert expected_errors(releases, repetitions=2).to_dict() == found.to_dict()


def test_neither_original_nor_ledger_is_needed(published, found, tmp_path):
    """A copy of the public files alone gives the same bytes."""
    copy = tmp_path / "elsewhere"
    shutil.copytree(published, copy)
    assert not ledger_of(copy).exists()
    assert expected_errors(copy, repetitions=2).to_dict() == found.to_dict()


def test_a_folder_for_analysts_gives_the_same(published, found, tmp_path):
    pg.export_releases(published, tmp_path / "folder", trust_seconds=0)
    assert expected_errors(tmp_path / "folder", repetitions=2).to_dict() == found.to_dict()


def test_it_opens_only_the_numbered_files_and_node_lists(published, found, tmp_path, monkeypatch):
    """A ledger or a list of originals that someone left among the releases is never opened."""
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    for name in ("ledger.sqlite", "originals.parquet"):
        (copy / name).write_bytes(b"private")
        (copy / name).chmod(0)
    opened: list[str] = []
    real = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: (opened.append(path.name), real(path))[1])
    assert expected_errors(copy, repetitions=2).to_dict() == found.to_dict()
    assert "000000.parquet" in opened
    assert not {"ledger.sqlite", "originals.parquet"} & set(opened)


def test_time_is_bounded(published):
    """After no time at all the first timestamp is done, and it is said that it is all."""
    found = expected_errors(published, seconds=1e-9, repetitions=50)
    assert (found.timestamps, found.repetitions) == (1, 1)
    assert any("time was up after 1 timestamp of 3" in note for note in found.notes)


def test_one_release_has_no_changes_over_time(stream):
    found = expected_errors(made_by(pg.TmF(), stream[:1]), repetitions=1)
    assert found.errors["snapshot_overlap_error"].overall is None
    assert found.statistics["persisting_edges"].ranges == (None,)
    growth = next(each for each in found.verdicts if "denser" in each.question)
    assert (growth.answer, growth.reason) == ("unknown", "There is only one release.")


def test_seeded_releases_are_predicted_and_said_to_be_not_private(stream):
    found = expected_errors(made_by(pg.TmF(), stream[:1], seed=3), repetitions=1)
    assert any("promise no privacy" in note for note in found.notes)


def test_releases_without_an_edge_are_refused(stream):
    (release,) = made_by(pg.TmF(), stream[:1])
    none = release.graph.__class__(release.graph.roster, [], [])
    empty = Release(none, replace(release.certificate, edges=0))
    with pytest.raises(DataError):
        expected_errors([empty])


@pytest.mark.parametrize("nodes", [10, 60])
def test_graphs_that_are_too_small_or_full_are_refused(nodes):
    ends = np.triu_indices(nodes, 1)
    full = Snapshot(Roster.range(nodes), *ends)
    releases = made_by(pg.PSGraph(), [full], seed=1)
    with pytest.raises(DataError):
        expected_errors(releases)


def test_mixed_methods_are_refused(stream):
    mixed = [*made_by(pg.TmF(), stream[:1]), *made_by(pg.DER(), stream[:1])]
    with pytest.raises(DataError, match="der, tmf"):
        expected_errors(mixed)


def test_mixed_guarantees_are_refused(stream):
    one, two = made_by(pg.TmF(), stream[:2])
    other = replace(two.certificate, guarantee=pg.WEventPrivacy("3", window=2))
    with pytest.raises(DataError):
        expected_errors([one, Release(two.graph, other)])


def test_a_method_that_is_not_installed(stream):
    (release,) = made_by(pg.TmF(), stream[:1])
    other = Release(release.graph, replace(release.certificate, method="theirs"))
    with pytest.raises(DataError, match="'theirs'"):
        expected_errors([other])


def test_a_method_named_by_module_is_never_imported(stream):
    """Certificates come from elsewhere; ``module:Class`` in one must not run code."""
    (release,) = made_by(pg.TmF(), stream[:1])
    named = replace(release.certificate, method="psgraph.methods.tmf:TmF")
    with pytest.raises(DataError):
        expected_errors([Release(release.graph, named)])


@pytest.mark.parametrize("releases", ["nowhere", [], [1]])
def test_what_is_not_releases(releases, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((DataError, InvalidArgument)):
        expected_errors(releases)


def test_a_directory_of_something_else(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DataError):
        expected_errors(tmp_path)


def test_a_missing_graph(published, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    (copy / "000001.parquet").unlink()
    with pytest.raises(VerificationFailed):
        expected_errors(copy)


def test_a_changed_graph(published, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(published, copy)
    shutil.copy(copy / "000000.parquet", copy / "000001.parquet")
    with pytest.raises(VerificationFailed):
        expected_errors(copy)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1},
        {"seed": True},
        {"seconds": 0},
        {"seconds": "5"},
        {"repetitions": 0},
        {"repetitions": 1.5},
    ],
)
def test_wrong_numbers(published, wrong):
    with pytest.raises(InvalidArgument):
        expected_errors(published, **wrong)


def test_parameters_that_were_not_calibrated_are_labelled(stream):
    """Nothing is claimed about them: no verdict is better than unclear."""
    found = expected_errors(made_by(pg.TmF(count_share="0.2"), stream[:2]), repetitions=1)
    assert not found.calibrated
    assert found.notes[0].startswith("Not calibrated")
    assert {each.status for each in found.errors.values()} == {"not calibrated"}
    assert not {"yes", "roughly"} & {each.answer for each in found.verdicts}


def test_errors_of_communities_are_not_predicted_for_releases_that_follow_labels():
    labelled = pg.demo_stream(nodes=300, timestamps=2, labels=True)
    found = expected_errors(made_by(pg.PSGraphPlus(), labelled, seed=1), repetitions=1)
    assert found.calibrated
    assert found.errors["community_modularity_error"].status == "unpredictable"
    assert found.errors["density_error"].status == "calibrated"
    assert any("labels" in note for note in found.notes)


def test_budgets_outside_the_calibrated_range_are_noted(stream):
    with pg.Publisher(pg.TmF(), pg.WEventPrivacy("4", window=50)) as publisher:
        releases = list(publisher.publish_all(stream[:1]))
    assert any("outside the range" in each for each in expected_errors(releases).notes)


def test_single_edges_are_never_to_be_trusted(found):
    last = found.verdicts[-1]
    assert (last.question, last.answer) == ("Which single edges exist?", "never")


def test_a_notebook_shows_questions_and_metrics(found):
    shown = found._repr_html_()
    assert "Who are the hubs?" in shown
    assert "density error" in shown


def test_it_can_not_reach_the_truth():
    import grimp

    graph = grimp.build_graph("psgraph", exclude_type_checking_imports=True)
    reached = graph.find_upstream_modules("psgraph.trust.expected")
    assert "psgraph.publication.releases" in reached
    for forbidden in (
        "streams",
        "metrics.comparison",
        "publication.ledger",
        "publication.publisher",
    ):
        name = f"psgraph.{forbidden}"
        assert not [each for each in reached if each == name or each.startswith(f"{name}.")]


def test_the_rerun_repeats_what_a_publisher_does(stream):
    """With the publisher's seed it gives the publisher's releases."""
    from psgraph.trust.reruns import rerun

    for method in (pg.TmF(), pg.PSGraphPlus()):
        releases = made_by(method, stream, seed=11)
        for release, graph in zip(releases, rerun(stream, method, GUARANTEE, seed=11), strict=True):
            assert np.array_equal(release.graph.u, graph.u)
            assert np.array_equal(release.graph.v, graph.v)


def test_an_empty_roster_has_no_errors():
    nothing = Snapshot(Roster([]), [], [])
    edge = Snapshot(Roster.range(60), range(59), range(1, 60))
    releases = made_by(pg.TmF(), [edge, nothing])
    assert expected_errors(releases, repetitions=1).timestamps == 2
