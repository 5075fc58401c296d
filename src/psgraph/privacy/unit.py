"""The unit of privacy: what one step between neighbouring snapshots changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

__all__ = ["UNITS", "Edge", "Unit"]


class Unit(ABC):
    """What is protected inside a timestamp. A subclass is a frozen dataclass of public bounds.

    Attributes
    ----------
    privacy
        What the promise calls the privacy of this unit, such as ``"ε-edge differential privacy"``.
    """

    privacy: ClassVar[str]

    @property
    @abstractmethod
    def edges(self) -> int:
        """The largest number of edges that one step adds or removes."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The unit in words, as a certificate states it."""

    @property
    @abstractmethod
    def noun(self) -> str:
        """The unit in a few words, to begin or end a sentence with."""

    @abstractmethod
    def change(self, when: str = "") -> str:
        """One step in words; `when` says at which timestamps it is made."""

    def to_dict(self) -> dict[str, Any]:
        """Return the unit in words, and its bounds as values."""
        bounds = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"unit": self.text, **bounds}

    @staticmethod
    def from_dict(content: Mapping[str, Any]) -> Unit:
        """Return the unit that a file states; an edge if it states none.

        Words are never parsed: a unit is made of the bounds, and has to state the same words.

        Raises
        ------
        ValueError
            If no unit is stated in these words.
        """
        if "unit" not in content:
            return Edge()
        for unit in UNITS:
            names = [field.name for field in fields(unit)]  # type: ignore[arg-type]
            if all(name in content for name in names):
                made = unit(**{name: content[name] for name in names})
                if made.text == content["unit"]:
                    return made
        raise ValueError("not a unit of privacy")


@dataclass(frozen=True)
class Edge(Unit):
    """Neighbouring snapshots differ in one edge.

    >>> Edge().edges, Edge().to_dict()
    (1, {'unit': 'one edge of one snapshot'})
    >>> Unit.from_dict(Edge().to_dict())
    Edge()
    """

    privacy = "ε-edge differential privacy"

    @property
    def edges(self) -> int:
        return 1

    @property
    def text(self) -> str:
        return "one edge of one snapshot"

    @property
    def noun(self) -> str:
        return "one edge"

    def change(self, when: str = "") -> str:
        return f"one edge more or less{when}"


UNITS: tuple[type[Unit], ...] = (Edge,)
"""Every unit that a file can state."""
