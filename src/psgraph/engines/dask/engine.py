"""The engine that runs tasks on the workers of a Dask cluster, and the cost of its operations."""

from __future__ import annotations

import hashlib
import operator
import pickle
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from secrets import token_hex
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.dask import tasks
from psgraph.engines.dask.connection import check_access, connect, local_cluster, translated
from psgraph.engines.dask.tasks import Call, Remote, call, held_parts, packed_bytes, unpacked
from psgraph.engines.runner import Job
from psgraph.errors import EngineError, InvalidArgument
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import PART_NODES, EdgeParts, MemoryParts, Pairs, ranges

if TYPE_CHECKING:
    from distributed import Future

__all__ = [
    "Cost",
    "DaskEngine",
    "Statistics",
]

FAN_IN = 4
"""How many results one task adds up."""
SHARED_BYTES = 1 << 12
"""Larger values that tasks share are sent once."""
KEPT_VALUES = 8
"""Shared values that stay on the workers, in case the next operation needs them too."""
MOST_PIECES = 1 << 13
"""Pieces of drawn keys on their way to the parts they belong to."""
LARGE_SUMS = 1 << 22
"""Integers; above, at most one task per thread makes its own sums."""
PATIENCE = 60.0
"""Seconds without a worker after which a run fails."""
LOOK_SECONDS = 5.0
"""How often to check for workers while waiting for a task."""


class DaskEngine:
    """Runs tasks on a Dask cluster. Use it as a context manager, or close it.

    See `psgraph.engines.runner.Runner`. Releases are the same, byte for byte, as those of
    `psgraph.engines.threads.LocalEngine`, whatever the number of workers, and if some are lost:
    tasks are submitted with all that is needed to repeat them, so that Dask runs those of a lost
    worker again on a different one.

    Parameters
    ----------
    scheduler
        The address of a running scheduler, for example ``"tls://host:8786"``. Its workers need
        the same software as this process, and access to the store. They see private edges, and
        so does everybody who can connect: use TLS, inside the network of the curator. Without TLS
        the engine warns, unless the cluster is on this machine.
        Without an address the engine starts processes on this machine, which only it can reach.
        A script that does so needs the usual ``if __name__ == "__main__":``.
    workers, threads
        Of the local cluster: processes, one for every core unless given, and threads of each.
    part_nodes
        Node positions in a part of a released graph; for tests, which have small graphs.

    Attributes
    ----------
    statistics
        Seconds, tasks and bytes of every operation.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        *,
        workers: int | None = None,
        threads: int = 1,
        part_nodes: int = PART_NODES,
    ) -> None:
        for name, number in (("workers", workers), ("threads", threads)):
            if number is not None and number < 1:
                raise InvalidArgument(f"{name} must be at least 1, not {number}")
        if scheduler is not None and workers is not None:
            raise InvalidArgument(
                "workers is for a local cluster\nA scheduler knows its workers; leave it out."
            )
        self._stack = ExitStack()
        self.statistics = Statistics()
        cluster = local_cluster(workers, threads) if scheduler is None else connect(scheduler)
        self.client: Any = self._stack.enter_context(cluster)
        self.part_nodes = part_nodes
        self._values: OrderedDict[str, Remote] = OrderedDict()
        self._run, self._numbers = token_hex(6), count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect, and stop the local cluster."""
        self._stack.close()

    def check_access(self, file: Path, remedy: str) -> None:
        """Refuse workers that don't find a file of this machine at the same path.

        `remedy` is what the error says to do. Call it before private edges are read.
        """
        check_access(self.client, file, remedy)

    def map(self, job: Job) -> Iterator[Any]:
        return self.statistics.iterated("map", self._mapped(job))

    def sum(self, job: Job, *, sizes: Sequence[int]) -> tuple[Integers, ...]:
        with self.statistics.operation("sum"):
            groups = self._groups(job, 2 if sum(sizes) <= LARGE_SUMS else 1)
            if not groups:
                return tuple(np.zeros(size, dtype=np.int64) for size in sizes)
            pieces = [self._submit(tasks.summed, group, tuple(sizes)) for group in groups]
            return tuple(self._reduced(pieces, tasks.added))

    def reduce(self, job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
        with self.statistics.operation("reduce"):
            groups = self._groups(job, 2)
            if not groups:
                return combine([])
            pieces = [self._submit(tasks.reduced, group, combine) for group in groups]
            return self._reduced(pieces, tasks.combined, combine)

    def shuffle(self, jobs: Iterable[Job], *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        with self.statistics.operation("shuffle"):
            between = list(ranges(nodes, self.part_nodes))
            drawn = [
                self._submit(tasks.drawn, chunk, self.part_nodes, len(between))
                for job in jobs
                for chunk in self._chunks(job, len(between))
            ]
            parts = []
            for number, (first, _) in enumerate(between):
                pieces = [self._piece(each, number) for each in drawn]
                parts.append(self._submit(tasks.merged, pieces, first, nodes))
            return self._kept(parts, nodes, kind.unweighted)

    def store(self, job: Job, *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        with self.statistics.operation("store"):
            shared = self._share(job.shared)
            parts = [
                self._submit(tasks.made, job._replace(items=(item,), shared=shared))
                for item in job.items
            ]
            return self._kept(parts, nodes, kind)

    # ---- cutting work into tasks ----

    def _mapped(self, job: Job) -> Iterator[Any]:
        shared = self._share(job.shared)
        running: deque[Future] = deque()
        ahead = 2 * self._threads()
        for item in job.items:
            running.append(self._submit(tasks.mapped, job._replace(items=(item,), shared=shared)))
            if len(running) > ahead:
                yield self._take(running.popleft())
        while running:
            yield self._take(running.popleft())

    def _threads(self) -> int:
        return max(1, sum(self.client.nthreads().values()))

    def _groups(self, job: Job, per_thread: int) -> list[Job]:
        """Deal the items out to a few tasks for every thread."""
        items, shared = list(job.items), self._share(job.shared)
        groups = min(len(items), per_thread * self._threads())
        return [job._replace(items=items[at::groups], shared=shared) for at in range(groups)]

    def _chunks(self, job: Job, parts: int) -> Iterator[Job]:
        """Cut items into chunks: many pieces are expensive, and so are large chunks."""
        shared, items = self._share(job.shared), iter(job.items)
        known = len(job.items) if isinstance(job.items, Sequence) else 1
        size = min(8, max(1, known * parts // MOST_PIECES))
        while chunk := list(islice(items, size)):
            yield job._replace(items=chunk, shared=shared)

    def _reduced(self, pieces: list[Future], function: Callable[..., Any], *more: Any) -> Any:
        """Combine the results of tasks as a tree, and bring the last one to the driver."""
        while len(pieces) > 1:
            pieces = [
                self._submit(function, [Remote(each) for each in pieces[at : at + FAN_IN]], *more)
                for at in range(0, len(pieces), FAN_IN)
            ]
        return self._take(self._submit(tasks.packed, Remote(pieces[0])))

    def _kept(self, parts: list[Future], nodes: int, kind: Kind) -> EdgeParts:
        """Keep several parts on the workers, a single one on the driver."""
        if len(parts) <= 1:
            edges = self._fetch(parts[0]) if parts else Pairs.none(kind)
            return MemoryParts(
                *edges, edges.weight, nodes=nodes, part_nodes=self.part_nodes, kind=kind
            )
        sizes = [self._submit(tasks.size, Remote(part)) for part in parts]
        return held_parts(
            parts,
            self._fetch,
            nodes=nodes,
            part_nodes=self.part_nodes,
            edge_count=sum(self._take(size) for size in sizes),
            kind=kind,
        )

    # ---- tasks and values ----

    def _submit(self, function: Callable[..., Any], *inputs: Any) -> Future:
        packed, futures = call(inputs)
        self.statistics.now.tasks += 1
        self.statistics.now.bytes_to_workers += len(packed.content)
        with translated():
            return self.client.submit(
                tasks.run, tasks.identity_digest(), function, packed, *futures,
                key=self._key(function.__name__), pure=False,
            )  # fmt: skip

    def _piece(self, drawn: Future, number: int) -> Remote:
        with translated():
            key = self._key("piece")
            return Remote(self.client.submit(operator.getitem, drawn, number, key=key))

    def _key(self, name: str) -> str:
        return f"psgraph-{name}-{self._run}-{next(self._numbers)}"

    def _share(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self._shared(value) for value in values)

    def _shared(self, value: Any) -> Any:
        """Send a large value once; tasks then get it from the workers.

        It is sent as a task, not scattered: after a loss Dask can make it again.
        """
        if isinstance(value, Remote | int | float | None):
            return value
        content = pickle.dumps(value, protocol=5)
        if len(content) < SHARED_BYTES:
            return value
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        if digest not in self._values:
            self.statistics.now.bytes_to_workers += len(content)
            with translated():
                future = self.client.submit(
                    tasks.loaded, Call(content), key=self._key("shared"), pure=False
                )
            self._values[digest] = Remote(future)
        self._values.move_to_end(digest)
        while len(self._values) > KEPT_VALUES:
            self._values.popitem(last=False)
        return self._values[digest]

    def _fetch(self, part: Future) -> Pairs:
        edges: Pairs = self._take(self._submit(tasks.packed, Remote(part)))
        return edges

    def _take(self, future: Future) -> Any:
        """Wait for a result and bring it to the driver."""
        with translated():
            self._wait(future)
            result = future.result()
        self.statistics.now.bytes_to_driver += packed_bytes(result)
        return unpacked(result)

    def _wait(self, future: Future) -> None:
        """Wait until a task is done; give up if there is no worker to do it."""
        done = threading.Event()
        future.add_done_callback(lambda _: done.set())
        alone_since: float | None = None
        while not done.wait(LOOK_SECONDS):
            alone_since = None if self.client.nthreads() else alone_since or monotonic()
            if alone_since is not None and monotonic() - alone_since > PATIENCE:
                raise EngineError(
                    f"the cluster has had no worker for {PATIENCE:.0f} seconds\n"
                    "Nothing of this timestamp was published or charged. Start workers, and run "
                    "the same command again."
                )


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
