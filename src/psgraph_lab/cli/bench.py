"""``psgraph bench``: seconds and memory on this machine, compared with their targets."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from psgraph._version import __version__
from psgraph.cli.help import Command
from psgraph.cli.screen import fitted, note, print_json, print_tables, results, waiting
from psgraph.cli.shared import json_option
from psgraph.errors import DataError, PsgraphError
from psgraph_lab.bench.cases import CASES, LARGE, METHOD_CASES, Case

__all__ = ["command"]


def _names(cases: tuple[Case, ...]) -> str:
    return ", ".join(case.name for case in cases)


@click.command(
    "bench",
    cls=Command,
    short_help="Time publishing and compare with the targets.",
    examples=["psgraph bench", "psgraph bench --methods", "psgraph bench --data ~/snap --json"],
)
@click.option(
    "--data",
    metavar="DIR",
    envvar="PSGRAPH_DATA",
    show_envvar=True,
    type=click.Path(path_type=Path),
    help="Directory of as733.parquet and ascaida.parquet; synthetic streams otherwise.",
)
@click.option(
    "--only",
    type=click.Choice([case.name for case in (*CASES, LARGE)]),
    metavar="CASE",
    multiple=True,
    help=f"Time only this case; repeatable. {_names(CASES)}.",
)
@click.option(
    "--methods",
    is_flag=True,
    help="Time all installed methods on As-733 and As-caida, relative to PSGraph.",
)
@click.option(
    "--large",
    is_flag=True,
    help="Include ten million nodes: 10 GB of memory, several minutes. With --methods: a million "
    "nodes, and only the methods that scale.",
)
@click.option("--quick", is_flag=True, help="Use a twentieth of every stream, without targets.")
@json_option
def command(
    data: Path | None,
    only: tuple[str, ...],
    methods: bool,
    large: bool,
    quick: bool,
    as_json: bool,
) -> None:
    """Time how fast PSGraph (or every method) publishes, and how much memory it needs.

    Kernels are compiled before the clock starts; noise, sealing and writing are included, at ε = 1
    and w = 5. Every case runs in a process of its own. The floor is the work no method can avoid:
    reading the Parquet input, drawing the noise, writing the Parquet output. Publishing and floor
    alternate for several passes, the fastest of each counts, and the spread is shown.
    """
    if data is not None and not data.is_dir():
        raise DataError(f"{data} is not a directory\nGive the directory of the data sets.")
    load = os.getloadavg()[0]
    if methods and LARGE.name in only:
        raise click.UsageError(f"--methods does not time {LARGE.name}: {_names(CASES)}")
    if only:
        wanted = [case for case in (*CASES, LARGE) if case.name in only]
    else:
        wanted = list(METHOD_CASES if methods and not large else CASES)
    if large and not methods and LARGE not in wanted:
        wanted.append(LARGE)
    rows: list[dict[str, Any]] = []
    for case in wanted:
        if methods:
            rows += _time_methods(case, data, quick=quick)
            continue
        with waiting(f"Timing {case.title} …", after=0.0):
            rows.append(_time_case(case, data, quick=quick))
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
        (_show_methods if methods else _show)(rows)
        if load > 0.5:
            note(
                f"The machine was busy before the benchmark started (load {load:.1f} on "
                f"{os.cpu_count()} cores): trust the ratios more than the seconds."
            )


@contextmanager
def _prepared(
    case: Case, data: Path | None, *, quick: bool
) -> Iterator[tuple[dict[str, Any], Callable[..., dict[str, Any]]]]:
    """Prepare the stream of a case; yields its description and a function that times it."""
    wanted = case.shrunk() if quick else case
    file = data / wanted.data if data is not None and wanted.data is not None else None
    real = file is not None and file.exists()
    more = ["--quick"] if quick else []
    with tempfile.TemporaryDirectory(prefix="psgraph-bench-") as scratch:
        if not real:
            _step("prepare", case.name, scratch, *more)

        def time(*options: str) -> dict[str, Any]:
            source = [str(file)] if real else []
            found = _step("time", case.name, scratch, *source, *more, *options)
            timed: dict[str, Any] = json.loads(found)
            return timed

        about = {
            "case": case.name,
            "title": wanted.title,
            "data": "real" if real else "synthetic",
        }
        yield about, time


def _time_methods(case: Case, data: Path | None, *, quick: bool) -> list[dict[str, Any]]:
    """Time every installed method on one stream, PSGraph first: the others are relative to it."""
    from psgraph.methods.base import method_names

    wanted = case.shrunk() if quick else case
    targets = {"psgraph": wanted.most_seconds, **dict(wanted.method_seconds)}
    rows: list[dict[str, Any]] = []
    with _prepared(case, data, quick=quick) as (about, time):
        names = wanted.methods or method_names()
        for name in sorted(names, key=lambda name: (name != "psgraph", name)):
            with waiting(f"Timing {name} on {case.title} …", after=0.0):
                timed = time("--method", name)
            unit = (rows[0] if rows else timed)["seconds"]["total"]
            rows.append(
                {
                    **about,
                    "method": name,
                    **timed,
                    "times_psgraph": timed["seconds"]["total"] / unit,
                    "target_seconds": targets.get(name),
                    "target_bytes": 1e9 if targets.get(name) else None,
                }
            )
    return rows


def _time_case(case: Case, data: Path | None, *, quick: bool) -> dict[str, Any]:
    wanted = case.shrunk() if quick else case
    with _prepared(case, data, quick=quick) as (about, time):
        timed = time()
    return {
        **about,
        **timed,
        "target_seconds": wanted.most_seconds,
        "target_bytes": wanted.most_gigabytes and wanted.most_gigabytes * 1e9,
        "target_ratio": wanted.most_floors,
    }


def _step(*arguments: str) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "psgraph_lab.bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        reason = run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        raise PsgraphError(f"timing {arguments[1]} failed: {reason[0]}")
    return run.stdout


def _show(rows: list[dict[str, Any]]) -> None:
    columns = (
        *("case", "data", "timestamps", "nodes", "edges"),
        *("seconds", "peak", "floor", "ratio", "spread"),
    )
    console = results()
    cells = [_cells(row) for row in rows]
    spare = ("data", "spread", "timestamps", "nodes", "floor", "edges")
    print_tables(fitted(columns, cells, left=2, width=console.width, optional=spare))
    console.print(
        "Targets follow ≤; ! marks a missed one. Nodes and edges: of the largest snapshot. Floor: "
        "read the Parquet, draw the noise, write the Parquet. Ratio: seconds divided by floor. "
        "Spread: how much longer the slowest pass took than the fastest, publishing / floor.",
        style="dim",
    )


def _show_methods(rows: list[dict[str, Any]]) -> None:
    columns = ("stream", "data", "method", "seconds", "× psgraph", "peak")
    cells = [
        (
            row["title"],
            row["data"],
            row["method"],
            _against(row["seconds"]["total"], row["target_seconds"], " s"),
            f"{row['times_psgraph']:.2f}",
            _peak(row),
        )
        for row in rows
    ]
    console = results()
    print_tables(fitted(columns, cells, left=3, width=console.width, optional=("data",)))
    console.print("Targets follow ≤. ε = 1, w = 5, default parameters.", style="dim")


def _against(value: float, target: float | None, unit: str = "") -> str:
    aimed = "" if target is None else f" ≤ {target:g}"
    missed = " !" if target is not None and value > target else ""
    return f"{value:.2f}{aimed}{unit}{missed}"


def _peak(row: dict[str, Any]) -> str:
    target = row["target_bytes"]
    return _against(row["peak_bytes"] / 1e9, target and target / 1e9, " GB")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["title"],
        row["data"],
        f"{row['timestamps']:,}",
        f"{row['nodes']:,}",
        f"{row['edges']:,}",
        _against(row["seconds"]["total"], row["target_seconds"], " s"),
        _peak(row),
        f"{row['floor_seconds']['total']:.2f} s",
        _against(row["ratio"], row["target_ratio"]),
        f"{_spread(row['passes'])} / {_spread(row['floor_passes'])}",
    )


def _spread(passes: list[float]) -> str:
    """How much longer the slowest pass took than the fastest."""
    return f"{max(passes) / min(passes) - 1:.0%}".replace("%", " %")
