"""A folder that appears whole or not at all: filled under a hidden name, then renamed."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from psgraph._runtime.durable import flush, is_running, make_directory
from psgraph.errors import OutputError

__all__ = ["SUMS_NAME", "check_target", "hidden_folder", "new_folder", "write_checksums"]

SUMS_NAME = "SHA256SUMS"


def check_target(path: Path) -> None:
    """Refuse a folder that is there and not empty; nothing is ever replaced."""
    try:
        if path.is_dir():
            with os.scandir(path) as entries:
                taken = next(entries, None) is not None
        else:
            taken = path.exists() or path.is_symlink()
    except (OSError, ValueError):
        raise OutputError("the path of the new folder can't be used\nCheck it.") from None
    if taken:
        raise OutputError(
            f"{path} is there and not empty\nChoose a new folder, or remove it first.",
            code="not_empty",
        )


@contextmanager
def new_folder(path: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Fill a folder under a hidden name beside `path`; rename it when the block is done.

    Everything is flushed to the disk first. With ``mode=0o700`` nobody but the owner can enter
    the folder.
    """
    check_target(path)
    try:
        with hidden_folder(path, mode=mode) as part:
            yield part
            for directory, _, names in os.walk(part):
                for name in names:
                    flush(Path(directory) / name)
                flush(Path(directory))
            part.rename(path)  # fails if something was put there meanwhile
            flush(path.absolute().parent)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"{path} could not be written: {error.strerror}\n"
            "Nothing of it was left there. Free some space, or choose another folder."
        ) from None


@contextmanager
def hidden_folder(path: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Make an empty folder under a hidden name beside `path`, to be filled and renamed.

    Removed when the block is done, unless it was renamed. What an interrupted call leaves behind
    is removed by the next call for the same path.
    """
    _clear_away(path)
    part = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        make_directory(part, mode=mode)
        yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _clear_away(path: Path) -> None:
    """Remove what processes left that ended while they were filling this folder."""
    own = re.compile(rf"\.{re.escape(path.name)}\.(\d+)-\w+\.part", re.ASCII)
    with suppress(OSError):
        for left in path.absolute().parent.iterdir():
            match = own.fullmatch(left.name)
            if match and not is_running(int(match[1])):
                shutil.rmtree(left, ignore_errors=True)


def write_checksums(folder: Path) -> None:
    """Write the SHA-256 of every file in a folder, in the form that ``sha256sum -c`` reads."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
    lines = []
    for name in names:
        if (folder / name).is_file():
            with (folder / name).open("rb") as file:
                lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {name}\n")
    (folder / SUMS_NAME).write_text("".join(lines), encoding="utf-8")
