"""The ledger beside its releases: who may open it, and how each finds the other."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from psgraph.errors import LedgerError
from psgraph.publication.locations import (
    LEDGER_NAME,
    find_ledger,
    ledger_at,
    ledger_of,
    name_in_terms,
    releases_at,
    releases_of,
)
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from tests.crash.scenario import publish, snapshot
from tests.refusals import refused


@pytest.fixture
def out(tmp_path: Path) -> Path:
    publish(tmp_path / "out", 1)
    return tmp_path / "out"


def test_only_its_owner_can_open_the_directory_of_a_ledger(out: Path) -> None:
    assert stat.S_IMODE(ledger_of(out).parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(out.stat().st_mode) & 0o055
    assert not list(out.glob("ledger*"))


def test_every_path_of_a_publication_leads_to_both_sides(out: Path) -> None:
    ledger = out.with_name("out.ledger") / LEDGER_NAME
    for path in (out, ledger.parent, ledger):
        assert ledger_at(path) == ledger
        assert verify(path).releases == 1
    assert releases_at(ledger.parent) == releases_at(out) == out


def test_a_link_to_the_releases_leads_to_the_same_ledger(out: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(out)
    assert find_ledger(link) == ledger_of(out)


def test_resuming_takes_the_directory_of_the_releases(out: Path) -> None:
    with Publisher.resume(out) as publisher:
        publisher.publish(snapshot(1))
    assert verify(out).releases == 2


def test_releases_without_a_ledger_say_where_it_was_looked_for(out: Path) -> None:
    ledger_of(out).unlink()
    with pytest.raises(LedgerError, match=r"out\.ledger/ledger\.sqlite nor .*out/ledger\.sqlite"):
        ledger_at(out)


def test_two_ledgers_are_one_too_many(out: Path) -> None:
    (out / LEDGER_NAME).touch()
    with refused(LedgerError, "two_ledgers"):
        ledger_of(out)


def test_terms_name_the_releases_so_that_both_can_be_moved(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for ledger in (tmp_path / "out.ledger" / "x", tmp_path / "private" / "x", out / LEDGER_NAME):
        found = releases_of(ledger, name_in_terms(ledger, out))
        assert found is not None
        assert found.resolve() == out
    assert releases_of(tmp_path / "x", None) is None


def test_a_ledger_that_was_moved_away_from_its_releases_is_refused(out: Path) -> None:
    moved = ledger_of(out).parent.rename(out.with_name("aside"))
    with refused(LedgerError, "releases_lost"):
        Publisher.resume(moved)
