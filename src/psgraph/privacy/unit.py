"""The unit of privacy: what one step between neighbouring snapshots changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from psgraph.errors import BudgetError

__all__ = ["MOST_OF_AN_OWNER", "UNITS", "Edge", "Owner", "Row", "Unit"]


class Unit(ABC):
    """What is protected inside a timestamp. A subclass is a frozen dataclass of public bounds.

    Attributes
    ----------
    privacy
        What the promise calls the privacy of this unit, such as ``"ε-edge differential privacy"``.
    """

    privacy: str

    @property
    @abstractmethod
    def edges(self) -> int:
        """The largest number of edges, or of rows of flows, that one step adds or removes."""

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

    @property
    def remarks(self) -> str:
        """Sentences that follow the promise: what else it covers, and what it does not."""
        return ""

    def on(self, *, directed: bool, weighted: bool, flows: bool = False) -> Unit:
        """Return the unit on graphs whose edges have a direction, a weight or a number of rows."""
        del directed, weighted, flows
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
            except (TypeError, BudgetError):  # its bounds are not stated, or are none
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

    def on(self, *, directed: bool, weighted: bool, flows: bool = False) -> Edge | Row:
        return Row() if flows else Edge(directed, weighted)


@dataclass(frozen=True)
class Row(Unit):
    """Neighbouring snapshots of flows differ in one row.

    Examples
    --------
    >>> Edge().on(directed=True, weighted=True, flows=True)
    Row()
    >>> Row().to_dict()
    {'unit': 'one row of one snapshot'}
    """

    privacy = "ε-differential privacy of single rows"

    @property
    def edges(self) -> int:
        return 1

    @property
    def text(self) -> str:
        return "one row of one snapshot"

    @property
    def noun(self) -> str:
        return "one row"

    def change(self, when: str = "") -> str:
        return f"one row more or less{when}"

    @property
    def remarks(self) -> str:
        return (
            "Whether anything at all goes from one node to another is protected only as far as "
            "one row is."
        )

    def on(self, *, directed: bool, weighted: bool, flows: bool = False) -> Edge | Row:
        return self if flows else Edge(directed, weighted)


@dataclass(frozen=True)
class Owner(Unit):
    """Neighbouring snapshots differ in all rows of one owner, such as a person.

    Parameters
    ----------
    column
        Whose rows they are: ``"u"`` or ``"v"`` if the owner is the first or the second end of its
        edges, otherwise the name of a column of its own.
    at_most
        How many distinct edges of an owner are used at a timestamp; of flows, how many rows.
    flows
        Whether rows are counted instead of distinct edges. The stream says so, not the user.

    Examples
    --------
    >>> Owner("rider", at_most=2).edges, Owner("u", at_most=2).side
    (2, 'first')
    >>> Owner("u", at_most=2).to_dict()["unit"]
    'all rows of one owner (column u) in one snapshot, of which at most 2 edges are used'
    >>> Unit.from_dict(Owner("rider", at_most=1, flows=True).to_dict())
    Owner(column='rider', at_most=1, flows=True)
    """

    column: str
    at_most: int
    flows: bool = False

    privacy = "ε-differential privacy for owners"

    def __post_init__(self) -> None:
        if not isinstance(self.column, str) or not self.column.strip():
            raise BudgetError(f"the owner is the name of a column, not {self.column!r}")
        whole = isinstance(self.at_most, int) and not isinstance(self.at_most, bool)
        if not whole or not 1 <= self.at_most <= MOST_OF_AN_OWNER:
            raise BudgetError(
                f"at most {self.at_most!r} edges of an owner can't be used\n"
                f"Give an integer from 1 to {MOST_OF_AN_OWNER:,}."
            )

    @property
    def edges(self) -> int:
        return self.at_most

    @property
    def side(self) -> Literal["first", "second"] | None:
        """Which end of its edges the owner is; None if it is a column of its own."""
        return _SIDES.get(self.column)

    @property
    def text(self) -> str:
        are = "is" if self.at_most == 1 else "are"
        return (
            f"all rows of one owner (column {self.column}) in one snapshot, of which at most "
            f"{self._bound} {are} used"
        )

    @property
    def noun(self) -> str:
        return "one person's rows"

    def change(self, when: str = "") -> str:
        return f"whether all rows of one person (column {self.column}){when} are in the data or not"

    @property
    def remarks(self) -> str:
        are = "is" if self.at_most == 1 else "are"
        made_up = " Which person has which edges in this graph is made up." if self.side else ""
        return (
            "Replacing a person's rows by other rows is covered at 2ε. "
            f"At most {self._bound} of a person per timestamp {are} used.{made_up}"
        )

    def on(self, *, directed: bool, weighted: bool, flows: bool = False) -> Owner:
        del directed, weighted
        return Owner(self.column, self.at_most, flows)

    @property
    def _bound(self) -> str:
        name = "row" if self.flows else "edge"
        return f"{self.at_most:,} {name}{'' if self.at_most == 1 else 's'}"


_SIDES: dict[str, Literal["first", "second"]] = {"u": "first", "v": "second"}

MOST_OF_AN_OWNER = 10**6
"""The largest number of edges of an owner that a promise can be made for."""

UNITS: tuple[type[Unit], ...] = (Edge, Row, Owner)
"""Every unit that a file can state."""
