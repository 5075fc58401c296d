"""Files that are there whole or not at all, also after the power fails."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from psgraph.errors import OutputError

__all__ = ["make_directory", "write_whole"]


def write_whole(path: Path, content: bytes | memoryview | Any) -> None:
    """Write beside the target, flush to the disk, rename, and flush the directory.

    A reader sees the old file (or none) until the rename and the new one after it. What an
    interrupted call leaves behind is a file whose name begins with a dot, and the next call for
    the same path overwrites it.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)  # noqa: PTH105
        _flush(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise OutputError(
            f"{path} could not be written: {error.strerror}\n"
            "Free some space or make the directory writable, then run the same command again."
        ) from None


def make_directory(path: Path) -> None:
    """Make a directory, and those above it that are missing, to stay after the power fails."""
    missing = []
    try:
        while not path.is_dir():
            missing.append(path)
            if path.parent == path:
                break
            path = path.parent
        for directory in reversed(missing):
            directory.mkdir(exist_ok=True)
            _flush(directory.parent)
    except OSError as error:
        raise OutputError(
            f"{missing[0] if missing else path} could not be made: {error.strerror}\n"
            "Choose another directory."
        ) from None


def _flush(directory: Path) -> None:
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
