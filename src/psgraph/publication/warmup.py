"""Compile every kernel ahead of the work, so that compiling can be shown and timed by itself.

numba compiles a kernel for the types it is first called with and keeps the result on disk. Small
synthetic inputs go through every kernel here, in the very types that real ones come in.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.kernels import sort_keys, sorting_order
from psgraph._runtime.resources import keep_freed_memory
from psgraph.engines.runner import Job
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.graph.kind import pack
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import block_counts
from psgraph.methods.registry import find_method
from psgraph.methods.steps.consistency import norm_sub_threshold
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher

__all__ = ["warm_up"]

_NODES, _PART = 64, 32
_CELLS = 1 << 20  # more than are ever written down one by one
_MANY = 1 << 12  # keys that are not sorted by comparison any more


def warm_up(method: Method[Any, Any] | None = None) -> None:
    """Compile, or load from the cache, all that publishing needs. Looks at no data.

    From here on the process keeps the memory it frees (see `psgraph._runtime.resources`).

    Parameters
    ----------
    method
        The method that will be used; the default one if none is given.

    >>> warm_up()
    """
    keep_freed_memory()
    if method is None:
        method = find_method(DEFAULT_METHOD)()
    engine = LocalEngine()
    for variant in method.rehearsals():
        for epsilon in method.rehearsal_epsilons:
            guarantee = WEventPrivacy(epsilon, window=2)
            publisher = Publisher(variant, guarantee, seed=0, engine=engine)
            for snapshot in _rehearsal_stream():
                publisher.publish(snapshot)
    ring = _rings(_NODES, _NODES, 1)
    _warm_up_sparse_counts(engine, ring)
    _warm_up_shuffle(ring)


def _rehearsal_stream() -> list[Snapshot]:
    """Two communities, with a past and new nodes: no triangles at first, many, nearly all pairs."""
    odd, near, most = range(1, 16, 2), range(1, 9), range(1, 25)
    return [
        _rings(_NODES, _NODES // 2, *odd),
        _rings(_NODES + 2, _NODES // 2, *odd),
        _rings(_NODES + 2, _NODES // 2, *near),
        _rings(_NODES + 2, _NODES // 2, *near),
        _rings(_NODES + 2, _NODES + 2, *most),
    ]


def _rings(nodes: int, length: int, *steps: int) -> Snapshot:
    """Rings of `length` nodes, each joined to those `steps` away, and nodes that are left over."""
    around = np.tile(np.arange(nodes // length * length), len(steps))
    within = (around + np.repeat(steps, around.size // len(steps))) % length
    return Snapshot(Roster.range(nodes), around, around // length * length + within)


def _warm_up_sparse_counts(engine: LocalEngine, snapshot: Snapshot) -> None:
    """What only happens where a matrix of counts is too large to write down."""
    labels = np.arange(_NODES, dtype=np.int32)
    cells, counts = block_counts(PrivateEdges(snapshot, engine), labels, _CELLS, inside=True)
    sort_keys(np.arange(_MANY)[::-1].copy(), largest=_MANY)
    sorting_order(np.arange(_MANY)[::-1].copy())
    Budget(Fraction(8), Sampler(RandomSource.seeded(0))).run(
        SparseLaplaceCounts(
            cells,
            counts,
            size=_CELLS,
            threshold=norm_sub_threshold,
            sensitivity=1,
        ),
        epsilon=Fraction(8),
        label="warm-up",
    )


def _warm_up_shuffle(snapshot: Snapshot) -> None:
    """What only happens to a graph of several parts."""
    keys = pack(snapshot.u, snapshot.v)
    engine = LocalEngine(threads=1, part_nodes=_PART)
    engine.shuffle([Job(_itself, [keys])], nodes=_NODES)


def _itself(keys: Integers) -> Integers:
    return keys
