"""``psgraph init``: write a configuration file, from prompts or flags."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from psgraph.cli.config import DEFAULT_NAME, KEYS, Key
from psgraph.cli.flags import decorated, epsilon_option, method_option, window_option
from psgraph.cli.help import Command
from psgraph.cli.input import check_input, choose_input, input_option
from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.streams.options import OPTIONS

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


def _input_options(function: Any) -> Any:
    """Add all options of an input, passed to the command by their names."""
    return decorated(function, [input_option(name) for name in OPTIONS if OPTIONS[name].flag])


@click.command(
    "init",
    cls=Command,
    short_help="Write a configuration file, from prompts or flags.",
    examples=[
        "psgraph init",
        "psgraph init calls.csv --roster staff.csv --every 1mo --epsilon 1/2 --window 12 "
        "--out releases",
    ],
)
@click.argument("path", metavar="[INPUT]", required=False)
@_input_options
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
@click.option("--force", is_flag=True, help="Replace an existing file.")
def command(
    path: str | None,
    epsilon: Fraction | None,
    window: int | None,
    method: str,
    out: str | None,
    target: Path,
    force: bool,
    **reading: Any,
) -> None:
    """Write a configuration file for publish, resume, watch, budget, verify, compare and export.

    On a terminal, the command prompts for what is not given as a flag. Other settings are in the
    file as comments. Nothing is read or published. `psgraph rehearse --comment-in FILE` adds what
    quality to expect for several ε and w.
    """
    if target.exists() and not force:
        raise click.UsageError(f"{target} already exists\nChoose another --to, or --force.")
    given: dict[str, Any] = {
        "path": path,
        "epsilon": None if epsilon is None else exact_decimal(epsilon),
        "window": window,
        "method": method,
        "out": out,
        **reading,
    }
    _complete(given)
    _check(given)
    for key in (each for table in KEYS.values() for each in table.values()):
        if key.kind in ("path", "times") and given.get(key.option):
            given[key.option] = _relative(given[key.option], target)
    _write(target, _text(given, target))
    click.echo(f"Wrote {target}. Read it through, then: psgraph publish --config {target}")


def _complete(given: dict[str, Any]) -> None:
    """Prompt for what is missing; without a terminal, refuse."""
    missing = [name for name in ("path", "epsilon", "window", "out") if not given[name]]
    if not given["roster"] and not given["left"] and not given["roster_from_edges"]:
        missing.insert(0, "roster")
    if missing and not sys.stdin.isatty():
        options = {"path": "INPUT", "roster": "--roster or --roster-from-edges"}
        names = [options.get(name, f"--{name}") for name in missing]
        raise click.UsageError(
            f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} missing\n"
            "Give them as flags, or run the command on a terminal, which prompts for them."
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
    from psgraph.streams.periods import Period

    chosen = {name: given[name] for name in OPTIONS if name in given}
    check_input(choose_input(given["path"], chosen))
    try:
        window: Any = given["window"]
        given["window"] = int(window) if str(window).strip().isdecimal() else window
        guarantee = WEventPrivacy(given["epsilon"], window=given["window"])
        given["epsilon"] = exact_decimal(guarantee.epsilon)
        if given["every"]:
            Period.parse(given["every"], given["timezone"])
        ColumnNames.parse(given["columns"])
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None


def _relative(path: str, target: Path) -> str:
    """Return a path as seen from the file; a range of times, an address and - stay."""
    if path == "-" or ".." in Path(path).name or Path(path).is_absolute() or "://" in path:
        return path
    return os.path.relpath(path, target.parent)


def _text(given: Mapping[str, Any], target: Path) -> str:
    lines = [_HEAD.format(name=target.name)]
    for table, keys in KEYS.items():
        lines.append(f"[{table}]")
        for name, key in keys.items():
            if key.kind == "table":
                continue
            lines += [f"# {key.comment}.", _line(name, key, given.get(key.option))]
        lines.append("")
    lines += [
        "# Parameters of the method, as `psgraph methods` lists them.",
        "# [publication.parameters]",
        "# threshold = 0.5",
    ]
    return "\n".join(lines) + "\n"


def _line(name: str, key: Key, value: Any) -> str:
    """Return a setting; one that was not given, or a flag that is off, as a comment."""
    option = OPTIONS.get(key.option)
    if not value or (option is not None and value == option.default):
        return f"# {name} = {json.dumps(key.example)}"
    return f"{name} = {json.dumps(value, ensure_ascii=False)}"


def _write(target: Path, text: str) -> None:
    from psgraph._runtime.durable import write_whole

    write_whole(target, text.encode())
