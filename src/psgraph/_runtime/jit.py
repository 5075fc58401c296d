"""One way to compile a kernel.

`kernel` is `numba.njit` without the interpreter lock and with its on-disk cache: beside the
source file, or in the user's cache directory where the package is read-only. Where neither can be
written (a locked-down service account) the kernel is compiled once per process instead of
failing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile `function` on first use and keep the machine code for later runs."""
    try:
        return numba.njit(function, cache=True, nogil=True)
    except RuntimeError:  # numba found no directory it may write to
        return numba.njit(function, nogil=True)
