"""The recipes of docs/how-to/recipes.md, run as they are printed."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import psgraph as pg

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "recipes.md").read_text()
STAFF = list(range(40))
CALLS = {
    "caller": [number % 40 for number in range(180)],
    "callee": [(number * 7 + 1) % 40 for number in range(180)],
    "called_at": [f"2024-0{1 + number % 3}-0{1 + number % 9}" for number in range(180)],
}


def block(title: str) -> str:
    found = re.search(rf'^```\w+ title="{re.escape(title)}"\n(.*?)^```$', PAGE, re.M | re.S)
    assert found is not None
    return found[1]


def run(title: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(block(title), title, "exec"), names)
    return names


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "staff.csv").write_text("id\n" + "".join(f"{each}\n" for each in STAFF))
    return tmp_path


def months() -> list[str | None]:
    return [each.time for each in pg.read_releases("releases").certificates]


MONTHS = ["2024-01-01", "2024-02-01", "2024-03-01"]


def test_sqlite(here: Path) -> None:
    import sqlite3

    with sqlite3.connect("calls.sqlite") as database:
        database.execute("CREATE TABLE calls (caller, callee, at)")
        database.execute("CREATE TABLE staff (id)")
        rows = zip(*CALLS.values(), strict=True)
        database.executemany("INSERT INTO calls VALUES (?, ?, ?)", rows)
        database.executemany("INSERT INTO staff VALUES (?)", [(each,) for each in STAFF])
    run("sqlite")
    assert months() == MONTHS
    run("sqlite")  # again: nothing is measured
    assert months() == MONTHS


def test_duckdb(here: Path) -> None:
    pytest.importorskip("duckdb")
    (here / "calls").mkdir()
    pq.write_table(pa.table(CALLS), here / "calls" / "2024.parquet")
    run("duckdb")
    assert months() == MONTHS


def test_s3(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_module = pytest.importorskip("moto.server")
    s3fs = pytest.importorskip("s3fs")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        _, port = server.get_host_and_port()
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "anyone",
            "AWS_SECRET_ACCESS_KEY": "anything",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        store.mkdir("private")
        store.mkdir("public")
        edges = pa.table({"t": [0, 0, 1, 1], "u": [1, 2, 3, 4], "v": [5, 6, 7, 8]})
        pq.write_table(edges, "calls.parquet")
        store.put("calls.parquet", "private/calls.parquet")
        run("s3")
        store.get("public/for-analysts", str(here / "copy"), recursive=True)
    finally:
        server.stop()
        s3fs.S3FileSystem.clear_instance_cache()
    assert len(pg.read_releases(here / "copy")) == 2
    assert not list((here / "copy").rglob("*.sqlite"))


def test_kafka(here: Path) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock"})
    (broker,) = producer.list_topics(timeout=30).brokers.values()
    morning = 1_704_103_200_000  # 2024-01-01, 10:00 UTC
    hour = 3_600_000
    for number, at in enumerate((-11 * hour, -10 * hour, 0, 14 * hour - 1, 14 * hour)):
        call = json.dumps({"caller": number, "callee": number + 1})
        producer.produce("calls", call, timestamp=morning + at)
    assert producer.flush(30) == 0
    cut = run("kafka")["cut"]
    cut("calls", date(2024, 1, 1), here, f"{broker.host}:{broker.port}")
    with (here / "2024-01-01.csv").open() as file:
        rows = sorted((int(row["u"]), int(row["v"])) for row in csv.DictReader(file))
    assert rows == [(1, 2), (2, 3), (3, 4)]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd(here: Path) -> None:
    for name in ("psgraph-nightly.service", "psgraph-nightly.timer"):
        (here / name).write_text(block(name).replace("/usr/bin/psgraph", sys.executable))
        done = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(here / name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert "psgraph-nightly" not in done.stderr, done.stderr


def test_graph_databases_import_what_an_export_has(here: Path) -> None:
    edges = pa.table({"t": [0, 0], "u": [1, 2], "v": [3, 4]})
    pg.publish(edges, roster=STAFF, epsilon="4", window=1, out="releases")
    pg.export_releases("releases", "folder", format="csv")
    statements = re.findall(r"'(?:file://|/import)/(\S+)'([^;]*);", PAGE)
    assert len(statements) == 4
    for name, statement in statements:
        header = (here / "folder" / name).read_text().splitlines()[0].replace('"', "").split(",")
        assert set(re.findall(r"row\.(\w+)", statement)) <= set(header)
