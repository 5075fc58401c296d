"""The memory of this process: let it keep what it has freed, and tell how much it held.

glibc hands every large array back to the system as soon as it is freed, and asks for fresh pages,
which the system clears, when the next one is made. A snapshot of a million nodes goes through
dozens of arrays of the same few sizes, and clearing pages was a third of the time.
"""

from __future__ import annotations

import ctypes
import resource
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["keep_freed_memory", "peak_bytes", "restart_peak"]

_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # from malloc.h


def keep_freed_memory() -> bool:
    """Tell glibc to reuse freed memory. For a process that publishes, not for a library.

    Whether it could be told: elsewhere than on Linux with glibc nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        tell = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return bool(tell(_MMAP_MAX, 0)) and bool(tell(_TRIM_THRESHOLD, -1))


def peak_bytes() -> int:
    """The most memory this process held at once, since it began or since `restart_peak`.

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
    """Have `peak_bytes` count from now on, where the system can; what it is now.

    >>> 0 < restart_peak() <= peak_bytes()
    True
    """
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return peak_bytes()
