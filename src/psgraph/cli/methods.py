"""``psgraph methods``: what is installed."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

import click

from psgraph.cli.flags import json_option
from psgraph.cli.help import Command
from psgraph.cli.screen import fitted, note, print_json, print_tables, results
from psgraph.methods import DEFAULT_METHOD

if TYPE_CHECKING:
    from psgraph.methods.base import Caveat

__all__ = ["command"]


@click.command(
    "methods",
    cls=Command,
    short_help="List the installed methods, including plug-ins.",
    examples=["psgraph methods", "psgraph methods --json"],
)
@json_option
def command(as_json: bool) -> None:
    """List the methods that `publish --method` and `plan --method` take.

    Shows what each does, its parameters with their defaults, and whether it is private with
    these. A plug-in registers its own method in the entry-point group 'psgraph.methods'.
    """
    from importlib.metadata import entry_points

    points = sorted(entry_points(group="psgraph.methods"), key=lambda point: point.name)
    found = [_described(point) for point in points]
    if as_json:
        print_json({"default": DEFAULT_METHOD, "methods": found})
        return
    rows = [
        (
            method["name"],
            method["package"],
            method["description"],
            method["privacy"],
            "\n".join(f"{name}={_shown(value)}" for name, value in method["parameters"].items()),
        )
        for method in found
    ]
    header = ("method", "package", "what it does", "private", "--set, default")
    width = results().width
    shown = fitted(
        header, rows, left=5, width=width, optional=("package", "--set, default", "private")
    )
    print_tables(shown)
    results().print(
        f"Unless --method says otherwise, {DEFAULT_METHOD} is used. psgraph is the paper's method."
    )
    if len(shown[0].columns) < len(header):
        note("Some columns don't fit here; --json shows everything.")


def _described(point: EntryPoint) -> dict[str, Any]:
    """Describe one method; a plug-in that fails must not hide the others."""
    from inspect import getdoc

    described: dict[str, Any] = {
        "name": point.name,
        "package": point.dist.name if point.dist else "unknown",
        "parameters": {},
        "private": None,
        "privacy": "unknown",
        "caveat": None,
    }
    try:
        kind = point.load()
        method = kind()
        caveat: Caveat | None = method.caveat
        return described | {
            "description": (getdoc(kind) or "").partition("\n")[0],
            "parameters": method.parameters()
            | {name: getattr(method, name) for name in sorted(method.added_parameters)},
            "private": caveat is None or caveat.factor is not None,
            "privacy": _privacy(caveat),
            "caveat": caveat.text if caveat else None,
        }
    except Exception as error:  # someone else's module may fail in any way
        return described | {"description": f"can't be loaded ({type(error).__name__})"}


def _privacy(caveat: Caveat | None) -> str:
    """Say in a word how private a method is."""
    if caveat is None:
        return "yes"
    if caveat.factor is None:
        return "NO, not proven"
    return "under a condition" if caveat.factor == 1 else f"{caveat.factor}·ε instead of ε"


def _shown(value: object) -> str:
    """Write a value as ``--set`` takes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
