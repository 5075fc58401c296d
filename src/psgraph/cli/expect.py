"""``psgraph expect``: how far releases can be trusted, from the releases alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import count, exact_decimal
from psgraph.cli.flags import json_option, report_option
from psgraph.cli.help import Command
from psgraph.cli.screen import (
    compile_notice,
    note,
    print_json,
    print_tables,
    progress,
    results,
    table,
    waiting,
)

if TYPE_CHECKING:
    from psgraph.trust.expected import ExpectedErrors

__all__ = ["command"]

_ANSWERS = {"unknown": "can't be predicted"}


@click.command(
    "expect",
    cls=Command,
    short_help="Predict how far releases can be trusted. Needs no original.",
    examples=[
        "psgraph expect releases",
        "psgraph expect for-analysts --seconds 20 --report trust.html",
    ],
)
@click.argument("releases", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    default=60.0,
    show_default=True,
    help="Stop after this time; the output says how far it got.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    metavar="N",
    default=3,
    show_default=True,
    help="How often the releases are rerun, if there is time.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="The same seed and number of repetitions give the same numbers.",
)
@report_option
@json_option
def command(
    releases: Path,
    seconds: float,
    repetitions: int,
    seed: int,
    report: Path | None,
    as_json: bool,
) -> None:
    """Predict the errors of the releases in DIR, from the releases alone.

    The method that made them is run on them again, as if they were the originals, with fresh
    noise of the same size, and the difference is corrected by what was learned on public streams.
    For analysts: it needs no original and no ledger, costs no ε, and can be published.

    Prints a verdict for each question of analysts, and a predicted error with a 90 % interval
    for each metric. What can't be predicted for the method says so. docs/explanation/trust.md
    explains how it works and how good it is.
    """
    from psgraph.publication.releases import read_releases
    from psgraph.trust.expected import expected_errors

    published = read_releases(releases)
    length = repetitions * len(published)
    with progress("Rerunning", length=length) as advance, compile_notice():
        found = expected_errors(
            published, seed=seed, seconds=seconds, repetitions=repetitions, progress=advance
        )
    if found.repetitions < repetitions or found.timestamps < found.releases:
        note(
            f"The time was up after {count(found.repetitions, 'repetition')} of "
            f"{count(found.timestamps, 'timestamp')}; --seconds allows more."
        )
    if report is not None:
        from psgraph.reports.trust import trust_page

        with waiting("Drawing …"):
            trust_page(found).write(report)
    if as_json:
        written = {} if report is None else {"report": str(report)}
        print_json({**found.to_dict(), **written})
        return
    _show(found)
    if report is not None:
        results().print(f"Report  {report}", soft_wrap=True)


def _show(found: ExpectedErrors) -> None:
    console = results()
    epsilon, window = exact_decimal(found.guarantee.epsilon), found.guarantee.window
    console.print(
        f"{count(found.timestamps, 'release')} of {found.method}, ε = {epsilon}, w = {window}; "
        f"rerun {count(found.repetitions, 'time')} with seed {found.seed}",
        style="bold",
    )
    for each in found.notes:
        console.print(each, style="yellow", soft_wrap=True)
    console.print()
    questions = [
        (each.question, _ANSWERS.get(each.answer, each.answer), each.reason)
        for each in found.verdicts
    ]
    print_tables([table(("question", "answered", "why"), questions, left=3)])
    console.print()
    columns, rows = found.table()
    print_tables([table(columns, rows, left=1)])
    means = f"Means over {found.span}."
    console.print(f"↑ higher is better; ↓ lower is better. {means}", style="dim")
