"""``psgraph init``: write a configuration file, by asking or from flags."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from psgraph.cli.config import DEFAULT_NAME, KEYS
from psgraph.cli.help import Command
from psgraph.cli.shared import (
    epsilon_option,
    method_option,
    period_option,
    roster_options,
    window_option,
)
from psgraph.errors import InvalidArgument, exact_decimal

__all__ = ["command"]

_HEAD = """\
# How this stream is published. Every command takes it:
#   psgraph publish --config {name}     the first time
#   psgraph resume  --config {name}     when the input has grown
#   psgraph watch   --config {name}     if the input is a directory that receives files
#   psgraph budget  --config {name}
#   psgraph verify  --config {name}
#   psgraph export  --config {name} --to for-analysts
#   psgraph compare --config {name}     curator only
# What quality to expect, as a comment in this file, before ε and w are decided:
#   psgraph rehearse --nodes N --edges M --comment-in {name}
# Flags override it. Paths are relative to this file.
"""


@click.command(
    "init",
    cls=Command,
    short_help="Write a configuration file, by asking or from flags.",
    examples=[
        "psgraph init",
        "psgraph init calls.csv --roster staff.csv --every 1mo --epsilon 1/2 --window 12 "
        "--out releases",
    ],
)
@click.argument("path", metavar="[INPUT]", required=False)
@roster_options
@click.option("--columns", metavar="u=NAME,v=NAME,…", help="Which columns hold what.")
@period_option("Cut a table of events into periods: 1d, 1w, 1mo, ….")
@click.option("--timezone", metavar="NAME", help="The time zone of the periods.")
@epsilon_option(required=False)
@window_option(required=False)
@method_option
@click.option("--out", metavar="DIR", help="Where the releases go.")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    default=DEFAULT_NAME,
    show_default=True,
    help="The file to write.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def command(
    path: str | None,
    columns: str | None,
    every: str | None,
    timezone: str | None,
    epsilon: Fraction | None,
    window: int | None,
    method: str,
    out: str | None,
    target: Path,
    force: bool,
    **roster: Any,
) -> None:
    """Write a configuration file for publish, resume, watch, budget, verify, compare and export.

    What is not given as a flag is asked, on a terminal. Other settings are in the file as
    comments. Nothing is read or published. `psgraph rehearse --comment-in FILE` adds what quality
    to expect for several ε and w.
    """
    if target.exists() and not force:
        raise click.UsageError(f"{target} is already there\nChoose another --to, or --force.")
    given: dict[str, Any] = {
        "path": path,
        "columns": columns,
        "every": every,
        "timezone": timezone,
        "epsilon": None if epsilon is None else exact_decimal(epsilon),
        "window": window,
        "method": method,
        "out": out,
        **roster,
    }
    _complete(given)
    _check(given)
    for name in ("path", "roster", "out"):
        if given.get(name) and given[name] != "-":
            given[name] = _relative(given[name], target)
    _write(target, _text(given, target))
    click.echo(f"Wrote {target}. Read it through, then: psgraph publish --config {target}")


def _complete(given: dict[str, Any]) -> None:
    """Ask for what is missing, or say what it is."""
    missing = [name for name in ("path", "epsilon", "window", "out") if not given[name]]
    if not given["roster"] and not given["roster_from_edges"]:
        missing.insert(0, "roster")
    if missing and not sys.stdin.isatty():
        options = {"path": "INPUT", "roster": "--roster or --roster-from-edges"}
        names = [options.get(name, f"--{name}") for name in missing]
        raise click.UsageError(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} missing\n"
            "Give them as flags, or run the command on a terminal to be asked."
        )
    ask = click.prompt
    if "path" in missing:
        given["path"] = ask("Input: a table, or a directory with one file per timestamp")
        if not given["every"] and not Path(given["path"]).is_dir():
            given["every"] = (
                ask("Period of events, such as 1d or 1mo (empty for a table t,u,v)", default="")
                or None
            )
    if "roster" in missing:
        answer = ask("Roster: the file with the public list of nodes (or 'edges': see --help)")
        given["roster_from_edges"] = answer == "edges"
        given["roster"] = None if answer == "edges" else answer
    for name, question, default in (
        ("window", "Window w: over how many timestamps is ε promised", None),
        ("epsilon", "ε for each window: 1, 0.5 or 1/3", None),
        ("out", "Directory for the releases", "releases"),
    ):
        if name in missing:
            given[name] = ask(question, default=default)


def _check(given: dict[str, Any]) -> None:
    """Refuse what publishing would refuse, and bring values to their form."""
    from psgraph.graph.formats.columns import ColumnNames
    from psgraph.privacy.guarantee import WEventPrivacy
    from psgraph.streams.times import Period

    if given["roster"] and given["roster_from_edges"]:
        raise click.UsageError("--roster and --roster-from-edges contradict each other")
    if given["timezone"] and not given["every"]:
        raise click.UsageError("--timezone is the zone of periods\nGive --every as well.")
    try:
        window: Any = given["window"]
        given["window"] = int(window) if str(window).strip().isdecimal() else window
        guarantee = WEventPrivacy(given["epsilon"], window=given["window"])
        given["epsilon"] = exact_decimal(guarantee.epsilon)
        if given["every"]:
            Period.parse(given["every"], given["timezone"])
        if given["columns"]:
            ColumnNames.parse(given["columns"])
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None


def _relative(path: str, target: Path) -> str:
    if Path(path).is_absolute() or "://" in path:
        return path
    return os.path.relpath(path, target.parent)


def _text(given: Mapping[str, Any], target: Path) -> str:
    lines = [_HEAD.format(name=target.name)]
    for table, keys in KEYS.items():
        lines.append(f"[{table}]")
        for name, key in keys.items():
            if key.kind == "table":
                continue
            lines += [f"# {key.comment}.", _line(name, given.get(key.option))]
        lines.append("")
    lines += [
        "# Parameters of the method, as `psgraph methods` lists them.",
        "# [publication.parameters]",
        "# threshold = 0.5",
    ]
    return "\n".join(lines) + "\n"


#: What stands behind a key that was not given, in a comment.
_EXAMPLES: Mapping[str, Any] = {
    "roster": "nodes.csv",
    "roster_column": "phone",
    "columns": "u=caller,v=callee,time=start",
    "ids": "text",
    "every": "1mo",
    "timezone": "Europe/Berlin",
    "from": "2024-01-01",
    "until": "now",
    "times": "0..11",
    "time_label": "month",
    "gaps": "refuse",
    "missing": "empty",
    "bad_rows": "skip",
    "bad_rows_to": "bad-rows.csv",
    "unknown_nodes_to": "unknown-nodes.csv",
    "ledger": "private/ledger.sqlite",
    "noise": "exact",
    "engine": "dask",
    "scheduler": "tls://host:8786",
}


def _line(name: str, value: Any) -> str:
    """Return a setting; one that was not given, or a flag that is off, as a comment."""
    if value is None or value is False:
        return f"# {name} = {json.dumps(_EXAMPLES.get(name, True))}"
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _write(target: Path, text: str) -> None:
    from psgraph._runtime.durable import write_whole

    write_whole(target, text.encode())
