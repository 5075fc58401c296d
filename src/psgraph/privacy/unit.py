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

    def on(self, *, directed: bool, weighted: bool) -> Unit:
        """Return the unit on graphs whose edges have a direction, or a weight."""
        del directed, weighted
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the unit in words, and its bounds as values; without those it has by default."""
        bounds = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        usual = {field.name: field.default for field in fields(self)}  # type: ignore[arg-type]
        return {"unit": self.text, **{k: bounds[k] for k in bounds if bounds[k] != usual[k]}}

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
            names = [field.name for field in fields(unit) if field.name in content]  # type: ignore[arg-type]
            try:
                made = unit(**{name: content[name] for name in names})
            except TypeError:  # it has bounds that are not stated
                continue
            if made.text == content["unit"]:
                return made
        raise ValueError("not a unit of privacy")


@dataclass(frozen=True)
class Edge(Unit):
    """Neighbouring snapshots differ in one edge.

    Parameters
    ----------
    directed
        Whether an edge is one direction between two nodes.
    weighted
        Whether an edge has a weight. It comes and goes with the edge, and may change.

    Examples
    --------
    >>> Edge().edges, Edge().to_dict()
    (1, {'unit': 'one edge of one snapshot'})
    >>> Unit.from_dict(Edge(weighted=True).to_dict())
    Edge(directed=False, weighted=True)
    """

    directed: bool = False
    weighted: bool = False

    privacy = "ε-edge differential privacy"

    @property
    def edges(self) -> int:
        return 1

    @property
    def text(self) -> str:
        return f"one edge of one snapshot{' with its weight' if self.weighted else ''}"

    @property
    def noun(self) -> str:
        return "one edge"

    def change(self, when: str = "") -> str:
        which = " (one direction between two nodes)" if self.directed else ""
        weight = ", or with another weight," if self.weighted else ""
        return f"one edge{which} more or less{weight}{when}"

    def on(self, *, directed: bool, weighted: bool) -> Edge:
        return Edge(directed, weighted)


UNITS: tuple[type[Unit], ...] = (Edge,)
"""Every unit that a file can state."""
