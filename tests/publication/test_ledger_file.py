"""The file of a ledger: formats, foreign and torn files, places that can't be written."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph._runtime.durable import put_in_place
from psgraph.errors import LedgerBusy, LedgerError, PsgraphError, VerificationFailed
from psgraph.graph import Roster
from psgraph.graph.roster import DECLARATIONS, Declared
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.budget import Charge
from psgraph.publication import legacy
from psgraph.publication.ledger import Ledger, database
from psgraph.publication.ledger.chain import (
    pack_charges,
    pack_roster,
    unpack_charges,
    unpack_roster,
)
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from tests.crash.scenario import GUARANTEE, copied, publish, snapshot
from tests.refusals import refused


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("published") / "out"
    publish(out, 3)
    return out


@pytest.fixture
def out(published: Path, tmp_path: Path) -> Path:
    return copied(published, tmp_path / "out")


def begin(out: Path) -> Publisher:
    return Publisher(PSGraph(), GUARANTEE, out=out)


def change(out: Path, *statements: str) -> None:
    connection = sqlite3.connect(ledger_of(out))
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


class TestFormats:
    @pytest.fixture
    def newer_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A later version of psgraph, which keeps a note with every timestamp."""
        later = database.TABLES["seals"].replace("seals (", "seals (note TEXT, ")

        def migrate(connection: sqlite3.Connection, _: object) -> None:
            old = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(seals)"))
            connection.execute("ALTER TABLE seals RENAME TO old")
            connection.execute(later)
            connection.execute(f"INSERT INTO seals ({old}) SELECT {old} FROM old")
            connection.execute("DROP TABLE old")

        monkeypatch.setattr(database, "FORMAT", 3)
        monkeypatch.setitem(legacy.OLD_TABLES, 2, dict(database.TABLES))
        monkeypatch.setitem(database.TABLES, "seals", later)
        monkeypatch.setitem(legacy.MIGRATIONS, 2, migrate)

    @pytest.mark.usefixtures("newer_package")
    def test_older_ledgers_are_read_as_they_are_and_migrated_by_publishing(self, out: Path) -> None:
        with Ledger(ledger_of(out), writing=False) as ledger:
            assert ledger.sealed == 3
        with Publisher.resume(ledger_of(out), replay=True) as publisher:
            for timestamp in range(4):
                publisher.publish(snapshot(timestamp))
        assert verify(out).timestamps == 4

    @pytest.mark.usefixtures("newer_package")
    def test_a_migration_that_fails_changes_nothing(
        self, out: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(connection: sqlite3.Connection, _: object) -> None:
            connection.execute("DROP TABLE seals")
            raise sqlite3.OperationalError

        monkeypatch.setitem(legacy.MIGRATIONS, 2, broken)
        with pytest.raises(LedgerError):
            begin(out)
        monkeypatch.undo()
        assert verify(out).timestamps == 3

    def test_a_format_nobody_knows_any_more(self, out: Path) -> None:
        change(out, "PRAGMA user_version = 0")
        with refused(LedgerError, "older_format"):
            begin(out)

    @pytest.mark.parametrize("found", [3, 4, 2**31 - 1])
    def test_newer_ledgers_are_refused(self, out: Path, found: int) -> None:
        change(out, f"PRAGMA user_version = {found}", "CREATE TABLE new (x)")
        for attempt in (lambda: begin(out), lambda: Ledger(ledger_of(out), writing=False)):
            with refused(LedgerError, "newer_format"):
                attempt()


@pytest.mark.parametrize("there", [False, True])
def test_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    temporary, target = tmp_path / "new", tmp_path / "old"
    temporary.write_text("new")
    if there:
        target.write_text("old")
        with pytest.raises(FileExistsError):
            put_in_place(temporary, target, replace=False)
        assert target.read_text() == "old"
    else:
        publish(tmp_path / "out", 1)
        assert verify(tmp_path / "out").releases == 1
        put_in_place(temporary, target, replace=False)
        assert target.read_text() == "new"


class TestOtherNames:
    def test_a_hard_link_would_have_a_lock_of_its_own(self, out: Path, tmp_path: Path) -> None:
        second = tmp_path / "elsewhere.sqlite"
        os.link(ledger_of(out), second)
        for ledger in (ledger_of(out), second):
            with refused(LedgerError, "hard_link"):
                Ledger(ledger)
        Ledger(second, writing=False).close()
        second.unlink()
        begin(out).close()

    def test_a_symbolic_link_has_the_same_lock(self, out: Path, tmp_path: Path) -> None:
        link = tmp_path / "elsewhere.sqlite"
        link.symlink_to(ledger_of(out))
        with begin(out), pytest.raises(LedgerBusy):
            Ledger(link)
        Ledger(link).close()

    def test_the_name_a_killed_process_left_is_removed(self, out: Path) -> None:
        """Also if its process id is in use again, as often in a container."""
        ledger = ledger_of(out)
        os.link(ledger, ledger.with_name(f".{ledger.name}.{os.getpid()}-0a.part"))
        begin(out).close()
        assert ledger.stat().st_nlink == 1


class TestForeignAndTorn:
    @pytest.mark.parametrize(
        "statement",
        [
            "CREATE TRIGGER t AFTER INSERT ON seals BEGIN DELETE FROM seals; END",
            "CREATE TABLE more (x)",
            "DROP TABLE state",
            "ALTER TABLE seals RENAME TO others",
            "CREATE VIEW v AS SELECT 1",
        ],
    )
    def test_other_tables(self, out: Path, statement: str) -> None:
        change(out, statement)
        with refused(LedgerError, "other_tables"):
            begin(out)
        with pytest.raises(VerificationFailed):
            verify(out)

    def test_a_database_of_another_program(self, tmp_path: Path) -> None:
        file = tmp_path / "other.db"
        with sqlite3.connect(file) as connection:
            connection.execute("CREATE TABLE mine (x)")
        connection.close()
        before = file.read_bytes()
        with refused(LedgerError, "foreign_file"):
            Publisher(PSGraph(), GUARANTEE, ledger=file)
        assert file.read_bytes() == before

    @pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0", os.urandom(8192)])
    def test_no_ledger_at_all(self, tmp_path: Path, content: bytes) -> None:
        file = tmp_path / "run.ledger"
        file.write_bytes(content)
        for attempt in (
            lambda: Publisher(PSGraph(), GUARANTEE, ledger=file),
            lambda: Publisher.resume(file),
            lambda: Ledger(file, writing=False),
            lambda: verify(file),
        ):
            with pytest.raises(PsgraphError):
                attempt()
        assert file.read_bytes() == content

    @pytest.mark.parametrize("part", np.linspace(0.01, 0.99, 12).tolist())
    def test_a_torn_ledger_publishes_nothing(self, out: Path, part: float) -> None:
        file = ledger_of(out)
        content = file.read_bytes()
        file.write_bytes(content[: int(len(content) * part)])
        files = sorted(path.name for path in out.iterdir())
        with pytest.raises(PsgraphError), begin(out) as publisher:
            publisher.publish(snapshot(3), timestamp=3)
        with pytest.raises(PsgraphError):
            verify(out)
        assert sorted(path.name for path in out.glob("0*")) == [f for f in files if f[0] == "0"]

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "file").touch()
        for path in (
            tmp_path,
            tmp_path / "pipe",
            tmp_path / ("x" * 300),
            tmp_path / "nul\0",
            tmp_path / "file" / "below",
            tmp_path / "missing" / "ledger",
        ):
            for attempt in (
                lambda path=path: Publisher.resume(path),
                lambda path=path: Ledger(path, writing=False),
            ):
                with pytest.raises(LedgerError):
                    attempt()
        for path in (tmp_path / "pipe", tmp_path / ("x" * 300), tmp_path / "file" / "below"):
            with pytest.raises(PsgraphError):
                Publisher(PSGraph(), GUARANTEE, ledger=path)
            with pytest.raises(PsgraphError):
                Publisher(PSGraph(), GUARANTEE, out=path)


@given(
    ids=st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), unique=True),
        st.lists(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), unique=True
        ),
    ),
    declared=st.sampled_from(DECLARATIONS),
)
def test_rosters_come_back_as_they_were(ids: list[object], declared: Declared) -> None:
    roster = Roster(ids, declared=declared)  # type: ignore[arg-type]
    back = unpack_roster(pack_roster(roster))
    assert back == roster
    assert back.digest == roster.digest
    names = Roster(np.empty(0, dtype="U1"), declared=declared)
    assert unpack_roster(pack_roster(names)).digest == names.digest


def test_charges_are_read_back_as_they_were_written():
    charge = Charge("discrete Laplace", "edges", Fraction(1, 3), 1, (1,))
    charges = (
        charge,
        replace(charge, part="inside", proven=False),
        replace(charge, part="inside / a", split=(1, 0)),
        replace(charge, part="between", split=(2,), proven=False),
    )
    assert unpack_charges(pack_charges(charges)) == charges
    assert pack_charges((charge,)) == '[["discrete Laplace","edges","1/3",1,[1],""]]'
