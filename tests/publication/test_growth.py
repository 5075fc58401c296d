"""A roster may grow: what is published keeps its nodes, and a changed past is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from psgraph.errors import ReplayConflict, RosterChanged
from psgraph.graph import Roster, Snapshot
from psgraph.methods.plus.queries import KeptEdges
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.releases import read_releases
from psgraph.publication.verification import verify
from psgraph.streams import read_stream
from tests.refusals import refused

GUARANTEE = WEventPrivacy("1", window=2)
EDGES = "t,u,v\n0,ann,bob\n1,bob,cid\n"


def publish(out: Path, edges: str, roster: str, **options: bool) -> list[int]:
    """Publish a table; the number of nodes of every release."""
    (out.parent / "edges.csv").write_text(edges)
    (out.parent / "nodes.csv").write_text(roster)
    nodes = None if options else out.parent / "nodes.csv"
    stream = read_stream(out.parent / "edges.csv", roster=nodes, **options)
    with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
        return [release.certificate.nodes for release in publisher.publish_all(stream)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    assert publish(tmp_path / "out", EDGES, "ann\nbob\ncid\n") == [3, 3]
    return tmp_path / "out"


def test_appended_ids_count_from_the_next_timestamp_on(out: Path) -> None:
    before = (out / "000001.json").read_bytes()
    grown = "ann\nbob\ncid\naaron\nzoe\n"
    assert publish(out, EDGES, grown) == [3, 3]
    assert publish(out, f"{EDGES}2,ann,zoe\n", grown) == [3, 3, 5]
    assert (out / "000001.json").read_bytes() == before
    assert verify(out).releases == 3
    assert "zoe" in read_releases(out)[2].graph.roster.ids


def test_appended_ids_are_handed_back_without_the_release_files(out: Path) -> None:
    content = (out / "000000.parquet").read_bytes()
    for path in out.glob("000000.*"):
        path.unlink()
    assert publish(out, EDGES, "ann\nbob\ncid\nzoe\n") == [3, 3]
    assert (out / "000000.parquet").read_bytes() == content


def test_a_node_with_a_time_joins_then(out: Path) -> None:
    timed = "id,from\nann,\nbob,\ncid,\nzoe,2\n"
    assert publish(out, f"{EDGES}2,ann,zoe\n", timed) == [3, 3, 4]


def test_a_node_that_is_missing_now_is_a_changed_roster(out: Path) -> None:
    edges = EDGES.replace("0,ann,bob", "0,bob,cid")
    with pytest.raises(RosterChanged, match="1 of its 3") as caught:
        publish(out, edges, "bob\ncid\nzoe\n")
    assert "`until`" in str(caught.value)
    assert "ann" not in str(caught.value)


def test_another_type_of_ids_is_a_changed_roster(tmp_path: Path) -> None:
    publish(tmp_path / "out", "t,u,v\n0,1,2\n", "1\n2\n")
    with refused(RosterChanged, "id_type"):
        publish(tmp_path / "out", "t,u,v\n0,1,2\n", "1\n2\nzoe\n")


@pytest.mark.parametrize("edge", ["0,ann,cid", "0,ann,zoe"])
def test_other_edges_are_other_data_whatever_the_roster(out: Path, edge: str) -> None:
    with pytest.raises(ReplayConflict, match="timestamp 0"):
        publish(out, EDGES.replace("0,ann,bob", edge), "ann\nbob\ncid\nzoe\n")


def test_a_roster_read_off_the_edges_does_not_grow(tmp_path: Path) -> None:
    publish(tmp_path / "out", EDGES, "", roster_from_edges=True)
    with pytest.raises(ReplayConflict):
        publish(tmp_path / "out", EDGES.replace("cid", "zoe"), "", roster_from_edges=True)


def test_a_method_that_reads_two_snapshots_gets_both_over_the_published_roster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roster = Roster.range(4)
    with Publisher(PSGraph(), GUARANTEE, out=tmp_path / "out") as publisher:
        publisher.publish(Snapshot(roster, [0], [1]))
    monkeypatch.setattr(PSGraph, "queries", (*PSGraph.queries, KeptEdges))
    with Publisher(PSGraph(), GUARANTEE, out=tmp_path / "out") as publisher:
        publisher.publish(Snapshot(Roster.range(6), [0], [1]))
        assert publisher._latest is not None
        assert publisher._latest[1].snapshot.roster == roster
