"""``psgraph bench --large``, ``--compare-engines`` and ``--cost-model``.

Graphs that are read from stores; and a model of the time, fitted to earlier runs.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from psgraph.cli.screen import fitted, note, print_tables, progress, results, waiting
from psgraph.errors import DataError
from psgraph_lab.bench.cases import MOST_GROWTH, Case
from psgraph_lab.bench.cost_model import SERIAL, SHARED, Run, fit_costs, growth_exponent
from psgraph_lab.cli.bench_steps import against, peak, run_step, targets

__all__ = ["compare_engines", "fit_files", "show_costs", "show_engines", "show_large", "time_large"]

_STEPS = 100  # of a progress bar


def time_large(
    cases: Sequence[Case],
    cache: Path | None,
    *,
    methods: bool,
    quick: bool,
    engine: str,
    workers: int | None,
    repeats: int | None,
) -> dict[str, Any]:
    """Publish every case from its store, each in a process of its own; returns rows and growth.

    With PSGraph; if `methods`, with all methods that scale.
    """
    rows: list[dict[str, Any]] = []
    with _directory(cache) as directory:
        for case in cases:
            wanted = case.shrunk() if quick else case
            wanted = wanted if repeats is None else replace(wanted, repeats=repeats)
            store = _store(directory, wanted)
            for method in wanted.methods if methods else ["psgraph"]:
                with (
                    waiting(f"Timing {method} on {wanted.title} …", after=0.0),
                    tempfile.TemporaryDirectory(prefix="psgraph-bench-", dir=cache) as scratch,
                ):
                    timed = run_step(
                        *("large", case.name, scratch, str(store), "--engine", engine),
                        *("--repeats", str(wanted.repeats), "--method", method),
                        *([] if workers is None else ["--workers", str(workers)]),
                        *(["--quick"] if quick else []),
                    )
                rows.append(
                    {
                        "case": case.name,
                        "title": wanted.title,
                        "engine": engine,
                        "workers": workers or os.cpu_count(),
                        "first": case.untimed == 0,
                        **timed,
                        **targets(wanted.of(method)),
                    }
                )
    growth = {
        method: growth_exponent(
            (row["edges"], row["seconds"]["total"])
            for row in rows
            if row["method"] == method and row["first"]
        )
        for method in dict.fromkeys(row["method"] for row in rows)
    }
    return {"cases": rows, "growth": growth, "target_growth": None if quick else MOST_GROWTH}


def compare_engines(cases: Sequence[Case], cache: Path | None, *, quick: bool) -> dict[str, Any]:
    """Compute three aggregates of the store of every case with every installed library."""
    from psgraph_lab.bench.aggregates import LIBRARIES, missing_library

    rows: list[dict[str, Any]] = []
    absent = [name for name in LIBRARIES if missing_library(name)]
    for name in absent:
        note(f"{name} is left out: install it with pip install {_package(name)}")
    with _directory(cache) as directory:
        for case in cases:
            wanted = case.shrunk() if quick else case
            store = _store(directory, wanted)
            for name in LIBRARIES:
                if name not in absent:
                    with waiting(f"Counting {wanted.title} with {name} …", after=0.0):
                        counted = run_step("aggregates", name, str(directory), str(store))
                    rows.append({"case": case.name, "title": wanted.title, **counted})
            here = [row["digests"] for row in rows if row["case"] == case.name]
            for row in rows[-len(here) :]:
                row["same_answers"] = row.pop("digests") == here[0]
    return {"cases": rows, "left_out": absent}


def _package(name: str) -> str:
    packages = {"DuckDB": "duckdb", "polars": "polars", "Dask dataframe": '"dask[dataframe]"'}
    return packages.get(name, '"psgraph-dp[dask]"')


@contextmanager
def _directory(cache: Path | None) -> Iterator[Path]:
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        yield cache
        return
    with tempfile.TemporaryDirectory(prefix="psgraph-bench-") as scratch:
        yield Path(scratch)


def _store(directory: Path, case: Case) -> Path:
    from psgraph_lab.bench.synthetic import cached_store

    with progress(f"Writing {case.title}", length=_STEPS, left=True) as advance:
        shown = 0

        def drawn(done: int, wanted: int) -> None:
            nonlocal shown
            while shown < _STEPS * done // wanted:
                advance()
                shown += 1

        return cached_store(
            directory,
            nodes=case.nodes,
            edges=case.edges,
            timestamps=case.stored,
            progress=drawn,
        )


def show_large(report: dict[str, Any]) -> None:
    """Print how long every case took, relative to its floor, and where the time went."""
    console = results()
    columns = (
        *("case", "method", "engine", "seconds", "CPU s", "floor", "floor CPU s", "ratio"),
        "peak",
    )
    cells = [
        (
            row["title"],
            row["method"],
            f"{row['engine']}, {row['workers']}",
            f"{row['seconds']['total']:.2f}",
            f"{row['seconds']['cpu']:.2f}",
            f"{row['floor_seconds']['total']:.2f}",
            f"{row['floor_seconds']['cpu']:.2f}",
            against(row["ratio"], row["target_ratio"]),
            peak(row),
        )
        for row in report["cases"]
    ]
    optional = ("engine", "floor CPU s", "CPU s", "floor")
    print_tables(fitted(columns, cells, left=3, width=console.width, optional=optional))
    for row in report["cases"]:
        name = f"{row['title']}, {row['method']}"
        if "worker_peak_bytes" in row:
            sent = sum(verb["to_driver"] for verb in row["moved"].values())
            console.print(
                f"{name}: {sent / 1e9:.2f} GB to the driver, largest worker "
                f"{row['worker_peak_bytes'] / 1e9:.2f} GB"
            )
        spent = {**row["seconds"], **{f"[{verb}]": took for verb, took in row["verbs"].items()}}
        parts = (f"{name} {took:.2f}" for name, took in spent.items() if name not in _SUMS)
        console.print(f"{name}: {', '.join(parts)}", markup=False)
    for method, growth in report["growth"].items():
        if growth is not None:
            found = against(growth, report["target_growth"])
            console.print(f"Growth exponent of time in the number of edges, {method}: {found}")
    console.print(
        "Targets follow ≤; ! marks a missed one. Floor: read the Parquet, draw the noise, write "
        "the Parquet. CPU: of all threads. Below: seconds by phase, and in brackets by verb of the "
        "engine.",
        style="dim",
    )


_SUMS = ("total", "cpu")


def show_engines(report: dict[str, Any]) -> None:
    """Print what every library needs for the three aggregates."""
    console = results()
    columns = ("case", "library", "edge count", "degrees", "block counts", "peak", "same answers")
    cells = [
        (
            row["title"],
            f"{row['library']} {row['version'] or ''}".strip(),
            *(f"{took:.2f} s" for took in row["seconds"].values()),
            f"{row['peak_bytes'] / 1e9:.2f} GB",
            "yes" if row["same_answers"] else "no !",
        )
        for row in report["cases"]
    ]
    print_tables(fitted(columns, cells, left=2, width=console.width, optional=("case",)))
    console.print(
        "The faster of two passes. psgraph also checks the digest of every file. Peak: of the "
        "process that asks, or of its largest Dask worker.",
        style="dim",
    )


_LEAST_RUNS = 2
_PROJECTED = (
    Run(10**9, 10**8, workers=2),
    Run(10**9, 10**8, workers=64),
    Run(10**9, 10**8, workers=100),
    Run(10**11, 10**9, workers=64),
    Run(10**11, 10**9, workers=1024),
)


def fit_files(files: Sequence[Path]) -> dict[str, Any]:
    """Fit a model of each method to all runs of first timestamps by the local engine."""
    rows = [row for file in files for row in _rows(file) if row["engine"] == "local"]
    by_method: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row.get("first", True):
            by_method.setdefault(row.get("method", "psgraph"), []).append(row)
    if max(map(len, by_method.values()), default=0) < _LEAST_RUNS:
        raise DataError(
            f"a model needs at least {_LEAST_RUNS} runs of a method with the local engine\n"
            "Run psgraph bench --large with more cases, or give more files."
        )
    found = [_fitted(each) for each in by_method.values() if len(each) >= _LEAST_RUNS]
    return {"models": found}


def _fitted(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    model, runs = fit_costs(rows)
    growth = growth_exponent((row["edges"], row["seconds"]["cpu"]) for row in rows)
    projected = [replace(run, method=runs[0].method) for run in _PROJECTED]
    return {
        "method": runs[0].method,
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
        "projections": [{**_size(run), "seconds": model.seconds(run)} for run in projected],
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
    """Print the models of all methods."""
    for model in report["models"]:
        _show_model(model)
    results().print(
        "Fitted to processor time; model seconds are for cores that do nothing else. Projections "
        "are the model far outside the sizes that were measured: no such graph was published. "
        "They leave out that memory for nodes has to fit on the driver.",
        style="dim",
    )


def _show_model(report: dict[str, Any]) -> None:
    """Print the factors, how far the model is off for every run, and what it projects."""
    console = results()
    console.print(report["method"], style="bold")
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


def _sum(factors: dict[str, float]) -> str:
    return " + ".join(f"{factor:.3g} · {term}" for term, factor in factors.items() if factor) or "0"


def _print(columns: tuple[str, ...], cells: Sequence[tuple[str, ...]]) -> None:
    print_tables(fitted(columns, cells, left=0, width=results().width, optional=()))


def _counts(run: dict[str, Any]) -> tuple[str, ...]:
    return f"{run['nodes']:,}", f"{run['edges']:,}", f"{run['workers']:,}"


def _duration(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds < 7_200 else f"{seconds / 3600:,.1f} h"
