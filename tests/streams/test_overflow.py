"""Input that does not fit into memory is read once, and gives the same snapshots."""

from __future__ import annotations

import errno
import gc
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

import psgraph as pg
from psgraph._runtime import resources
from psgraph.errors import OutputError, OutsideRoster
from psgraph.graph import Roster, Snapshot
from psgraph.graph.parts import MemoryParts
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.stores.part_files import StoredParts
from psgraph.streams import Stream, read_stream
from psgraph.streams.input import prepare
from psgraph.streams.overflow import Overflow

NODES = range(8)
ROWS = [(0, 1, 2), (0, 2, 1), (0, 3, 3), (1, 4, 5), (1, 5, 6), (1, 6, 7), (2, 1, 7)]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where scratch files go."""
    path = tmp_path / "scratch"
    path.mkdir()
    monkeypatch.setenv("TMPDIR", str(path))
    return path


@pytest.fixture
def forms(tmp_path: Path) -> dict[str, tuple[Path, dict[str, object]]]:
    """One stream in every form, with the options to read it by."""
    folder = tmp_path / "days"
    folder.mkdir()
    for t in range(3):
        edges = [f"{u},{v}\n" for time, u, v in ROWS if time == t]
        (folder / f"{t}.csv").write_text("u,v\n" + "".join(edges))
    table, events = tmp_path / "edges.csv", tmp_path / "events.csv"
    table.write_text("t,u,v\n" + "".join(f"{t},{u},{v}\n" for t, u, v in ROWS))
    unsorted = "".join(f"{u},{v},2024-01-0{t + 1}\n" for t, u, v in reversed(ROWS))
    events.write_text("u,v,time\n" + unsorted)
    daily = {"every": "1d", "close_last": True, "roster": NODES}
    return {
        "table": (table, {"roster": NODES}),
        "directory": (folder, {"roster": NODES}),
        "events": (events, daily),
        "cumulative": (events, {**daily, "cumulative": True}),
        "roster from edges": (table, {"roster_from_edges": True}),
    }


@pytest.mark.parametrize("most", [0, 4, 12, 1 << 20])
@pytest.mark.parametrize(
    "form", ["table", "directory", "events", "cumulative", "roster from edges"]
)
def test_a_stream_is_the_same_in_memory_and_on_disk(forms, form, most, monkeypatch):
    path, reading = forms[form]
    expected = list(read_stream(path, **reading))
    monkeypatch.setattr("psgraph.graph.formats.text.BLOCK_BYTES", 1 << 4)  # a few rows at a time
    monkeypatch.setattr("psgraph.streams.overflow.LOOKED_UP", 1)
    with Overflow(most=most, run_keys=2) as overflow:
        held = overflow.read(read_stream(path, store=overflow, **reading))
        found = list(held)
        assert found == expected
        assert [each.time for each in found] == [each.time for each in expected]
        assert [each.dropped for each in found] == [each.dropped for each in expected]


def test_the_first_snapshots_stay_in_memory_and_the_others_go_to_disk(forms):
    path, reading = forms["table"]
    with Overflow(most=12) as overflow:
        held = overflow.read(read_stream(path, store=overflow, **reading))
        assert len(held) == 3
        kinds = [type(snapshot.parts) for snapshot in held]
        assert kinds == [MemoryParts, StoredParts, MemoryParts]


@pytest.mark.parametrize("form", ["table", "directory", "events", "cumulative"])
def test_every_file_is_read_once(forms, form, monkeypatch):
    path, reading = forms[form]
    read: list[str] = []
    blocks = pg.graph.formats.text.blocks

    def recorded(file: Path, *, size: int) -> Iterator[tuple[int, bytes]]:
        if size > 1 << 16:  # less is a look at the first lines
            read.append(file.name)
        return blocks(file, size=size)

    monkeypatch.setattr(pg.graph.formats.text, "blocks", recorded)
    with Overflow(most=4) as overflow:
        assert len(overflow.read(read_stream(path, store=overflow, **reading))) == 3
    assert sorted(read) == sorted(set(read))


def test_memory_needs_no_scratch_directory(forms, place):
    path, reading = forms["table"]
    with Overflow() as overflow:
        assert len(overflow.read(read_stream(path, store=overflow, **reading))) == 3
        assert list(place.iterdir()) == []


def test_the_files_of_a_snapshot_go_when_it_is_used(forms, place):
    path, reading = forms["table"]
    with Overflow(most=0) as overflow:
        held = overflow.read(read_stream(path, store=overflow, **reading))
        (directory,) = place.iterdir()
        stored = [len(list(directory.glob("0*"))) for snapshot in held]
        gc.collect()
        assert (stored, len(list(directory.glob("0*")))) == ([3, 2, 1], 0)


def test_nobody_else_can_enter_the_scratch_directory(forms, place):
    path, reading = forms["table"]
    with Overflow(most=0) as overflow:
        overflow.read(read_stream(path, store=overflow, **reading))
        (directory,) = place.iterdir()
        assert directory.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, OutsideRoster])
def test_nothing_is_left_after_an_interruption(place, interruption):
    def snapshots() -> Iterator[Snapshot]:
        yield Snapshot(Roster.range(3), [0], [1])
        raise interruption

    with pytest.raises(interruption), Overflow(most=0) as overflow:
        overflow.read(Stream(snapshots))
    assert list(place.iterdir()) == []


def test_what_a_killed_run_left_is_removed_by_the_next_one(forms, place):
    (place / "psgraph-scratch-left").mkdir()
    (place / "psgraph-scratch-left" / "run-00000").write_bytes(b"edges")
    (place / "another").mkdir()
    with resources.scratch_directory() as first, resources.scratch_directory() as second:
        names = {path.name for path in place.iterdir()}
    assert names == {"another", first.name, second.name}  # those in use stay


HOLDING = """
import sys
from psgraph.graph import Roster, Snapshot
from psgraph.streams.overflow import Overflow
with Overflow(most=0) as overflow:
    overflow.read([Snapshot(Roster.range(3), [0], [1])])
    print(flush=True)
    sys.stdin.read()  # until it is killed, however slow the machine is
"""


@pytest.mark.parametrize("start", ["read", "publish", "prepare", "serve"])
def test_the_edges_of_a_killed_run_are_removed_by_any_that_starts_later(place, tmp_path, start):
    """Also by one that needs no scratch; those of a living one stay."""
    alive, killed = (
        subprocess.Popen([sys.executable, "-c", HOLDING], stdin=PIPE, stdout=PIPE) for _ in "12"
    )
    try:
        for process in (alive, killed):
            process.stdout.readline()
        assert len(list(place.glob("psgraph-scratch-*/*"))) >= 2
        killed.kill()
        killed.wait()
        assert len(list(place.iterdir())) == 2
        graphs = [[(0, 1)]]
        if start == "read":
            read_stream(graphs, roster=[0, 1])
        elif start == "publish":
            Publisher(PSGraph(), WEventPrivacy(1, 2), out=tmp_path / "out").close()
        elif start == "prepare":
            prepare(graphs, tmp_path / "store", roster=[0, 1])
        else:
            service = pytest.importorskip("psgraph.service.service")
            settings = pytest.importorskip("psgraph.service.settings")
            service.Service(settings.Settings(tmp_path / "service")).stop()
        (left,) = place.iterdir()
        assert list(left.iterdir())
    finally:
        for process in (alive, killed):
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def test_a_place_that_can_not_be_used_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    refusal = pytest.raises(OutputError, match=r"nowhere: No such file.*\n.*TMPDIR")
    with refusal, resources.scratch_directory():
        pass


def test_without_a_chosen_place_large_files_stay_out_of_memory(monkeypatch):
    monkeypatch.delenv("TMPDIR")
    assert resources.scratch_place() == Path("/var/tmp")


@pytest.mark.parametrize("form", ["table", "events"])
def test_a_full_disk_is_noticed_before_it_is_full(forms, form, place, monkeypatch):
    path, reading = forms[form]
    monkeypatch.setattr("psgraph.streams.events.RUN_ROWS", 1)
    monkeypatch.setattr("psgraph.graph.formats.text.BLOCK_BYTES", 1 << 5)
    usage = shutil.disk_usage(place)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    refusal = pytest.raises(OutputError, match=r"not enough disk: 0\.00 GB are free")
    with refusal, Overflow(most=0, run_keys=1) as overflow:
        overflow.read(read_stream(path, store=overflow, **reading))
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("form", ["table", "roster from edges"])
def test_a_disk_that_fails_is_no_fault_of_psgraph(forms, form, place, monkeypatch):
    def failing(*_: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    path, reading = forms[form]
    monkeypatch.setattr("psgraph.stores.writer.write_part", failing)
    refusal = pytest.raises(OutputError, match=r"Disk quota exceeded\n.*TMPDIR")
    with refusal, Overflow(most=0) as overflow:
        overflow.read(read_stream(path, store=overflow, **reading))
    assert list(place.iterdir()) == []


def test_publish_keeps_one_large_snapshot_on_disk_at_a_time(forms, place, tmp_path, monkeypatch):
    monkeypatch.setattr("psgraph.streams.overflow.MOST_HELD", 0)
    path, reading = forms["table"]
    found: list[int] = []

    def progress(done: int, _length: int | None) -> None:
        del done
        (directory,) = place.iterdir()
        found.append(len(list(directory.glob("0*"))))

    out = tmp_path / "out"
    pg.publish(
        *(path,), epsilon=1, window=1, out=out, method="psgraph", progress=progress, **reading
    )
    assert len(found) == 3
    assert max(found) <= 2
    assert list(place.iterdir()) == []
