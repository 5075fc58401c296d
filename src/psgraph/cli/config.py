"""``--config publication.toml``: the options of a publication, once for all commands.

Flags override the file. Paths in it are relative to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import click

from psgraph._runtime.durable import write_whole
from psgraph.streams.option import InputOption
from psgraph.streams.options import OPTIONS

__all__ = [
    "DEFAULT_NAME",
    "KEYS",
    "Key",
    "check_comment",
    "config_option",
    "read_config",
    "with_comment",
    "write_comment",
]

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
    comment, example
        What `psgraph init` writes above it, and as its value if it is not given.
    """

    option: str
    kind: str
    comment: str
    example: str | bool = True


def _input_key(option: InputOption) -> Key:
    kinds = {"path": "path", "curator file": "path", "number": "exact"}
    kinds |= {form: form for form in ("flag", "times")}
    return Key(option.name, kinds.get(option.form, "text"), option.comment, option.example)


KEYS: Mapping[str, Mapping[str, Key]] = {
    "input": {
        "path": Key("path", "path", "A table, a directory with one file per timestamp, or -"),
        **{option.key: _input_key(option) for option in OPTIONS.values() if option.flag},
        "missing": Key("missing", "text", "watch: wait, empty or skip", "empty"),
    },
    "publication": {
        "epsilon": Key("epsilon", "exact", "ε of a window, in quotes so that it is exact"),
        "window": Key("window", "integer", "w, in timestamps"),
        "method": Key("method", "text", "How graphs are generated: see psgraph methods"),
        "out": Key("out", "path", "Where the releases go"),
        "ledger": Key(
            "ledger",
            "path",
            "The record that keeps the promise; as sensitive as data",
            "private/ledger.sqlite",
        ),
        "noise": Key("noise", "text", "Who draws the noise: exact or opendp", "exact"),
        "engine": Key("engine", "text", "Where edges are counted and drawn: local or dask", "dask"),
        "scheduler": Key(
            "scheduler", "text", "The scheduler of a running Dask cluster", "tls://host:8786"
        ),
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
    content = tomllib.loads(_text(path))
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


def _text(path: Path) -> str:
    """Return the text of a file, with its line ends, if it is TOML."""
    try:
        text = path.read_bytes().decode()
        tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"{path} can't be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise click.UsageError(f"{path} is not TOML: {error}") from None
    return text


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
        named = path_text or (key.kind == "times" and ".." not in Path(text).name)
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


# ---- the comment of a rehearsal ----

_BEGIN = "# ---- psgraph rehearse: what quality to expect; the next rehearsal replaces this ----"
_END = "# ---- end of psgraph rehearse ----"
_ABOVE = "[publication]"


def check_comment(path: Path) -> None:
    """Refuse a file that no comment can be written into, before any work is done."""
    with_comment(_text(path), [], path)


def write_comment(path: Path, lines: Sequence[str]) -> None:
    """Insert lines as a comment above [publication], or replace those of an earlier call.

    The file is replaced atomically. All other bytes stay as they are.
    """
    # A link is followed, so that it stays a link.
    write_whole(path.resolve(), with_comment(_text(path), lines, path).encode())


def with_comment(text: str, lines: Sequence[str], path: Path) -> str:
    """Return the text of a configuration file with a comment.

    >>> print(with_comment("[publication]\\nwindow = 5\\n", ["a table"], Path("p.toml")))
    # ---- psgraph rehearse: what quality to expect; the next rehearsal replaces this ----
    # a table
    # ---- end of psgraph rehearse ----
    [publication]
    window = 5
    <BLANKLINE>
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join([_BEGIN, *(f"# {line}".rstrip() for line in lines), _END]) + newline
    kept = text.splitlines(keepends=True)
    bare = [line.strip() for line in kept]
    if bare.count(_BEGIN) > 1 or bare.count(_BEGIN) != bare.count(_END):
        raise click.UsageError(
            f"{path} has more than one comment of a rehearsal, or only a part of one\n"
            "Remove the lines from '# ---- psgraph rehearse' to '# ---- end', then run it again."
        )
    if _BEGIN in bare:
        first, last = bare.index(_BEGIN), bare.index(_END) + 1
    else:
        first = last = bare.index(_ABOVE) if _ABOVE in bare else len(kept)
    before, after = "".join(kept[:first]), "".join(kept[last:])
    if before and not before.endswith("\n"):
        before += newline
    made = f"{before}{block}{after}"
    if tomllib.loads(made) != tomllib.loads(text):
        raise click.UsageError(
            f"{path} has text in several lines where the comment would go\n"
            "Put the table [publication] on a line of its own."
        )
    return made
