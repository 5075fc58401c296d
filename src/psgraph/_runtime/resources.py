"""What a run uses: seconds by phase, memory, and temporary files too large for memory.

Temporary files may hold private edges, so each run has its own directory, which only its
owner can enter.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from time import perf_counter

from psgraph.errors import OutputError

__all__ = [
    "check_space",
    "clear_scratch",
    "keep_freed_memory",
    "peak_bytes",
    "phase",
    "restart_peak",
    "return_freed_memory",
    "scratch_directory",
    "scratch_place",
    "stopwatch",
    "writing_scratch",
]

# ---- time ----

_running: ContextVar[dict[str, float] | None] = ContextVar("stopwatch", default=None)


@contextmanager
def stopwatch() -> Iterator[dict[str, float]]:
    """Collect the seconds of every `phase` inside the block."""
    seconds: dict[str, float] = {}
    token = _running.set(seconds)
    try:
        yield seconds
    finally:
        _running.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Add the time of the block to the running stopwatch, if one runs.

    >>> with stopwatch() as seconds, phase("reading"):
    ...     pass
    >>> list(seconds)
    ['reading']
    """
    begin = perf_counter()
    try:
        yield
    finally:
        seconds = _running.get()
        if seconds is not None:
            seconds[name] = seconds.get(name, 0.0) + perf_counter() - begin


# ---- memory ----

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # from malloc.h


def keep_freed_memory() -> bool:
    """Tell glibc to reuse freed memory. For a process that publishes, not for a library.

    By default glibc returns every large array to the system as soon as it is freed, and requests
    fresh pages, which the system clears, for the next one. A snapshot of a million nodes goes
    through dozens of arrays of the same few sizes; clearing pages took a third of the time.

    False where there is no glibc; nothing happens there.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(tell(_MMAP_MAX, 0)) and bool(tell(_TRIM_THRESHOLD, -1))


def return_freed_memory() -> bool:
    """Give memory that was freed back to the system, after `keep_freed_memory`.

    For the few moments at which much is freed at once and the work that follows needs other
    sizes. False where there is no glibc.

    >>> return_freed_memory() in (True, False)
    True
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    return bool(trim(0))


def peak_bytes() -> int:
    """The most memory this process held at once, since it started or since `restart_peak`.

    >>> peak_bytes() > 1_000_000
    True
    """
    # `getrusage` also counts what the parent held when it started this process.
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def restart_peak() -> int:
    """Have `peak_bytes` count from now on, where the system can; returns its value now.

    >>> 0 < restart_peak() <= peak_bytes()
    True
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()


# ---- temporary files ----

_PREFIX = "psgraph-scratch-"
_LARGE = Path("/var/tmp")  # by convention for large files; /tmp is often kept in memory
_SPARE_BYTES = 1 << 26


def scratch_place() -> Path:
    """Where temporary files go: ``$TMPDIR``, otherwise ``/var/tmp``, otherwise the system's choice.

    >>> scratch_place().is_dir()
    True
    """
    chosen = os.environ.get("TMPDIR")
    if chosen:
        return Path(chosen)
    usable = _LARGE.is_dir() and os.access(_LARGE, os.W_OK | os.X_OK)
    return _LARGE if usable else Path(tempfile.gettempdir())


@contextmanager
def scratch_directory() -> Iterator[Path]:
    """Make a directory for one run, and remove it with all it holds, also after an error.

    The directory is locked for as long as it is in use, so that `clear_scratch` leaves it alone.
    """
    clear_scratch()
    path, lock = _new(scratch_place())
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


@contextmanager
def writing_scratch() -> Iterator[None]:
    """Say in the error what to do if temporary files cannot be written inside the block."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"temporary files can't be written to {scratch_place()}: "
            f"{error.strerror or 'I/O error'}\n"
            "Free some space there, or set TMPDIR to a directory on another disk."
        ) from None


def _new(place: Path) -> tuple[Path, int]:
    while True:
        try:
            path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=place))  # mode 0700
        except OSError as error:
            raise OutputError(
                f"no temporary files can be written to {place}: {error.strerror or 'I/O error'}\n"
                "Set TMPDIR to a directory on a disk with enough space."
            ) from None
        # Another run may take it for an abandoned one before it is locked.
        with suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            with suppress(OSError):  # some network file systems have no locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():
                return path, lock
            os.close(lock)


def clear_scratch() -> None:
    """Remove what killed processes left: directories of this user that no process has locked.

    Everything that reads private input or publishes starts with it, whether or not it needs
    temporary files itself. A lock ends with its process, whose id may be used again.
    """
    with suppress(OSError):
        for entry in os.scandir(scratch_place()):
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            with suppress(OSError):
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
                    _remove_unlocked(Path(entry.path))


def _remove_unlocked(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)


def check_space(directory: Path, wanted: int) -> None:
    """Refuse to fill up a disk: `wanted` bytes, and some to spare, must be free."""
    free = shutil.disk_usage(directory).free
    if free < wanted + _SPARE_BYTES:
        raise OutputError(
            f"not enough disk: {free / 1e9:.2f} GB are free for {directory}\n"
            "Sorting a snapshot needs about 16 bytes for every edge, and storing it up to 16. Free "
            "some space or use another disk: TMPDIR says where temporary files go, --to where "
            "psgraph prepare writes."
        )
