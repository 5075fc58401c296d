"""``psgraph bench``: seconds and memory on this machine, compared with their targets."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from psgraph._version import __version__
from psgraph.cli.flags import json_option
from psgraph.cli.help import Command
from psgraph.cli.screen import note, print_json, waiting
from psgraph.errors import DataError
from psgraph_lab.bench.cases import CASES, LARGE_CASES, LATER_CASES, METHOD_CASES, Case
from psgraph_lab.cli.bench_steps import machine, run_step, show_cases, show_methods, targets

__all__ = ["command"]


def _names(cases: tuple[Case, ...]) -> str:
    return ", ".join(case.name for case in cases)


@click.command(
    "bench",
    cls=Command,
    short_help="Time publishing and compare with the targets.",
    examples=[
        "psgraph bench",
        "psgraph bench --methods",
        "psgraph bench --large --cache ~/stores --only 1m-5m",
        "psgraph bench --large --methods --cache ~/stores",
        "psgraph bench --compare-engines --cache ~/stores --only 1m-5m",
        "psgraph bench --large --cache ~/stores --json > runs.json",
        "psgraph bench --cost-model runs.json",
    ],
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
    type=click.Choice([case.name for case in (*CASES, *LARGE_CASES, *LATER_CASES)]),
    metavar="CASE",
    multiple=True,
    help=f"Time only this case; repeatable. {_names(CASES)}. With --large and --compare-engines: "
    f"{_names(LARGE_CASES)}; with --large --methods also {_names(LATER_CASES)}.",
)
@click.option(
    "--methods",
    is_flag=True,
    help="Time all installed methods on As-733 and As-caida, relative to PSGraph; with --only "
    "million-… and with --large only the methods that scale.",
)
@click.option(
    "--large",
    is_flag=True,
    help="Publish graphs of 1 to 100 million edges from stores: peak memory of the process, "
    "seconds per phase, growth. 10 GB of disk, 4 GB of memory, many minutes.",
)
@click.option(
    "--compare-engines",
    is_flag=True,
    help="Count edges, degrees and blocks of the same stores with psgraph's engines, Dask "
    "dataframe, DuckDB and polars, where they are installed.",
)
@click.option(
    "--cost-model",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    multiple=True,
    help="Fit a model of the time to the JSON of --large; repeatable. Times nothing.",
)
@click.option(
    "--cache",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the synthetic stores of --large and --compare-engines in DIR for the next run.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "dask"]),
    default="local",
    show_default=True,
    help="With --large: where edge-sized work runs.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --large: threads, or worker processes of Dask. One for each core unless given.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --large: passes, of which the fastest counts. 3, and 1 from 50M edges on.",
)
@click.option("--quick", is_flag=True, help="Use a twentieth of every stream, without targets.")
@json_option
def command(
    data: Path | None,
    only: tuple[str, ...],
    methods: bool,
    large: bool,
    compare_engines: bool,
    cost_model: tuple[Path, ...],
    cache: Path | None,
    engine: str,
    workers: int | None,
    repeats: int | None,
    quick: bool,
    as_json: bool,
) -> None:
    """Time how fast PSGraph (or every method) publishes, and how much memory it needs.

    Kernels are compiled before the clock starts; noise, sealing and writing are included, at ε = 1
    and w = 5. Every case runs in a process of its own. The floor is the work no method can avoid:
    reading the Parquet input, drawing the noise, writing the Parquet output. Publishing and floor
    alternate for several passes, the fastest of each counts, and the spread is shown.
    """
    if sum((methods or large, compare_engines, bool(cost_model))) > 1:
        raise click.UsageError(
            "give one of --large or --methods, --compare-engines and --cost-model"
        )
    if data is not None and not data.is_dir():
        raise DataError(f"{data} is not a directory\nGive the directory of the data sets.")
    load = os.getloadavg()[0]
    if cost_model:
        _fit(cost_model, as_json=as_json)
        return
    stored = large or compare_engines
    later = LATER_CASES if large and methods else ()
    wanted = _wanted(only, (*LARGE_CASES, *later) if stored else CASES)
    if large:
        from psgraph_lab.cli.bench_large import show_large, time_large

        report = time_large(
            wanted,
            cache,
            methods=methods,
            quick=quick,
            engine=engine,
            workers=workers,
            repeats=repeats,
        )
        show: Callable[[Any], None] = show_large
    elif compare_engines:
        from psgraph_lab.cli.bench_large import compare_engines as compare
        from psgraph_lab.cli.bench_large import show_engines

        report = compare(wanted, cache, quick=quick)
        show = show_engines
    elif methods:
        wanted = wanted if only else list(METHOD_CASES)
        rows = [row for case in wanted for row in _time_methods(case, data, quick=quick)]
        report, show = {"cases": rows}, lambda report: show_methods(report["cases"])
    else:
        rows = []
        for case in wanted:
            with waiting(f"Timing {case.title} …", after=0.0):
                rows.append(_time_case(case, data, quick=quick))
        report, show = {"cases": rows}, lambda report: show_cases(report["cases"])
    if as_json:
        print_json({"version": __version__, "machine": machine(load), **report})
        return
    show(report)
    if load > 0.5:
        note(
            f"The machine was busy before the benchmark started (load {load:.1f} on "
            f"{os.cpu_count()} cores): trust the ratios more than the seconds."
        )


def _wanted(only: tuple[str, ...], cases: tuple[Case, ...]) -> list[Case]:
    """Return the cases asked for, or all; refuse those of another kind of run."""
    for name in only:
        if name not in {case.name for case in cases}:
            raise click.UsageError(f"{name} is not timed here: choose from {_names(cases)}")
    return [case for case in cases if not only or case.name in only]


def _fit(files: tuple[Path, ...], *, as_json: bool) -> None:
    from psgraph_lab.cli.bench_large import fit_files, show_costs

    report = fit_files(files)
    if as_json:
        print_json(report)
    else:
        show_costs(report)


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
            run_step("prepare", case.name, scratch, *more)

        def time(*options: str) -> dict[str, Any]:
            source = [str(file)] if real else []
            return run_step("time", case.name, scratch, *source, *more, *options)

        about = {
            "case": case.name,
            "title": wanted.title,
            "data": "real" if real else "synthetic",
        }
        yield about, time


def _time_methods(case: Case, data: Path | None, *, quick: bool) -> list[dict[str, Any]]:
    """Time every installed method on one stream, PSGraph first: the others are relative to it."""
    from psgraph.methods.registry import method_names

    wanted = case.shrunk() if quick else case
    rows: list[dict[str, Any]] = []
    with _prepared(case, data, quick=quick) as (about, time):
        names = wanted.methods or method_names()
        for name in sorted(names, key=lambda name: (name != "psgraph", name)):
            with waiting(f"Timing {name} on {case.title} …", after=0.0):
                timed = time("--method", name)
            unit = (rows[0] if rows else timed)["seconds"]["total"]
            times = timed["seconds"]["total"] / unit
            rows.append({**about, **timed, "times_psgraph": times, **targets(wanted.of(name))})
    return rows


def _time_case(case: Case, data: Path | None, *, quick: bool) -> dict[str, Any]:
    wanted = case.shrunk() if quick else case
    with _prepared(case, data, quick=quick) as (about, time):
        timed = time()
    return {**about, **timed, **targets(wanted)}
