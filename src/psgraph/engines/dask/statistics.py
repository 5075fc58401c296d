"""What every verb of an engine cost: seconds, tasks, and bytes to and from the workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

__all__ = ["Statistics", "VerbCost"]

Item = TypeVar("Item")


@dataclass
class VerbCost:
    """The cost of one call of a verb.

    Attributes
    ----------
    seconds
        Until its result is complete on the driver.
    tasks
        Tasks that were sent to the cluster; repeated ones count once.
    bytes_to_driver, bytes_to_workers
        Results that came back, and what tasks needed: each shared value once.
    """

    verb: str
    seconds: float = 0.0
    tasks: int = 0
    bytes_to_driver: int = 0
    bytes_to_workers: int = 0


@dataclass
class Statistics:
    """The calls of all verbs since the engine was made, in order.

    >>> statistics = Statistics()
    >>> with statistics.verb("edge_count"):
    ...     statistics.now.tasks += 1
    >>> [(each.verb, each.tasks) for each in statistics.verbs]
    [('edge_count', 1)]
    """

    verbs: list[VerbCost] = field(default_factory=list)
    now: VerbCost = field(default_factory=lambda: VerbCost("other"))

    def clear(self) -> None:
        """Forget the calls so far."""
        self.verbs.clear()

    @contextmanager
    def verb(self, name: str) -> Iterator[None]:
        """Count what happens inside as one call."""
        cost = VerbCost(name)
        self.verbs.append(cost)
        with self._counting(cost):
            yield

    def iterated(self, name: str, results: Iterable[Item]) -> Iterator[Item]:
        """Yield results, and count the work on them as one call; not what is done in between."""
        cost = VerbCost(name)
        self.verbs.append(cost)
        with self._counting(cost):
            left = iter(results)
        while True:
            with self._counting(cost):
                try:
                    result = next(left)
                except StopIteration:
                    return
            yield result

    @contextmanager
    def _counting(self, cost: VerbCost) -> Iterator[None]:
        outer, self.now = self.now, cost
        start = perf_counter()
        try:
            yield
        finally:
            cost.seconds += perf_counter() - start
            self.now = outer
