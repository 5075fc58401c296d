"""``psgraph verify`` and ``psgraph export``: check releases, and make the folder for analysts."""

from __future__ import annotations

from pathlib import Path

import click

from psgraph.cli.config import config_option
from psgraph.cli.flags import json_option, report_option, trust_option
from psgraph.cli.help import Command
from psgraph.cli.screen import facts, note, print_json, results, waiting
from psgraph.errors import VerificationFailed, install_line

__all__ = ["export_command", "verify_command"]


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
def verify_command(path: Path, report: Path | None, trust_seconds: float, as_json: bool) -> int:
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
        ("Promise", str(found.promise)),
        ("Timestamps", f"{found.timestamps:,}, each chained to the one before"),
        ("Releases", f"{found.releases:,}"),
        ("Unfinished", pending),
        ("Windows", f"at most {found.spent} spent in any"),
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


# ---- export ----


_FORMATS = ("parquet", "csv", "graphml", "combined")  # named here, so that help stays quick


@click.command(
    "export",
    cls=Command,
    short_help="Make the folder for analysts: all that is public, and nothing else.",
    examples=[
        "psgraph export releases --to for-analysts",
        "psgraph export releases --to for-analysts --format csv",
    ],
)
@config_option()
@click.argument("releases", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--to",
    metavar="FOLDER",
    required=True,
    type=click.Path(path_type=Path),
    help="The new folder. It appears whole or not at all.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="parquet",
    show_default=True,
    help="csv and graphml add a file for each timestamp, combined one table of all edges.",
)
@trust_option
@json_option
def export_command(
    releases: Path, to: Path, form: str, trust_seconds: float, as_json: bool
) -> None:
    """Write FOLDER, to be handed out, from the releases in DIR.

    It holds the releases and their certificates, the node list with periods, the public report, a
    README and SHA256SUMS. The ledger is not in it. Everything is verified first; `psgraph verify
    FOLDER` and `sha256sum -c SHA256SUMS` check the copy. The report says how far the releases can
    be trusted, predicted from the releases themselves; --trust-seconds bounds the time for that.
    """
    from psgraph.reports.export import export_releases

    with waiting("Checking and writing …"):
        done = export_releases(releases, to, format=form, trust_seconds=trust_seconds)
    if not done.report:
        note(
            f"Without the public report: drawing needs {install_line('report')}. "
            "psgraph verify --report adds it where that is installed."
        )
    if as_json:
        print_json(done.to_dict())
        return
    rows = [
        ("Private", done.promise.verdict),
        ("Promise", str(done.promise)),
        ("Releases", f"{done.releases:,}, verified"),
        ("Format", done.format),
        ("Files", f"{done.files:,}, listed in {done.folder / 'SHA256SUMS'}"),
    ]
    console = results()
    console.print(f"Exported {releases} to {done.folder}", style="bold")
    console.print(facts(rows))
