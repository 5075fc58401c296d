"""Files that are there whole or not at all, also after the power fails."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from psgraph.errors import OutputError

__all__ = [
    "flush",
    "is_running",
    "make_directory",
    "put_in_place",
    "write_all_whole",
    "write_flushed",
    "write_whole",
]


def write_whole(path: Path, content: bytes | memoryview | Any, *, owner_only: bool = False) -> None:
    """Write beside the target, flush to the disk, rename, and flush the directory.

    A reader sees the old file (or none) until the rename and the new one after it. What an
    interrupted call leaves behind is a file whose name begins with a dot, and the next call for
    the same path overwrites it. With `owner_only` nobody else can read the file (mode 0600).
    """
    write_all_whole([(path, content)], owner_only=owner_only)


def write_all_whole(
    files: Sequence[tuple[Path, bytes | memoryview | Any]], *, owner_only: bool = False
) -> None:
    """Write several files like `write_whole`; they appear in order, and are durable together.

    Fewer flushes than one by one: the directories are flushed once, after the last rename. The
    content of a folder is a `Path`: where its files are, flushed, under a hidden name beside it.
    """
    temporaries = {
        path: content if isinstance(content, Path) else path.with_name(f".{path.name}.part")
        for path, content in files
    }
    try:
        for path, content in files:
            if not isinstance(content, Path):
                _write(temporaries[path], content, owner_only=owner_only)
        for temporary in temporaries.values():
            flush(temporary)
        for path, temporary in temporaries.items():
            os.replace(temporary, path)  # noqa: PTH105
        for directory in dict.fromkeys(path.parent for path in temporaries):
            flush(directory)
    except OSError as error:
        for temporary in temporaries.values():
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
        raise _not_written(" and ".join(str(path) for path in temporaries), error) from None


def write_flushed(path: Path, content: bytes | memoryview) -> None:
    """Write a file of a folder that has its hidden name still, and flush it to the disk."""
    try:
        _write(path, content, owner_only=False)
        flush(path)
    except OSError as error:
        raise _not_written(str(path), error) from None


def _not_written(names: str, error: OSError) -> OutputError:
    return OutputError(
        f"{names} could not be written: {error.strerror}\n"
        "Free some space or make the directory writable, then run the same command again."
    )


def _write(path: Path, content: bytes | memoryview | Any, *, owner_only: bool) -> None:
    mode = 0o600 if owner_only else 0o644
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
    try:
        if owner_only:
            os.fchmod(file, mode)  # an interrupted call may have left a file
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
    finally:
        os.close(file)


def put_in_place(temporary: Path, path: Path, *, replace: bool = True) -> None:
    """Flush a finished file to the disk and give it its name, to stay after the power fails.

    Without `replace` a file that already has the name stays: `FileExistsError`.
    """
    flush(temporary)
    if replace or not _linked(temporary, path):
        os.replace(temporary, path)  # noqa: PTH105
    flush(path.parent)


def _linked(temporary: Path, path: Path) -> bool:
    """Rename without replacing, in the way there is; False where that is impossible."""
    try:
        os.link(temporary, path)
    except OSError:  # some file systems have no links
        if path.exists():
            raise FileExistsError from None
        return False
    os.unlink(temporary)  # noqa: PTH108
    return True


def make_directory(path: Path, *, mode: int = 0o777) -> None:
    """Make a directory, and those above it that are missing, to stay after the power fails.

    `mode` is that of the directory itself if it is made here; the user's umask still applies.
    """
    missing = []
    try:
        while not path.is_dir():
            missing.append(path)
            if path.parent == path:
                break
            path = path.parent
        for directory in reversed(missing):
            directory.mkdir(mode if directory == missing[0] else 0o777, exist_ok=True)
            flush(directory.parent)
    except OSError as error:
        raise OutputError(
            f"{missing[0] if missing else path} could not be made: {error.strerror}\n"
            "Choose another directory."
        ) from None


def flush(path: Path) -> None:
    """Have the disk hold what is in a file, or which files are in a directory."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def is_running(process: int) -> bool:
    """Whether a process is running; what an ended one left unfinished can be removed."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it belongs to another user
    return True
