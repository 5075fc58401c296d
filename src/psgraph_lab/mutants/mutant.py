"""A mutant: the real code with one thing changed, in the running process, and changed back.

A patch addresses what it changes as text, ``package.module:Class.function``, and is resolved when
the mutant is applied. If the target has moved, or a fragment no longer occurs in it exactly once,
`PatchFailed` says which patch has to follow.
"""

from __future__ import annotations
import __future__

import inspect
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

__all__ = ["Edit", "Mutant", "PatchFailed", "Swap", "found_first", "mutated"]


class PatchFailed(Exception):
    """What a patch changes is not there, or not there once."""


def mutated(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Return `function` with `old`, which must occur in its source once, replaced by `new`.

    A compiled kernel or a cached function comes back as a plain Python function. It lives in the
    same module, so names that a test replaces there are replaced for it too.
    """
    function = inspect.unwrap(getattr(function, "py_func", function))
    lines = textwrap.dedent(inspect.getsource(function)).splitlines(keepends=True)
    while lines[0].startswith("@"):
        lines.pop(0)
    source = "".join(lines)
    if source.count(old) != 1:
        raise PatchFailed(
            f"{function.__module__}:{function.__qualname__} has {old!r} "
            f"{source.count(old)} times in its source, not once"
        )
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
class Swap:
    """Something else in the place of a function, class attribute or constant.

    Attributes
    ----------
    where
        ``package.module:name`` or ``package.module:Class.name``.
    make
        Takes what is there and returns what to put there instead.
    """

    where: str
    make: Callable[[Any], Any]

    def resolved(self) -> tuple[Any, str, Any]:
        """The owner, the name and the replacement; raises `PatchFailed` if there is no target."""
        module, _, path = self.where.partition(":")
        *owners, name = path.split(".")
        try:
            owner: Any = import_module(module)
            for each in owners:
                owner = getattr(owner, each)
            real = inspect.getattr_static(owner, name)
        except (ImportError, AttributeError) as error:
            raise PatchFailed(f"{self.where}: {error}") from error
        return owner, name, self.make(real)

    @contextmanager
    def applied(self) -> Iterator[None]:
        owner, name, replacement = self.resolved()
        own = name in vars(owner)  # as opposed to inherited
        before = vars(owner).get(name)
        setattr(owner, name, replacement)
        try:
            yield
        finally:
            if own:
                setattr(owner, name, before)
            else:
                delattr(owner, name)


class Edit(Swap):
    """One fragment of a function's source changed.

    Parameters
    ----------
    where
        As in `Swap`.
    old
        The fragment; must occur exactly once.
    new
        What to put there instead.
    """

    def __init__(self, where: str, old: str, new: str) -> None:
        super().__init__(where, lambda real: mutated(real, old, new))


@dataclass(frozen=True)
class Mutant:
    """One deliberate privacy bug.

    Attributes
    ----------
    name
        A few words.
    method
        The method it is in, or that shows it.
    patches
        What is changed.
    detectors
        Those of `psgraph.audit.detectors` that should find it, cheapest first.
    parameters
        Parameters of the method that bring it out.
    first
        The pairs that a replay starts with: of "owners", with "labels", of other "kinds".
    """

    name: str
    method: str
    patches: tuple[Swap, ...]
    detectors: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...] = ()
    first: str = ""

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Plant the bug, and take it out again at the end."""
        with ExitStack() as stack:
            for patch in self.patches:
                stack.enter_context(patch.applied())
            yield


def found_first(family: str, *mutants: Mutant) -> tuple[Mutant, ...]:
    """Mutants that a replay of one family of pairs finds soonest."""
    return tuple(replace(mutant, first=family) for mutant in mutants)
