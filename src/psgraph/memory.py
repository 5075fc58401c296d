"""Let the process keep the memory it has freed.

glibc hands every large array back to the system as soon as it is freed, and asks for fresh pages,
which the system clears, when the next one is made. A snapshot of a million nodes goes through
dozens of arrays of the same few sizes, and clearing pages was a third of the time.
"""

from __future__ import annotations

import ctypes
import sys

__all__ = ["keep_freed_memory"]

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
