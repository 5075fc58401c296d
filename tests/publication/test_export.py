"""The folder for analysts: all that is public, nothing else, whole or not at all."""

from __future__ import annotations

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pyarrow.parquet as pq
import pytest

import psgraph as pg
from psgraph.errors import DataError, InvalidArgument, OutputError, VerificationFailed
from psgraph.graph import Roster, Snapshot
from psgraph.publication import export
from psgraph.reports import export as exporting
from tests.refusals import refused

NAMES = ["ann", 'b"o,b', "<çid>"]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three releases; a node leaves, another one joins."""
    out = tmp_path_factory.mktemp("published") / "releases"
    rosters = [Roster(NAMES), Roster([*NAMES, "zoe"]), Roster([*NAMES[1:], "zoe"])]
    with pg.Publisher(pg.PSGraph(), pg.WEventPrivacy("5", window=1), out=out) as publisher:
        for number, roster in enumerate(rosters):
            publisher.publish(Snapshot(roster, [0, 0], [1, 2], time=f"day {number}"))
    return out


def without_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes seconds, and is tested elsewhere."""
    monkeypatch.setattr(exporting, "_can_draw", lambda: False)


def files(path: Path) -> set[str]:
    return {each.relative_to(path).as_posix() for each in path.rglob("*") if each.is_file()}


COMMON = {f"00000{number}.{ending}" for number in range(3) for ending in ("json", "parquet")} | {
    "README.md",
    "SHA256SUMS",
    "index.csv",
    "nodes.csv",
}
MORE = {
    "parquet": set(),
    "csv": {f"csv/00000{number}.csv" for number in range(3)},
    "graphml": {f"graphml/00000{number}.graphml" for number in range(3)},
    "combined": {"edges.parquet"},
}


@pytest.mark.parametrize("format", MORE)
def test_exactly_the_public_files_and_all_of_them_verify(
    releases: Path, tmp_path: Path, format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_report(monkeypatch)
    done = pg.export_releases(releases, tmp_path / "to", format=format)
    found = files(tmp_path / "to")
    nodes = {name for name in found if name.startswith("nodes/")}
    assert found - nodes == COMMON | MORE[format]
    assert (len(nodes), done.files, done.report) == (3, len(found), False)
    assert pg.verify(tmp_path / "to").releases == 3
    sums = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "to", capture_output=True, check=False
    )
    assert sums.returncode == 0
    assert sums.stdout.count(b": OK") == len(found) - 1


def test_every_form_holds_the_released_graphs(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_report(monkeypatch)
    for format in ("csv", "graphml", "combined"):
        pg.export_releases(releases, tmp_path / format, format=format)
    combined = pq.read_table(tmp_path / "combined" / "edges.parquet").to_pylist()
    for release in pg.read_releases(releases):
        number = release.timestamp
        edges = {tuple(edge) for edge in release.graph.to_edges()}
        with (tmp_path / "csv" / "csv" / f"00000{number}.csv").open(newline="") as file:
            assert {tuple(row) for row in list(csv.reader(file))[1:]} == edges
        drawn = nx.read_graphml(tmp_path / "graphml" / "graphml" / f"00000{number}.graphml")
        assert set(drawn) == set(release.graph.roster.ids)
        assert {frozenset(edge) for edge in drawn.edges} == {frozenset(edge) for edge in edges}
        assert {(row["u"], row["v"]) for row in combined if row["t"] == number} == edges


def test_the_node_list_has_periods(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_report(monkeypatch)
    pg.export_releases(releases, tmp_path / "to")
    roster = pg.read_roster(tmp_path / "to" / "nodes.csv")
    index = (tmp_path / "to" / "index.csv").read_text().splitlines()
    assert index[0] == "number,time,file,edges"
    for release, row in zip(pg.read_releases(releases), index[1:], strict=True):
        number, time, file, edges = row.split(",")
        assert (int(number), int(edges)) == (release.timestamp, release.graph.edge_count)
        assert (time, file) == (release.certificate.time or "", f"{release.timestamp:06d}.parquet")
        assert roster.at(release.timestamp).ids.tolist() == release.graph.roster.ids.tolist()


def test_an_export_can_be_exported_again_to_the_same_bytes(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_report(monkeypatch)
    pg.export_releases(releases, tmp_path / "first", format="combined")
    pg.export_releases(tmp_path / "first", tmp_path / "second", format="combined")
    for name in files(tmp_path / "first"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_the_public_report_is_part_of_it(releases: Path, tmp_path: Path) -> None:
    assert pg.export_releases(releases, tmp_path / "to").report
    assert "What is not promised" in (tmp_path / "to" / "report.html").read_text()


def test_changed_releases_are_not_exported(releases: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(releases, tmp_path / "copy"))
    path = copy / "000001.parquet"
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(VerificationFailed):
        pg.export_releases(copy, tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_a_folder_in_use_or_among_the_releases_is_refused(releases: Path, tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "notes.txt").touch()
    with refused(OutputError, "not_empty"):
        pg.export_releases(releases, tmp_path / "used")
    with refused(InvalidArgument, "inside_releases"):
        pg.export_releases(releases, releases / "to")
    with refused(InvalidArgument, "format"):
        pg.export_releases(releases, tmp_path / "to", format="xlsx")


def test_an_empty_folder_may_be_filled(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_report(monkeypatch)
    (tmp_path / "to").mkdir()
    assert pg.export_releases(releases, tmp_path / "to").releases == 3


def test_a_failure_in_the_middle_leaves_nothing(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_report(monkeypatch)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export, "write_checksums", full)
    with pytest.raises(OutputError, match="No space left"):
        pg.export_releases(releases, tmp_path / "to")
    assert not list(tmp_path.iterdir())


KILLED = """
import os, sys
from psgraph.publication import export
from psgraph.reports import export as exporting
exporting._can_draw = lambda: False
export.write_checksums = lambda _: os.kill(os.getpid(), 9)
exporting.export_releases(*sys.argv[1:])
"""


def test_what_a_killed_export_leaves_is_hidden_and_cleared_away(
    releases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = [sys.executable, "-c", KILLED, str(releases), str(tmp_path / "to")]
    assert subprocess.run(killed, check=False).returncode == -9
    assert [path.name[:4] for path in tmp_path.iterdir()] == [".to."]
    without_report(monkeypatch)
    pg.export_releases(releases, tmp_path / "to")
    assert [path.name for path in tmp_path.iterdir()] == ["to"]


def test_ids_that_xml_can_not_hold_are_refused(tmp_path: Path) -> None:
    with pg.Publisher(
        pg.PSGraph(), pg.WEventPrivacy("1", window=1), out=tmp_path / "out"
    ) as publisher:
        publisher.publish(Snapshot(Roster(["a\x01", "b"]), [0], [1]))
    with refused(DataError, "graphml_character"):
        pg.export_releases(tmp_path / "out", tmp_path / "to", format="graphml")
    assert not (tmp_path / "to").exists()
