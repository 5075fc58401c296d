"""A table from standard input, kept in a temporary file because it is read twice."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from psgraph.errors import DataError, InvalidArgument

__all__ = ["STANDARD_INPUT", "save_standard_input"]

STANDARD_INPUT = "-"


def save_standard_input() -> Path:
    """Copy standard input to a file that only its owner can read; it is removed at exit."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidArgument(
            "the input is -, but nothing is piped to standard input\n"
            "Pipe a table to the command, or give its path."
        )
    try:
        descriptor, name = tempfile.mkstemp(prefix="psgraph-", suffix=".table")
        atexit.register(_remove, name)
        with os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise DataError(
            f"standard input can't be kept: {error.strerror or 'I/O error'}\n"
            "Set TMPDIR to a directory with enough space, or give a path."
        ) from None
    return Path(name)


def _remove(name: str) -> None:
    with suppress(OSError):
        Path(name).unlink()
