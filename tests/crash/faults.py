"""Every place where a publish touches the disk, and a fault at one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from psgraph._runtime import durable
from psgraph.publication.ledger.database import Database

Strike = Callable[[], None]


def kill() -> None:
    """What the kernel's out-of-memory killer does."""
    os.kill(os.getpid(), signal.SIGKILL)


class Faults:
    """Counts the places passed, in order, and strikes at the one with a given number.

    Parameters
    ----------
    at
        Number of the place, from 0; None only counts.
    strike
        What happens there.
    """

    def __init__(self, at: int | None = None, strike: Strike = kill) -> None:
        self.at, self.strike = at, strike
        self.places: list[str] = []

    def reach(self, place: str) -> None:
        self.places.append(place)
        if self.at == len(self.places) - 1:
            self.strike()

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function with a place before and a place after it."""

        def wrapped(*arguments: Any, **options: Any) -> Any:
            self.reach(f"before {name}")
            result = function(*arguments, **options)
            self.reach(f"after {name}")
            return result

        return wrapped

    def torn_write(self, file: int, content: memoryview) -> int:
        """A write that also can break off in the middle."""
        self.reach("before write")
        half = len(content) // 2
        os.write(file, content[:half])
        self.reach("in the middle of a write")
        written = half + os.write(file, content[half:])
        self.reach("after write")
        return written


class _System:
    """The module `os` as `psgraph._runtime.durable` sees it, with faults."""

    def __init__(self, faults: Faults) -> None:
        self.write = faults.torn_write
        for name in ("open", "fsync", "replace", "link", "unlink", "close"):
            setattr(self, name, faults.around(name, getattr(os, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@contextmanager
def installed(faults: Faults) -> Iterator[Faults]:
    """Put the faults into the file writer and into the ledger's file."""
    methods = {name: getattr(Database, name) for name in ("_take_lock", "_connect", "_commit")}
    try:
        durable.os = _System(faults)  # type: ignore[assignment, attr-defined]
        for name, method in methods.items():
            setattr(Database, name, faults.around(name.strip("_"), method))
        yield faults
    finally:
        durable.os = os  # type: ignore[attr-defined]
        for name, method in methods.items():
            setattr(Database, name, method)
