"""Graphs of many nodes are directories of parts: one digest, whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq
import pytest

import psgraph as pg
from psgraph.engines.threads import LocalEngine
from psgraph.errors import OutputError, VerificationFailed
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.graph.parts import PART_NODES, MemoryParts, Pairs
from psgraph.methods.tmf import TmF
from psgraph.publication.certificate import Certificate
from psgraph.publication.export import Contents, write_folder
from psgraph.publication.graph_files import encoded
from psgraph.publication.publisher import Publisher
from psgraph.publication.releases import read_releases
from psgraph.publication.verification import verify
from psgraph.trust import expected
from tests.publication.in_parts import (
    CHANGES,
    NAMES,
    NODES,
    InParts,
    change_a_byte,
    cut,
    digest_by_hand,
    tree,
)
from tests.refusals import refused

GUARANTEE = pg.WEventPrivacy("60", window=3)
ROSTER = Roster([f"node {number:02d}" for number in range(NODES)])


def stream(length: int = 2) -> list[Snapshot]:
    rng = np.random.default_rng(1)
    ends = rng.integers(0, len(ROSTER), (length, 2, 60))
    return [Snapshot(ROSTER, *pairs, time=f"day {day}") for day, pairs in enumerate(ends)]


def publish(out: Path | None, method: type[TmF] = InParts, **options: object) -> list[pg.Release]:
    with Publisher(method(), GUARANTEE, out=out, seed=3, **options) as publisher:
        return list(publisher.publish_all(stream()))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("parts") / "out"
    publish(out)
    return out


@pytest.fixture
def out(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published.with_name("out.ledger"), tmp_path / "out.ledger")
    return Path(shutil.copytree(published, tmp_path / "out"))


def test_a_directory_of_parts_with_one_digest(published: Path) -> None:
    assert sorted(path.name for path in published.glob("0*")) == [
        *("000000", "000000.json", "000001", "000001.json")
    ]
    for certificate in read_releases(published).certificates:
        directory = published / f"{certificate.timestamp:06d}"
        assert sorted(path.name for path in directory.iterdir()) == NAMES
        assert certificate.graph_parts == len(NAMES)
        assert certificate.graph_sha256 == digest_by_hand(directory)


def test_parts_hold_the_edges_in_order(published: Path) -> None:
    release = publish(None)[0]
    table = pq.read_table(published / "000000")  # as one table, with any reader of Parquet
    assert list(zip(*table.to_pydict().values(), strict=True)) == release.graph.to_edges()
    for number, name in enumerate(NAMES):
        ends = pq.read_table(published / "000000" / name).column("u").to_pylist()
        assert {ROSTER.ids.tolist().index(end) // 5 for end in ends} <= {number}


@pytest.mark.parametrize(
    ("nodes", "parts"), [(0, False), (PART_NODES, False), (PART_NODES + 1, True)]
)
def test_the_number_of_nodes_decides_between_file_and_directory(nodes: int, parts: bool) -> None:
    ends = [0, 1] if nodes else []
    for edges in (ends[:0], ends[:1], ends):
        graph = SyntheticGraph(Roster.range(nodes), edges, [end + 1 for end in edges])
        with encoded(graph, LocalEngine(), None) as files:
            assert files.part_nodes == (PART_NODES if parts else None)


def test_releases_are_read_back_and_compared(published: Path) -> None:
    made, read = publish(None), read_releases(published)
    assert [release.graph for release in read] == [release.graph for release in made]
    assert all(len(release.graph.parts.edges()) == len(NAMES) for release in read)
    in_memory = pg.compare(stream(), [release.graph for release in made])
    assert pg.compare(stream(), read).rows == in_memory.rows


def test_the_digest_does_not_depend_on_where_the_files_go(published: Path, tmp_path: Path) -> None:
    without_files = publish(None, ledger=tmp_path / "only.ledger")
    certificates = read_releases(published).certificates
    assert [release.certificate for release in without_files] == list(certificates)
    threaded = publish(tmp_path / "threads", engine=LocalEngine(threads=3))
    assert [release.certificate for release in threaded] == list(certificates)


def test_parts_are_encoded_one_after_the_other(tmp_path: Path) -> None:
    """Memory for one part: it is written before the next one is read."""
    seen: list[tuple[int, int]] = []
    graph = cut(publish(None, TmF)[0].graph)

    class Watched(MemoryParts):
        def edges(self) -> list[Callable[[], Pairs]]:
            return [self._watched(number, read) for number, read in enumerate(super().edges())]

        def _watched(self, number: int, read: Callable[[], Pairs]) -> Callable[[], Pairs]:
            def watched() -> Pairs:
                seen.append((number, len(list(tmp_path.rglob("part-*")))))
                return read()

            return watched

    u, v = graph.parts.whole()
    parts = Watched(u, v, nodes=len(ROSTER), part_nodes=5)
    watched = SyntheticGraph.from_parts(ROSTER, parts)
    with encoded(watched, LocalEngine(threads=1), tmp_path / "000000"):
        assert seen == [(0, 0), (1, 1), (2, 2), (3, 3)]


# ---- nothing is changed unnoticed ----


@pytest.mark.parametrize("ledger", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_verify_and_readers_find_what_was_done_to_parts(
    out: Path, change: str, ledger: bool
) -> None:
    if not ledger:
        shutil.rmtree(out.with_name("out.ledger"))
    CHANGES[change](out / "000000")
    with pytest.raises(VerificationFailed, match="000000"):
        verify(out)
    with pytest.raises(VerificationFailed, match="000000"):
        read_releases(out)[0]
    assert read_releases(out)[1].graph.edge_count


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("missing", "part-00001.parquet is missing"),
        ("the last one missing", "part-00003.parquet is missing"),
        ("one more", "'part-00004.parquet' is not one of its 4 parts"),
        ("something else", "'notes.txt' is not one of its 4 parts"),
        ("renamed", "part-00000.parquet is missing"),
        ("swapped", "a part was changed after it was published, or has the name of another"),
        ("a file beside it", "000000.parquet is not the graph its certificate states"),
        ("a file instead", "000000.parquet is not the graph its certificate states"),
        ("all missing", "000000 is missing"),
    ],
)
def test_verify_says_what_was_done(out: Path, change: str, said: str) -> None:
    CHANGES[change](out / "000000")
    with pytest.raises(VerificationFailed) as failed:
        verify(out)
    assert said in str(failed.value)


def test_a_hidden_file_beside_the_parts_does_no_harm(out: Path) -> None:
    (out / "000000" / ".DS_Store").write_bytes(b"of a file manager")
    assert verify(out).releases == 2


def test_a_store_is_not_taken_for_releases(tmp_path: Path) -> None:
    pg.prepare(stream(), to=tmp_path / "store")
    for reader in (verify, read_releases):
        with refused(VerificationFailed, "store"):
            reader(tmp_path / "store")


def test_a_part_that_is_changed_while_it_is_being_read(out: Path) -> None:
    graph = read_releases(out)[1].graph
    change_a_byte(out / "000001")
    with pytest.raises(VerificationFailed, match=r"part-00002\.parquet"):
        graph.to_edges()


@pytest.mark.parametrize("size", [0, 17, -1, 4.0, "4", True, [4]])
def test_a_certificate_with_other_parts_is_refused(published: Path, size: object) -> None:
    certificate = Certificate.from_json((published / "000000.json").read_bytes())
    changed = replace(certificate, graph_part_nodes=size)  # with a digest that fits
    with refused(VerificationFailed, "changed"):
        Certificate.from_json(changed.to_json())


# ---- handing back, and runs that end early ----


def test_a_lost_directory_is_made_again_to_the_byte(out: Path) -> None:
    before = tree(out)
    shutil.rmtree(out / "000000")
    publish(out)
    assert tree(out) == before


def test_what_is_there_is_handed_back_part_by_part(out: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    again = publish(out)
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert [release.graph for release in again] == [release.graph for release in publish(None)]


def test_a_damaged_directory_is_never_replaced(out: Path) -> None:
    change_a_byte(out / "000001")
    changed = tree(out)
    with pytest.raises(VerificationFailed, match="000001"):
        publish(out)
    (out / "000001.json").unlink()  # as if the run had ended before its certificate
    with refused(VerificationFailed, "other_file"):
        publish(out)
    del changed["000001.json"]
    assert tree(out) == changed


def test_a_release_without_a_seal_is_found_before_anything_is_measured(
    published: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with Publisher(InParts(), GUARANTEE, out=out, seed=3) as publisher:
        publisher.publish(stream()[0])
        shutil.copytree(published / "000001", out / "000001")
        with refused(VerificationFailed, "unsealed_file"):
            publisher.publish(stream()[1])
        assert publisher.spending.timestamps == 1


def test_a_full_disk_between_two_parts_leaves_nothing_behind(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, left = os.write, iter(range(2))

    def full(file: int, content: memoryview) -> int:
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, content)

    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OutputError, match=r"part-00002\.parquet.*No space"):
            publish(out)
    assert list(out.iterdir()) == []
    publish(out)  # the same command again; the timestamp was sealed, and costs nothing more
    assert tree(out) == tree(published)


# ---- reports and exports ----


def test_a_report_does_not_rerun_the_method_on_graphs_in_parts(published: Path) -> None:
    with patch.object(expected, "expected_errors") as rerun:
        assert expected.expected_within(published, expected.TRUST_SECONDS) is None
        assert not rerun.called
        expected.expected_within(published, 60)  # asked for
        assert rerun.called


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory, published: Path) -> Path:
    """The same releases, in parts and in one file each, exported in every form."""
    base = tmp_path_factory.mktemp("exports")
    publish(base / "whole", TmF)
    for name, releases in (("parts", published), ("files", base / "whole")):
        for form in ("csv", "graphml", "combined"):
            read = read_releases(releases)
            write_folder(Contents(read, read.certificates, form, None), base / name / form)
    return base


@pytest.mark.parametrize("form", ["csv", "graphml", "combined"])
def test_an_export_holds_the_same_graphs_as_one_of_files(exports: Path, form: str) -> None:
    parts, files = exports / "parts" / form, exports / "files" / form
    if form == "combined":
        assert pq.read_table(parts / "edges.parquet") == pq.read_table(files / "edges.parquet")
    else:
        assert tree(parts / form) == tree(files / form)
    assert verify(parts).releases == 2
    sums = (parts / "SHA256SUMS").read_text()
    assert all(f"000001/{name}" in sums for name in NAMES)
    assert "`NNNNNN/part-….parquet`" in (parts / "README.md").read_text()
