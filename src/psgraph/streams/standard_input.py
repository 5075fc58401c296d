"""A table from standard input, kept in a temporary file: a format is recognised in a file only."""

from __future__ import annotations

import atexit
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from psgraph._runtime.scratch import scratch_directory, scratch_place
from psgraph.errors import InvalidArgument, OutputError

__all__ = ["STANDARD_INPUT", "save_standard_input"]

STANDARD_INPUT = "-"


def save_standard_input() -> Path:
    """Copy standard input to a file that only its owner can read; it is removed at exit."""
    if sys.stdin is None or sys.stdin.isatty():
        raise InvalidArgument(
            "the input is -, but nothing is piped to standard input\n"
            "Pipe a table to the command, or give its path."
        )
    kept = ExitStack()
    atexit.register(kept.close)
    path = kept.enter_context(scratch_directory()) / "standard-input.table"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
    except OSError as error:
        raise OutputError(
            f"standard input can't be kept in {scratch_place()}: {error.strerror or 'I/O error'}\n"
            "Set TMPDIR to a directory with enough space, or give a path."
        ) from None
    return path
