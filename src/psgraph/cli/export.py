"""``psgraph export``: the folder for analysts."""

from __future__ import annotations

from pathlib import Path

import click

from psgraph.cli.config import config_option
from psgraph.cli.flags import json_option, trust_option
from psgraph.cli.help import Command
from psgraph.cli.screen import facts, note, print_json, results, waiting

__all__ = ["command"]

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
def command(releases: Path, to: Path, form: str, trust_seconds: float, as_json: bool) -> None:
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
            "Without the public report: drawing needs pip install 'psgraph-dp[report]'. "
            "psgraph verify --report adds it where that is installed."
        )
    if as_json:
        print_json(done.to_dict())
        return
    rows = [
        ("Private", done.promise.verdict),
        ("Promise", done.promise.text),
        ("Releases", f"{done.releases:,}, verified"),
        ("Format", done.format),
        ("Files", f"{done.files:,}, listed in {done.folder / 'SHA256SUMS'}"),
    ]
    console = results()
    console.print(f"Exported {releases} to {done.folder}", style="bold")
    console.print(facts(rows))
