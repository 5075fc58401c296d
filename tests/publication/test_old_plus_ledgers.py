"""A PSGraph+ ledger of version 0.2.0: read and verified, and not continued.

Version 0.2.0 bought structure and degrees on another schedule, and its states hold graphs. Its
measurements can't be combined with new ones, nor its lost releases made again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.errors import TermsChanged
from psgraph.methods.plus import PSGraphPlus
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify

FIXTURE = Path(__file__).parent / "fixtures" / "0.2.0-psgraph-plus"
GUARANTEE = pg.WEventPrivacy("48", window=2)
SEALED = 4


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURE / "releases.ledger", tmp_path / "releases.ledger")
    return Path(shutil.copytree(FIXTURE / "releases", tmp_path / "releases"))


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}


def test_its_releases_are_read_and_verified(out: Path) -> None:
    before = contents(out.parent)
    releases = pg.read_releases(out)
    assert {each.certificate.version for each in releases} == {"0.2.0"}
    assert verify(out).releases == len(releases) == SEALED
    assert contents(out.parent).items() >= before.items()


def test_it_is_not_continued_and_the_version_that_can_is_named(out: Path) -> None:
    before = contents(out)
    with pytest.raises(TermsChanged) as refusal:
        Publisher(PSGraphPlus(), GUARANTEE, out=out, large_epsilon=True)
    assert refusal.value.changed == {"distribution_version": (1, 2)}
    assert "0.2.0" in str(refusal.value)
    assert contents(out) == before


def test_it_is_not_resumed(out: Path) -> None:
    before = contents(out)
    with pytest.raises(TermsChanged) as refusal:
        Publisher.resume(out)
    assert "0.2.0" in str(refusal.value)
    assert contents(out) == before
