"""``psgraph methods``: what is installed."""

from __future__ import annotations

from typing import Any

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
    """List the methods that `publish --method` and `plan --method` take, and their parameters.

    A plug-in registers its own in the entry-point group 'psgraph.methods'.
    """
    from importlib.metadata import entry_points
    from inspect import getdoc

    found: list[dict[str, Any]] = []
    for point in sorted(entry_points(group="psgraph.methods"), key=lambda point: point.name):
        parameters: dict[str, Any] = {}
        try:
            kind = point.load()
            words = (getdoc(kind) or "").partition("\n")[0]
            parameters = dict(kind().parameters())
        except Exception as error:  # someone else's module may fail in any way
            words = f"can't be loaded ({type(error).__name__})"
        found.append(
            {
                "name": point.name,
                "package": point.dist.name if point.dist else "unknown",
                "description": words,
                "parameters": parameters,
            }
        )
    if as_json:
        print_json({"methods": found})
        return
    rows = [
        (
            method["name"],
            method["package"],
            method["description"],
            "\n".join(f"{name}={_shown(value)}" for name, value in method["parameters"].items()),
        )
        for method in found
    ]
    results().print(table(("method", "package", "what it does", "--set, default"), rows, left=4))


def _shown(value: object) -> str:
    """A value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
