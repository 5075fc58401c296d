"""Edge post-processing: bring a generated graph to a wanted number of edges (Algorithm 3, step 3).

Nodes whose degree is furthest from the wanted one are visited first and get, or lose, random
edges of the kind they lack (inside or outside their community). One pass; the remaining difference
is added or removed uniformly, so that the number of edges is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.hash_set import KeySet, add_key, has_key, key_set
from psgraph._runtime.jit import kernel
from psgraph._runtime.sorting import group_nodes
from psgraph.engines.base import Edges

__all__ = ["repair_edges"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32]
Whole = int | np.integer[Any]


def repair_edges(
    edges: Edges,
    *,
    labels: Positions,
    inner_degrees: Floats,
    outer_degrees: Floats,
    edge_count: int,
    rng: np.random.Generator,
) -> Edges:
    """Exactly `edge_count` edges (at most n(n−1)/2), with degrees closer to those wanted."""
    missing = edge_count - edges.u.size
    if missing == 0:
        return edges
    nodes = labels.size
    lack = np.concatenate([inner_degrees, outer_degrees])
    _subtract_degrees(edges.u, edges.v, labels, lack)
    worth = lack if missing > 0 else -lack
    entries = np.flatnonzero(worth >= 0.5)
    # Integer noise makes many entries equal; visiting them in roster order would favour the
    # first nodes of the roster.
    rng.shuffle(entries)
    entries = entries[np.argsort(-worth[entries], kind="stable")]
    if missing < 0:
        alive = _remove(edges.u, edges.v, labels, entries, lack, -missing, rng)
        return Edges(edges.u[alive], edges.v[alive])
    _, ordered = group_nodes(labels.astype(np.int64), np.arange(nodes))
    members = ordered.astype(np.int32)
    begins = np.append(0, np.bincount(labels).cumsum())
    rows = np.append(0, np.bincount(edges.u, minlength=nodes).cumsum())
    added = _add(edges.v, rows, labels, members, begins, entries, lack, missing, rng)
    added.sort()
    keys = edges.u.astype(np.int64) << 32 | edges.v
    keys = np.insert(keys, np.searchsorted(keys, added), added)
    return Edges((keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32))


@kernel
def _subtract_degrees(u: Positions, v: Positions, labels: Positions, lack: Floats) -> None:
    """Subtract the degrees of the edges from the wanted ones (inside, then outside)."""
    nodes = labels.size
    for edge in range(u.size):
        shift = 0 if labels[u[edge]] == labels[v[edge]] else nodes
        lack[u[edge] + shift] -= 1.0
        lack[v[edge] + shift] -= 1.0


@kernel
def _key(x: Whole, y: Whole) -> Whole:
    return (np.int64(x) << 32) | np.int64(y) if x < y else (np.int64(y) << 32) | np.int64(x)


@kernel
def _joined(x: Whole, y: Whole, v: Positions, rows: Integers, taken: KeySet) -> bool:
    """Whether x and y are connected by an edge, generated or added."""
    low, high = (x, y) if x < y else (y, x)
    left, right = rows[low], rows[low + 1]
    while left < right:
        middle = (left + right) // 2
        if v[middle] < high:
            left = middle + 1
        else:
            right = middle
    if left < rows[low + 1] and v[left] == high:
        return True
    return has_key(taken, _key(x, y))


@kernel
def _add(
    v: Positions,
    rows: Integers,
    labels: Positions,
    members: Positions,
    begins: Integers,
    entries: Integers,
    lack: Floats,
    missing: int,
    rng: np.random.Generator,
) -> Integers:
    """Keys of `missing` new edges."""
    nodes = labels.size
    taken = key_set(missing)
    added = np.empty(missing, dtype=np.int64)
    found = 0
    for entry in entries:
        outside = entry >= nodes
        x = entry - nodes if outside else entry
        begin, end = begins[labels[x]], begins[labels[x] + 1]
        pool = nodes - (end - begin) if outside else end - begin
        wanted = min(int(lack[entry] + 0.5), missing - found)
        misses = 0
        while wanted > 0 and misses < 16 * pool:
            at = np.int64(rng.random() * pool)
            if outside:
                at = at + (end - begin) if at >= begin else at
            else:
                at += begin
            y = members[at]
            if y == x or _joined(x, y, v, rows, taken):
                # Nearly all partners are taken: after sixteen rounds leave the rest to the end.
                misses += 1
                continue
            added[found] = _key(x, y)
            add_key(taken, added[found])
            found += 1
            wanted -= 1
            lack[entry] -= 1.0
            lack[y + (nodes if outside else 0)] -= 1.0
        if found == missing:
            return added
    free = np.float64(nodes) * (nodes - 1) / 2 - v.size - found
    while found < missing and free * 8 > np.float64(nodes) * nodes / 2:
        x, y = np.int64(rng.random() * nodes), np.int64(rng.random() * nodes)
        if x != y and not _joined(x, y, v, rows, taken):
            added[found] = _key(x, y)
            add_key(taken, added[found])
            found += 1
            free -= 1
    if found < missing:
        # So dense that guessing would miss: go through the free pairs and take each with the
        # probability that leaves exactly enough.
        for x in range(nodes):
            for y in range(x + 1, nodes):
                if not _joined(x, y, v, rows, taken):
                    if rng.random() * free < missing - found:
                        added[found] = _key(x, y)
                        found += 1
                    free -= 1
    return added


@kernel
def _remove(
    u: Positions,
    v: Positions,
    labels: Positions,
    entries: Integers,
    lack: Floats,
    surplus: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Which edges stay when `surplus` are taken away."""
    nodes = labels.size
    starts = np.zeros(nodes + 1, dtype=np.int64)
    for edge in range(u.size):
        starts[u[edge] + 1] += 1
        starts[v[edge] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
    heads = starts[:-1].copy()
    incident = np.empty(2 * u.size, dtype=np.int64)
    for edge in range(u.size):
        incident[heads[u[edge]]] = edge
        heads[u[edge]] += 1
        incident[heads[v[edge]]] = edge
        heads[v[edge]] += 1
    alive = np.ones(u.size, dtype=np.bool_)
    for entry in entries:
        shift = nodes if entry >= nodes else 0
        x = entry - shift
        wanted = min(int(0.5 - lack[entry]), surplus)
        if wanted <= 0:
            continue
        choices = 0
        for at in range(starts[x], starts[x + 1]):
            edge = incident[at]
            if alive[edge] and (labels[u[edge]] != labels[v[edge]]) == (shift > 0):
                choices += 1
        for at in range(starts[x], starts[x + 1]):
            edge = incident[at]
            if wanted > 0 and alive[edge] and (labels[u[edge]] != labels[v[edge]]) == (shift > 0):
                if rng.random() * choices < wanted:
                    alive[edge] = False
                    lack[u[edge] + shift] += 1.0
                    lack[v[edge] + shift] += 1.0
                    wanted -= 1
                    surplus -= 1
                choices -= 1
        if surplus == 0:
            return alive
    left = np.int64(0)
    for edge in range(u.size):
        left += alive[edge]
    for edge in range(u.size):
        if surplus > 0 and alive[edge]:
            if rng.random() * left < surplus:
                alive[edge] = False
                surplus -= 1
            left -= 1
    return alive
