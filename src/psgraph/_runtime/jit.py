"""One way to compile a kernel, and numba only once a kernel is called.

Importing numba takes longer than all of `psgraph plan`. So `kernel` puts the compiler off until
the first call: by then the process has decided to do edge-sized work.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

__all__ = ["kernel", "lean_kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_LEAN = {"forceinline": True, "_nrt": False}

_resolving = threading.RLock()


def kernel(function: Function) -> Function:
    """Compile `function` on its first call and keep the machine code for later runs.

    The compiled kernel doesn't hold the interpreter lock. Its cache is beside the source file, or
    in the user's cache directory where the package is read-only; where neither can be written (a
    locked-down service account) it is compiled once per process instead of failing.

    >>> @kernel
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> double(21), double.py_func(21)
    (42, 42)
    """
    return cast("Function", _Kernel(function))


def lean_kernel(function: Function) -> Function:
    """Compile a kernel that makes no arrays, to be called millions of times by others.

    It becomes part of its callers, and arrays that it is given are not counted as used again:
    counting took up to a third of the time of short functions.

    >>> @lean_kernel
    ... def last(numbers: Any) -> int:
    ...     return numbers[numbers.size - 1]
    >>> import numpy as np
    >>> last(np.arange(4))
    3
    """
    return cast("Function", _Kernel(function, lean=True))


class _Kernel:
    """A kernel that is not compiled yet; calling it replaces it in its module."""

    def __init__(self, function: Callable[..., Any], *, lean: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func, self._lean = function, lean
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._compiled or self.compiled())(*arguments)

    def compiled(self) -> Any:
        """Return numba's dispatcher of this kernel, made once."""
        with _resolving:
            if self._compiled is None:
                names = self.py_func.__globals__
                # numba looks up the kernels this one calls, and knows nothing of this class.
                for name in self.py_func.__code__.co_names:
                    if isinstance(names.get(name), _Kernel):
                        names[name] = names[name].compiled()
                self._compiled = _njit(self.py_func, lean=self._lean)
                if names.get(self.py_func.__name__) is self:
                    names[self.py_func.__name__] = self._compiled
            return self._compiled


def _njit(function: Callable[..., Any], *, lean: bool) -> Any:
    import numba

    options = {"nogil": True, **(_LEAN if lean else {})}
    try:
        return numba.njit(function, cache=True, **options)
    except RuntimeError:  # numba found no directory it may write to
        return numba.njit(function, **options)
