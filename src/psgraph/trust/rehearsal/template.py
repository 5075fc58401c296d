"""A public stream as a template: its edges over one fixed roster, and when each is present.

A rehearsal runs on a stream that resembles the curator's. It starts from a template, which is
resized to her numbers of nodes and edges (`psgraph.trust.rehearsal.size`). The template is the
demo, a public file, or a stream of another package, which offers public streams through the
entry-point group ``psgraph.public_streams``, whose entries are mappings from a name to a function
that returns the snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.engines.counting import triangle_count
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import UNDIRECTED, Kind, unpack
from psgraph.graph.labels import NodeLabels
from psgraph.streams import read_stream
from psgraph.streams.demo import demo_stream

__all__ = [
    "DEMO",
    "PUBLIC_STREAMS",
    "PublicStream",
    "Shape",
    "Template",
    "edge_times_of_nodes",
    "load_template",
    "public_stream_names",
    "shape_of",
    "transitivity_at",
]

PUBLIC_STREAMS = "psgraph.public_streams"
"""The entry-point group by which other packages offer public streams."""

DEMO = "demo"

PublicStream = str | PathLike[str] | Iterable[Snapshot]
"""A name, a file that is public, or the snapshots themselves."""

Loaders = Mapping[str, Callable[[], Iterable[Snapshot]]]

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
    labels
        Public labels of the nodes, if the stream has some: the last of each node.
    """

    nodes: int
    u: Integers
    v: Integers
    present: NDArray[np.bool_]
    labels: NodeLabels | None = None

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
        for snapshot in stream:
            _refuse_other_kinds(snapshot.kind)
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
        return cls(len(roster), u, v, present, _last_labels(stream, roster))

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

    def snapshots(self, *, labels: bool = False) -> list[Snapshot]:
        """The stream: one snapshot for each timestamp, all over one roster."""
        roster = Roster.range(self.nodes)
        if labels:
            roster = Roster(roster.ids, labels=self.labels)
        return [Snapshot(roster, *self.edges_at(each)) for each in range(self.timestamps)]


def _last_labels(stream: Sequence[Snapshot], everyone: Roster) -> NodeLabels | None:
    """The last labels of every node; None unless all rosters have the same label columns."""
    columns = stream[-1].roster.label_columns
    if not columns or any(each.roster.label_columns != columns for each in stream):
        return None
    last: dict[str, list[str | None]] = {name: [None] * len(everyone) for name in columns}
    known: Roster | None = None
    for snapshot in stream:
        if snapshot.roster is known:
            continue
        known = snapshot.roster
        places = everyone.positions(known.ids).tolist()
        for name, values in (known.labels.to_dict() if known.labels else {}).items():
            for place, value in zip(places, values, strict=True):
                last[name][place] = value
    return Roster(everyone.ids, labels=last).labels


def _refuse_other_kinds(kind: Kind) -> None:
    """Refuse what resizing would silently make undirected."""
    if kind != UNDIRECTED:
        raise InvalidArgument(
            f"the public stream is {kind}; rehearsals resize undirected graphs without weights "
            "only\nTry methods on a public stream of this kind, at its own size, with "
            "psgraph.evaluate(...).",
            code="kind",
        )


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


def public_stream_names() -> list[str]:
    """Return the names of the public streams that are installed.

    >>> "demo" in public_stream_names()
    True
    """
    return [DEMO, *sorted(_installed())]


def load_template(
    like: PublicStream,
    *,
    timestamps: int,
    every: str | None = None,
    columns: str | None = None,
) -> Template:
    """Load the last `timestamps` snapshots of a public stream; fewer if it is shorter.

    A file is read as undirected and unweighted.

    Parameters
    ----------
    like
        ``"demo"``, the name of an installed public stream, the path of a **public** file, or
        snapshots. The nodes of a file are those that occur in it: it is public, so that reveals
        nothing.
    every, columns
        How to read a file, as in `psgraph.read_stream`.

    Raises
    ------
    InvalidArgument
        There is neither such a name nor such a file, or the stream is directed, two-sided or
        weighted.
    DataError
        The stream can't be read, or has no edges.
    """
    if not isinstance(like, str | PathLike):
        return _last(like, timestamps)
    name = str(like)
    if name == DEMO:
        return _last(demo_stream(timestamps=timestamps, labels=True), timestamps)
    installed = _installed()
    if name in installed:
        return _last(installed[name](), timestamps)
    if not Path(name).exists():
        raise InvalidArgument(
            f"there is no public stream and no file called {name!r}\n"
            f"Name a public file or one of: {', '.join(public_stream_names())}."
        )
    stream = read_stream(
        name, roster_from_edges=True, every=every, columns=columns, close_last=every is not None
    )
    return _last(stream, timestamps)


def _last(snapshots: Iterable[Snapshot], timestamps: int) -> Template:
    """The last snapshots of a stream: the most recent, and usually the fullest."""
    kind = getattr(snapshots, "kind", None)
    if isinstance(kind, Kind):
        _refuse_other_kinds(kind)  # before anything is read
    kept: list[Snapshot] = []
    for snapshot in snapshots:
        kept = [*kept[-(timestamps - 1) :], snapshot] if timestamps > 1 else [snapshot]
    if not kept:
        raise DataError("the public stream has no snapshots, so there is nothing to rehearse on")
    return Template.from_snapshots(kept)


def _installed() -> dict[str, Callable[[], Iterable[Snapshot]]]:
    """The loaders of all installed streams by name."""
    found: dict[str, Callable[[], Iterable[Snapshot]]] = {}
    for point in entry_points(group=PUBLIC_STREAMS):
        offered: Loaders = point.load()
        found.update({name: load for name, load in offered.items() if name != DEMO})
    return found
