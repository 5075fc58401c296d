"""``psgraph bench``: seconds and memory against their targets, here and now."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from psgraph._version import __version__
from psgraph.benchmarks.cases import CASES, LARGE, Case
from psgraph.cli.help import Command
from psgraph.cli.screen import note, print_json, results, table, waiting
from psgraph.cli.shared import json_option
from psgraph.errors import DataError, PsgraphError

__all__ = ["command"]


@click.command(
    "bench",
    cls=Command,
    short_help="Measure speed and memory against their targets.",
    examples=["psgraph bench", "psgraph bench --data ~/snap --json"],
)
@click.option(
    "--data",
    metavar="DIR",
    envvar="PSGRAPH_DATA",
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="Where as733.parquet and ascaida.parquet are; made-up streams of that size otherwise.",
)
@click.option(
    "--only",
    type=click.Choice([case.name for case in (*CASES, LARGE)]),
    metavar="CASE",
    multiple=True,
    help=f"Measure this case; may be given again. {', '.join(case.name for case in CASES)}.",
)
@click.option("--large", is_flag=True, help="Ten million nodes too: 10 GB of memory, minutes.")
@click.option("--quick", is_flag=True, help="A twentieth of every stream, without targets.")
@json_option
def command(
    data: Path | None, only: tuple[str, ...], large: bool, quick: bool, as_json: bool
) -> None:
    """Measure how fast PSGraph publishes, and with how much memory.

    Warm (compiling is over), noise, sealing and writing included, at ε = 1 and w = 5. Every case
    runs in a process of its own. The floor is what no method can do without, measured in the same
    process: reading the Parquet, drawing as many noises, writing the Parquet.
    """
    if data is not None and not data.is_dir():
        raise DataError(f"{data} is not a directory\nGive the directory of the data sets.")
    load = os.getloadavg()[0]
    rows = []
    names = only or [case.name for case in CASES]
    for case in (*CASES, LARGE):
        if case.name not in names and not (large and case is LARGE):
            continue
        with waiting(f"Measuring {case.title} …", after=0.0):
            rows.append(_measured(case, data, quick=quick))
    if as_json:
        machine = {
            "cores": os.cpu_count(),
            "load_before": load,
            "python": platform.python_version(),
            "system": platform.system(),
            "processor": platform.machine(),
        }
        print_json({"version": __version__, "machine": machine, "cases": rows})
    else:
        _show(rows)
        if load > 0.5:
            note(
                f"The machine was busy before this began (load {load:.1f} on {os.cpu_count()} "
                "cores): look at the ratios."
            )


def _measured(case: Case, data: Path | None, *, quick: bool) -> dict[str, Any]:
    wanted = case.shrunk() if quick else case
    file = data / wanted.data if data is not None and wanted.data is not None else None
    real = file is not None and file.exists()
    with tempfile.TemporaryDirectory(prefix="psgraph-bench-") as scratch:
        more = ["--quick"] if quick else []
        if not real:
            _step("prepare", case.name, scratch, *more)
        found = _step("measure", case.name, scratch, *([str(file)] if real else []), *more)
    measured: dict[str, Any] = json.loads(found)
    return {
        "case": case.name,
        "title": wanted.title,
        "data": "real" if real else "made up",
        **measured,
        "target_seconds": wanted.most_seconds,
        "target_bytes": wanted.most_gigabytes and wanted.most_gigabytes * 1e9,
        "target_ratio": wanted.most_floors,
    }


def _step(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "psgraph.benchmarks", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        reason = run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        raise PsgraphError(f"measuring {arguments[1]} failed: {reason[0]}")
    return run.stdout


def _show(rows: list[dict[str, Any]]) -> None:
    columns = ("case", "data", "timestamps", "nodes", "edges", "seconds", "peak", "floor", "ratio")
    shown = table(columns, [_cells(row) for row in rows], left=2)
    console = results()
    console.print(shown)
    console.print(
        "Targets after ≤. Nodes and edges of the largest snapshot. The floor, in seconds: read the "
        "Parquet, draw the noise, write the Parquet; ratio: seconds by floor.",
        style="dim",
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    def against(value: float, target: float | None, unit: str = "") -> str:
        aimed = "" if target is None else f" ≤ {target:g}"
        missed = " !" if target is not None and value > target else ""
        return f"{value:.2f}{aimed}{unit}{missed}"

    return (
        row["title"],
        row["data"],
        f"{row['timestamps']:,}",
        f"{row['nodes']:,}",
        f"{row['edges']:,}",
        against(row["seconds"]["total"], row["target_seconds"], " s"),
        against(row["peak_bytes"] / 1e9, row["target_bytes"] and row["target_bytes"] / 1e9, " GB"),
        f"{row['floor_seconds']['total']:.2f} s",
        against(row["ratio"], row["target_ratio"]),
    )
