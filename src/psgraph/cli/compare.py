"""``psgraph compare``: how good the releases are. For the curator only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph.cli.help import Command
from psgraph.cli.screen import compiling, print_json, progress, results, table
from psgraph.cli.shared import Source, json_option, source_options

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.metrics.report import Comparison

__all__ = ["command"]

CURATOR_ONLY = "Curator only: contains the truth. Don't publish it with the releases."


@click.command(
    "compare",
    cls=Command,
    short_help="Compare releases with the original. Curator only.",
    examples=["psgraph compare edges.parquet releases --roster nodes.csv"],
)
@source_options
@click.argument("releases", metavar="DIR", type=click.Path(path_type=Path))
@json_option
def command(source: Source, releases: Path, as_json: bool) -> None:
    """Compare the releases in DIR with the INPUT they were made from.

    CURATOR ONLY: CONTAINS THE TRUTH. What this prints is computed from the private edges without
    noise. It is not covered by any promise and must not be published with the releases.

    Shows the paper's five metrics for every timestamp, their mean and standard deviation. INPUT
    and its options are those of `publish`.
    """
    from psgraph.metrics.releases import read_releases
    from psgraph.metrics.report import compare
    from psgraph.warmup import warm_up_metrics

    stream = source.open()
    originals, rosters = tee(stream)
    synthetic = read_releases(releases, rosters)
    with compiling():
        warm_up_metrics()
    with progress("Comparing", length=_count(releases)) as advance:
        comparison = compare(_counted(originals, advance), synthetic)
    if as_json:
        print_json(comparison.to_dict())
    else:
        _show(comparison)


def _count(releases: Path) -> int:
    return sum(1 for path in releases.glob("*.parquet"))


def _counted(snapshots: Iterable[Snapshot], advance: Callable[[], None]) -> Iterator[Snapshot]:
    for snapshot in snapshots:
        yield snapshot
        advance()


def _show(comparison: Comparison) -> None:
    console = results()
    console.print(CURATOR_ONLY, style="bold yellow")
    columns, rows = comparison.table()
    shown = table(columns, rows, left=2)
    if len(rows) > 1:
        shown.rows[-2].end_section = True  # a line above the mean
    console.print(shown)
    console.print(
        "Eigenvector overlap: 1 is best. All others: 0 is best.",
        style="dim",
    )
