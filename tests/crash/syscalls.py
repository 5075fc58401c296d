"""Follow a child through the kernel and kill it as it enters a system call (Linux, ptrace)."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable
from contextlib import suppress

from tests.crash.scenario import ended, forked

_NUMBERS = {
    "x86_64": {
        1: "write", 18: "pwrite64", 20: "writev", 74: "fsync", 75: "fdatasync", 76: "truncate",
        77: "ftruncate", 82: "rename", 83: "mkdir", 86: "link", 87: "unlink", 90: "chmod",
        91: "fchmod", 258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat",
        285: "fallocate", 316: "renameat2",
    },
    "aarch64": {
        64: "write", 68: "pwrite64", 66: "writev", 82: "fsync", 83: "fdatasync", 45: "truncate",
        46: "ftruncate", 37: "linkat", 38: "renameat", 34: "mkdirat", 35: "unlinkat", 52: "fchmod",
        53: "fchmodat", 276: "renameat2", 47: "fallocate",
    },
}  # fmt: skip

_TRACEME, _CONTINUE, _SYSCALL, _SET_OPTIONS, _SYSCALL_INFO = 0, 7, 24, 0x4200, 0x420E
_GOOD, _EXIT_WITH_PARENT = 1, 0x100000
_ENTRY = 1


class _Information(ctypes.Structure):
    """The head of ``struct ptrace_syscall_info``."""

    _fields_ = [
        ("op", ctypes.c_uint8),
        ("pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("arguments", ctypes.c_uint64 * 6),
    ]


def _ptrace(request: int, process: int, address: int = 0, data: object = None) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.restype = ctypes.c_long
    return int(
        library.ptrace(
            ctypes.c_long(request), ctypes.c_long(process), ctypes.c_void_p(address), data
        )
    )


def trace(work: Callable[[], None]) -> list[str] | None:
    """The system calls of `work` that change files, in order; None where it can't be followed."""
    calls = _follow(work, None)
    return calls or None


def killed_at(number: int, work: Callable[[], None]) -> bool:
    """Kill a child as it enters its call with this number; whether it got there."""
    calls = _follow(work, number)
    return calls is not None and len(calls) > number


def _follow(work: Callable[[], None], number: int | None) -> list[str] | None:
    names = _NUMBERS.get(platform.machine())
    if names is None or platform.system() != "Linux":
        return None

    def traced() -> None:
        if _ptrace(_TRACEME, 0) != 0:
            raise OSError("ptrace is not permitted")
        os.kill(os.getpid(), signal.SIGSTOP)
        work()

    process = forked(traced)
    _, status = os.waitpid(process, 0)
    if not os.WIFSTOPPED(status):
        return None
    _ptrace(_SET_OPTIONS, process, 0, ctypes.c_void_p(_GOOD | _EXIT_WITH_PARENT))
    calls: list[str] = []
    information = _Information()
    passed_on = 0
    while True:
        _ptrace(_SYSCALL, process, 0, ctypes.c_void_p(passed_on))
        _, status = os.waitpid(process, 0)
        if not os.WIFSTOPPED(status):
            return calls
        passed_on = os.WSTOPSIG(status)
        if passed_on != signal.SIGTRAP | 0x80:
            continue
        passed_on = 0
        size = ctypes.sizeof(information)
        if _ptrace(_SYSCALL_INFO, process, size, ctypes.byref(information)) <= 0:
            os.kill(process, signal.SIGKILL)
            ended(process)
            return None
        if information.op == _ENTRY and information.number in names:
            calls.append(names[information.number])
            if number == len(calls) - 1:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
                ended(process)
                return calls
