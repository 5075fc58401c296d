"""Count a stream and compare with the paper's table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph.graph import Roster, Snapshot
from psgraph.graph.roster import Ids
from psgraph_lab.datasets.further import Counts, Dataset

__all__ = ["Counter", "Line", "compare_with_paper", "count", "distance"]


class Counter:
    """Count the distinct nodes, edges and self-loops of snapshots.

    Parameters
    ----------
    loops_known
        Whether self-loops are known; a copy without them can't tell how many there were.
    """

    def __init__(self, *, loops_known: bool = True) -> None:
        self._numbers: dict[tuple[int, int | str], int] = {}
        self._keys: list[NDArray[np.int64]] = []
        self._loops: set[int | str] | None = set() if loops_known else None
        self._timestamps = 0

    def add(self, snapshot: Snapshot, *, loops: Iterable[int | str] = ()) -> None:
        """Add a snapshot, and the nodes that had a self-loop in it."""
        # Equal ids on the two sides of a graph are different nodes.
        numbers = np.concatenate(
            [self._number(side, each.ids) for side, each in _sides(snapshot.roster)]
        )
        a, b = numbers[snapshot.u], numbers[snapshot.v]
        self._keys.append(np.unique(snapshot.kind.keys(a, b)))
        self._timestamps += 1
        if self._loops is not None:
            self._loops.update(loops)

    def counts(self) -> Counts:
        """The counts so far."""
        edges = np.unique(np.concatenate(self._keys)).size if self._keys else 0
        loops = None if self._loops is None else len(self._loops)
        return Counts(len(self._numbers), edges, self._timestamps, loops)

    def _number(self, side: int, ids: Ids) -> NDArray[np.int64]:
        known = self._numbers
        numbers = [known.setdefault((side, each), len(known)) for each in ids.tolist()]
        return np.array(numbers, dtype=np.int64)


def _sides(roster: Roster) -> Iterable[tuple[int, Roster]]:
    return enumerate(roster.sides[: len(roster.sizes)])


def count(snapshots: Iterable[Snapshot]) -> Counts:
    """Count the nodes and edges of a stream; its self-loops were dropped and are unknown.

    >>> days = [Snapshot.from_edges([(1, 2)], roster_from_edges=True)] * 3
    >>> count(days)
    Counts(nodes=2, edges=1, timestamps=3, self_loops=None)
    """
    counter = Counter(loops_known=False)
    for snapshot in snapshots:
        counter.add(snapshot)
    return counter.counts()


def distance(counts: Counts, paper: Counts) -> float:
    """Distance from the paper's counts: the sum of the relative differences of nodes and edges.

    >>> distance(Counts(90, 40, 1, 10), Counts(100, 50, 1))
    0.1
    """
    edges = min(abs(counts.edges + loops - paper.edges) for loops in (0, counts.self_loops or 0))
    return abs(counts.nodes - paper.nodes) / paper.nodes + edges / paper.edges


@dataclass(frozen=True)
class Line:
    """One quantity as counted and as in the paper, with the difference in words."""

    what: str
    found: int
    paper: int | None
    verdict: str


def compare_with_paper(dataset: Dataset, counts: Counts) -> list[Line]:
    """Compare every count with the paper's.

    >>> from psgraph_lab.datasets.catalogue import find_dataset
    >>> lines = compare_with_paper(find_dataset("as-733"), Counts(7_473, 20_166, 147, 2_539))
    >>> [(line.what, line.verdict) for line in lines]
    [('timestamps', 'exact'), ('nodes', 'exact'), ('edges', 'exact with 2,539 self-loops')]
    """
    lines = []
    for what in ("timestamps", "nodes", "edges"):
        found = getattr(counts, what)
        said = None if dataset.paper is None else getattr(dataset.paper, what)
        verdict = "" if said is None else "exact" if found == said else f"{found - said:+,}"
        if said not in (None, found) and what == "edges":
            verdict = _with_self_loops(dataset, counts, said) or verdict
        lines.append(Line(what, found, said, verdict))
    return lines


def _with_self_loops(dataset: Dataset, counts: Counts, said: int) -> str | None:
    """The verdict on edges if self-loops explain the difference, otherwise None."""
    loops = counts.self_loops
    if loops is not None:
        return f"exact with {loops:,} self-loops" if counts.edges + loops == said else None
    if counts.edges + dataset.paper_self_loops != said:
        return None
    return f"{counts.edges - said:+,}, the number of self-loops that the paper counts"
