"""What a worker does, and what travels between it and the driver.

Every task first checks that the worker runs the driver's code. A task has no state and draws no
noise: run again, or twice, it gives the same result.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import platform
import signal
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import psgraph
from psgraph._runtime.arrays import Integers
from psgraph._version import __version__
from psgraph.engines.released import ReleasedParts, as_pairs
from psgraph.engines.runner import Job, sorted_edges, split_keys
from psgraph.errors import EngineError
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.graph.parts import Pairs

if TYPE_CHECKING:
    from distributed import Future

__all__ = [
    "Call",
    "HeldPart",
    "Remote",
    "added",
    "call",
    "check_identity",
    "combined",
    "dask_setup",
    "drawn",
    "held_parts",
    "identity",
    "identity_digest",
    "loaded",
    "made",
    "mapped",
    "merged",
    "packed",
    "packed_bytes",
    "reduced",
    "run",
    "size",
    "summed",
    "to_driver",
    "unpacked",
]


def run(identity: str, function: Callable[..., Any], inputs: Call, *values: Any) -> Any:
    """Call one of the functions below with its inputs."""
    check_identity(identity)
    return function(*inputs.open(values))


def mapped(job: Job) -> Any:
    """The result of the only item of a job."""
    (item,) = job.items
    return to_driver(job.work(item, *job.shared))


def summed(job: Job, sizes: Sequence[int]) -> tuple[Integers, ...]:
    """The sums over some items."""
    sums = tuple(np.zeros(size, dtype=np.int64) for size in sizes)
    for item in job.items:
        job.work(item, *job.shared, *sums)
    return sums


def added(pieces: Sequence[tuple[Integers, ...]]) -> tuple[Integers, ...]:
    """Add up sums. The first is copied: another task may need it again."""
    sums = tuple(each.copy() for each in pieces[0])
    for piece in pieces[1:]:
        for total, more in zip(sums, piece, strict=True):
            total += more
    return sums


def reduced(job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
    """The combined results of some items."""
    return combine([job.work(item, *job.shared) for item in job.items])


def combined(pieces: Sequence[Any], combine: Callable[[Sequence[Any]], Any]) -> Any:
    """Combine results of other tasks."""
    return combine(pieces)


def packed(value: Any) -> Any:
    """A result packed for the driver."""
    return to_driver(value)


def drawn(job: Job, part_nodes: int, parts: int) -> list[Integers]:
    """The keys that some items draw, cut by the range of their first end."""
    nothing = np.empty(0, dtype=np.int64)
    keys = np.concatenate([nothing, *(job.work(item, *job.shared) for item in job.items)])
    return split_keys(keys, part_nodes=part_nodes, parts=parts)


def merged(pieces: Sequence[Integers], first: int, nodes: int) -> Pairs:
    """The sorted edges of one part, from the keys that all tasks drew for it."""
    keys = np.concatenate([np.empty(0, dtype=np.int64), *pieces])
    return Pairs(*sorted_edges(keys, first=first, nodes=nodes))


def made(job: Job) -> Pairs:
    """The sorted edges that the only item of a job stands for."""
    (item,) = job.items
    return as_pairs(job.work(item, *job.shared))


def size(edges: Pairs) -> int:
    """How many edges a part has."""
    return int(edges.u.size)


def loaded(content: Call) -> Any:
    """A value that many tasks share."""
    return content.open(())


# ---- what has to be the same everywhere, so that all workers draw the same edges ----


@cache
def identity() -> dict[str, str]:
    """Return the versions, and a digest of psgraph's source code, by what they are of.

    >>> list(identity())
    ['psgraph', 'code of psgraph', 'python', 'numpy', 'numba', 'pyarrow', 'processor']
    """
    return {
        "psgraph": __version__,
        "code of psgraph": _code_digest(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        **{name: version(name) for name in ("numpy", "numba", "pyarrow")},
        "processor": platform.machine(),
    }


@cache
def identity_digest() -> str:
    """Return a digest of `identity`, which every task carries."""
    return hashlib.sha256(repr(sorted(identity().items())).encode()).hexdigest()


def check_identity(expected: str) -> None:
    """Refuse to run a task of a driver with different code.

    Workers are checked when the driver connects; one may have joined the cluster later.
    """
    if expected != identity_digest():
        raise EngineError(
            f"a worker joined the cluster with different software from the driver's: psgraph "
            f"{__version__} on {platform.node()}\n"
            "Install the same versions of psgraph, NumPy, numba and PyArrow everywhere."
        )


def _code_digest() -> str:
    root = Path(psgraph.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def dask_setup(worker: object) -> None:  # noqa: ARG001
    """Ignore the signals that ask the driver to stop; Dask calls this when a local worker starts.

    Ctrl-C and many service managers send them to all processes of a command. The driver decides
    whether to finish the timestamp in progress, for which it needs its workers, and stops them
    itself. A worker whose driver is killed exits at once: Dask watches a pipe for that.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


# ---- what travels: small inputs go with a task, large ones are taken from where they are ----

Fetch = Callable[["Future"], Pairs]


class Remote:
    """Stands for a value on the workers. Inside a task it is that value.

    `as_read` stands for a function that returns it instead: how tasks read parts.
    """

    as_read = False

    def __init__(self, future: Future) -> None:
        self.future = future


class Call:
    """The pickled inputs of a task. It has nothing to show: Dask writes arguments to its log."""

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __repr__(self) -> str:
        return "<inputs of a task of psgraph>"

    def open(self, values: tuple[Any, ...]) -> Any:
        """Return the inputs; `values` are those that stayed on the workers."""
        return _Unpickler(self.content, values).load()


def call(inputs: Any) -> tuple[Call, list[Future]]:
    """Pickle the inputs of a task; `Remote` values in them become futures the task waits for."""
    buffer = io.BytesIO()
    pickler = _Pickler(buffer)
    pickler.dump(inputs)
    return Call(buffer.getvalue()), pickler.futures


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO) -> None:
        super().__init__(buffer, protocol=5)
        self.futures: list[Future] = []

    def persistent_id(self, obj: Any) -> tuple[int, bool] | None:
        if not isinstance(obj, Remote):
            return None
        self.futures.append(obj.future)
        return len(self.futures) - 1, obj.as_read


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, values: tuple[Any, ...]) -> None:
        super().__init__(io.BytesIO(content))
        self._values = values

    def persistent_load(self, pid: tuple[int, bool]) -> Any:
        number, as_read = pid
        value = self._values[number]
        return _reading(value) if as_read else value


def _reading(value: Any) -> Callable[[], Any]:
    return lambda: value


class HeldPart(Remote):
    """The edges of one part, on a worker. Calling it brings them to the driver.

    Dask knows how they were made: if the worker is lost, a different one makes them again.
    """

    as_read = True

    def __init__(self, future: Future, fetch: Fetch) -> None:
        super().__init__(future)
        self._fetch = fetch

    def __call__(self) -> Pairs:
        return self._fetch(self.future)

    def __reduce__(self) -> tuple[object, ...]:
        """A copy outside the cluster has the edges themselves."""
        edges = self()
        return partial, (Pairs, *edges, edges.weight)


def held_parts(
    futures: Sequence[Future],
    fetch: Fetch,
    *,
    nodes: int,
    part_nodes: int,
    edge_count: int,
    kind: Kind = UNDIRECTED,
) -> ReleasedParts:
    """A released graph of which every part is on a worker."""
    reads = [HeldPart(future, fetch) for future in futures]
    return ReleasedParts(
        reads, nodes=nodes, part_nodes=part_nodes, edge_count=edge_count, kind=kind
    )


class _Narrow(NamedTuple):
    """An array of integers of type `dtype`, kept in a narrower one.

    Most counts are small, so this saves half to seven eighths of the bytes.
    """

    values: NDArray[Any]
    dtype: str


class _Weighted(NamedTuple):
    """What were edges with weights."""

    u: Any
    v: Any
    weight: Any


class _View(NamedTuple):
    """What was a memoryview, which can't be pickled."""

    content: bytes


def to_driver(value: Any) -> Any:
    """Pack a result for the driver, also inside tuples and lists.

    >>> to_driver((np.array([1, 2, 300]),))
    (_Narrow(values=array([  1,   2, 300], dtype=uint16), dtype='int64'),)
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "i":
        if not value.size or value.min() < 0:
            return value
        return _Narrow(value.astype(np.min_scalar_type(int(value.max()))), value.dtype.name)
    if isinstance(value, memoryview):
        return _View(bytes(value))
    if isinstance(value, Pairs) and value.weight is not None:
        return _Weighted(*map(to_driver, (*value, value.weight)))
    if isinstance(value, list | tuple):
        return _like(value, [to_driver(each) for each in value])
    return value


def unpacked(value: Any) -> Any:
    """Return what `to_driver` was given.

    >>> unpacked(to_driver([np.array([1, 2, 300])]))
    [array([  1,   2, 300])]
    """
    if isinstance(value, _Narrow):
        return value.values.astype(value.dtype)
    if isinstance(value, _View):
        return memoryview(value.content)
    if isinstance(value, _Weighted):
        return Pairs(*map(unpacked, value))
    if isinstance(value, list | tuple):
        return _like(value, [unpacked(each) for each in value])
    return value


def packed_bytes(value: Any) -> int:
    """Return about how many bytes a packed result has: those of its arrays and contents.

    >>> packed_bytes(to_driver((np.array([1, 2, 300]), 7)))
    14
    """
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, _Narrow):
        return value.values.nbytes
    if isinstance(value, list | tuple):
        return sum(packed_bytes(each) for each in value)
    return 8


def _like(value: Any, items: list[Any]) -> Any:
    """A list or a tuple of the same type; named tuples take their fields one by one."""
    return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
