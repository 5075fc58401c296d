"""Reading releases back: from the directory alone, every file checked against its certificate."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.errors import DataError, VerificationFailed
from psgraph.graph import Roster, Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Release
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import Releases, read_releases
from tests.refusals import refused

GUARANTEE = WEventPrivacy("1", window=2)
OLD = Path(__file__).parent / "fixtures" / "0.1.0"


def snapshots(roster: Roster, length: int = 3) -> list[Snapshot]:
    return [
        Snapshot(roster, [0, 1, number % 2], [1, 2, 3], time=f"day {number}")
        for number in range(length)
    ]


def published(out: Path, stream: list[Snapshot]) -> list[Release]:
    with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
        return list(publisher.publish_all(stream))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    published(tmp_path / "out", snapshots(Roster.range(4)))
    return tmp_path / "out"


@pytest.mark.parametrize("roster", [Roster([3, 30, 300, 3000]), Roster(["a", "b", "ç", "d"])])
def test_what_was_released_comes_back_without_the_ledger(tmp_path: Path, roster: Roster) -> None:
    released = published(tmp_path / "out", snapshots(roster))
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "out", copy, ignore=shutil.ignore_patterns("ledger*"))
    read = pg.read_releases(copy)
    assert [release.graph for release in read] == [release.graph for release in released]
    assert [release.certificate for release in read] == [each.certificate for each in released]
    assert [release.graph.roster for release in read] == [roster] * 3
    assert [release.graph.time for release in read] == ["day 0", "day 1", "day 2"]


def test_nodes_without_an_edge_come_back_too(tmp_path: Path) -> None:
    published(tmp_path / "out", [Snapshot(Roster.range(500), [], [])])
    assert len(read_releases(tmp_path / "out")[0].graph.roster) == 500


def test_rosters_read_off_the_edges_are_one_file_each(tmp_path: Path) -> None:
    stream = [
        Snapshot.from_edges(edges, roster_from_edges=True)
        for edges in ([(1, 2)], [(2, 3), (3, 4)], [(1, 2)])
    ]
    published(tmp_path / "out", stream)
    read = read_releases(tmp_path / "out")
    assert [release.graph.roster for release in read] == [each.roster for each in stream]
    assert all(release.graph.roster.from_edges for release in read)
    assert len(list((tmp_path / "out" / "nodes").iterdir())) == 2


def test_they_are_a_sequence_to_go_through_again(out: Path) -> None:
    read = read_releases(out)
    assert len(read) == len(read.certificates) == 3
    assert read[-1].timestamp == 2
    assert [release.timestamp for release in read[1:]] == [1, 2]
    assert [release.timestamp for release in read] == [release.timestamp for release in read]
    assert repr(read) == "Releases(3 timestamps)"
    with pytest.raises(IndexError):
        read[3]


def test_they_can_be_compared(out: Path) -> None:
    comparison = pg.compare(snapshots(Roster.range(4)), read_releases(out))
    assert len(comparison.rows) == 3


@pytest.mark.parametrize("name", ["000001.parquet", "nodes"])
def test_a_changed_graph_or_node_list_is_refused_when_it_is_read(out: Path, name: str) -> None:
    path = next((out / "nodes").iterdir()) if name == "nodes" else out / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    read = read_releases(out)
    with refused(VerificationFailed, "changed"):
        read[1]


@pytest.mark.parametrize("name", ["000001.json", "000001.parquet", "000000.json"])
def test_a_missing_file_is_named(out: Path, name: str) -> None:
    (out / name).unlink()
    with pytest.raises(VerificationFailed, match=name):
        read_releases(out)[1]


def test_a_gap_is_refused_at_once(out: Path) -> None:
    for path in out.glob("000001.*"):
        path.unlink()
    with pytest.raises(VerificationFailed, match="timestamp 1 "):
        read_releases(out)


def test_a_swapped_certificate_is_refused_at_once(out: Path, tmp_path: Path) -> None:
    published(tmp_path / "other", snapshots(Roster.range(4)))
    for path in (tmp_path / "other").glob("000001.*"):
        shutil.copy(path, out)
    with pytest.raises(VerificationFailed, match="timestamp 1"):
        read_releases(out)


def test_a_release_that_is_being_written_is_left_out(out: Path) -> None:
    (out / "000002.json").unlink()
    assert len(read_releases(out)) == 2


def test_no_directory_and_no_releases(tmp_path: Path) -> None:
    with refused(DataError, "not_a_directory"):
        read_releases(tmp_path / "nowhere")
    with refused(DataError, "no_releases"):
        read_releases(tmp_path)


class TestGrowingDirectories:
    """A reader that stays open, as in the service: what it knows is not read again."""

    def test_new_releases_are_read_when_they_are_there(self, tmp_path: Path) -> None:
        out, stream = tmp_path / "out", snapshots(Roster.range(4))
        releases = Releases(ReleaseDirectory(out))
        assert releases.refresh() == ()
        for number in (1, 3):
            published(out, stream[:number])
            assert releases.refresh() == read_releases(out).certificates
        assert [release.graph for release in releases] == [
            each.graph for each in read_releases(out)
        ]
        (out / "000000.json").unlink()
        assert len(releases.refresh()) == 3

    def test_a_swapped_certificate_is_refused(self, out: Path, tmp_path: Path) -> None:
        published(tmp_path / "other", snapshots(Roster.range(4)))
        for path in (tmp_path / "other").glob("000001.*"):
            shutil.copy(path, out)
        releases = Releases(ReleaseDirectory(out))
        with refused(VerificationFailed, "chain"):
            releases.refresh()
        assert len(releases) == 1

    def test_files_are_checked_again_when_they_were_modified(self, out: Path) -> None:
        releases = read_releases(out)
        (graph,), nodes = releases.graph_files(0), releases.nodes_file(0)
        assert (graph, nodes) == (out / "000000.parquet", next((out / "nodes").iterdir()))
        graph.write_bytes(graph.read_bytes() + b"more")
        with refused(VerificationFailed, "changed"):
            releases.graph_files(0)
        nodes.unlink()
        with refused(VerificationFailed, "missing"):
            releases.nodes_file(0)


class TestOldDirectories:
    """Version 0.1.0 published no node lists, so someone has to say who the nodes are."""

    def test_with_a_roster(self) -> None:
        read = read_releases(OLD / "releases", roster=Roster.range(10))
        assert [len(release.graph.roster) for release in read] == [10, 10, 10]
        assert [release.graph.edge_count for release in read] == [
            certificate.edges for certificate in read.certificates
        ]

    def test_with_the_stream(self) -> None:
        stream = pg.read_stream(OLD / "edges.csv", roster=OLD / "nodes.csv")
        read = read_releases(OLD / "releases", roster=stream)
        assert read[2].graph == list(read)[2].graph
        with refused(DataError, "too_few_snapshots"):
            list(read_releases(OLD / "releases", roster=list(stream)[:2]))

    def test_without(self) -> None:
        with refused(DataError, "roster_needed"):
            read_releases(OLD / "releases")[0]

    @pytest.mark.parametrize("nodes", [2, 11])
    def test_with_another_roster(self, nodes: int) -> None:
        with refused(DataError, "other_roster"):
            read_releases(OLD / "releases", roster=Roster.range(nodes))[0]
