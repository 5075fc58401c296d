"""Swap the heads of edges until a directed graph has about a wanted number of reciprocated pairs.

A swap replaces v → c and b → u by v → u and b → c where u → v is an edge. Out- and in-degrees stay
exactly as they are, and so do block counts if c and u have the same in-label, or b and v the same
out-label. Edges that are reciprocated are left alone; those kept from the release before are
spared while others can be found. Post-processing of a synthetic graph only.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph._runtime.kernels import KeySet, add_key, has_key, key_set, remove_key
from psgraph.graph.kind import DIRECTED, Edges, pack_pair
from psgraph.methods.plus.swaps import State, below

__all__ = ["reciprocated_pairs", "swap_heads"]

TRIES = 60  # for each edge
CLOSE = 0.03  # of the wanted number: a larger distance is worth breaking block counts


def swap_heads(
    edges: Edges,
    *,
    nodes: int,
    labels: tuple[Labels, Labels],
    pairs: int,
    rng: np.random.Generator,
    spared: tuple[Positions, Positions] | None = None,
) -> Edges:
    """Move the number of reciprocated pairs towards `pairs`; degrees stay.

    Parameters
    ----------
    edges, nodes
        A directed graph in ascending order of (u, v), and its number of nodes.
    labels
        The out-label and the in-label of every node. Block counts change only if the wanted number
        is missed by more than 3 % otherwise.
    spared
        Ends of edges that are swapped only if others do not suffice.

    Examples
    --------
    >>> ring = Edges(np.arange(4, dtype=np.int32), np.array([1, 2, 3, 0], dtype=np.int32))
    >>> alike = np.zeros(4, dtype=np.int32)
    >>> rng = np.random.default_rng(1)
    >>> after = swap_heads(ring, nodes=4, labels=(alike, alike), pairs=2, rng=rng)
    >>> reciprocated_pairs(after)
    2
    """
    u, v = edges.u.copy(), edges.v.copy()
    if u.size < 2:
        return edges
    taken, kept = key_set(u.size), key_set(0 if spared is None else spared[0].size)
    _add_all(taken, u, v)
    if spared is not None:
        _add_all(kept, *spared)
    lists = _lists(u, v, nodes)
    state = rng.integers(1 << 63, size=1, dtype=np.uint64)
    found = _count(u, v, taken)
    nobody, nothing = (np.zeros(nodes, dtype=np.int32),) * 2, key_set(0)
    for some, blocks in ((kept, labels), (nothing, labels), (nothing, nobody)):
        if blocks is nobody and abs(found - pairs) <= CLOSE * pairs:
            break
        move = _reciprocate if found < pairs else _separate
        found = move(u, v, lists, taken, some, *blocks, found, pairs, TRIES * u.size, state)
    order = np.argsort(DIRECTED.keys(u, v))
    return Edges(u[order], v[order])


def reciprocated_pairs(edges: Edges) -> int:
    """Return how many pairs of nodes are joined in both directions.

    >>> reciprocated_pairs(Edges(np.array([0, 1, 1]), np.array([1, 0, 2])))
    1
    """
    taken = key_set(edges.u.size)
    _add_all(taken, edges.u, edges.v)
    return _count(edges.u, edges.v, taken)


@kernel
def _add_all(keys: KeySet, u: Positions, v: Positions) -> None:
    for edge in range(u.size):
        add_key(keys, pack_pair(u[edge], v[edge]))


@kernel
def _count(u: Positions, v: Positions, taken: KeySet) -> int:
    found = 0
    for edge in range(u.size):
        if u[edge] < v[edge] and has_key(taken, pack_pair(v[edge], u[edge])):
            found += 1
    return found


# Edges by their first end, edges by their second end, and where each edge is among the latter.
Lists = tuple[Integers, Integers, Integers, Integers]


@kernel
def _lists(u: Positions, v: Positions, nodes: int) -> Lists:
    """Edges are in order of u: those of x are numbers ``starts[x]`` to ``starts[x + 1]``."""
    starts, ends = np.zeros(nodes + 1, dtype=np.int64), np.zeros(nodes + 1, dtype=np.int64)
    for edge in range(u.size):
        starts[u[edge] + 1] += 1
        ends[v[edge] + 1] += 1
    for node in range(nodes):
        starts[node + 1] += starts[node]
        ends[node + 1] += ends[node]
    incoming, where = np.empty(u.size, dtype=np.int64), np.empty(u.size, dtype=np.int64)
    free = ends[:-1].copy()
    for edge in range(u.size):
        at = free[v[edge]]
        incoming[at], where[edge] = edge, at
        free[v[edge]] = at + 1
    return starts, ends, incoming, where


@lean_kernel
def _exchange(
    one: int, other: int, u: Positions, v: Positions, lists: Lists, taken: KeySet
) -> None:
    """Give two edges the head of the other."""
    remove_key(taken, pack_pair(u[one], v[one]))
    remove_key(taken, pack_pair(u[other], v[other]))
    v[one], v[other] = v[other], v[one]
    incoming, where = lists[2], lists[3]
    where[one], where[other] = where[other], where[one]
    incoming[where[one]], incoming[where[other]] = one, other
    add_key(taken, pack_pair(u[one], v[one]))
    add_key(taken, pack_pair(u[other], v[other]))


@lean_kernel
def _reciprocate(
    u: Positions,
    v: Positions,
    lists: Lists,
    taken: KeySet,
    spared: KeySet,
    out_labels: Labels,
    in_labels: Labels,
    found: int,
    wanted: int,
    tries: int,
    state: State,
) -> int:
    """Add reciprocated pairs; how many there are then."""
    starts, ends, incoming = lists[0], lists[1], lists[2]
    while found < wanted and tries > 0:
        tries -= 1
        edge = below(state, u.size)
        x, y = u[edge], v[edge]
        leaving, arriving = starts[y + 1] - starts[y], ends[x + 1] - ends[x]
        if leaving == 0 or arriving == 0 or has_key(taken, pack_pair(y, x)):
            continue
        one = starts[y] + below(state, leaving)
        other = incoming[ends[x] + below(state, arriving)]
        b, c = u[other], v[one]
        if out_labels[b] != out_labels[y] and in_labels[c] != in_labels[x]:
            continue
        if b == c or has_key(taken, pack_pair(b, c)):
            continue
        if has_key(taken, pack_pair(c, y)) or has_key(taken, pack_pair(x, b)):
            continue  # one of them is reciprocated already
        if has_key(spared, pack_pair(y, c)) or has_key(spared, pack_pair(b, x)):
            continue
        _exchange(one, other, u, v, lists, taken)
        found += 2 if has_key(taken, pack_pair(c, b)) else 1
    return found


@lean_kernel
def _separate(
    u: Positions,
    v: Positions,
    lists: Lists,
    taken: KeySet,
    spared: KeySet,
    out_labels: Labels,
    in_labels: Labels,
    found: int,
    wanted: int,
    tries: int,
    state: State,
) -> int:
    """Remove reciprocated pairs; how many there are then."""
    while found > wanted and tries > 0:
        tries -= 1
        one, other = below(state, u.size), below(state, u.size)
        y, x, b, c = u[one], v[one], u[other], v[other]
        if not has_key(taken, pack_pair(x, y)) or has_key(taken, pack_pair(c, b)):
            continue
        if out_labels[b] != out_labels[y] and in_labels[c] != in_labels[x]:
            continue
        if y == c or b == x or has_key(taken, pack_pair(y, c)) or has_key(taken, pack_pair(b, x)):
            continue
        if has_key(taken, pack_pair(c, y)) or has_key(taken, pack_pair(x, b)):
            continue
        if has_key(spared, pack_pair(y, x)) or has_key(spared, pack_pair(b, c)):
            continue
        _exchange(one, other, u, v, lists, taken)
        found -= 1
    return found
