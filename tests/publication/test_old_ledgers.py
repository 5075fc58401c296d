"""A ledger of version 0.1.0, with its releases: read as it is, continued, never misread."""

from __future__ import annotations

import json
import shutil
import sqlite3
from itertools import islice
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.errors import DataError, TermsChanged, VerificationFailed
from psgraph.graph import Roster
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.ledger import Ledger
from psgraph.publication.legacy import roster_statement
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from psgraph.streams import Stream
from tests.cli.commands import psgraph_here
from tests.refusals import refused

FIXTURE = Path(__file__).parent / "fixtures" / "0.1.0"
GUARANTEE = pg.WEventPrivacy("1", window=3)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE / "releases", tmp_path / "releases"))


def stream() -> Stream:
    return pg.read_stream(FIXTURE / "edges.csv", roster=FIXTURE / "nodes.csv")


def file_format(out: Path) -> int:
    connection = sqlite3.connect(f"{(out / 'ledger.sqlite').as_uri()}?mode=ro", uri=True)
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return int(number)


def test_the_fixture_is_of_version_0_1_0(out: Path) -> None:
    assert file_format(out) == 1  # in a copy: SQLite puts files beside what it opens
    versions = {
        json.loads(path.read_text())["version"] for path in (FIXTURE / "releases").glob("*.json")
    }
    assert versions == {"0.1.0"}


def test_reading_commands_read_it_and_leave_it_alone(out: Path) -> None:
    before = (out / "ledger.sqlite").read_bytes()
    result = verify(out)
    assert (result.timestamps, result.releases, result.largest_window_spent) == (3, 3, "1")
    done = psgraph_here("budget", out, "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["timestamps"], report["spent"], report["noise"]) == (3, "1", None)
    assert psgraph_here("budget", out).code == 0
    assert (out / "ledger.sqlite").read_bytes() == before


def test_publishing_hands_back_what_is_there_and_continues(out: Path) -> None:
    before = {path.name: path.read_bytes() for path in out.glob("0*")}
    with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
        releases = list(publisher.publish_all(stream()))
    assert [release.timestamp for release in releases] == [0, 1, 2, 3, 4]
    assert [release.certificate.noise for release in releases] == [None] * 3 + ["exact"] * 2
    assert {name: (out / name).read_bytes() for name in before} == before
    assert file_format(out) == 2
    assert verify(out).releases == 5


def test_a_lost_release_is_not_replaced_by_another_one(out: Path) -> None:
    (out / "000001.parquet").unlink()
    before = {path.name for path in out.glob("0*")}
    with Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
        refusal = pytest.raises(VerificationFailed, match=r"timestamp 1 .*0\.1")
        with refusal:
            list(publisher.publish_all(stream()))
        assert publisher.spending.timestamps == 3
    assert {path.name for path in out.glob("0*")} == before
    with Publisher.resume(out / "ledger.sqlite") as publisher:
        assert publisher.publish(next(islice(stream(), 3, None))).timestamp == 3


def test_resuming_continues_with_the_next_timestamp(out: Path) -> None:
    with Publisher.resume(out / "ledger.sqlite") as publisher:
        publisher.publish(next(islice(stream(), 3, None)))
        assert publisher.spending.timestamps == 4
    assert verify(out).releases == 4


def test_the_command_resumes_it(out: Path) -> None:
    done = psgraph_here(
        "resume", out, FIXTURE / "edges.csv", "--roster", FIXTURE / "nodes.csv", "--json"
    )
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert (report["already_sealed"], report["new"]) == (3, 2)


def test_other_terms_are_refused(out: Path) -> None:
    with pytest.raises(TermsChanged) as refusal:
        Publisher(PSGraph(), pg.WEventPrivacy("2", window=3), out=out)
    assert refusal.value.changed.keys() == {"epsilon"}


def test_the_sampler_is_fixed_by_the_first_timestamp_that_records_it(out: Path) -> None:
    snapshots = list(stream())
    with Publisher(PSGraph(), GUARANTEE, out=out, noise="opendp") as publisher:
        publisher.publish(snapshots[3], timestamp=3)
    with pytest.raises(TermsChanged) as refusal:
        Publisher(PSGraph(), GUARANTEE, out=out)
    assert refusal.value.changed == {"noise": ("opendp", "exact")}
    with Publisher.resume(out / "ledger.sqlite") as publisher:
        assert publisher.publish(snapshots[4]).certificate.noise == "opendp"


@pytest.mark.parametrize("migrated", [False, True])
def test_a_changed_row_is_noticed(out: Path, migrated: bool) -> None:
    if migrated:
        Ledger(out / "ledger.sqlite").close()
    connection = sqlite3.connect(out / "ledger.sqlite")
    with connection:
        connection.execute("UPDATE seals SET spent = '0' WHERE timestamp = 1")
    connection.close()
    with pytest.raises(VerificationFailed, match="timestamp 1: "):
        verify(out)
    with pytest.raises(VerificationFailed):
        Publisher(PSGraph(), GUARANTEE, out=out)


def test_a_sampler_can_not_be_written_into_an_old_row(out: Path) -> None:
    Ledger(out / "ledger.sqlite").close()
    connection = sqlite3.connect(out / "ledger.sqlite")
    with connection:
        connection.execute("UPDATE seals SET noise = 'exact' WHERE timestamp = 1")
    connection.close()
    with pytest.raises(VerificationFailed, match="timestamp 1: "):
        verify(out)


@pytest.mark.parametrize("resume", [True, False])
def test_a_ledger_inside_may_be_moved_beside_its_releases(out: Path, resume: bool) -> None:
    beside = out.with_name("releases.ledger")
    beside.mkdir(mode=0o700)
    (out / "ledger.sqlite").rename(beside / "ledger.sqlite")
    assert verify(out).ledger
    begun = Publisher.resume(out, replay=True) if resume else None
    with begun or Publisher(PSGraph(), GUARANTEE, out=out) as publisher:
        assert (publisher.out, publisher.spending.timestamps) == (out, 3)


def test_releases_without_node_lists_are_exported_without_one(out: Path, tmp_path: Path) -> None:
    pg.export_releases(out, tmp_path / "to", format="combined")
    assert verify(tmp_path / "to").releases == 3
    assert not (tmp_path / "to" / "nodes.csv").exists()
    assert "(no node list)" in (tmp_path / "to" / "README.md").read_text()
    with refused(DataError, "no_node_list"):
        pg.export_releases(out, tmp_path / "drawn", format="graphml")


def test_statements_of_old_certificates_can_be_recomputed() -> None:
    assert roster_statement(Roster([1]), "discrete Laplace") == Roster([1]).statement
    assert roster_statement(Roster([1]), None) == (
        "The roster was given from outside and does not depend on the edges."
    )
    assert roster_statement(Roster([1], declared="edges"), None) == (
        "The roster was read off the edges: which nodes have an edge at each timestamp is public "
        "and not protected."
    )
