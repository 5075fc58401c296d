"""A comment in a configuration file that a command writes and replaces, and nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from psgraph._runtime.durable import write_whole

__all__ = ["check_comment", "with_comment", "write_comment"]

BEGIN = "# ---- psgraph rehearse: what quality to expect; the next rehearsal replaces this ----"
END = "# ---- end of psgraph rehearse ----"
_ABOVE = "[publication]"


def check_comment(path: Path) -> None:
    """Refuse a file that no comment can be written into, before any work is done."""
    with_comment(_read(path), [], path)


def write_comment(path: Path, lines: Sequence[str]) -> None:
    """Insert lines as a comment above [publication], or replace those of an earlier call.

    The file is replaced atomically. All other bytes stay as they are.
    """
    # A link is followed, so that it stays a link.
    write_whole(path.resolve(), with_comment(_read(path), lines, path).encode())


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
    block = newline.join([BEGIN, *(f"# {line}".rstrip() for line in lines), END]) + newline
    kept = text.splitlines(keepends=True)
    bare = [line.strip() for line in kept]
    if bare.count(BEGIN) > 1 or bare.count(BEGIN) != bare.count(END):
        raise click.UsageError(
            f"{path} has more than one comment of a rehearsal, or only a part of one\n"
            "Remove the lines from '# ---- psgraph rehearse' to '# ---- end', then run it again."
        )
    if BEGIN in bare:
        first, last = bare.index(BEGIN), bare.index(END) + 1
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


def _read(path: Path) -> str:
    try:
        text = path.read_bytes().decode()
        tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise click.UsageError(f"{path} can't be read: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise click.UsageError(f"{path} is not TOML: {error}") from None
    return text
