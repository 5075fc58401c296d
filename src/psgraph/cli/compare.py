"""``psgraph compare``: how good the releases are. For the curator only."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psgraph._runtime.numbers import joined
from psgraph.cli.config import config_option
from psgraph.cli.flags import OneOf, json_option, report_option, trust_option
from psgraph.cli.help import Command
from psgraph.cli.input import command_line, input_options, open_input
from psgraph.cli.screen import (
    compile_notice,
    fitted,
    print_json,
    print_tables,
    progress,
    results,
    table,
    waiting,
)

if TYPE_CHECKING:
    from psgraph.graph import Snapshot, SyntheticGraph
    from psgraph.metrics.comparison import Comparison
    from psgraph.streams.options import InputOptions
    from psgraph.trust.expected import ExpectedErrors

__all__ = ["command"]

CURATOR_ONLY = "Curator only: contains the truth. Don't publish it with the releases."


def _group_names() -> list[str]:
    from psgraph.metrics.groups import metric_groups

    return [*metric_groups(), "all"]


@click.command(
    "compare",
    cls=Command,
    short_help="Compare releases with the original. Curator only.",
    examples=[
        "psgraph compare edges.parquet releases --roster nodes.csv",
        "psgraph compare edges.parquet releases --roster nodes.csv --report report.html --more all",
    ],
)
@config_option()
@input_options
@click.argument("releases", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--more",
    type=OneOf("group", _group_names),
    metavar="GROUP",
    multiple=True,
    help="More metrics than the paper's five: structure, paths, spreading, communities, stream, a "
    "group of another package, or all; may be repeated.",
)
@click.option(
    "--ledger",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Whose fingerprints INPUT is checked with.  [default: DIR.ledger/ledger.sqlite]",
)
@report_option
@trust_option
@json_option
def command(
    source: InputOptions,
    releases: Path,
    more: tuple[str, ...],
    ledger: Path | None,
    report: Path | None,
    trust_seconds: float,
    as_json: bool,
) -> None:
    """Compare the releases in DIR with the INPUT they were made from.

    CURATOR ONLY: CONTAINS THE TRUTH. What this prints is computed from the private edges without
    noise. It is not covered by any promise and must not be published with the releases.

    Shows the paper's five metrics (of directed, two-sided or weighted graphs similar ones) for
    every timestamp, their mean and standard deviation. INPUT
    and its options are those of `publish`: where the ledger is there, an INPUT that the releases
    were not made from is refused. With --report, a page with pictures and a reading of each, for
    the curator too.

    Beside the true errors stand those that `psgraph expect` predicts from the releases alone,
    which is what analysts get.
    """
    from psgraph.graph.kind import UNDIRECTED
    from psgraph.metrics.comparison import compare
    from psgraph.metrics.groups import chosen_groups, groups_for
    from psgraph.privacy.unit import MOST_OF_AN_OWNER
    from psgraph.publication.locations import releases_at
    from psgraph.publication.releases import read_releases
    from psgraph.publication.verification import Originals
    from psgraph.trust.expected import expected_within

    releases = releases_at(releases)

    if report is not None:
        _check_apart(report, releases)
    stream = open_input(source)
    published = read_releases(releases, roster=stream)
    timestamps = len(published)
    kind = published.certificates[-1].kind if timestamps else UNDIRECTED
    groups = tuple(groups_for(kind)) if "all" in more else more
    chosen_groups(groups, kind)  # refuses what is not defined before anything is compared
    originals = Originals(stream, published, ledger)
    used: list[tuple[int, int]] = []
    seen: Iterable[Snapshot] = _counted(originals, used)
    unbounded = source.owner is not None and str(source.source) != "-"  # which is read once
    if unbounded:  # the truth has the rows that the bound leaves out
        everything = open_input(replace(source, at_most=MOST_OF_AN_OWNER))
        seen = _second(seen, Originals(everything, published, ledger).unchecked())
    synthetic: Iterable[SyntheticGraph] = (release.graph for release in published)
    if report is not None:
        from psgraph.reports.curator import Witness

        witness = Witness(timestamps)
        seen, synthetic = witness.watch_originals(seen), witness.watch_releases(synthetic)
    with progress("Comparing", length=timestamps) as advance, compile_notice():
        comparison = compare(_told(seen, advance), synthetic, groups=groups)
    comparison = replace(comparison, input_checked=originals.ledger is not None)
    with waiting("Predicting …"):
        expected = expected_within(published, trust_seconds)
    if report is not None:
        from psgraph.reports.quality import quality_page

        with waiting("Drawing …"):
            made_by = _command(source, releases, more, ledger, report)
            page = quality_page(
                comparison, witness, published.certificates, command=made_by, expected=expected
            )
            page.write(report)
    if as_json:
        written = {} if report is None else {"report": str(report)}
        owners = {"edges_used": _share(used)} if used else {}
        predicted = _expected_data(comparison, expected)
        print_json({**comparison.to_dict(), **owners, **predicted, **written})
    else:
        _show(comparison)
        if used:
            truth = "all" if unbounded else "those in use"
            what = "rows" if kind.flows else "edges"
            share = f"{100 * _share(used):.1f} % of all are in use"
            results().print(
                f"Owners  compared with {truth} of their {what}; {share}", soft_wrap=True
            )
        _show_expected(comparison, expected)
        results().print(_checked_with(originals.ledger), soft_wrap=True)
        if report is not None:
            results().print(f"Report  {report}", soft_wrap=True)


def _check_apart(report: Path, releases: Path) -> None:
    """Refuse a report in the directory of the releases, which is meant to be published."""
    if report.resolve().is_relative_to(releases.resolve()):
        raise click.UsageError(
            "the report holds private data and must not be stored among the releases\n"
            "Choose a path for --report outside their directory."
        )


def _checked_with(ledger: Path | None) -> str:
    if ledger is None:
        return (
            "Input   NOT checked: there is no ledger (--ledger), so nothing shows whether "
            "the releases were made from this input"
        )
    return f"Input   checked with {ledger}: the releases were made from it"


def _command(
    source: InputOptions, releases: Path, more: tuple[str, ...], ledger: Path | None, report: Path
) -> str:
    """Return the command line that makes the same page."""
    words = ["psgraph", "compare", str(source.source), str(releases), *command_line(source)]
    for group in more:
        words += ["--more", group]
    if ledger is not None:
        words += ["--ledger", str(ledger)]
    return shlex.join([*words, "--report", str(report)])


def _share(used: list[tuple[int, int]]) -> float:
    """Return the share of the owners' edges that are in use."""
    kept, there = map(sum, zip(*used, strict=True))
    return kept / there if there else 1.0


def _counted(snapshots: Iterable[Snapshot], used: list[tuple[int, int]]) -> Iterator[Snapshot]:
    """Count the edges of owners in use and in all."""
    for snapshot in snapshots:
        if snapshot.bound is not None and snapshot.owner_sizes is not None:
            sizes = snapshot.owner_sizes
            used.append((int(sizes.clip(max=snapshot.bound.at_most).sum()), int(sizes.sum())))
        yield snapshot


def _second(checked: Iterable[Snapshot], snapshots: Iterable[Snapshot]) -> Iterator[Snapshot]:
    """Yield the second of two readings of a stream, of which the first is checked."""
    for _, snapshot in zip(checked, snapshots, strict=True):
        yield snapshot


def _told(snapshots: Iterable[Snapshot], advance: Callable[[], None]) -> Iterator[Snapshot]:
    """Tell the progress of snapshots."""
    for snapshot in snapshots:
        yield snapshot
        advance()


def _show(comparison: Comparison) -> None:
    from psgraph.metrics.groups import find_metric

    console = results()
    console.print(CURATOR_ONLY, style="bold yellow")
    columns, rows = comparison.table()
    if all(row.time for row in comparison.rows):  # which says more than its number
        columns, rows = columns[1:], [*(row[1:] for row in rows[:-1]), ("mean", *rows[-1][2:])]
        left = 1
    else:
        left = 2
    always = len(columns) - len(comparison.more_mean)
    # Optional metrics get a table of their own: all beside each other would be folded.
    for chosen in (slice(left, always), slice(always, None)):
        if columns[chosen]:
            shown = fitted(
                (*columns[:left], *columns[chosen]),
                [(*row[:left], *row[chosen]) for row in rows],
                left=left,
                width=console.width,
                total=True,
            )
            print_tables(shown)
            console.print()
    shown_metrics = map(find_metric, (*comparison.mean.to_dict(), *comparison.more_mean))
    best = joined([each.words for each in shown_metrics if each.better == "higher"])
    console.print(f"Higher is better for {best}; lower is better for all others.", style="dim")


def _expected_data(comparison: Comparison, expected: ExpectedErrors | None) -> dict[str, Any]:
    from psgraph.reports.curator import predicted_data

    return {} if expected is None else {"expected": predicted_data(comparison, expected)}


def _show_expected(comparison: Comparison, expected: ExpectedErrors | None) -> None:
    from psgraph.reports.curator import COLUMNS, predicted_rows

    if expected is None:
        return
    console = results()
    console.print()
    console.print("What psgraph expect predicts from the releases alone", style="bold")
    for each in expected.notes:
        console.print(each, style="yellow", soft_wrap=True)
    print_tables([table(COLUMNS, predicted_rows(comparison, expected))])
    console.print(f"Both are means over {expected.span}.", style="dim")
    console.print()
