"""What a quality report shows of the graphs, collected while they are compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from psgraph.reports.sections import chosen_timestamps

if TYPE_CHECKING:
    from psgraph.graph import Snapshot, SyntheticGraph

__all__ = ["Witness"]


class Witness:
    """Keeps the first, the middle and the last pair, and all edge counts. For the curator only.

    A stream may be larger than memory and is read once, so the report collects what it needs.

    Parameters
    ----------
    timestamps
        The number of timestamps.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> witness = Witness(4)
    >>> for snapshot in witness.watch_originals(demo_stream(nodes=300, timestamps=4)):
    ...     pass
    >>> sorted(witness.originals), len(witness.original_edges)
    ([0, 2, 3], 4)
    """

    def __init__(self, timestamps: int) -> None:
        self.chosen = chosen_timestamps(timestamps)
        self.originals: dict[int, Snapshot] = {}
        self.synthetic: dict[int, SyntheticGraph] = {}
        self.original_edges: list[int] = []
        self.synthetic_edges: list[int] = []

    def watch_originals(self, stream: Iterable[Snapshot]) -> Iterator[Snapshot]:
        """Yield the snapshots unchanged while collecting from them."""
        for ordinal, snapshot in enumerate(stream):
            self.original_edges.append(int(snapshot.u.size))
            if ordinal in self.chosen:
                self.originals[ordinal] = snapshot
            yield snapshot

    def watch_releases(self, releases: Iterable[SyntheticGraph]) -> Iterator[SyntheticGraph]:
        """Yield the synthetic graphs unchanged while collecting from them."""
        for ordinal, graph in enumerate(releases):
            self.synthetic_edges.append(int(graph.u.size))
            if ordinal in self.chosen:
                self.synthetic[ordinal] = graph
            yield graph
