"""`verify` notices every changed byte, and everything that is missing, swapped or too old."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from psgraph.errors import LedgerError, PsgraphError, VerificationFailed
from psgraph.publication.certificate import Certificate
from psgraph.publication.locations import ledger_of
from psgraph.publication.verification import verify
from tests.crash.scenario import copied, publish
from tests.refusals import refused

from .tampering import flip


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four releases that all differ: to exchange two equal ones would change nothing.

    The graphs are tiny and their noise is secret, so now and then two come out equal.
    """
    while True:
        out = tmp_path_factory.mktemp("published") / "out"
        publish(out, 4)
        if len({path.read_bytes() for path in out.glob("*.parquet")}) == 4:
            return out


@pytest.fixture
def out(published: Path, tmp_path: Path) -> Path:
    return copied(published, tmp_path / "out")


def test_1500_changed_bytes(out: Path) -> None:
    report = flip(out, 1_500)
    assert report["missed"] == []
    assert report["flips"] == 1_500
    columns = {place for place in report["places"] if "." in place}
    assert len(columns) == 20  # of all four tables, all but a constant and an empty one
    assert {"parquet", "json", "nodes"} < report["places"].keys()


def test_a_ledger_without_timestamps_is_guarded_too(tmp_path: Path) -> None:
    publish(tmp_path / "out", 0)
    assert verify(tmp_path / "out").timestamps == 0
    connection = sqlite3.connect(ledger_of(tmp_path / "out"))
    for name in ("terms", "key", "mark"):
        (value,) = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        for place in range(0, len(value), 5):
            changed = value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :]
            connection.execute("UPDATE facts SET value = ? WHERE name = ?", (changed, name))
            connection.commit()
            with pytest.raises(VerificationFailed):
                verify(tmp_path / "out")
        connection.execute("UPDATE facts SET value = ? WHERE name = ?", (value, name))
        connection.commit()
    connection.close()
    assert verify(tmp_path / "out").timestamps == 0


def content_of(ledger: Path) -> list[Any]:
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    try:
        return [
            connection.execute(f"SELECT * FROM {table}").fetchall()
            for table in ("facts", "rosters", "seals", "state")
        ]
    finally:
        connection.close()


def test_bytes_of_the_file_that_hold_no_content_do_no_harm(out: Path) -> None:
    """SQLite pages have unused bytes. A change is noticed, or changes no row of any table."""
    ledger = ledger_of(out)
    content = ledger.read_bytes()
    rows = content_of(ledger)
    chance = random.Random(33)
    noticed = 0
    for _ in range(300):
        place = chance.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= chance.randrange(1, 256)
        ledger.write_bytes(changed)
        try:
            verify(out)
            assert content_of(ledger) == rows
        except VerificationFailed:
            noticed += 1
        for side in ledger_of(out).parent.glob("ledger.sqlite-*"):
            side.unlink()
    assert noticed > 50


def remove(name: str) -> Callable[[Path], object]:
    return lambda out: (out / name).unlink()


def sql(*statements: str) -> Callable[[Path], object]:
    def change(out: Path) -> None:
        connection = sqlite3.connect(ledger_of(out))
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    return change


def swap(one: str, other: str) -> Callable[[Path], object]:
    def change(out: Path) -> None:
        (out / one).rename(out / "aside")
        (out / other).rename(out / one)
        (out / "aside").rename(out / other)

    return change


def renew(out: Path) -> None:
    """A certificate that is changed and made consistent with itself again."""
    path = out / "000003.json"
    text = path.read_text().replace('"nodes": 12', '"nodes": 13')
    content = Certificate.from_json((out / "000003.json").read_bytes())
    changed = Certificate(**{**_fields(content), "nodes": 13})
    assert changed.to_json() != text
    path.write_text(changed.to_json())


def _fields(certificate: Certificate) -> dict[str, Any]:
    return {name: getattr(certificate, name) for name in Certificate.__dataclass_fields__}


@pytest.mark.parametrize(
    "change",
    [
        remove("000000.parquet"),
        remove("000001.json"),
        remove("000003.parquet"),
        remove("000003.json"),
        lambda out: [path.unlink() for path in out.glob("nodes/*")],
        lambda out: [remove(f"000003.{ending}")(out) for ending in ("json", "parquet")],
        lambda out: [path.unlink() for path in out.glob("0*")],
        lambda out: shutil.copy(out / "000003.json", out / "000004.json"),
        swap("000001.parquet", "000002.parquet"),
        swap("000001.json", "000002.json"),
        renew,
        sql("DELETE FROM seals WHERE timestamp = 3"),
        sql("DELETE FROM seals WHERE timestamp = 1"),
        sql("DELETE FROM seals WHERE timestamp = 0"),
        sql("DELETE FROM seals"),
        sql("DELETE FROM rosters"),
        sql("DELETE FROM state"),
        sql("DELETE FROM facts WHERE name = 'key'"),
        sql("INSERT INTO facts VALUES ('more', x'00')"),
        sql("UPDATE seals SET spent = '0' WHERE timestamp = 2"),
        sql("UPDATE seals SET spent = 0.0"),
        sql("UPDATE seals SET time = NULL WHERE timestamp = 2"),
        sql("UPDATE seals SET noise = NULL WHERE timestamp = 2"),
        sql("UPDATE seals SET noise = 'opendp' WHERE timestamp = 2"),
        sql("UPDATE seals SET times = 'made up' WHERE timestamp = 2"),
        sql("UPDATE seals SET certificate = NULL, certificate_mark = NULL WHERE timestamp = 1"),
        sql("UPDATE seals SET certificate_mark = NULL WHERE timestamp = 3"),
        sql("UPDATE seals SET certificate = 5, certificate_mark = 0 WHERE timestamp = 3"),
        sql("UPDATE seals SET digest = 'text' WHERE timestamp = 3"),
        sql(
            "UPDATE seals SET timestamp = 9 WHERE timestamp = 2",
            "UPDATE seals SET timestamp = 2 WHERE timestamp = 1",
            "UPDATE seals SET timestamp = 1 WHERE timestamp = 9",
        ),
        sql("UPDATE seals SET timestamp = 9223372036854775807 WHERE timestamp = 3"),
    ],
)
def test_what_is_missing_swapped_or_made_up(out: Path, change: Callable[[Path], object]) -> None:
    assert verify(out).releases == 4
    change(out)
    with pytest.raises(VerificationFailed) as failure:
        verify(out)
    assert failure.value.problems


def test_a_changed_ledger_is_not_published_with(out: Path) -> None:
    for statement in (
        "UPDATE seals SET spent = '0' WHERE timestamp = 3",
        "UPDATE state SET content = zeroblob(100)",
        "UPDATE seals SET measurement = zeroblob(100) WHERE timestamp = 2",
    ):
        backup = ledger_of(out).read_bytes()
        sql(statement)(out)
        with refused(VerificationFailed, "changed"):
            publish(out, 5)
        for side in ledger_of(out).parent.glob("ledger.sqlite-*"):
            side.unlink()
        ledger_of(out).write_bytes(backup)
    publish(out, 5)


def test_releases_alone_can_be_checked_by_anyone(out: Path) -> None:
    os.remove(ledger_of(out))  # noqa: PTH107
    result = verify(out)
    assert (result.ledger, result.releases, result.largest_window_spent) == (False, 4, "1")
    content = (out / "000001.json").read_text()
    (out / "000001.json").write_text(content.replace('"edges"', '"edgez"'))
    with pytest.raises(VerificationFailed, match=r"000001\.json"):
        verify(out)


def test_a_changed_index_is_noticed_and_a_last_row_that_was_not_written_is_not(out: Path) -> None:
    index = out / "index.csv"
    whole = index.read_bytes()
    rows = whole.splitlines(keepends=True)
    for cut in (b"".join(rows[:-1]), whole[:-2]):  # a run that was killed
        index.write_bytes(cut)
        assert verify(out).timestamps == 4
    swapped = b"".join((rows[0], rows[2], rows[1], *rows[3:]))
    for changed in (swapped, rows[0] + rows[2], whole + rows[-1], b"\xff" + whole):
        index.write_bytes(changed)
        with pytest.raises(VerificationFailed):
            verify(out)


def test_nothing_to_check(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing", tmp_path / "nul\0", tmp_path / ("x" * 300)):
        with pytest.raises(LedgerError):
            verify(path)
    (tmp_path / "file").write_text("hello")
    with pytest.raises(PsgraphError):
        verify(tmp_path / "file")
