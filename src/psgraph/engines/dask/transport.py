"""What travels between driver and workers: the inputs of tasks, results, and parts that stay there.

Small inputs go with a task, large ones are taken from where they are on the workers. Integers go
to the driver as narrow as their values allow: most counts are small, so this saves half to seven
eighths of the bytes.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psgraph.engines.released import ReleasedParts
from psgraph.graph.parts import Pairs

if TYPE_CHECKING:
    from distributed import Future

__all__ = [
    "Call",
    "HeldPart",
    "Remote",
    "call",
    "held_parts",
    "packed_bytes",
    "to_driver",
    "unpacked",
]

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
        return partial, (Pairs, *self())


def held_parts(
    futures: Sequence[Future], fetch: Fetch, *, nodes: int, part_nodes: int, edge_count: int
) -> ReleasedParts:
    """A released graph of which every part is on a worker."""
    reads = [HeldPart(future, fetch) for future in futures]
    return ReleasedParts(reads, nodes=nodes, part_nodes=part_nodes, edge_count=edge_count)


class _Narrow(NamedTuple):
    """An array of integers of type `dtype`, kept in a narrower one."""

    values: NDArray[Any]
    dtype: str


class _View(NamedTuple):
    """What was a memoryview, which can't be pickled."""

    content: bytes


def to_driver(value: Any) -> Any:
    """Prepare a result for its way; inside tuples and lists as well.

    >>> to_driver((np.array([1, 2, 300]),))
    (_Narrow(values=array([  1,   2, 300], dtype=uint16), dtype='int64'),)
    """
    if isinstance(value, np.ndarray) and value.dtype.kind == "i":
        if not value.size or value.min() < 0:
            return value
        return _Narrow(value.astype(np.min_scalar_type(int(value.max()))), value.dtype.name)
    if isinstance(value, memoryview):
        return _View(bytes(value))
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
