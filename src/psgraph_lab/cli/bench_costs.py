"""``psgraph bench --cost-model``: fit a model of the time to earlier runs, and project from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psgraph.cli.screen import fitted, print_tables, results
from psgraph.errors import DataError
from psgraph_lab.bench.costs import SERIAL, SHARED, Run, fit_costs
from psgraph_lab.bench.growth import growth_exponent

__all__ = ["fit_files", "show_costs"]

_LEAST_RUNS = 2
_PROJECTED = (
    Run(10**9, 10**8, workers=2),
    Run(10**9, 10**8, workers=64),
    Run(10**11, 10**9, workers=64),
    Run(10**11, 10**9, workers=1024),
)


def fit_files(files: Sequence[Path]) -> dict[str, Any]:
    """Fit a model to all runs of the local engine in the files."""
    rows = [row for file in files for row in _rows(file) if row["engine"] == "local"]
    if len(rows) < _LEAST_RUNS:
        raise DataError(
            f"a model needs at least {_LEAST_RUNS} runs of the local engine, not {len(rows)}\n"
            "Run psgraph bench --large with more cases, or give more files."
        )
    model, runs = fit_costs(rows)
    growth = growth_exponent((row["edges"], row["seconds"]["cpu"]) for row in rows)
    return {
        "shared_factors": dict(zip(SHARED, model.shared.tolist(), strict=True)),
        "serial_factors": dict(zip(SERIAL, model.serial.tolist(), strict=True)),
        "runs": [
            {
                **_size(run),
                "cpu_seconds": row["seconds"]["cpu"],
                "model_cpu_seconds": sum(model.cpu_seconds(run)),
                "residual": sum(model.cpu_seconds(run)) / row["seconds"]["cpu"] - 1,
                "seconds": row["seconds"]["total"],
                "model_seconds": model.seconds(run),
            }
            for run, row in zip(runs, rows, strict=True)
        ],
        "growth": growth,
        "projections": [{**_size(run), "seconds": model.seconds(run)} for run in _PROJECTED],
    }


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["cases"]
        for row in rows:
            row["seconds"]["cpu"], row["seconds"]["total"], row["verbs_cpu"].values()
            row["edges"], row["nodes"], row["workers"], row["engine"]
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        raise DataError(
            f"{file} is not a report of psgraph bench --large --json\n"
            "Make one: psgraph bench --large --json > FILE"
        ) from None
    return rows


def _size(run: Run) -> dict[str, int]:
    return {"nodes": run.nodes, "edges": run.edges, "workers": run.workers}


_SIZE = ("nodes", "edges", "workers")


def show_costs(report: dict[str, Any]) -> None:
    """Print the factors, how far the model is off for every run, and what it projects."""
    console = results()
    shared, serial = (_sum(report[f"{kind}_factors"]) for kind in ("shared", "serial"))
    console.print(f"seconds = ({shared}) / workers + {serial}", markup=False)
    cells = [
        (
            *_counts(run),
            f"{run['cpu_seconds']:.2f}",
            f"{run['model_cpu_seconds']:.2f}",
            f"{100 * run['residual']:+.0f} %",
            f"{run['seconds']:.2f}",
            f"{run['model_seconds']:.2f}",
        )
        for run in report["runs"]
    ]
    _print((*_SIZE, "CPU s", "model CPU s", "residual", "seconds", "model seconds"), cells)
    ahead = [(*_counts(run), _duration(run["seconds"])) for run in report["projections"]]
    _print((*_SIZE, "projection"), ahead)
    if report["growth"] is not None:
        growth = f"{report['growth']:.2f}"
        console.print(f"Growth exponent of processor time in the number of edges: {growth}")
    console.print(
        "Fitted to processor time; model seconds are for cores that do nothing else. Projections "
        "are the model far outside the sizes that were measured: no such graph was published. "
        "They leave out that memory for nodes has to fit on the driver.",
        style="dim",
    )


def _sum(factors: dict[str, float]) -> str:
    return " + ".join(f"{factor:.3g} · {term}" for term, factor in factors.items() if factor) or "0"


def _print(columns: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> None:
    print_tables(fitted(columns, cells, left=0, width=results().width, optional=()))


def _counts(run: dict[str, Any]) -> tuple[str, ...]:
    return f"{run['nodes']:,}", f"{run['edges']:,}", f"{run['workers']:,}"


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 7_200 else f"{seconds / 3600:,.1f} h"
