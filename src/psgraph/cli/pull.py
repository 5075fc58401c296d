"""``psgraph pull``: download releases from a service and check them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph.cli.flags import access_options, json_option
from psgraph.cli.help import Command
from psgraph.cli.screen import facts, print_json, progress, results, waiting

if TYPE_CHECKING:
    from psgraph.client import Client

__all__ = ["command"]


@click.command(
    "pull",
    cls=Command,
    short_help="Download the releases of a service and check them.",
    examples=[
        "psgraph pull https://psgraph.example.org calls --to releases --token-file token",
        "psgraph pull http://127.0.0.1:8765 open-calls --to releases",
    ],
)
@access_options
@click.option(
    "--to",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="Where the releases go. What is already there is checked and not downloaded again.",
)
@json_option
def command(client: Client, stream: str, directory: Path, as_json: bool) -> None:
    """Download the releases of STREAM from the service at URL into DIR.

    Every file is checked against its certificate, every certificate against the one before it, and
    every window is added up, as `psgraph verify DIR` does. Run it again to get what is new, or to
    continue after an interruption.
    """
    with progress("Pulling") as step:
        pulled = client.pull(stream, directory, progress=lambda _timestamp: step())
    if not pulled.releases:
        if as_json:
            print_json({"directory": str(directory), "releases": 0, "new": 0})
        else:
            results().print(f"{stream} has no release yet", style="bold")
        return
    from psgraph.publication.verification import verify

    with waiting("Checking …"):
        found = verify(directory)
    if as_json:
        counted = {"directory": str(directory), "releases": pulled.releases, "new": pulled.new}
        print_json({**counted, "verified": found.to_dict()})
        return
    rows = [
        ("Private", found.promise.verdict),
        ("Promise", found.promise.text),
        ("Releases", f"{pulled.releases:,}, of which {pulled.new:,} new"),
        ("Windows", f"at most {found.largest_window_spent} of {found.epsilon} spent in any"),
    ]
    console = results()
    console.print(
        f"Pulled {stream} to {directory}; everything is as it was published", style="bold"
    )
    console.print(facts(rows))
