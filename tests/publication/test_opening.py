"""A ledger is opened once, on every way to continue with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from psgraph.errors import LedgerBusy, TermsChanged
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.history import reopen_stream
from psgraph.publication.ledger.database import Database
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from tests.cli.commands import psgraph_here
from tests.crash.scenario import GUARANTEE, snapshot


@pytest.fixture
def out(tmp_path: Path) -> Path:
    with Publisher(PSGraph(), GUARANTEE, out=tmp_path / "out") as publisher:
        publisher.publish(snapshot(0))
    return tmp_path / "out"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Every ledger that was opened, in order."""
    seen: list[Path] = []
    open_database = Database.__init__

    def counted(self: Database, path: Path, **options: Any) -> None:
        seen.append(path)
        open_database(self, path, **options)

    monkeypatch.setattr(Database, "__init__", counted)
    return seen


def test_resuming_opens_the_ledger_once(out: Path, opened: list[Path]) -> None:
    with Publisher.resume(out) as publisher:
        publisher.publish(snapshot(1))
    assert len(opened) == 1


def test_an_open_stream_is_resumed_without_opening_it_again(out: Path, opened: list[Path]) -> None:
    with reopen_stream(out) as stream:
        Publisher.resume(stream).publish(snapshot(1))
    assert len(opened) == 1


def test_the_command_opens_the_ledger_once(tmp_path: Path, opened: list[Path]) -> None:
    edges, nodes, out = tmp_path / "edges.csv", tmp_path / "nodes.csv", tmp_path / "out"
    edges.write_text("t,u,v\n0,a,b\n1,b,c\n")
    nodes.write_text("id\na\nb\nc\n")
    source = (edges, "--roster", nodes, "--times", "0..1")
    done = psgraph_here(
        *("publish", *source, "--epsilon", "1", "--window", "2", "--method", "tmf", "--out", out)
    )
    assert done.code == 0, done.err
    opened.clear()
    done = psgraph_here("resume", out, *source)
    assert done.code == 0, done.err
    assert len(opened) == 1


def test_an_open_stream_is_locked_until_it_is_closed(out: Path) -> None:
    with reopen_stream(out), pytest.raises(LedgerBusy):
        Publisher.resume(out)
    Publisher.resume(out).close()


def test_a_refused_stream_is_not_left_locked(out: Path, tmp_path: Path) -> None:
    with pytest.raises(TermsChanged) as refusal:
        reopen_stream(ledger_of(out), tmp_path / "elsewhere")
    assert refusal.value.changed.keys() == {"out"}
    Publisher.resume(out).close()
