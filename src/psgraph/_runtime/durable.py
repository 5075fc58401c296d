"""Atomic, durable writes of files and folders, and checked paths."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from psgraph.errors import InvalidArgument, OutputError

__all__ = [
    "SUMS_NAME",
    "as_path",
    "check_target",
    "flush",
    "hidden_folder",
    "is_running",
    "make_directory",
    "new_folder",
    "put_in_place",
    "write_all_whole",
    "write_checksums",
    "write_flushed",
    "write_whole",
]


SUMS_NAME = "SHA256SUMS"


def write_whole(path: Path, content: bytes | memoryview | Any, *, owner_only: bool = False) -> None:
    """Write beside the target, flush to the disk, rename, and flush the directory.

    A reader sees the old file (or none) until the rename and the new one after it. What an
    interrupted call leaves behind is a file whose name begins with a dot, and the next call for
    the same path overwrites it. With `owner_only` only the owner can read the file (mode 0600).
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
    """Write a file into a folder that still has its hidden name, and flush it to the disk."""
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
    """Flush a finished file to the disk and give it its name.

    Without `replace` a file that already has the name stays: `FileExistsError`.
    """
    flush(temporary)
    if replace or not _linked(temporary, path):
        os.replace(temporary, path)  # noqa: PTH105
    flush(path.parent)


def _linked(temporary: Path, path: Path) -> bool:
    """Rename without replacing; False where the file system has no links."""
    try:
        os.link(temporary, path)
    except OSError:
        if path.exists():
            raise FileExistsError from None
        return False
    os.unlink(temporary)  # noqa: PTH108
    return True


def make_directory(path: Path, *, mode: int = 0o777) -> None:
    """Make a directory, and those above it that are missing, durably.

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
    """Flush a file, or the list of files of a directory, to the disk."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def is_running(process: int) -> bool:
    """Whether a process is running; what an ended one left unfinished may be removed."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it belongs to another user
    return True


# ---- folders: filled under a hidden name, then renamed ----


def check_target(path: Path) -> None:
    """Refuse a folder that exists and is not empty; nothing is ever replaced."""
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
            f"{path} exists and is not empty\nChoose a new folder, or remove it first.",
            code="not_empty",
        )


@contextmanager
def new_folder(path: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """Fill a folder under a hidden name beside `path`; rename it when the block is done.

    Everything is flushed to the disk first. With ``mode=0o700`` only the owner can enter the
    folder.
    """
    check_target(path)
    try:
        with hidden_folder(path, mode=mode) as hidden:
            yield hidden
            for directory, _, names in os.walk(hidden):
                for name in names:
                    flush(Path(directory) / name)
                flush(Path(directory))
            hidden.rename(path)  # fails if something was put there in the meantime
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
    hidden = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        make_directory(hidden, mode=mode)
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _clear_away(path: Path) -> None:
    """Remove what processes left behind that ended while they were filling this folder."""
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


# ---- paths that users give ----


def as_path(value: object, name: str) -> Path:
    """Return a path; refuse what is not one.

    >>> as_path("releases", "out").name
    'releases'
    >>> as_path(5, "out")
    Traceback (most recent call last):
    psgraph.errors.InvalidArgument: out is a path, not int
    Give it as text or as a pathlib.Path.
    """
    if not isinstance(value, str | PathLike):
        raise InvalidArgument(
            f"{name} is a path, not {type(value).__name__}\nGive it as text or as a pathlib.Path.",
            code="not_a_path",
        )
    return Path(value)
