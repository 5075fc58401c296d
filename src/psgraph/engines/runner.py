"""The protocol of engines: a runner runs tasks on parts; engines by name; how keys are sorted.

Queries and samplers are functions over a `Runner`. They hand it functions that stand at the top of
a module; these, their items and what they share can be pickled.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from psgraph._runtime.arrays import Integers, Positions
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import bucket_keys, sort_keys
from psgraph.errors import InvalidArgument
from psgraph.graph.kind import UNDIRECTED, Kind, first_end, first_key, pack_pair, second_end

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = [
    "ENGINES",
    "Job",
    "Runner",
    "engine_names",
    "find_engine",
    "open_engine",
    "sorted_edges",
    "split_keys",
]

GROUP = "psgraph.engines"

ENGINES = {
    "local": "psgraph.engines.threads:LocalEngine",
    "dask": "psgraph.engines.dask:DaskEngine",
}
"""The engines of this package. Others come from the entry-point group ``psgraph.engines``."""


class Job(NamedTuple):
    """Calls ``work(item, *shared)`` for every item; `shared` is the same for all of them."""

    work: Callable[..., Any]
    items: Iterable[Any]
    shared: tuple[Any, ...] = ()


@runtime_checkable
class Runner(Protocol):
    """Runs tasks over the parts of graphs. An engine is a class of runners.

    A task may run anywhere, and again after a failure: it gives the same result. An engine never
    draws noise on private values.

    Attributes
    ----------
    part_nodes
        Node positions in the range of a part.
    """

    part_nodes: int

    def map(self, job: Job) -> Iterator[Any]:
        """Yield the results in the order of the items."""
        ...

    def sum(self, job: Job, *, sizes: Sequence[int]) -> tuple[Integers, ...]:
        """Return sums over all items: ``work(item, *shared, *sums)`` adds to the arrays `sums`.

        The arrays have the lengths `sizes` and start at zero.
        """
        ...

    def reduce(self, job: Job, combine: Callable[[Sequence[Any]], Any]) -> Any:
        """Combine the results. `combine` takes a list of results and returns one result.

        The result must not depend on the order of the list, nor on combining in steps.
        """
        ...

    def shuffle(self, jobs: Iterable[Job], *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        """Sort the keys that tasks return, in any order, into the parts of a graph of that kind.

        Keys are those of `psgraph.graph.kind.pack`. Repeated keys stay repeated. Edges get no
        weights, also if the kind has them: `store` keeps those.
        """
        ...

    def store(self, job: Job, *, nodes: int, kind: Kind = UNDIRECTED) -> EdgeParts:
        """Keep the sorted edges (u, v) that each task returns for one part, in order of parts.

        For a kind with weights a task returns `psgraph.graph.parts.Pairs` that have them.
        """
        ...


def engine_names() -> list[str]:
    """Return the names of all installed engines; those of this package come first."""
    return list(dict.fromkeys([*ENGINES, *(point.name for point in entry_points(group=GROUP))]))


def find_engine(name: str) -> Callable[..., Any]:
    """Return an engine by its name: a class, or a function that makes a `Runner`.

    Nothing that only another engine needs is imported or started.

    >>> find_engine("local").__name__
    'LocalEngine'
    """
    if name in ENGINES:
        module, _, attribute = ENGINES[name].partition(":")
        found: Callable[..., Any] = getattr(import_module(module), attribute)
        return found
    for point in entry_points(group=GROUP, name=name):
        loaded: Callable[..., Any] = point.load()
        return loaded
    raise InvalidArgument(
        f"there is no engine {name!r}\nInstalled engines: {', '.join(engine_names())}."
    )


@contextmanager
def open_engine(name: str, *, scheduler: str | None = None) -> Iterator[Any]:
    """Open an engine; if it is a context manager, it is closed at the end.

    Parameters
    ----------
    scheduler
        The address of a running Dask scheduler; see `psgraph.engines.dask.DaskEngine`.

    >>> with open_engine("local") as engine:
    ...     isinstance(engine, Runner)
    True
    """
    make = find_engine(name)
    if scheduler is not None and "scheduler" not in inspect.signature(make).parameters:
        raise InvalidArgument(
            f"the engine {name!r} takes no scheduler\nGive --engine dask as well, or leave it out."
        )
    engine = make() if scheduler is None else make(scheduler=scheduler)
    with ExitStack() as stack:
        yield stack.enter_context(engine) if hasattr(engine, "__enter__") else engine


# ---- for engines: sorted edges from keys that tasks draw in any order ----


def split_keys(keys: Integers, *, part_nodes: int, parts: int) -> list[Integers]:
    """Cut keys by the range of their first end.

    >>> from psgraph.graph.kind import pack, unpack
    >>> pieces = split_keys(pack([3, 1, 2], [4, 4, 4]), part_nodes=2, parts=2)
    >>> [unpack(piece)[0].tolist() for piece in pieces]
    [[1], [3, 2]]
    """
    if parts == 1:
        return [keys]
    grouped, begins = bucket_keys(keys, first_key(part_nodes), parts)
    return np.split(grouped, begins[1:-1])


def sorted_edges(keys: Integers, *, first: int, nodes: int) -> tuple[Positions, Positions]:
    """Sort the keys of one range, which starts at node `first`, and take them apart.

    >>> from psgraph.graph.kind import pack
    >>> u, v = sorted_edges(pack([2, 1], [5, 7]), first=1, nodes=8)
    >>> u.tolist(), v.tolist()
    ([1, 2], [7, 5])
    """
    bits = max(nodes - 1, 1).bit_length()
    packed = _packed(keys, first, bits)
    largest = int(packed.max(initial=0))  # fewer digits than the keys have
    return _taken_apart(sort_keys(packed, largest=largest), first, bits)


@kernel
def _packed(keys: Integers, first: int, bits: int) -> Integers:
    packed = np.empty_like(keys)
    for at in range(keys.size):
        packed[at] = pack_pair(first_end(keys[at]) - first, second_end(keys[at]), bits)
    return packed


@kernel
def _taken_apart(packed: Integers, first: int, bits: int) -> tuple[Positions, Positions]:
    u, v = np.empty(packed.size, dtype=np.int32), np.empty(packed.size, dtype=np.int32)
    for at in range(packed.size):
        u[at] = first_end(packed[at], bits) + first
        v[at] = second_end(packed[at], bits)
    return u, v
