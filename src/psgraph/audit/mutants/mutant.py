"""What a mutant is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from psgraph.audit.mutation import Patch

__all__ = ["Mutant"]


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
