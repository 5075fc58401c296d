"""The real code with one thing changed, in the running process, and changed back."""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Patch", "mutated"]


def mutated(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """`function` with `old` (which must stand in its source once) replaced by `new`.

    A compiled kernel comes back as a plain Python function. It lives in the same module, so names
    that a test replaces there are replaced for it too.
    """
    function = getattr(function, "py_func", function)
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    while lines[0].startswith("@"):
        lines.pop(0)
    source = "".join(lines)
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in the source"
    code = compile(
        source.replace(old, new),
        f"<mutant of {function.__name__}>",
        "exec",
        flags=__future__.annotations.compiler_flag,
    )
    found: dict[str, Any] = {}
    exec(code, function.__globals__, found)
    return found[function.__name__]


@dataclass(frozen=True)
class Patch:
    """An attribute of a module or class, and what stands there instead."""

    where: Any
    name: str
    instead: Any

    @contextmanager
    def applied(self) -> Iterator[None]:
        own = self.name in vars(self.where)
        before = vars(self.where).get(self.name)
        setattr(self.where, self.name, self.instead)
        try:
            yield
        finally:
            if own:
                setattr(self.where, self.name, before)
            else:
                delattr(self.where, self.name)
