"""Which public labels are told apart: the code book of a stream, fixed at its first timestamp.

A label is a combination of values, one for each label column of the roster. Combinations with few
nodes are pooled into one label, *other*, by their public sizes; values that occur for the first
time later join it. A missing value agrees with nothing, and neither does *other*.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph.errors import RosterError
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.labels import NOT_FROM_EDGES, rare_below

__all__ = ["MOST_LABELS", "LabelBook", "warn_of_new", "warn_of_unused"]

MOST_LABELS = 300
MOST_COLUMNS = 4
MOST_POOLED = 0.5  # of the nodes

Combination = tuple[str | None, ...]


@dataclass(frozen=True)
class LabelBook:
    """The labels of a stream by number; the last one stands for all others.

    Attributes
    ----------
    columns
        The label columns of the roster.
    combinations
        The values of each label but the last, None where one is missing.
    pooled
        How many combinations of the first roster were pooled, and how many nodes had them.
    """

    columns: tuple[str, ...]
    combinations: tuple[Combination, ...]
    pooled: tuple[int, int]

    @classmethod
    def of(cls, roster: Roster) -> LabelBook | None:
        """Return the code book of a first roster; None if it has no labels.

        Raises
        ------
        RosterError
            There are too many labels, or nearly all are rare.
        """
        labels = roster.labels
        if labels is None:
            return None
        if len(labels.columns) > MOST_COLUMNS:
            raise RosterError(
                f"labels: {len(labels.columns)} label columns at once, and at most {MOST_COLUMNS} "
                "can be used\nChoose those that say most about who is connected.",
                code="labels_many",
            )
        names, _, sizes = labels.combinations()
        limit = rare_below(len(roster))
        kept = tuple(name for name, size in zip(names, sizes, strict=True) if size >= limit)
        rare = sizes[sizes < limit]
        found = f"labels: {', '.join(labels.columns)} have {len(names)} values together"
        if len(kept) > MOST_LABELS:
            raise RosterError(
                f"{found}, {len(kept)} of them with {limit:g} nodes or more, and at most "
                f"{MOST_LABELS} can be told apart\nGive a coarser column. {NOT_FROM_EDGES}",
                code="labels_many",
            )
        if rare.sum() > MOST_POOLED * len(roster) or len(kept) < 2:
            raise RosterError(
                f"{found} for {len(roster)} nodes; {rare.size} of them have fewer than {limit:g} "
                f"nodes each, {int(rare.sum())} nodes in all\nGive a coarser column, or fewer "
                f"columns. {NOT_FROM_EDGES}",
                code="labels_rare",
            )
        return cls(labels.columns, kept, (int(rare.size), int(rare.sum())))

    @property
    def count(self) -> int:
        """How many labels there are, with that of all others."""
        return len(self.combinations) + 1

    @property
    def cells(self) -> int:
        """How many pairs of labels there are, also of a label with itself."""
        return UNDIRECTED.cell_count(self.count, inside=True)

    def codes(self, roster: Roster) -> Labels:
        """Return the label of every node of a roster."""
        return _codes(self, roster)

    def new_values(self, roster: Roster) -> list[Combination]:
        """Return the combinations of a roster that are not in the book."""
        if roster.labels is None:
            return []
        known = {*self.combinations}
        return [each for each in roster.labels.combinations()[0] if each not in known]

    @cached_property
    def agreement(self) -> Integers:
        """Labels × labels: the number of the pattern of agreement of each pair.

        A pattern is a set of columns in which both have the same value. Patterns are numbered from
        0, in which no column agrees; those that no pair has are left out.
        """
        sets = np.zeros((self.count, self.count), dtype=np.int64)
        for index in range(len(self.columns)):
            values = [combination[index] for combination in self.combinations]
            numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
            code = np.array([-1 if each is None else numbers[each] for each in values] + [-1])
            same = (code[:, None] == code[None, :]) & (code[:, None] >= 0)
            sets |= same.astype(np.int64) << index
        return np.unique(sets, return_inverse=True)[1].reshape(sets.shape)

    @cached_property
    def patterns(self) -> int:
        """How many patterns of agreement there are."""
        return int(self.agreement.max()) + 1

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The two labels of each cell."""
        a, b = UNDIRECTED.pair_of(np.arange(self.cells), self.count, inside=True)
        return a.astype(np.int64), b.astype(np.int64)

    @cached_property
    def cell_patterns(self) -> Integers:
        """The pattern of each cell."""
        a, b = self.pairs
        return self.agreement[a, b]


@lru_cache(maxsize=4)
def _codes(book: LabelBook, roster: Roster) -> Labels:
    """The label of every node: computed once for the timestamps that share a roster."""
    if roster.labels is None:
        return np.full(len(roster), len(book.combinations), dtype=np.int32)
    names, numbers, _ = roster.labels.combinations()
    known = {combination: number for number, combination in enumerate(book.combinations)}
    code = np.array([known.get(name, len(known)) for name in names], dtype=np.int32)
    return code[numbers] if names else np.zeros(0, dtype=np.int32)


def warn_of_new(book: LabelBook, roster: Roster) -> None:
    """Warn about values that are not in the code book. They are public, like the roster."""
    new = book.new_values(roster)
    if book.pooled[0] < len(new):
        shown = ", ".join("/".join(value or "none" for value in each) for each in new[:5])
        warnings.warn(
            f"labels that are rare or new since the first timestamp are not told apart: {len(new)} "
            f"of them, {shown}{', …' if len(new) > 5 else ''}",
            stacklevel=2,
        )


def warn_of_unused(roster: Roster) -> None:
    """Warn about labels on a graph with directions or sides, which does not follow them yet."""
    if roster.labels is not None:
        warnings.warn(
            "labels are published with the releases, but graphs whose edges have a direction do "
            "not follow them",
            stacklevel=2,
        )
