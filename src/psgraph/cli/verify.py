"""``psgraph verify``: check that everything is as it was published."""

from __future__ import annotations

from pathlib import Path

import click

from psgraph.cli.config import config_option
from psgraph.cli.flags import json_option, report_option, trust_option
from psgraph.cli.help import Command
from psgraph.cli.screen import facts, print_json, results, waiting
from psgraph.errors import VerificationFailed

__all__ = ["command"]


@click.command(
    "verify",
    cls=Command,
    short_help="Check that nothing published was changed, lost or swapped.",
    examples=[
        "psgraph verify releases",
        "psgraph verify run.ledger --json",
        "psgraph verify releases --report public.html",
    ],
)
@config_option(path_is_out=True)
@click.argument("path", metavar="DIR|LEDGER", type=click.Path(path_type=Path))
@report_option
@trust_option
@json_option
def command(path: Path, report: Path | None, trust_seconds: float, as_json: bool) -> int:
    """Check every release, certificate and ledger row against each other, and every window.

    DIR holds releases, and maybe their ledger; LEDGER is that file alone. With the ledger, every
    changed byte, missing timestamp or restored older ledger is found. Anyone can check a copy of
    DIR without the ledger: only two things can't be detected then: that the last releases
    were removed, and that all were replaced by others.

    --report writes a page for everyone: what is promised, what was checked, what was published,
    and how far to trust it. It is made from the published files alone and can be published with
    them.

    Exit code 1 if something is wrong, and no report then.
    """
    from psgraph.publication.verification import verify

    if report is not None and not path.is_dir() and path.exists():
        raise click.UsageError(
            "a report is made of the releases\nGive their directory, not the ledger alone."
        )
    try:
        with waiting("Checking …"):
            found = verify(path)
    except VerificationFailed as error:
        if not as_json:
            raise
        print_json({"ok": False, "problems": list(error.problems)})
        return error.exit_code
    if report is not None:
        from psgraph.reports.public import public_page
        from psgraph.trust.expected import expected_within

        with waiting("Drawing …"):
            expected = expected_within(path, trust_seconds)
            public_page(path, found, expected=expected).write(report)
    if as_json:
        written = {} if report is None else {"report": str(report)}
        print_json({"ok": True, **found.to_dict(), **written})
        return 0
    pending = "1 sealed but not released yet; resuming finishes it" if found.pending else "none"
    rows = [
        ("Private", found.promise.verdict),
        ("Promise", found.promise.text),
        ("Timestamps", f"{found.timestamps:,}, each chained to the one before"),
        ("Releases", f"{found.releases:,}"),
        ("Unfinished", pending),
        ("Windows", f"at most {found.largest_window_spent} of {found.epsilon} spent in any"),
        (
            "Ledger",
            "checked" if found.ledger else "not available: releases checked against each other",
        ),
    ]
    console = results()
    console.print(f"{path} is as it was published", style="bold")
    if report is not None:
        rows.append(("Report", str(report)))
    console.print(facts(rows))
    return 0
