"""``psgraph methods``: what is installed."""

from __future__ import annotations

import click

from psgraph.cli.help import Command
from psgraph.cli.screen import print_json, results, table
from psgraph.cli.shared import json_option

__all__ = ["command"]


@click.command(
    "methods",
    cls=Command,
    short_help="List the methods installed here, plug-ins too.",
    examples=["psgraph methods", "psgraph methods --json"],
)
@json_option
def command(as_json: bool) -> None:
    """List the methods that `publish --method` and `plan --method` take.

    A plug-in registers its own in the entry-point group 'psgraph.methods'.
    """
    from importlib.metadata import entry_points
    from inspect import getdoc

    found = []
    for point in sorted(entry_points(group="psgraph.methods"), key=lambda point: point.name):
        try:
            words = (getdoc(point.load()) or "").partition("\n")[0]
        except Exception as error:  # someone else's module may fail in any way
            words = f"can't be loaded ({type(error).__name__})"
        package = point.dist.name if point.dist else "unknown"
        found.append({"name": point.name, "package": package, "description": words})
    if as_json:
        print_json({"methods": found})
        return
    rows = [(method["name"], method["package"], method["description"]) for method in found]
    results().print(table(("method", "package", "what it does"), rows, left=3))
