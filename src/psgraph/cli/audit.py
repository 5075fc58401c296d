"""``psgraph audit``: try to break the promise."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph.cli.flags import json_option, report_option
from psgraph.cli.help import Command
from psgraph.cli.screen import facts, print_json, progress, results, table

if TYPE_CHECKING:
    from psgraph.audit.findings import Audit

__all__ = ["command"]


@click.command(
    "audit",
    cls=Command,
    short_help="Try to break the promise, with every method or one of your own.",
    examples=[
        "psgraph audit --quick",
        "psgraph audit --method psgraph-plus --report audit.html",
        "psgraph audit --method mine --json",
    ],
)
@click.option(
    "--method",
    "methods",
    metavar="NAME",
    multiple=True,
    help="A method to audit, psgraph's or a plug-in; may be repeated. All of them unless given.",
)
@click.option(
    "--quick/--full",
    "quick",
    default=True,
    help="A few minutes, or up to an hour with 3,000 pairs of neighbours for each method.",
    show_default="quick",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of processes; one per core by default.",
)
@report_option
@json_option
def command(
    methods: tuple[str, ...], quick: bool, workers: int | None, report: Path | None, as_json: bool
) -> int:
    """Try to break the promise with synthetic graphs. Reads no data and spends nothing.

    Runs methods on neighbouring streams with forced outputs, bounds the ε they really spend,
    enumerates small cases exactly, tests every sampler, compares published files byte by byte,
    and then puts deliberate bugs into the running code to see that they are found.

    What fails is not private. What passes is not proven: the proofs are in proofs/. A bound that
    could not have seen a leak counts as not tested, neither held nor failed.

    Exit code 0 if nothing failed, everything that has to be reached was reached and every
    deliberate bug was found; 1 otherwise.
    """
    from psgraph.audit.attacks import FULL, QUICK
    from psgraph.audit.auditor import audit, planned
    from psgraph.methods.registry import find_method

    for name in methods:
        find_method(name)
    effort = QUICK if quick else FULL
    length = len(planned(methods, effort))
    with progress("Auditing", length=length, left=True) as advance:
        found = audit(
            methods, effort=effort, workers=workers or os.cpu_count() or 1, progress=advance
        )
    if report is not None:
        from psgraph.reports.audit import audit_page

        typed = shlex.join(["psgraph", *sys.argv[1:]])
        audit_page(found, command=typed).write(report)
    if as_json:
        print_json(found.to_dict())
    else:
        _show(found, report)
    return 0 if found.passed else 1


def _show(found: Audit, report: Path | None) -> None:
    from psgraph.audit.findings import VERDICTS

    console = results()
    kinds = dict.fromkeys(check.kind for check in found.checks)
    rows = []
    for kind in kinds:
        checks = [check for check in found.checks if check.kind == kind]
        tries = sum(check.effort for check in checks)
        counts = (sum(check.verdict == verdict for check in checks) for verdict in VERDICTS)
        rows.append(
            (kind, f"{tries:,}" if tries else "–", *(f"{often or '–'}" for often in counts))
        )
    if found.hunts:
        missed = len(found.survivors)
        caught = len(found.hunts) - missed
        rows.append(("deliberate bugs", "–", f"{caught} found", "–", f"{missed or '–'}"))
    console.print(table(("attack", "tries", *VERDICTS), rows))
    for method in found.methods:
        if summary := found.reach_of(method):
            console.print(f"{method}: {summary}")
    for text in found.shortcomings:
        console.print(text, style="red")
    if found.missing:
        console.print(found.missing[0].upper() + found.missing[1:])
    verdict = "nothing found" if found.passed else "FAILED"
    console.print(
        facts(
            [
                ("Verdict", verdict),
                ("Methods", ", ".join(found.methods)),
                ("Seconds", f"{found.seconds:,.0f}"),
                ("Processes", str(found.workers)),
                *([("Report", str(report))] if report else []),
            ]
        )
    )
