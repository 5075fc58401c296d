"""Released edges that stay on the workers, where the next task on them runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from psgraph.engines.dask.calls import Remote
from psgraph.engines.scratch import ReleasedParts
from psgraph.graph.parts import Pairs

if TYPE_CHECKING:
    from distributed import Future

__all__ = ["HeldPart", "held_parts"]

Fetch = Callable[["Future"], Pairs]


class HeldPart(Remote):
    """The edges of one part, on a worker. Calling it brings them to the driver.

    Dask knows how they were made: if the worker is lost, another one makes them again.
    """

    as_read = True

    def __init__(self, future: Future, fetch: Fetch) -> None:
        super().__init__(future)
        self._fetch = fetch

    def __call__(self) -> Pairs:
        return self._fetch(self.future)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy outside the cluster has the edges themselves."""
        return partial, (Pairs, *self())


def held_parts(
    futures: Sequence[Future], fetch: Fetch, *, nodes: int, part_nodes: int, edge_count: int
) -> ReleasedParts:
    """A released graph of which every part is on a worker."""
    reads = [HeldPart(future, fetch) for future in futures]
    return ReleasedParts(reads, nodes=nodes, part_nodes=part_nodes, edge_count=edge_count)
