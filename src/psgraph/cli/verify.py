"""``psgraph verify``: is everything as it was published?"""

from __future__ import annotations

from pathlib import Path

import click

from psgraph.cli.help import Command
from psgraph.cli.screen import facts, print_json, results, waiting
from psgraph.cli.shared import json_option
from psgraph.errors import VerificationFailed

__all__ = ["command"]


@click.command(
    "verify",
    cls=Command,
    short_help="Check that nothing published was changed, lost or swapped.",
    examples=["psgraph verify releases", "psgraph verify run.ledger --json"],
)
@click.argument("path", metavar="DIR|LEDGER", type=click.Path(path_type=Path))
@json_option
def command(path: Path, as_json: bool) -> int:
    """Check every release, certificate and ledger row against each other, and every window.

    DIR holds releases, and maybe their ledger; LEDGER is that file alone. With the ledger any
    changed byte is found, a missing timestamp, and a ledger put back from an older copy. Anyone
    can check a copy of DIR without the ledger: then everything is found but that the last
    releases were removed, or that all were exchanged for others.

    Exit code 1 if something is wrong.
    """
    from psgraph.verification import verify

    try:
        with waiting("Checking …"):
            found = verify(path)
    except VerificationFailed as error:
        if not as_json:
            raise
        print_json({"ok": False, "problems": list(error.problems)})
        return error.exit_code
    if as_json:
        print_json({"ok": True, **found.to_dict()})
        return 0
    pending = "1 sealed but not released yet; resuming finishes it" if found.pending else "none"
    rows = [
        ("Timestamps", f"{found.timestamps:,}, each chained to the one before"),
        ("Releases", f"{found.releases:,}"),
        ("Unfinished", pending),
        ("Windows", f"at most {found.largest_window_spent} of {found.epsilon} spent in any"),
        ("Ledger", "checked" if found.ledger else "not there: releases checked among themselves"),
    ]
    console = results()
    console.print(f"{path} is as it was published", style="bold")
    console.print(facts(rows))
    return 0
