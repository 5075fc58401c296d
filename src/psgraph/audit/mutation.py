"""The real code with one thing changed, to see that the tests notice."""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable
from typing import Any


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
