"""``--config publication.toml``: the options of a publication, once for all commands.

Flags override the file. Paths in it are relative to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["DEFAULT_NAME", "KEYS", "Key", "config_option", "read_config"]

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULT_NAME = "publication.toml"


@dataclass(frozen=True)
class Key:
    """A key of the file.

    Attributes
    ----------
    option
        The parameter of the commands that it sets.
    kind
        "text", "flag", "integer", "path", "times" (a range or a path), "exact" (text or an
        integer, never a float) or "table".
    comment
        What `psgraph init` writes above it.
    """

    option: str
    kind: str
    comment: str


KEYS: Mapping[str, Mapping[str, Key]] = {
    "input": {
        "path": Key("path", "path", "A table, a directory with one file per timestamp, or -"),
        "roster": Key("roster", "path", "The public list of nodes, one id per row"),
        "roster_column": Key("roster_column", "text", "The column of the roster with the ids"),
        "roster_no_header": Key("roster_no_header", "flag", "The roster has no header"),
        "roster_from_edges": Key(
            "roster_from_edges", "flag", "Instead of a roster: makes node presence public"
        ),
        "columns": Key("columns", "text", "Which columns hold what: u=caller,v=callee,time=start"),
        "ids": Key("ids", "text", "auto, integer or text"),
        "every": Key("every", "text", "Cut events into periods: 1d, 1w, 1mo"),
        "timezone": Key("timezone", "text", "The zone of times without one, and of the calendar"),
        "from": Key("start", "text", "Where the stream begins"),
        "until": Key("until", "text", "The data are complete up to then: a date, or now"),
        "close_last": Key("close_last", "flag", "Publish the last period though it is not over"),
        "cumulative": Key("cumulative", "flag", "Each snapshot keeps the edges of earlier ones"),
        "times": Key("times", "times", "The timestamps of a table t,u,v: 0..11, or a file"),
        "time_label": Key("time_label", "text", "The column that names the times"),
        "gaps": Key("gaps", "text", "A timestamp without a row: empty or refuse"),
        "missing": Key("missing", "text", "watch: wait, empty or skip"),
        "bad_rows": Key("bad_rows", "text", "Rows that can't be read: refuse or skip"),
        "bad_rows_to": Key("bad_rows_to", "path", "Curator only: a list of the bad rows"),
        "unknown_nodes_to": Key(
            "unknown_nodes_to", "path", "Curator only: ids that are not on the roster"
        ),
    },
    "publication": {
        "epsilon": Key("epsilon", "exact", "ε of a window, in quotes so that it is exact"),
        "window": Key("window", "integer", "w, in timestamps"),
        "method": Key("method", "text", "How graphs are generated: see psgraph methods"),
        "out": Key("out", "path", "Where the releases go"),
        "ledger": Key("ledger", "path", "The record that keeps the promise; as sensitive as data"),
        "noise": Key("noise", "text", "Who draws the noise: exact or opendp"),
        "engine": Key("engine", "text", "Where edges are counted and drawn: local or dask"),
        "scheduler": Key("scheduler", "text", "The scheduler of a running Dask cluster"),
        "not_private": Key("not_private", "flag", "Publish without the promise"),
        "yes_large_epsilon": Key("large_epsilon", "flag", "Publish with an ε above 20"),
        "parameters": Key("settings", "table", "Parameters of the method"),
    },
}


def read_config(path: Path) -> dict[str, Any]:
    """Read a file; return parameters of commands and their values.

    Raises
    ------
    click.UsageError
        The file can't be read, or has an unknown key or a value of the wrong kind.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"{path} can't be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise click.UsageError(f"{path} is not TOML: {error}") from None
    values: dict[str, Any] = {}
    for table, entries in content.items():
        if table not in KEYS or not isinstance(entries, dict):
            raise _unknown(path, table, KEYS)
        for name, value in entries.items():
            if name not in KEYS[table]:
                raise _unknown(path, name, KEYS[table])
            key = KEYS[table][name]
            values[key.option] = _value(path, name, key, value)
    return values


def _unknown(path: Path, name: str, known: Mapping[str, Any]) -> click.UsageError:
    tables = known is KEYS
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    elsewhere = [] if tables else [table for table in KEYS if name in KEYS[table]]
    advice = (
        f"It belongs in the table [{elsewhere[0]}]."
        if elsewhere
        else f"Did you mean {near[0]!r}?"
        if near
        else f"Known are: {', '.join(known)}."
    )
    return click.UsageError(f"{path}: unknown {'table' if tables else 'key'} {name!r}\n{advice}")


def _value(path: Path, name: str, key: Key, value: Any) -> Any:
    """Check the kind of a value; make paths relative to the file."""
    plain_integer = isinstance(value, int) and not isinstance(value, bool)
    if key.kind == "exact" and (isinstance(value, str) or plain_integer):
        return str(value)
    if key.kind == "integer" and plain_integer:
        return value
    if key.kind == "flag" and isinstance(value, bool):
        return value
    if key.kind == "table" and isinstance(value, dict):
        return [f"{each}={_setting(path, each, setting)}" for each, setting in value.items()]
    if key.kind in ("text", "path", "times") and (
        isinstance(value, str) or hasattr(value, "isoformat")
    ):
        text = value if isinstance(value, str) else value.isoformat()
        path_text = key.kind == "path" and text != "-" and "://" not in text
        named = path_text or (key.kind == "times" and ".." not in text)
        return str(path.parent / text) if named else text
    wanted = {
        "exact": 'a number in quotes, such as "0.5": a float would not be exact',
        "integer": "an integer",
        "flag": "true or false",
        "table": "a table of parameters",
    }.get(key.kind, "text in quotes")
    raise click.UsageError(f"{path}: {name} must be {wanted}")


def _setting(path: Path, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    raise click.UsageError(f"{path}: the parameter {name} must be a number, text, true or false")


def config_option(
    *, ledger_from_out: bool = False, path_is_out: bool = False
) -> Callable[[Function], Function]:
    """``--config``, which sets what is not given on the command line.

    Parameters
    ----------
    ledger_from_out
        Whether the command finds the ledger by the directory of the releases.
    path_is_out
        Whether its argument is the directory of the releases and not the input.
    """

    def load(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:  # noqa: ARG001
        if value is None:
            return
        values = read_config(value)
        if "path" in values:
            values["inbox"] = values["path"]
        if "out" in values:
            values["releases"] = values["out"]
            if path_is_out:
                values["path"] = values["out"]
            if ledger_from_out:
                values.setdefault("ledger", values["out"])
        ctx.default_map = {**values, **(ctx.default_map or {})}

    return click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.toml",
        is_eager=True,
        expose_value=False,
        callback=load,
        help="Take what is not given here from a file that `psgraph init` wrote.",
    )
