"""Run the real command, and write small streams to run it on."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from subprocess import Popen
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PSGRAPH = (sys.executable, "-m", "psgraph")

#: Seconds after which a command hangs: far more than one takes on a busy machine.
PATIENCE = 300


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str
    error: BaseException | None = None
    """What was raised, where the command ran in this process."""

    @property
    def text(self) -> str:
        return self.out + self.err

    @property
    def remarks(self) -> str:
        """What was said on stderr, without waits: those depend on the machine and its caches."""
        lines = self.err.splitlines(keepends=True)
        return "".join(line for line in lines if not line.endswith(" …\n"))


def psgraph(*arguments: object, cwd: Path | None = None, env: Mapping[str, str] = {}) -> Result:
    """Run the command as a user would, from another process."""
    done = subprocess.run(
        [*PSGRAPH, *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100", **env},
        timeout=PATIENCE,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def start(
    *arguments: object, interrupt: signal.Handlers = signal.SIG_DFL, env: Mapping[str, str] = {}
) -> Popen[str]:
    """Start the command with its own disposition of Ctrl-C, whatever that of the tests is.

    A script that runs the tests in its background has SIGINT ignored, and children inherit that.
    """
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        return Popen(
            [*PSGRAPH, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "COLUMNS": "100", **env},
        )
    finally:
        signal.signal(signal.SIGINT, before)


def wait_until(happened: Callable[[], object], process: Popen[str]) -> None:
    """Wait for something that a command does; fail when it ends or hangs instead."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline, "the command hangs"
        time.sleep(0.02)


def psgraph_here(*arguments: object) -> Result:
    """Run the command in this process, for tests that are not about starting one."""
    from psgraph import cli

    out, err, main = StringIO(), StringIO(), cli.root.main
    raised: list[BaseException] = []

    def watched(*given: Any, **options: Any) -> Any:
        try:
            return main(*given, **options)
        except BaseException as error:
            raised.append(error)
            raise

    with (
        redirect_stdout(out),
        redirect_stderr(err),
        patch.object(cli.root, "main", watched),
    ):
        code = cli.run([str(argument) for argument in arguments])
    return Result(code, out.getvalue(), err.getvalue(), raised[0] if raised else None)


def before_others(directory: Path) -> dict[str, str]:
    """An environment in which Python looks into `directory` first."""
    others = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([str(directory), *([others] if others else [])])}


def small_stream(*, timestamps: int = 3, nodes: int = 60) -> list[list[tuple[int, int]]]:
    """The edges of every timestamp: a ring with chords, a few of which change each time."""
    rng = np.random.default_rng(4)
    pairs = [rng.choice(nodes, 2, replace=False) for _ in range(2 * nodes)]
    chords = [(int(u), int(v)) for u, v in pairs]
    ring = [(node, (node + 1) % nodes) for node in range(nodes)]
    return [[*ring, *chords[step : nodes + step]] for step in range(timestamps)]


def write_csv(path: Path, header: str, rows: Sequence[tuple[object, ...]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        if header:
            writer.writerow(header.split(","))
        writer.writerows(rows)
    return path


def rows_of(stream: list[list[tuple[int, int]]]) -> list[tuple[int, int, int]]:
    return [(t, u, v) for t, edges in enumerate(stream) for u, v in edges]


def write_inputs(directory: Path) -> dict[str, Path]:
    """Write one stream in every form, and its roster; return the paths."""
    stream = small_stream()
    rows = rows_of(stream)
    folder = directory / "days"
    folder.mkdir()
    for t, edges in enumerate(stream):
        (folder / f"day{t}.txt").write_text(
            "# SNAP-like header\n" + "".join(f"{u}\t{v}\n" for u, v in edges)
        )
    events = [(u, v, f"2024-0{t + 1}-15T12:00:00") for t, u, v in rows]
    table = dict(zip("tuv", map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(table), directory / "edges.parquet")
    return {
        "csv": write_csv(directory / "edges.csv", "t,u,v", rows),
        "parquet": directory / "edges.parquet",
        "directory": folder,
        "events": write_csv(directory / "events.csv", "u,v,time", events),
        "roster": write_csv(directory / "nodes.csv", "id", [(node,) for node in range(60)]),
    }
