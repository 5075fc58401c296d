"""A driver that is killed: its workers end with it, and the same command continues."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from psgraph import Publisher
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_of
from psgraph.stores import new_store, open_store
from tests.engines.cluster import random_snapshot

DRIVER = Path(__file__).with_name("killed_driver.py")
WORKERS_END_SECONDS = 20.0


def publish(store: Path, out: Path, *, kill_at: str = "none") -> tuple[int, list[int]]:
    """Run the command; its exit code, and the processes it had when it was killed."""
    processes, scratch = out.with_suffix(".processes"), out.with_suffix(".scratch")
    scratch.mkdir(exist_ok=True)
    processes.write_text("")
    arguments = ["publish", store, "--engine", "dask", "--method", "psgraph"]
    arguments += ["--epsilon", "4", "--window", "2", "--out", out]
    done = subprocess.run(
        [sys.executable, DRIVER, kill_at, processes, *arguments],
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode, [int(number) for number in processes.read_text().split()]


def alive(processes: list[int]) -> list[int]:
    """Those that still run after a while; one that nobody has waited for does not."""
    deadline = time.monotonic() + WORKERS_END_SECONDS
    while (left := [each for each in processes if _runs(each)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def _runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def sealed(out: Path) -> int:
    with Ledger(ledger_of(out), writing=False) as ledger:
        return ledger.sealed


def test_a_killed_driver_leaves_no_workers_and_is_charged_once(tmp_path: Path) -> None:
    store, out = tmp_path / "store", tmp_path / "out"
    with new_store(store, part_nodes=16) as writer:
        writer.add(random_snapshot(1))

    for task, seals in (("summed", 0), ("merged", 1)):  # while counting, while drawing
        code, processes = publish(store, out, kill_at=task)
        assert code == -signal.SIGKILL
        assert len(processes) >= 1
        assert alive(processes) == []
        assert (sealed(out), list(out.glob("000000*"))) == (seals, [])

    assert publish(store, out) == (0, [])
    assert not list(out.with_suffix(".scratch").iterdir())  # of the killed runs as well
    release = (out / "000000.parquet").read_bytes()
    (out / "000000.parquet").unlink()
    (snapshot,) = open_store(store)
    with Publisher.resume(out, replay=True) as local:
        local.publish(snapshot)
        assert (local.spending.timestamps, str(local.spending.spent)) == (1, "2")
    assert (out / "000000.parquet").read_bytes() == release
