"""``psgraph bench --cost-model``: fit a model of the time to earlier runs, and project from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from psgraph.cli.screen import fitted, print_tables, results
from psgraph.errors import DataError
from psgraph_lab.bench.costs import TERMS, CostModel, Run, fit_costs

__all__ = ["fit_files", "show_costs"]

_PROJECTED = (
    Run(10**9, 10**8, workers=2),
    Run(10**9, 10**8, workers=64),
    Run(10**11, 10**9, workers=64),
    Run(10**11, 10**9, workers=1024),
)


def fit_files(files: Sequence[Path]) -> dict[str, Any]:
    """Fit one model for every engine that occurs in the files."""
    rows = [row for file in files for row in _rows(file)]
    return {
        "models": [
            _fit(engine, [row for row in rows if row["engine"] == engine])
            for engine in sorted({row["engine"] for row in rows})
        ]
    }


def _rows(file: Path) -> list[dict[str, Any]]:
    try:
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["cases"]
        for row in rows:
            row["seconds"]["total"], row["edges"], row["nodes"], row["workers"], row["engine"]
    except (ValueError, KeyError, TypeError, OSError):
        raise DataError(
            f"{file} is not a report of psgraph bench --large --json\n"
            "Make one: psgraph bench --large --json > FILE"
        ) from None
    return rows


def _fit(engine: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    if len(rows) < 2:
        raise DataError(
            f"a model needs at least 2 runs of the {engine} engine, not {len(rows)}\n"
            "Run psgraph bench --large with more cases, or give more files."
        )
    model, runs = fit_costs(rows)
    return {
        "engine": engine,
        "factors": dict(zip(TERMS, model.factors.tolist(), strict=True)),
        "runs": [
            {
                **_size(run),
                "seconds": row["seconds"]["total"],
                "model_seconds": model.seconds(run),
                "residual": model.seconds(run) / row["seconds"]["total"] - 1,
            }
            for run, row in zip(runs, rows, strict=True)
        ],
        "projections": [_projection(model, run) for run in _PROJECTED],
    }


def _size(run: Run) -> dict[str, int]:
    return {"nodes": run.nodes, "edges": run.edges, "workers": run.workers}


def _projection(model: CostModel, run: Run) -> dict[str, Any]:
    return {**_size(run), "seconds": model.seconds(run)}


_SIZE = ("nodes", "edges", "workers")


def show_costs(report: dict[str, Any]) -> None:
    """Print the factors, how far the model is off for every run, and what it projects."""
    console = results()
    for model in report["models"]:
        factors = (f"{factor:.3g} · {term}" for term, factor in model["factors"].items() if factor)
        console.print(f"{model['engine']} engine: seconds = {' + '.join(factors)}", markup=False)
        cells = [
            (
                *_counts(run),
                f"{run['seconds']:.2f}",
                f"{run['model_seconds']:.2f}",
                f"{100 * run['residual']:+.0f} %",
            )
            for run in model["runs"]
        ]
        _print((*_SIZE, "seconds", "model", "residual"), cells)
        ahead = [(*_counts(run), _duration(run["seconds"])) for run in model["projections"]]
        _print((*_SIZE, "projection"), ahead)
    console.print(
        "Projections are the fitted model far outside the sizes that were measured: no such graph "
        "was published. They leave out that memory for nodes has to fit on the driver.",
        style="dim",
    )


def _print(columns: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> None:
    print_tables(fitted(columns, cells, left=0, width=results().width, optional=()))


def _counts(run: dict[str, Any]) -> tuple[str, ...]:
    return f"{run['nodes']:,}", f"{run['edges']:,}", f"{run['workers']:,}"


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 7_200 else f"{seconds / 3600:,.1f} h"
