"""What an engine has to bring: a way to run tasks.

`psgraph.engines.private` and `released` say what is done with every part; a runner says where. The
functions it is given stand at the top of a module, and they, their items and what they share can
be pickled. A task may run anywhere and again after a failure: it gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["Job", "Runner"]


class Job(NamedTuple):
    """Calls ``work(item, *shared)`` for every item; `shared` is the same for all of them."""

    work: Callable[..., Any]
    items: Iterable[Any]
    shared: tuple[Any, ...] = ()


class Runner(Protocol):
    """Runs tasks over the parts of graphs.

    Attributes
    ----------
    part_nodes
        Node positions in the range of a part.
    """

    part_nodes: int

    def map(self, job: Job) -> Iterator[Any]:
        """Yield the results in the order of the items."""
        ...

    def sum(self, job: Job, *, sizes: Sequence[int]) -> tuple[NDArray[np.int64], ...]:
        """Return sums over all items: ``work(item, *shared, *sums)`` adds to the arrays `sums`.

        The arrays have the lengths `sizes` and begin at zero.
        """
        ...

    def reduce(self, job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Return what `combine` makes of the results. Combining in steps has to give the same.

        The order of the results, which `combine` gets in a list, must not matter.
        """
        ...

    def shuffle(self, jobs: Iterable[Job], *, nodes: int) -> EdgeParts:
        """Sort the keys ``u << 32 | v`` that tasks return, in any order, into parts.

        Keys that occur more than once stay that often.
        """
        ...

    def store(self, job: Job, *, nodes: int) -> EdgeParts:
        """Keep the sorted edges (u, v) that each task returns for one part, in order."""
        ...
