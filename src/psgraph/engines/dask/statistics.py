"""What every operation of an engine cost: seconds, tasks, and bytes to and from the workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

__all__ = ["Cost", "Statistics"]

Item = TypeVar("Item")


@dataclass
class Cost:
    """The cost of one call of an operation: one of the runner's, or one made of them.

    Attributes
    ----------
    seconds
        Until its result is complete on the driver.
    tasks
        Tasks that were sent to the cluster; repeated ones count once.
    bytes_to_driver, bytes_to_workers
        Results that came back, and what tasks needed: each shared value once.
    """

    operation: str
    seconds: float = 0.0
    tasks: int = 0
    bytes_to_driver: int = 0
    bytes_to_workers: int = 0


@dataclass
class Statistics:
    """The calls of all operations since the engine was made, in order.

    Operations inside an operation count as a part of it.

    >>> statistics = Statistics()
    >>> with statistics.operation("sum"):
    ...     statistics.now.tasks += 1
    >>> [(each.operation, each.tasks) for each in statistics.calls]
    [('sum', 1)]
    """

    calls: list[Cost] = field(default_factory=list)
    now: Cost = field(default_factory=lambda: Cost("other"))

    def clear(self) -> None:
        """Forget the calls so far."""
        self.calls.clear()

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Count what happens inside as one call."""
        with self._counting(self._call(name)):
            yield

    def iterated(self, name: str, results: Iterable[Item]) -> Iterator[Item]:
        """Yield results, and count the work on them as one call; not what is done in between."""
        cost = self._call(name)
        with self._counting(cost):
            left = iter(results)
        while True:
            with self._counting(cost):
                try:
                    result = next(left)
                except StopIteration:
                    return
            yield result

    def _call(self, name: str) -> Cost:
        if self.now.operation != "other":
            return self.now
        cost = Cost(name)
        self.calls.append(cost)
        return cost

    @contextmanager
    def _counting(self, cost: Cost) -> Iterator[None]:
        if cost is self.now:
            yield
            return
        outer, self.now = self.now, cost
        start = perf_counter()
        try:
            yield
        finally:
            cost.seconds += perf_counter() - start
            self.now = outer
