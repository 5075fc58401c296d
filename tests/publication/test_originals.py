"""A comparison is refused if the ledger knows that the input is not the original."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.errors import ReplayConflict, VerificationFailed
from psgraph.graph import Roster, Snapshot
from psgraph.publication.locations import ledger_of
from psgraph.publication.verification import Originals
from tests.refusals import refused

ROSTER = Roster.range(30)


def stream(*changed: int, roster: Roster = ROSTER) -> list[Snapshot]:
    """Four snapshots, of which some have another last edge."""
    ends = [list(range(1, 30)) for _ in range(4)]
    for timestamp in changed:
        ends[timestamp][-1] = 1
    return [Snapshot(roster, range(29), each, time=str(t)) for t, each in enumerate(ends)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    with pg.Publisher(
        pg.PSGraph(), pg.WEventPrivacy("1", window=2), out=tmp_path / "out"
    ) as publisher:
        for snapshot in stream():
            publisher.publish(snapshot)
    return tmp_path / "out"


def test_the_right_input_is_compared_and_said_to_be_checked(out: Path) -> None:
    comparison = pg.compare(stream(), pg.read_releases(out))
    assert comparison.input_checked
    assert comparison.to_dict()["input_checked"] is True


def test_changed_input_is_refused_with_all_its_timestamps(out: Path) -> None:
    with pytest.raises(ReplayConflict, match="1 and 3"):
        pg.compare(stream(1, 3), pg.read_releases(out))


def test_an_iterator_that_can_be_read_once_is_checked_too(out: Path) -> None:
    with pytest.raises(ReplayConflict, match="timestamp 0"):
        pg.compare(iter(stream(0)), pg.read_releases(out))


def test_without_the_ledger_nothing_is_checked_and_that_is_said(out: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(out, tmp_path / "copy")
    assert not pg.compare(stream(1), pg.read_releases(copy)).input_checked
    with pytest.raises(ReplayConflict):
        list(Originals(stream(1), pg.read_releases(copy), ledger_of(out)))


def test_the_ledger_of_other_releases_is_refused(out: Path, tmp_path: Path) -> None:
    with pg.Publisher(
        pg.PSGraph(), pg.WEventPrivacy("1", window=2), out=tmp_path / "copy"
    ) as publisher:
        publisher.publish(stream()[0])
    with refused(VerificationFailed, "other_ledger"):
        list(Originals(stream(), pg.read_releases(tmp_path / "copy"), ledger_of(out)))


@pytest.mark.parametrize("with_ledger", [True, False])
def test_nodes_that_joined_since_are_left_out(out: Path, with_ledger: bool) -> None:
    if not with_ledger:
        ledger_of(out).unlink()
    grown = stream(roster=Roster.range(33))
    assert len(pg.compare(grown, pg.read_releases(out)).rows) == 4
