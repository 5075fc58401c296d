"""Input that is larger than memory, and stores that are not as they should be."""

from __future__ import annotations

import hashlib
import json
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psgraph.errors import DataError, OutputError
from psgraph.graph.kind import DIRECTED
from psgraph.methods.registry import find_method, memory_note
from psgraph.stores import StoreWriter, part_files
from psgraph.stores.store import MANIFEST

from .commands import PSGRAPH, psgraph_here

GUARANTEE = ("--epsilon", 2, "--window", 3, "--method", "psgraph")


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch files go."""
    path = tmp_path / "scratch"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.fixture
def store(inputs: dict[str, Path], tmp_path: Path) -> Path:
    path = tmp_path / "store"
    reading = (inputs["csv"], "--roster", inputs["roster"], "--part-nodes", 16)
    assert psgraph_here("prepare", *reading, "--to", path).code == 0
    return path


def files(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.glob("0*.*")}


def charged(out: Path) -> int:
    """How many timestamps a ledger has sealed; 0 if there is none."""
    ledger = out.with_name(f"{out.name}.ledger") / "ledger.sqlite"
    if not ledger.exists():
        return 0
    with sqlite3.connect(ledger) as connection:
        (number,) = connection.execute("SELECT count(*) FROM seals").fetchone()
    connection.close()
    return int(number)


# ---- larger than memory ----


@pytest.mark.parametrize("form", ["csv", "events"])
def test_releases_do_not_tell_whether_the_input_fitted_into_memory(
    form, inputs, tmp_path, scratch, monkeypatch
):
    reading = [inputs[form], "--roster", inputs["roster"], *GUARANTEE, "--seed", 3]
    reading += ["--every", "1mo", "--close-last"] if form == "events" else []
    inside = psgraph_here("publish", *reading, "--out", tmp_path / "one")
    monkeypatch.setattr("psgraph.streams.overflow.MOST_HELD", 0)
    beyond = psgraph_here("publish", *reading, "--out", tmp_path / "other")
    assert (inside.code, beyond.code, beyond.remarks) == (0, 0, inside.remarks)
    assert files(tmp_path / "one") == files(tmp_path / "other")
    assert list(scratch.iterdir()) == []


def test_an_interrupted_run_removes_its_scratch_files(inputs, tmp_path, scratch, monkeypatch):
    monkeypatch.setattr("psgraph.streams.overflow.MOST_HELD", 0)
    published: list[int] = []

    def interrupt(_self: object, _certificate: object) -> None:
        published.extend(len(list(path.glob("0*"))) for path in scratch.iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr("psgraph.cli.publication.Tally.add", interrupt)
    reading = (inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    done = psgraph_here("publish", *reading, "--out", tmp_path / "out")
    assert (done.code, published) == (130, [2])  # of the timestamps to come
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("command", ["publish", "resume", "watch"])
def test_what_a_killed_run_left_is_removed_even_if_the_command_is_refused(
    command, tmp_path, scratch
):
    (scratch / "psgraph-scratch-left").mkdir()
    missing = [tmp_path / "missing"] * (2 if command == "resume" else 1)
    terms = () if command == "resume" else (*GUARANTEE, "--out", tmp_path / "out")
    assert psgraph_here(command, *missing, "--roster-from-edges", *terms).code == 1
    assert list(scratch.iterdir()) == []


def test_a_full_scratch_disk_stops_before_anything_is_charged(
    inputs, tmp_path, scratch, monkeypatch
):
    monkeypatch.setattr("psgraph.streams.overflow.MOST_HELD", 0)
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    reading = (inputs["csv"], "--roster", inputs["roster"], *GUARANTEE)
    done = psgraph_here("publish", *reading, "--out", tmp_path / "out")
    assert done.code == 1
    assert isinstance(done.error, OutputError)
    assert "TMPDIR" in done.err
    assert (charged(tmp_path / "out"), list(scratch.iterdir())) == (0, [])


# ---- stores that are not as they should be ----


def test_a_roster_that_is_not_the_one_of_the_store_is_refused(store, tmp_path):
    nodes = tmp_path / "more.csv"
    nodes.write_text("id\n" + "".join(f"{node}\n" for node in range(61)))
    done = psgraph_here("publish", store, "--roster", nodes, *GUARANTEE, "--out", tmp_path / "out")
    assert done.code == 1
    assert str(store) in done.err
    assert charged(tmp_path / "out") == 0


def unlink(path: Path) -> None:
    path.unlink(missing_ok=True)  # two threads may be reading


def change(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def other_columns(path: Path) -> None:
    """Write another table, and give it the right digest."""
    pq.write_table(pa.table({"u": [1], "v": [2]}), path)
    manifest = path.parents[1] / MANIFEST
    fields = json.loads(manifest.read_text())
    del fields["sha256"]
    for file in fields["snapshots"][1]["edges"]:
        if file["name"].endswith(path.name):
            file["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    plain = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    fields["sha256"] = hashlib.sha256(plain.encode()).hexdigest()
    manifest.write_text(json.dumps(fields))


@pytest.mark.parametrize(
    ("damage", "message"), [(unlink, "has disappeared"), (change, "was changed after")]
)
def test_a_part_that_is_lost_while_running_is_not_charged(
    damage: Callable[[Path], None], message, store, tmp_path, monkeypatch
):
    part = store / "000001" / "edges-00001.parquet"
    read_part = part_files.read_part

    def damaging(place, file, names):  # type: ignore[no-untyped-def]
        if file.name.startswith("000001/"):
            damage(part)
            monkeypatch.setattr(part_files, "read_part", read_part)
        return read_part(place, file, names)

    monkeypatch.setattr(part_files, "read_part", damaging)
    done = psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out")
    assert done.code == 1
    assert f"edges-00001.parquet {message}" in done.err
    assert "psgraph prepare" in done.err
    assert charged(tmp_path / "out") == 1  # the timestamp before
    assert set(files(tmp_path / "out")) == {"000000.parquet", "000000.json"}


def test_a_part_of_another_schema_is_not_charged(store, tmp_path):
    other_columns(store / "000001" / "edges-00001.parquet")
    done = psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out")
    assert done.code == 1
    assert isinstance(done.error, DataError)
    assert "edges-00001.parquet" in done.err
    assert charged(tmp_path / "out") == 1


def test_a_store_of_a_newer_format_is_refused(store, tmp_path):
    text = (store / MANIFEST).read_text()
    (store / MANIFEST).write_text(text.replace('"version": 1', '"version": 7'))
    done = psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out")
    assert done.code == 1
    assert isinstance(done.error, DataError)
    assert "7" in done.err
    assert charged(tmp_path / "out") == 0


def test_a_store_without_its_manifest_is_not_complete(store, inputs, tmp_path):
    (store / MANIFEST).unlink()
    for roster in ((), ("--roster", inputs["roster"])):
        done = psgraph_here("publish", store, *roster, *GUARANTEE, "--out", tmp_path / "out")
        assert done.code == 1
        assert isinstance(done.error, DataError)
        assert MANIFEST in done.err
    assert charged(tmp_path / "out") == 0


def test_a_killed_prepare_leaves_no_store_and_the_next_one_cleans_up(inputs, tmp_path):
    reading = ("prepare", "-", "--roster", inputs["roster"], "--to", tmp_path / "store")
    killing = (
        "import os, psgraph.stores.writer as writing;"
        "writing.StoreWriter.record = lambda *_: os.kill(os.getpid(), 9);"
        "from psgraph.cli import main; main()"
    )
    with inputs["csv"].open() as rows:
        done = subprocess.run([PSGRAPH[0], "-c", killing, *map(str, reading)], stdin=rows)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.glob(".store.*")
    refused = psgraph_here("publish", left, *GUARANTEE, "--out", tmp_path / "out")
    assert isinstance(refused.error, DataError)
    assert MANIFEST in refused.err
    again = psgraph_here("prepare", inputs["csv"], *reading[2:])
    assert again.code == 0, again.err
    assert not list(tmp_path.glob(".store.*"))


def test_ctrl_c_stops_prepare_and_removes_what_it_wrote(inputs, tmp_path, monkeypatch):
    def interrupt(_self: StoreWriter, _entry: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StoreWriter, "record", interrupt)
    reading = (inputs["csv"], "--roster", inputs["roster"], "--to", tmp_path / "store")
    assert psgraph_here("prepare", *reading).code == 130
    assert [path.name for path in tmp_path.iterdir()] == ["scratch"]


# ---- methods that need all edges ----


@pytest.mark.parametrize("method", ["tmf", "der"])
def test_a_method_that_needs_all_edges_says_so_before_it_reads_them(
    method, store, tmp_path, monkeypatch
):
    def unreadable(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(part_files, "read_part", unreadable)
    shutil.rmtree(store / "nodes")  # the first thing that is read of a snapshot
    arguments = ("--epsilon", 2, "--window", 3, "--method", method, "--not-private")
    done = psgraph_here("publish", store, *arguments, "--out", tmp_path / "out")
    assert done.code == 1
    assert f"Method {method} holds all edges of a snapshot in the memory of one" in done.err
    assert "part by part: ldpgen, privgraph, psgraph, psgraph-plus." in done.err


def test_a_method_that_reads_in_parts_says_nothing(store, tmp_path):
    done = psgraph_here("publish", store, *GUARANTEE, "--out", tmp_path / "out")
    assert (done.code, done.remarks) == (0, "")


def test_a_large_roster_is_enough_for_such_a_method_to_say_so(tmp_path):
    nodes, inbox = tmp_path / "nodes.csv", tmp_path / "inbox"
    nodes.write_text("id\n" + "".join(f"{node}\n" for node in range((1 << 17) + 1)))
    inbox.mkdir()
    arguments = ("--roster", nodes, "--epsilon", 2, "--window", 3, "--out", tmp_path / "out")
    arguments = (*arguments, "--directed")  # the default method draws those in memory
    watched = psgraph_here("watch", inbox, *arguments, "--once")
    assert (watched.code, "holds all edges of a snapshot" in watched.err) == (0, True)

    table = tmp_path / "edges.csv"
    table.write_text("t,u,v\n0,1,2\n0,1,x\n")
    refused = psgraph_here("publish", table, *arguments)
    assert (refused.code, "holds all edges of a snapshot" in refused.err) == (1, True)


def test_the_default_method_holds_all_edges_of_some_kinds_only():
    method = find_method("psgraph-plus")()
    assert memory_note(method, nodes=10**7, prepared=True) is None
    assert "holds all edges" in memory_note(method, nodes=10**7, prepared=True, kind=DIRECTED)
