"""Releases as files: each whole or not at all, never replaced, never unnoticed changed."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from psgraph.errors import OutputError, PsgraphError, VerificationFailed
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.graph.formats.parquet import edge_bytes, nodes_bytes
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.graph_files import EncodedGraph, in_one_file
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import read_releases
from tests.refusals import refused

GUARANTEE = WEventPrivacy("1", window=3)
ROSTER = Roster(["ann", "bob", "eve", "joe", "kim"])


def as_file(graph: SyntheticGraph) -> EncodedGraph:
    return in_one_file(edge_bytes(graph.roster, graph.parts.whole()))


def stream(length: int = 3) -> list[Snapshot]:
    return [
        Snapshot(ROSTER, [0, 1, index % 3], [1, 2, 4], time=f"day {index}")
        for index in range(length)
    ]


@pytest.fixture
def published(tmp_path: Path) -> Path:
    out = tmp_path / "out"
    with Publisher(PSGraph(), GUARANTEE, out=out, seed=3) as publisher:
        list(publisher.publish_all(stream()))
    return out


def test_a_graph_and_a_certificate_for_every_timestamp(published):
    visible = sorted(
        path.name for path in published.iterdir() if path.suffix in {".parquet", ".json"}
    )
    assert visible == [f"{t:06d}.{kind}" for t in range(3) for kind in ("json", "parquet")]
    assert not [path for path in published.iterdir() if path.name.endswith(".part")]
    assert ReleaseDirectory(published).timestamps() == [0, 1, 2]


def test_the_index_lists_every_release_and_is_repaired_when_the_stream_is_continued(published):
    index = published / "index.csv"
    whole = index.read_bytes()
    rows = list(csv.DictReader(index.read_text().splitlines()))
    assert [row["number"] for row in rows] == ["0", "1", "2"]
    for row in rows:
        certificate = json.loads((published / f"{int(row['number']):06d}.json").read_text())
        assert row["time"] == (certificate["time"] or "")
        assert int(row["edges"]) == certificate["edges"]
        assert (published / row["file"]).exists()
    lines = whole.splitlines(keepends=True)
    for left in (None, whole[:-4], b"".join(lines[:-1]), lines[0], b""):
        index.unlink() if left is None else index.write_bytes(left)
        with Publisher(PSGraph(), GUARANTEE, out=published, seed=3) as publisher:
            list(publisher.publish_all(stream()))
        assert index.read_bytes() == whole


def test_files_hold_what_was_released(published):
    directory = ReleaseDirectory(published)
    with Publisher(PSGraph(), GUARANTEE, seed=3) as publisher:
        for index, release in enumerate(publisher.publish_all(stream())):
            back = read_releases(published)[index]
            assert back.graph == release.graph
            assert back.certificate.charges == release.certificate.charges
            table = pq.read_table(directory.graph_path(index))
            assert table.column_names == ["u", "v"]
            pairs = zip(*(table[name].to_pylist() for name in ("u", "v")), strict=True)
            assert list(pairs) == release.graph.to_edges()
            content = json.loads(directory.certificate_path(index).read_text())
            assert content["time"] == f"day {index}"
            assert content["edges"] == release.graph.edge_count


def test_certificates_form_a_chain(published):
    problems: list[str] = []
    certificates = list(ReleaseDirectory(published).certificates(problems))
    assert problems == []
    assert [c.previous for c in certificates] == [None, *(c.digest for c in certificates[:-1])]


def test_the_same_graph_gives_the_same_bytes():
    graph = SyntheticGraph(ROSTER, [0, 1], [1, 2])
    assert as_file(graph) == as_file(SyntheticGraph(ROSTER, [1, 0], [2, 1]))
    assert as_file(graph) != as_file(SyntheticGraph(ROSTER, [0, 1], [1, 3]))


@pytest.mark.parametrize("kind", ["graph_path", "certificate_path"])
def test_a_changed_byte_is_noticed(published, kind):
    directory = ReleaseDirectory(published)
    path = getattr(directory, kind)(1)
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(VerificationFailed):
        read_releases(published)[1]
    problems: list[str] = []
    list(directory.certificates(problems))
    assert problems


def test_a_file_that_is_there_is_never_replaced(published):
    directory = ReleaseDirectory(published)
    release = read_releases(published)[0]
    nodes = nodes_bytes(ROSTER)
    before = directory.graph_path(0).stat().st_mtime_ns
    directory.write(as_file(release.graph), nodes, release.certificate)  # again: fine
    assert directory.graph_path(0).stat().st_mtime_ns == before
    other = as_file(SyntheticGraph(ROSTER, [0], [4]))
    with refused(VerificationFailed, "other_file"):
        directory.write(other, nodes, replace(release.certificate, graph_sha256=other.sha256))


def test_missing_files_are_reported(published):
    directory = ReleaseDirectory(published)
    directory.graph_path(1).unlink()
    with refused(VerificationFailed, "missing"):
        read_releases(published)[1]
    directory.certificate_path(1).unlink()
    problems: list[str] = []
    list(directory.certificates(problems))
    assert problems == ["timestamp 1 is missing"]


# ---- directories that can't be used: found out before anything is measured ----


class NeverMeasured(PSGraph):
    def measure(self, *_):
        raise AssertionError("measured before the output was checked")


def never_measured(out: Path, code: str) -> None:
    with (
        refused(PsgraphError, code),
        Publisher(NeverMeasured(), GUARANTEE, out=out, seed=1) as publisher,
    ):
        publisher.publish(stream()[0])


def test_a_directory_that_holds_something_else(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    never_measured(tmp_path, "ledger_missing")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_file_in_the_place_of_the_directory(tmp_path):
    (tmp_path / "out").write_text("mine")
    never_measured(tmp_path / "out", "not_a_directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="the super-user may write anywhere")
def test_a_directory_that_can_not_be_written(tmp_path):
    tmp_path.chmod(0o500)
    never_measured(tmp_path / "out", "not_writable")


def test_a_path_that_can_not_be(tmp_path):
    never_measured(tmp_path / "a\0b", "unusable_path")


def test_a_failed_write_leaves_nothing_behind(tmp_path, monkeypatch):
    """The disk is full: no half file, and a message with the remedy."""
    write = os.write

    def full(file: int, content: memoryview) -> int:
        if len(content) > 100:
            return write(file, content[:10])
        raise OSError(28, "No space left on device")

    published = tmp_path / "published"
    with Publisher(PSGraph(), GUARANTEE, out=published, seed=3) as publisher:
        release = publisher.publish(stream()[0])
    out = tmp_path / "out"
    directory = ReleaseDirectory(out)
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match="No space left"):
        directory.write(as_file(release.graph), nodes_bytes(ROSTER), release.certificate)
    assert [path for path in out.rglob("*") if path.is_file()] == []
