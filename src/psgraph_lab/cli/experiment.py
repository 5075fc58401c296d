"""``psgraph experiment``: run and draw the paper's figures and tables."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psgraph._runtime.extras import require_report
from psgraph.cli.flags import Checked, json_option
from psgraph.cli.help import Command, Group
from psgraph.cli.screen import fitted, print_json, print_tables, progress, results, waiting
from psgraph.errors import DataError, InvalidArgument, exact_decimal
from psgraph.privacy.guarantee import exact_epsilon

if TYPE_CHECKING:
    from psgraph_lab.experiments.definition import Experiment
    from psgraph_lab.experiments.runner import Work
    from psgraph_lab.experiments.store import Needs, Results

__all__ = ["command"]

QUALITY, COST, CALIBRATION = "cells.parquet", "costs.parquet", "calibration-cells.parquet"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _epsilons(text: str) -> tuple[str, ...]:
    """Parse budgets into the form in which results name them: 1.0 is 1."""
    found = []
    for name in _names(text):
        epsilon = exact_epsilon(name)
        try:
            float(name)
        except ValueError:
            raise InvalidArgument(f"write ε as a decimal number, not {name!r}") from None
        found.append(exact_decimal(epsilon))
    return tuple(found)


_list = Checked("list", _names)
_FILES = {"cost": COST, "calibration": CALIBRATION}  # where the cells of a kind are stored


command = Group(
    name="experiment",
    short_help="Run the paper's evaluation: figures, tables, claims.",
    help="Reproduce the paper's evaluation: every figure and table, and whether its claims hold.",
    examples=["psgraph experiment list", "psgraph experiment run end-to-end --quick"],
)


@command.command(
    "list",
    cls=Command,
    short_help="List the experiments and their figures in the paper.",
    examples=["psgraph experiment list"],
)
@json_option
def list_command(as_json: bool) -> None:
    """List every experiment, where the paper has it, and the number of runs it takes here."""
    from psgraph_lab.experiments.definition import experiment_names, find_experiment

    found = [find_experiment(name) for name in experiment_names()]
    if as_json:
        rows = [
            {"name": each.name, "paper": each.paper, "title": each.title, "runs": _runs(each)}
            for each in found
        ]
        print_json({"experiments": rows})
        return
    text = [(each.name, each.paper or "–", each.title, f"{_runs(each):,}") for each in found]
    columns = ("experiment", "paper", "what it shows", "runs here")
    print_tables(fitted(columns, text, left=3, width=results().width, optional=("paper",)))


def _runs(experiment: Experiment) -> int:
    """The number of runs on the available data sets."""
    from psgraph_lab.datasets import is_available

    there = [name for name in experiment.datasets if is_available(name)]
    return len(experiment.narrowed(datasets=there).cells())


@dataclass(frozen=True)
class _Wanted:
    """The options of `run`, apart from the names."""

    quick: bool
    datasets: tuple[str, ...] | None
    methods: tuple[str, ...] | None
    epsilons: tuple[str, ...] | None
    repetitions: int | None
    out: Path
    data: Path | None
    workers: int | None
    no_run: bool
    html: bool

    def find(self, name: str) -> Experiment:
        """Find an experiment and apply the options; uses only data sets that are available."""
        from psgraph_lab.datasets import find_dataset, is_available
        from psgraph_lab.experiments.definition import find_experiment

        experiment = find_experiment(name, quick=self.quick)
        if experiment.kind == "claims":
            return experiment
        datasets = self.datasets
        if datasets is None:
            datasets = tuple(
                each for each in experiment.datasets if is_available(each, directory=self.data)
            )
        for each in datasets:
            find_dataset(each)  # reject an unknown name before anything runs
        found = experiment.narrowed(
            datasets=datasets, epsilons=self.epsilons, repetitions=self.repetitions
        )
        self.to_run(found)  # reject an unknown method before anything runs
        return found

    def to_run(self, experiment: Experiment) -> Experiment:
        """The part of an experiment that is run; its page shows all methods that were ever run."""
        if len({line.method for line in experiment.lines}) == 1:
            return experiment  # it compares variants of one method
        return experiment.narrowed(methods=self.methods)


@command.command(
    "run",
    cls=Command,
    short_help="Run experiments and write their pages.",
    examples=[
        "psgraph experiment run end-to-end --quick",
        "psgraph experiment run window --datasets as-caida --methods psgraph,tmf --repetitions 3",
        "psgraph experiment run all --out results",
        "psgraph experiment run mine.toml --out mine",
    ],
)
@click.argument("names", metavar="NAME|FILE.toml|all…", nargs=-1, required=True)
@click.option("--quick", is_flag=True, help="Few snapshots and budgets: two minutes each at most.")
@click.option("--datasets", type=_list, metavar="A,B", help="Data sets; all available by default.")
@click.option(
    "--methods", type=_list, metavar="A,B", help="Run only these methods; pages show all."
)
@click.option("--epsilons", type=Checked("list", _epsilons), metavar="E,E", help="Privacy budgets.")
@click.option("--repetitions", type=click.IntRange(min=1), metavar="N", help="10 by default.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory of results and pages.  [default: results, or results-quick]",
)
@click.option(
    "--data",
    metavar="DIR",
    envvar="PSGRAPH_DATA",
    show_envvar=True,
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Directory in which data sets are searched first.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of processes; one per core by default.",
)
@click.option("--no-run", is_flag=True, help="Run nothing: draw the stored results.")
@click.option("--html", is_flag=True, help="Write HTML pages and SVG figures as well.")
@json_option
def run_command(names: tuple[str, ...], as_json: bool, out: Path | None, **options: Any) -> None:
    """Run experiments, skipping runs that are already stored, and write their pages.

    Every run is seeded, and its seed follows from what is run. Results are written to
    cells.parquet (quality) and costs.parquet (time and memory) in DIR as they arrive: after an
    interruption the same command resumes, and experiments that share runs share their results.
    Each experiment gets a page (Markdown) and a figure (PNG); --html adds HTML and SVG.

    FILE.toml is an experiment of your own, with your data and your methods: see
    docs/how-to/experiments.md. Methods named module:Class are imported from the directory of the
    file.

    Seeded runs are for research: nothing they publish is private.
    """
    require_report("lab")
    out = out or Path("results-quick" if options["quick"] else "results")
    wanted = _Wanted(out=out, **options)
    experiments = [wanted.find(name) for name in _expanded(names)]
    typed = shlex.join(["psgraph", *sys.argv[1:]])
    made = [_run(experiment, wanted, typed) for experiment in experiments]
    index = None
    if not all(name.lower().endswith(".toml") for name in names):
        with waiting("Writing the index …"):
            index = str(_write_index(wanted))
    if as_json:
        print_json({"out": str(out), "index": index, "experiments": made})
        return
    shown = [(each["name"], each["page"], str(each["ran"]), str(each["kept"])) for each in made]
    columns = ("experiment", "page", "runs", "already there")
    print_tables(fitted(columns, shown, left=2, width=results().width))


def _expanded(names: Sequence[str]) -> tuple[str, ...]:
    from psgraph_lab.experiments.definition import experiment_names

    return experiment_names() if "all" in names else tuple(dict.fromkeys(names))


def _run(experiment: Experiment, wanted: _Wanted, typed: str) -> dict[str, Any]:
    """Run the missing cells and write the pages; returns a summary for the user."""
    from psgraph_lab.experiments.runner import missing_cells, run_missing, time_missing
    from psgraph_lab.experiments.store import Results, needs_of

    if experiment.kind == "claims":
        return _run_claims(wanted, typed)
    if experiment.kind == "calibration" and wanted.no_run:
        return _write_calibration(experiment, wanted, typed)
    if not experiment.datasets:
        raise DataError(
            f"none of the data sets of {experiment.name} is available\n"
            "`psgraph datasets list` lists them; --quick and --datasets demo need none."
        )
    cells = wanted.to_run(experiment).cells()
    costly = experiment.kind == "cost"
    path = wanted.out / _FILES.get(experiment.kind, QUALITY)
    needs = needs_of(experiment, quick=wanted.quick, repetitions=wanted.repetitions)
    if wanted.no_run:
        stored = Results.read(path)
        kept = len(cells) - len(missing_cells(cells, stored, needs))
        page = _write_pages(experiment, stored, needs, wanted, typed)
        return {"name": experiment.name, "ran": 0, "kept": kept, "page": str(page)}
    with Results.writing(path) as stored:
        missing = len(missing_cells(cells, stored, needs))
        with progress(experiment.name, length=missing, left=True) as advance:
            done = _after_each(advance)
            if costly:
                time_missing(cells, stored, directory=wanted.data, done=done)
            else:
                run_missing(
                    cells,
                    stored,
                    needs=needs,
                    directory=wanted.data,
                    workers=wanted.workers,
                    done=done,
                    work=_work_of(experiment),
                )
    if experiment.kind == "calibration":
        written = _write_calibration(experiment, wanted, typed)
        return {**written, "ran": missing, "kept": len(cells) - missing}
    page = _write_pages(experiment, stored, needs, wanted, typed)
    return {
        "name": experiment.name,
        "ran": missing,
        "kept": len(cells) - missing,
        "page": str(page),
    }


def _work_of(experiment: Experiment) -> Work | None:
    """What runs the cells of an experiment; None for publishing and comparing."""
    if experiment.kind != "calibration":
        return None
    from psgraph_lab.experiments.calibration.cells import calibrate_cell

    return calibrate_cell


def _after_each(advance: Callable[[], None]) -> Callable[[object], None]:
    return lambda _: advance()


def _facts(stored: Mapping[Any, Any]) -> dict[str, str]:
    """Which version and machine produced the results (all, if several), and the date."""
    from datetime import UTC, datetime

    outcomes = list(stored.values())
    return {
        "psgraph": ", ".join(sorted({outcome.version for outcome in outcomes})),
        "machine": "; ".join(sorted({outcome.machine for outcome in outcomes})),
        "drawn": f"{datetime.now(UTC):%Y-%m-%d}",
    }


def _write_pages(
    experiment: Experiment, stored: Results, needs: Needs, wanted: _Wanted, typed: str
) -> Path:
    from psgraph_lab.experiments.pages import read_notes, write_pages
    from psgraph_lab.experiments.summary import summarise

    cells = [cell for cell in experiment.cells() if cell in stored]
    taken = {cell: stored[cell] for cell in cells if needs.met_by(stored[cell])}
    with waiting(f"Drawing {experiment.name} …"):
        page, *_ = write_pages(
            experiment,
            summarise(experiment, taken),
            wanted.out,
            command=typed,
            facts=_facts(taken),
            reading=read_notes(wanted.out).experiments.get(experiment.name, ""),
            html=wanted.html,
        )
    return page


def _write_calibration(experiment: Experiment, wanted: _Wanted, typed: str) -> dict[str, Any]:
    """Fit the factors to the stored cells and write them and their page."""
    from psgraph_lab.experiments.calibration.results import write_results
    from psgraph_lab.experiments.store import Results

    stored = Results.read(wanted.out / CALIBRATION)
    cells = [cell for cell in experiment.cells() if cell in stored]
    with waiting("Fitting and drawing calibration …"):
        page = write_results(
            experiment,
            [stored[cell] for cell in cells],
            wanted.out,
            command=typed,
            facts=_facts({cell: stored[cell] for cell in cells}),
        )
    return {"name": experiment.name, "ran": 0, "kept": len(cells), "page": str(page)}


def _run_claims(wanted: _Wanted, typed: str) -> dict[str, Any]:
    """Check the paper's statements against the results of the other experiments."""
    from psgraph_lab.experiments.claims import check_claims, write_claims_pages
    from psgraph_lab.experiments.definition import experiment_names
    from psgraph_lab.experiments.pages import read_notes
    from psgraph_lab.experiments.store import Results

    quality, costs = Results.read(wanted.out / QUALITY), Results.read(wanted.out / COST)
    if not quality and not costs:
        raise DataError(
            f"{wanted.out} contains no results yet\n"
            "Run other experiments first, or `psgraph experiment run all`."
        )
    experiments = {name: wanted.find(name) for name in experiment_names() if name != "claims"}
    verdicts = check_claims(quality, costs, experiments)
    with waiting("Drawing claims …"):
        page, *_ = write_claims_pages(
            verdicts,
            wanted.out,
            notes=read_notes(wanted.out).statements,
            command=typed,
            facts=_facts({**quality, **costs}),
            html=wanted.html,
        )
    return {"name": "claims", "ran": 0, "kept": len(quality) + len(costs), "page": str(page)}


def _write_index(wanted: _Wanted) -> Path:
    from psgraph_lab.experiments.definition import experiment_names, find_experiment
    from psgraph_lab.experiments.pages import write_index

    experiments = [find_experiment(name) for name in experiment_names()]
    return write_index(wanted.out, experiments, html=wanted.html)
