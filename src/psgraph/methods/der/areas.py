"""Areas of an adjacency matrix: public geometry for the method, private edges for its queries.

An area is a list of rectangles that don't overlap, and how it came about: the whole matrix, some
rectangles of another area, or each of them cut into four. All of that is public or already
released. `Area.regions` follows the same steps with the private edges, each step once per
timestamp.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph.graph.kind import UNDIRECTED
from psgraph.methods.der.arrangement import EdgeArrangement
from psgraph.methods.der.rectangles import Rectangles, Regions, valid_cells
from psgraph.methods.der.splits import SplitChoice
from psgraph.methods.queries import block_counts
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import Counted, CountsQuery, Query

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["Area", "Arrangement", "RectangleCounts", "SplitPoints", "WholeMatrix", "joined"]


class Area(ABC):
    """Rectangles that don't overlap; see the module."""

    rectangles: Rectangles

    def __len__(self) -> int:
        return len(self.rectangles)

    @cached_property
    def cells(self) -> Integers:
        """How many pairs of nodes each rectangle has."""
        return valid_cells(self.rectangles)

    def selected(self, wanted: NDArray[np.bool_]) -> Area:
        """Return the area of some of the rectangles."""
        return _Selected(self, wanted)

    def quartered(self, cuts: Integers) -> Area:
        """Cut every rectangle into four at (row, column); parts without a pair are left out."""
        return _Quartered(self, cuts)

    def regions(self, edges: PrivateEdges) -> Regions:
        """Return the rectangles with the edges in them: private."""
        return edges.once(self, lambda: self._regions(edges))

    @abstractmethod
    def _regions(self, edges: PrivateEdges) -> Regions: ...


@dataclass(frozen=True, eq=False)
class WholeMatrix(Area):
    """The upper triangle as one rectangle, the nodes numbered in an order."""

    order: Integers

    @cached_property
    def rectangles(self) -> Rectangles:  # type: ignore[override]
        return np.array([[0, self.order.size, 0, self.order.size]])

    def _regions(self, edges: PrivateEdges) -> Regions:
        nodes = self.order.size
        number = np.empty(nodes, dtype=np.int32)
        number[self.order] = np.arange(nodes)
        cells, _ = block_counts(edges, number, nodes, inside=False)
        rows, columns = UNDIRECTED.pair_of(cells, nodes, inside=False)
        return Regions(
            rectangles=self.rectangles,
            starts=np.array([0, cells.size]),
            rows=rows.astype(np.int32),
            columns=columns.astype(np.int32),
        )


@dataclass(frozen=True, eq=False)
class _Selected(Area):
    whole: Area
    wanted: NDArray[np.bool_]

    @cached_property
    def rectangles(self) -> Rectangles:  # type: ignore[override]
        return self.whole.rectangles[self.wanted]

    def _regions(self, edges: PrivateEdges) -> Regions:
        regions = self.whole.regions(edges)
        counts = regions.edges
        kept = np.repeat(self.wanted, counts)
        return Regions(
            self.rectangles,
            _starts(counts[self.wanted]),
            regions.rows[kept],
            regions.columns[kept],
        )


@dataclass(frozen=True, eq=False)
class _Quartered(Area):
    whole: Area
    cuts: Integers

    @cached_property
    def _quarters(self) -> Rectangles:
        top, bottom, left, right = self.whole.rectangles.T
        row, column = self.cuts.T
        quarters = [
            np.stack(sides, axis=1)
            for sides in (
                [top, row, left, column],
                [top, row, column, right],
                [row, bottom, left, column],
                [row, bottom, column, right],
            )
        ]
        return np.stack(quarters, axis=1).reshape(-1, 4)

    @cached_property
    def _alive(self) -> NDArray[np.bool_]:
        return valid_cells(self._quarters) > 0

    @cached_property
    def rectangles(self) -> Rectangles:  # type: ignore[override]
        return self._quarters[self._alive]

    def _regions(self, edges: PrivateEdges) -> Regions:
        regions = self.whole.regions(edges)
        counts = np.zeros(len(self._quarters), dtype=np.int64)
        rows, columns = np.empty_like(regions.rows), np.empty_like(regions.columns)
        _deal(regions.starts, regions.rows, regions.columns, self.cuts, counts, rows, columns)
        return Regions(self.rectangles, _starts(counts[self._alive]), rows, columns)


@dataclass(frozen=True, eq=False)
class _Joined(Area):
    areas: Sequence[Area]

    @cached_property
    def rectangles(self) -> Rectangles:  # type: ignore[override]
        return np.concatenate([area.rectangles for area in self.areas])

    def _regions(self, edges: PrivateEdges) -> Regions:
        found = [area.regions(edges) for area in self.areas]
        return Regions(
            self.rectangles,
            _starts(np.concatenate([regions.edges for regions in found])),
            np.concatenate([regions.rows for regions in found]),
            np.concatenate([regions.columns for regions in found]),
        )


def joined(areas: Sequence[Area]) -> Area:
    """Return the area of all rectangles of several areas that don't overlap."""
    return _Joined(areas)


def _starts(counts: Integers) -> Integers:
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


@kernel
def _deal(
    starts: Integers,
    rows: Positions,
    columns: Positions,
    cuts: Integers,
    counts: Integers,
    out_rows: Positions,
    out_columns: Positions,
) -> None:
    """Sort the edges of every region by quarter, keeping their order within a quarter."""
    heads = np.empty(4, dtype=np.int64)
    for region in range(len(cuts)):
        row, column = cuts[region]
        here = counts[4 * region : 4 * region + 4]
        for edge in range(starts[region], starts[region + 1]):
            here[2 * (rows[edge] >= row) + (columns[edge] >= column)] += 1
        heads[0] = starts[region]
        for quarter in range(3):
            heads[quarter + 1] = heads[quarter] + here[quarter]
        for edge in range(starts[region], starts[region + 1]):
            quarter = 2 * (rows[edge] >= row) + (columns[edge] >= column)
            out_rows[heads[quarter]] = rows[edge]
            out_columns[heads[quarter]] = columns[edge]
            heads[quarter] += 1


# ---- queries ----


@dataclass(frozen=True, eq=False)
class RectangleCounts(CountsQuery):
    """The edges in each rectangle of a level of the quadtree.

    Privacy: the rectangles don't overlap and are released, so an edge moves one count by 1.
    """

    area: Area
    level: int

    sensitivity = 1
    proof = "proofs/der.md"
    subject = "the edges of a rectangle"

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"level {self.level} counts"

    @property
    def counts(self) -> Counted:  # type: ignore[override]
        return "" if self.level else "edges"  # the first rectangle is the whole matrix

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (len(self.area),)

    def answer(self, edges: PrivateEdges) -> Integers:
        return self.area.regions(edges).edges


@dataclass(frozen=True, eq=False)
class SplitPoints(Query[Integers]):
    """Where to cut each rectangle of a level into four, so that densities differ.

    Privacy: an edge is in one rectangle, and moves the gap between the largest and the smallest
    density by at most 1/`least`, which counts as a distance of 1. `least` and `grid` are public.
    """

    area: Area
    level: int
    least: int
    grid: int

    sensitivity = 1
    noise = SplitChoice.name
    proof = "proofs/der.md"
    subject = "where to cut a rectangle"

    @property
    def label(self) -> str:  # type: ignore[override]
        return f"level {self.level} splits"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (len(self.area),)

    def answer(self, edges: PrivateEdges) -> Regions:
        return self.area.regions(edges)

    def mechanism(self, answer: Regions) -> Mechanism[Integers]:
        return SplitChoice(answer, least=self.least, grid=self.grid)


@dataclass(frozen=True, eq=False)
class Arrangement(Query[tuple[Positions, Positions]]):
    """Cells drawn from each leaf, `drawn[i]` from leaf i, preferably true edges.

    Privacy: an edge is in one leaf and changes the number of edges hit by at most 1, in the same
    direction for all arrangements. `drawn` is released.
    """

    area: Area
    drawn: Integers

    label = "arrangement"
    sensitivity = 1
    noise = EdgeArrangement.name
    proof = "proofs/der.md"
    subject = "the edges of the graph"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (len(self.area),)

    def answer(self, edges: PrivateEdges) -> Regions:
        return self.area.regions(edges)

    def mechanism(self, answer: Regions) -> Mechanism[tuple[Positions, Positions]]:
        return EdgeArrangement(answer, drawn=self.drawn)
