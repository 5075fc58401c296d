"""A PSGraph+ ledger of version 0.2.0, whose states hold graphs: continued, and remade to the byte.

Made with version 0.2.0 from the edges beside it: four of six timestamps, with hubs, communities and
kept edges.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.methods.plus import PSGraphPlus
from psgraph.metrics import edge_overlap
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from psgraph.streams import Stream

FIXTURE = Path(__file__).parent / "fixtures" / "0.2.0-psgraph-plus"
GUARANTEE = pg.WEventPrivacy("48", window=2)
SEALED, ALL = 4, 6


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURE / "releases.ledger", tmp_path / "releases.ledger")
    return Path(shutil.copytree(FIXTURE / "releases", tmp_path / "releases"))


def stream() -> Stream:
    return pg.read_stream(FIXTURE / "edges.csv", roster=FIXTURE / "nodes.csv")


def publish(out: Path, timestamps: Sequence[int] = range(ALL)) -> list[pg.Release]:
    snapshots = list(stream())
    with Publisher(PSGraphPlus(), GUARANTEE, out=out, large_epsilon=True) as publisher:
        return [publisher.publish(snapshots[each], timestamp=each) for each in timestamps]


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def lose(out: Path, *timestamps: int) -> None:
    for timestamp in timestamps:
        for path in out.glob(f"{timestamp:06d}*"):
            path.unlink()


def test_the_fixture_is_of_version_0_2_0(out: Path) -> None:
    versions = {json.loads(path.read_text())["version"] for path in out.glob("*.json")}
    assert versions == {"0.2.0"}
    with Ledger(ledger_of(out), writing=False) as ledger:
        state = ledger.latest_state(PSGraphPlus.records)
        measurements = [ledger.measurement_of(each, PSGraphPlus.records) for each in range(SEALED)]
    assert not any(measurement.drawn_after_seal for measurement in measurements)
    assert measurements[0].communities is not None
    assert state.graph == pg.read_releases(out)[SEALED - 1].graph


def test_it_is_verified_and_left_alone(out: Path) -> None:
    before = contents(out.parent)
    assert verify(out).releases == SEALED
    assert contents(out.parent).items() >= before.items()


def test_its_releases_are_handed_back(out: Path) -> None:
    before = contents(out)
    publish(out, range(SEALED))
    assert contents(out) == before


@pytest.mark.parametrize("lost", [[3], [0], [1, 2], range(SEALED)])
@pytest.mark.parametrize("asked", [[3], [1], range(SEALED)])
def test_lost_files_are_made_again_to_the_byte(
    out: Path, lost: Sequence[int], asked: Sequence[int]
) -> None:
    before = contents(out)
    lose(out, *lost)
    publish(out, asked)
    publish(out, range(SEALED))
    assert contents(out) == before


def test_a_timestamp_that_was_not_finished_is_released_as_it_would_have_been(out: Path) -> None:
    before = contents(out)
    lose(out, SEALED - 1)
    connection = sqlite3.connect(ledger_of(out))
    with connection:
        connection.execute(
            "UPDATE seals SET certificate = NULL, certificate_mark = NULL WHERE timestamp = ?",
            (SEALED - 1,),
        )
    connection.close()
    Publisher.resume(out).close()
    assert contents(out) == before


def test_resuming_grows_from_its_last_graph(out: Path) -> None:
    before = contents(out)
    with Publisher.resume(out) as publisher:
        grown = publisher.publish(list(stream())[SEALED])
    assert contents(out).items() >= before.items()
    assert grown.certificate.summary["edges_kept"] > 0.8
    assert edge_overlap(pg.read_releases(out)[SEALED - 1].graph, grown.graph) > 0.35
    assert verify(out).releases == SEALED + 1
    with Ledger(ledger_of(out), writing=False) as ledger:
        assert ledger.latest_state(PSGraphPlus.records).graph is None


def test_if_its_last_release_is_lost_it_is_made_again_first(out: Path) -> None:
    before = contents(out)
    lose(out, SEALED - 1)
    publish(out, [SEALED])
    assert contents(out).items() >= before.items()


@pytest.mark.parametrize("lost", [[3, 4], [4, 5], range(ALL)])
def test_chains_across_both_versions_are_made_again_to_the_byte(
    out: Path, lost: Sequence[int]
) -> None:
    publish(out)
    before = contents(out)
    lose(out, *lost)
    publish(out, [max(lost)])
    assert contents(out).keys() >= {f"{each:06d}.json" for each in lost}
    publish(out)
    assert contents(out) == before
    assert verify(out).releases == ALL
