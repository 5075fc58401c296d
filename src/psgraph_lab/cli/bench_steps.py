"""Steps of ``psgraph bench`` in processes of their own, and tables of what they measured."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from typing import Any

from psgraph.cli.screen import fitted, print_tables, results
from psgraph.errors import PsgraphError
from psgraph_lab.bench.cases import Case

__all__ = [
    "against",
    "machine",
    "peak",
    "run_step",
    "show_cases",
    "show_methods",
    "spread",
    "targets",
]


def run_step(*arguments: str) -> dict[str, Any]:
    """Run ``python -m psgraph_lab.bench`` and return what it prints, if it prints anything."""
    run = subprocess.run(
        [sys.executable, "-m", "psgraph_lab.bench", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        reason = run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        raise PsgraphError(f"timing {arguments[1]} failed: {reason[0]}")
    found: dict[str, Any] = json.loads(run.stdout or "{}")
    return found


def machine(load: float) -> dict[str, Any]:
    """Describe this machine; `load` is how busy it was before the benchmark started."""
    return {
        "cores": os.cpu_count(),
        "load_before": load,
        "python": platform.python_version(),
        "system": platform.system(),
        "processor": platform.machine(),
    }


def targets(case: Case) -> dict[str, float | None]:
    """Return the targets of a case as they are in a row."""
    return {
        "target_seconds": case.most_seconds,
        "target_bytes": case.most_gigabytes and case.most_gigabytes * 1e9,
        "target_ratio": case.most_floors,
    }


def show_cases(rows: list[dict[str, Any]]) -> None:
    """Print the cases of a run."""
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


def show_methods(rows: list[dict[str, Any]]) -> None:
    """Print methods relative to PSGraph."""
    columns = ("stream", "data", "method", "seconds", "× psgraph", "× floor", "peak")
    cells = [
        (
            row["title"],
            row["data"],
            row["method"],
            against(row["seconds"]["total"], row["target_seconds"], " s"),
            f"{row['times_psgraph']:.2f}",
            against(row["ratio"], row["target_ratio"]),
            peak(row),
        )
        for row in rows
    ]
    console = results()
    print_tables(fitted(columns, cells, left=3, width=console.width, optional=("data",)))
    console.print("Targets follow ≤. ε = 1, w = 5, default parameters.", style="dim")


def against(value: float, target: float | None, unit: str = "") -> str:
    """Return a value with its target, marked if it misses it."""
    aimed = "" if target is None else f" ≤ {target:g}"
    missed = " !" if target is not None and value > target else ""
    return f"{value:.2f}{aimed}{unit}{missed}"


def peak(row: dict[str, Any]) -> str:
    """Return the peak memory of a row in gigabytes."""
    target = row["target_bytes"]
    return against(row["peak_bytes"] / 1e9, target and target / 1e9, " GB")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["title"],
        row["data"],
        f"{row['timestamps']:,}",
        f"{row['nodes']:,}",
        f"{row['edges']:,}",
        against(row["seconds"]["total"], row["target_seconds"], " s"),
        peak(row),
        f"{row['floor_seconds']['total']:.2f} s",
        against(row["ratio"], row["target_ratio"]),
        f"{spread(row['passes'])} / {spread(row['floor_passes'])}",
    )


def spread(passes: list[float]) -> str:
    """How much longer the slowest pass took than the fastest."""
    return f"{max(passes) / min(passes) - 1:.0%}".replace("%", " %")
