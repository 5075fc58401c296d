"""What a worker does. Every task first checks that the worker runs the driver's code.

A task has no state and draws no noise: run again, or twice, it gives the same result.
"""

from __future__ import annotations

import hashlib
import platform
import signal
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import psgraph
from psgraph._runtime.arrays import Integers
from psgraph._version import __version__
from psgraph.engines.dask.transport import Call, to_driver
from psgraph.engines.runner import Job
from psgraph.engines.shuffle import sorted_edges, split_keys
from psgraph.errors import EngineError
from psgraph.graph.parts import Pairs

__all__ = [
    "added",
    "check_identity",
    "combined",
    "dask_setup",
    "drawn",
    "identity",
    "identity_digest",
    "loaded",
    "made",
    "mapped",
    "merged",
    "packed",
    "reduced",
    "run",
    "size",
    "summed",
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
    """A result that is ready for its way to the driver."""
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
    return Pairs(*job.work(item, *job.shared))


def size(edges: Pairs) -> int:
    """How many edges a part has."""
    return int(edges.u.size)


def loaded(content: Call) -> Any:
    """A value that many tasks share."""
    return content.open(())


# ---- what has to be the same everywhere, so that all draw the same edges ----


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
    """Refuse to run a task of a driver that has other code.

    Workers are checked when the driver connects; one may have joined the cluster later.
    """
    if expected != identity_digest():
        raise EngineError(
            f"a worker joined the cluster with other software than the driver: psgraph "
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
