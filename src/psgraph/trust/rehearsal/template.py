"""A public stream as a template: its edges over one fixed roster, and when each is present.

A rehearsal runs on a stream that resembles the curator's. It starts from a template, which is
resized to her numbers of nodes and edges (`psgraph.trust.rehearsal.resizing`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.engines.triangles import triangle_count
from psgraph.errors import DataError
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED, unpack

__all__ = [
    "Shape",
    "Template",
    "edge_times_of_nodes",
    "shape_of",
    "transitivity_at",
]


_TOP = 0.01  # share of the nodes whose degrees are added up


@dataclass(frozen=True)
class Template:
    """The edges of a public stream over the nodes 0, 1, …, and when each is present.

    Attributes
    ----------
    u, v
        Ends of every edge that occurs, u < v, each pair once.
    present
        Whether each edge (row) is present at each timestamp (column).
    """

    nodes: int
    u: Integers
    v: Integers
    present: NDArray[np.bool_]

    @classmethod
    def from_snapshots(cls, snapshots: Iterable[Snapshot]) -> Template:
        """Put snapshots of a **public** stream on one roster: all nodes of any of them.

        >>> first = Snapshot(Roster(["a", "b"]), [0], [1])
        >>> second = Snapshot(Roster(["a", "b", "c"]), [0, 1], [1, 2])
        >>> made = Template.from_snapshots([first, second])
        >>> made.nodes, made.present.tolist()
        (3, [[True, True], [False, True]])
        """
        stream = list(snapshots)
        if not any(snapshot.u.size for snapshot in stream):
            raise DataError("the public stream has no edges, so there is nothing to rehearse on")
        roster = Roster(np.unique(np.concatenate([each.roster.ids for each in stream])))
        keys = []
        for snapshot in stream:
            position = roster.positions(snapshot.roster.ids)
            keys.append(snapshot.kind.keys(position[snapshot.u], position[snapshot.v]))
        every = np.unique(np.concatenate(keys))
        present = np.zeros((every.size, len(stream)), dtype=np.bool_)
        for timestamp, found in enumerate(keys):
            present[np.searchsorted(every, found), timestamp] = True
        u, v = (ends.astype(np.int64) for ends in unpack(every))
        return cls(len(roster), u, v, present)

    @property
    def timestamps(self) -> int:
        return int(self.present.shape[1])

    @property
    def edge_times(self) -> int:
        """Edges summed over all timestamps."""
        return int(self.present.sum())

    @property
    def edges(self) -> float:
        """Mean number of edges of a snapshot."""
        return self.edge_times / self.timestamps

    def edges_at(self, timestamp: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The edges of one timestamp."""
        there = self.present[:, timestamp]
        return self.u[there].astype(np.int32), self.v[there].astype(np.int32)

    def snapshots(self) -> list[Snapshot]:
        """The stream: one snapshot for each timestamp, all over one roster."""
        roster = Roster.range(self.nodes)
        return [Snapshot(roster, *self.edges_at(each)) for each in range(self.timestamps)]


@dataclass(frozen=True)
class Shape:
    """What a stream looks like, in the numbers that decide how well it can be published.

    Attributes
    ----------
    edges
        Mean number of edges of a snapshot.
    transitivity
        Share of the paths of length two that are closed to a triangle, over all timestamps.
    kept
        Share of a snapshot's edges that are still present at the next timestamp.
    top_degrees
        Share of all edge ends that belong to the 1 % of nodes with the highest degrees.
    """

    nodes: int
    edges: float
    timestamps: int
    transitivity: float
    kept: float
    top_degrees: float

    @property
    def mean_degree(self) -> float:
        return 2 * self.edges / self.nodes

    def to_dict(self) -> dict[str, float]:
        return {**asdict(self), "mean_degree": self.mean_degree}


def shape_of(template: Template) -> Shape:
    """Describe a template.

    >>> triangle = Snapshot(Roster.range(3), [0, 0, 1], [1, 2, 2])
    >>> path = Snapshot(Roster.range(3), [0, 1], [1, 2])
    >>> shape = shape_of(Template.from_snapshots([triangle, path]))
    >>> shape.edges, shape.transitivity, round(shape.kept, 2)
    (2.5, 0.75, 0.67)
    """
    present = template.present
    before, both = int(present[:, :-1].sum()), int((present[:, :-1] & present[:, 1:]).sum())
    degrees = np.sort(edge_times_of_nodes(template))[::-1]
    top = degrees[: max(1, round(_TOP * template.nodes))]
    return Shape(
        template.nodes,
        template.edges,
        template.timestamps,
        transitivity=transitivity_at(template, range(template.timestamps)),
        kept=both / before if before else 1.0,
        top_degrees=float(top.sum() / max(degrees.sum(), 1)),
    )


def edge_times_of_nodes(template: Template) -> Integers:
    """The degree of every node, summed over all timestamps."""
    weights = template.present.sum(axis=1)
    both = np.concatenate([template.u, template.v])
    found = np.bincount(both, weights=np.tile(weights, 2), minlength=template.nodes)
    return found.astype(np.int64)


def transitivity_at(template: Template, timestamps: Sequence[int]) -> float:
    """Closed share of all paths of length two at some timestamps; 0 if there is none."""
    closed = paths = 0
    for timestamp in timestamps:
        u, v = template.edges_at(timestamp)
        degrees = np.bincount(np.concatenate([u, v]), minlength=template.nodes)
        closed += 3 * triangle_count(u, v, template.nodes)
        paths += int(UNDIRECTED.pairs(degrees).sum())
    return closed / paths if paths else 0.0
