"""What a mutant is, and how it is put into the running process and taken out again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

__all__ = ["Mutant", "Patch"]


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
        Makes what is changed; called when the mutant is applied.
    looks
        The detectors to ask, in this order.
    parameters
        Parameters of the method that bring it out.
    """

    name: str
    method: str
    patches: Callable[[], tuple[Patch, ...]]
    looks: tuple[str, ...]
    parameters: tuple[tuple[str, Any], ...] = ()

    @contextmanager
    def applied(self) -> Iterator[None]:
        with ExitStack() as stack:
            for patch in self.patches():
                stack.enter_context(patch.applied())
            yield
