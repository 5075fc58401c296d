"""``psgraph datasets``: list, describe and fetch data sets, and compare their counts."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psgraph._runtime.numbers import count
from psgraph.cli.flags import Checked, json_option
from psgraph.cli.help import Command, Group
from psgraph.cli.screen import (
    facts,
    fitted,
    note,
    print_json,
    print_tables,
    results,
    table,
    waiting,
)
from psgraph_lab.datasets.catalogue import dataset_names, find_dataset
from psgraph_lab.datasets.further import Counts, Dataset
from psgraph_lab.datasets.locations import Located, cache_directory, directories, locate

if TYPE_CHECKING:
    from psgraph_lab.datasets.download import Fetched, Watch

__all__ = ["command"]

_FORMS = {"parquet": "Parquet", "archive": "archive", "files": "original files"}


command = Group(
    name="datasets",
    short_help="List, explain and fetch the paper's data sets.",
    help="The data sets of the paper's evaluation, stand-ins for them, further streams, and a "
    "synthetic one.\n\n"
    "They are searched in the directory PSGRAPH_DATA, then in the one that 'fetch' writes to "
    "(PSGRAPH_CACHE, or psgraph in the user's data directory).",
    examples=["psgraph datasets list", "psgraph datasets fetch as-733"],
)

_name = click.argument("dataset", metavar="NAME", type=Checked("name", find_dataset))
_path = click.Path(path_type=Path)


@command.command(
    "list",
    cls=Command,
    short_help="List the data sets, the paper's counts, and which are available.",
    examples=["psgraph datasets list", "psgraph datasets list --json"],
)
@json_option
def list_command(as_json: bool) -> None:
    """List every data set with the paper's counts and where it is on this machine."""
    found = [(dataset, _whereabouts(dataset)) for dataset in map(find_dataset, dataset_names())]
    if as_json:
        entries = [
            {
                "name": dataset.name,
                "title": dataset.title,
                "description": dataset.description,
                "stand_in_for": dataset.stand_in_for,
                "paper": _paper(dataset),
                **_location(dataset, located),
            }
            for dataset, located in found
        ]
        print_json({"datasets": entries})
        return
    rows = [
        (
            dataset.name,
            dataset.title,
            _role(dataset),
            _available(dataset, located),
            *(f"{number:,}" for number in (_paper(dataset) or {}).values()),
            *([] if dataset.paper is not None else [""] * 3),
        )
        for dataset, located in found
    ]
    columns = ("name", "title", "used as", "available", "nodes*", "edges*", "timestamps*")
    console = results()
    spare = ("title", "timestamps*", "used as")
    print_tables(fitted(columns, rows, left=4, width=console.width, optional=spare))
    console.print("* according to the paper's table", style="dim")


@command.command(
    "info",
    cls=Command,
    short_help="Describe a data set and compare its counts with the paper's.",
    examples=["psgraph datasets info as-733", "psgraph datasets info cit-hepph --json"],
)
@_name
@json_option
def info_command(dataset: Dataset, as_json: bool) -> None:
    """Show where a data set comes from, which part of it is used, and how its counts compare."""
    from psgraph_lab.datasets.download import remembered_checksums
    from psgraph_lab.datasets.snapshots import load_located

    located = _whereabouts(dataset)
    loaded = None
    if not dataset.files or (located is not None and not located.missing):
        with waiting(f"Reading {dataset.title} …", after=2.0):
            loaded = load_located(dataset, located)
    names = {address.rpartition("/")[2] for address in dataset.downloads}
    remembered = remembered_checksums(cache_directory() / "originals")
    checksums = {name: value for name, value in remembered.items() if name in names}
    if as_json:
        entry = {key: value for key, value in asdict(dataset).items() if key != "paper"}
        entry |= {"paper": _paper(dataset), **_location(dataset, located), "downloaded": checksums}
        entry["counts"] = None if loaded is None else asdict(loaded.counts)
        entry["comparison"] = None if loaded is None else _comparison(dataset, loaded.counts)
        entry["remarks"] = [] if loaded is None else list(loaded.remarks)
        print_json(entry)
        return
    rows = [
        ("What", dataset.description),
        ("Used as", _role(dataset)),
        ("Source", dataset.source),
        ("Files", "\n".join(dataset.downloads) or "no download"),
        ("Licence", dataset.licence),
        ("Size", dataset.size),
        ("SHA-256", dataset.checksum or "unknown"),
        *(("Downloaded", f"{name} {value}") for name, value in checksums.items()),
        ("Selection", dataset.selection),
        ("Available", _available(dataset, located)),
        *(("Remark", remark) for remark in (loaded.remarks if loaded else ())),
        *([("Discrepancy", dataset.discrepancy)] if dataset.discrepancy else []),
    ]
    console = results()
    console.print(dataset.title, style="bold")
    console.print(facts(rows))
    console.print()
    if loaded is not None:
        _print_comparison(dataset, loaded.counts)
    else:
        console.print(f"Get it with: psgraph datasets fetch {dataset.name}")
        if dataset.paper is not None:
            paper = dataset.paper
            console.print(
                f"The paper has {paper.nodes:,} nodes, {paper.edges:,} edges, "
                f"{paper.timestamps:,} timestamps."
            )


@command.command(
    "fetch",
    cls=Command,
    short_help="Download a data set and convert it to Parquet.",
    examples=[
        "psgraph datasets fetch as-733",
        "psgraph datasets fetch as-caida --from downloads/as-caida.tar.gz",
        "psgraph datasets fetch reddit --from downloads --to data",
    ],
)
@_name
@click.option(
    "--from",
    "source",
    metavar="DIR|FILE",
    type=_path,
    help="Original files, an archive of them, or the Parquet file.",
)
@click.option(
    "--to",
    metavar="DIR",
    type=_path,
    help="Directory of the Parquet file, instead of the cache.",
)
@json_option
def fetch_command(dataset: Dataset, source: Path | None, to: Path | None, as_json: bool) -> None:
    """Convert local files, or download them first, and compare the counts with the paper's.

    Without --from, what was fetched before is counted again; otherwise PSGRAPH_DATA is searched;
    otherwise the original files are downloaded. An interrupted download is resumed.
    """
    from psgraph_lab.datasets.download import fetch_dataset

    with _showing(dataset) as (watch, advance):
        fetched = fetch_dataset(dataset.name, source=source, to=to, watch=watch, advance=advance)
    for warning in fetched.warnings:
        note(f"warning: {warning}")
    if as_json:
        _print_json(fetched)
        return
    rows = [
        ("From", str(fetched.source)),
        ("Parquet", str(fetched.path)),
        *(("SHA-256", f"{name} {value}") for name, value in fetched.checksums.items()),
        *(("Remark", remark) for remark in fetched.remarks),
        *([("Discrepancy", dataset.discrepancy)] if dataset.discrepancy else []),
    ]
    console = results()
    console.print(f"{dataset.title} is available", style="bold")
    console.print(facts(rows))
    console.print()
    _print_comparison(dataset, fetched.counts)


def _print_json(fetched: Fetched) -> None:
    print_json(
        {
            "name": fetched.dataset.name,
            "path": str(fetched.path),
            "source": str(fetched.source),
            "counts": asdict(fetched.counts),
            "comparison": _comparison(fetched.dataset, fetched.counts),
            "remarks": list(fetched.remarks),
            "checksums": fetched.checksums,
            "warnings": list(fetched.warnings),
        }
    )


def _whereabouts(dataset: Dataset) -> Located | None:
    return locate(dataset, directories()) if dataset.files else None


def _location(dataset: Dataset, located: Located | None) -> dict[str, Any]:
    """Where a data set is, as data."""
    if not dataset.files:
        return {"available": True, "path": None, "form": "generated"}
    if located is None:
        return {"available": False, "path": None, "form": None}
    return {
        "available": not located.missing,
        "path": str(located.path),
        "form": located.form,
    }


def _available(dataset: Dataset, located: Located | None) -> str:
    """Where a data set is, in words."""
    if not dataset.files:
        return "generated on demand"
    if located is None:
        return "no"
    if located.missing:
        return f"incomplete, {count(len(located.missing), 'file')} missing: {located.path}"
    return f"{_FORMS[located.form]}: {located.path}"


def _role(dataset: Dataset) -> str:
    if dataset.stand_in_for is not None:
        return f"stand-in for {dataset.stand_in_for}"
    if dataset.paper is not None:
        return "the paper's"
    return "further stream" if dataset.files else "synthetic"


def _paper(dataset: Dataset) -> dict[str, int] | None:
    paper = dataset.paper
    if paper is None:
        return None
    return {"nodes": paper.nodes, "edges": paper.edges, "timestamps": paper.timestamps}


def _comparison(dataset: Dataset, counts: Counts) -> list[dict[str, Any]]:
    from psgraph_lab.datasets.counts import compare_with_paper

    return [asdict(line) for line in compare_with_paper(dataset, counts)]


def _print_comparison(dataset: Dataset, counts: Counts) -> None:
    from psgraph_lab.datasets.counts import compare_with_paper

    rows = [
        (line.what, f"{line.found:,}", f"{line.paper:,}" if line.paper else "", line.verdict)
        for line in compare_with_paper(dataset, counts)
    ]
    if dataset.paper is None:
        results().print(table(("", "here"), [row[:2] for row in rows]))
        return
    known = counts.self_loops is not None
    rows.append(
        (
            "self-loops",
            f"{counts.self_loops:,}" if known else "unknown",
            "",
            "dropped here" if known else "dropped before this copy was made",
        )
    )
    results().print(table(("", "here", "paper", "difference"), rows))


@contextmanager
def _showing(dataset: Dataset) -> Iterator[tuple[Watch, Callable[[], None]]]:
    """Progress bars on a terminal; elsewhere one line if it takes long."""
    if not sys.stderr.isatty():
        with waiting(f"Fetching {dataset.title} …", after=2.0):
            yield (lambda _name, _done, _total: None), (lambda: None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[amount]}"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, Any] = {}
        timestamps = 0

        def watch(name: str, done: int, total: int | None) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(name, total=total, amount="")
            whole = "" if total is None else f" of {total / 1e6:,.1f}"
            amount = f"{done / 1e6:,.1f}{whole} MB"
            bars.update(tasks[name], completed=done, total=total, amount=amount)

        def advance() -> None:
            nonlocal timestamps
            timestamps += 1
            length = dataset.paper.timestamps if dataset.paper is not None else None
            if "" not in tasks:
                tasks[""] = bars.add_task("Reading timestamps", total=length, amount="")
            bars.update(tasks[""], completed=timestamps, amount=f"{timestamps:,}")

        yield watch, advance
