"""Phase 3: a graph from noisy values (Algorithm 3, Equations 2–4).

The drawn graph is then brought to the noisy number of edges (step 3): edges are added where degrees
are too small (see `additions`), or removed where they are too large, inside or outside a community;
the remaining difference is added or removed uniformly. It works part by part on a `Runner`.

Everything here is post-processing: this module can't import a snapshot or a budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Labels, Positions
from psgraph._runtime.jit import kernel
from psgraph.engines.counter_based import derived_key, keyed_uniform
from psgraph.engines.counting import add_split_degrees
from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Job, Runner
from psgraph.engines.sampling import sample
from psgraph.engines.sides import Sides, degree_count
from psgraph.graph.kind import pack
from psgraph.methods.psgraph.additions import with_more
from psgraph.methods.steps.block_model import block_count, inside_blocks, synthesis_seed

if TYPE_CHECKING:
    from psgraph.graph.parts import EdgeParts

__all__ = ["Between", "degrees_by_side", "reconstruct", "repaired", "with_fewer"]

Between = Literal["printed", "symmetric"]


def reconstruct(
    *,
    labels: Labels,
    inner_degrees: Floats,
    outer_degrees: Floats,
    community_pairs: tuple[Labels, Labels],
    community_edges: Floats,
    edge_count: int,
    between: Between,
    postprocess: bool,
    engine: Runner,
    rng: np.random.Generator,
    sides: Sides | None = None,
) -> EdgeParts:
    """Draw edges inside and between communities, then repair the graph.

    Parameters
    ----------
    labels
        The community of every node: 0, …, H − 1.
    inner_degrees, outer_degrees
        D̂_i and D̂_o, per side.
    community_pairs, community_edges
        V̂: pairs a < b and the number of edges between them, where it is positive. With two sides
        the number of edges from a to b.
    edge_count
        m̃, the noisy number of edges; clipped to what the nodes allow.
    between
        ``"printed"``: p = ĥ_x ĥ_y v̂_ab / (V_a H_b), Equations 3 and 4 as printed, with the
        community of the smaller number as a. ``"symmetric"``: p = v̂_ab ĥ_x ĥ_y / (H_a H_b),
        which keeps the number of edges between two communities. With two sides, from x in a to y
        in b: V_a is the number of edges that leave a, ĥ_x and H_a are out-degrees, ĥ_y and H_b
        are in-degrees.
    postprocess
        Whether to repair (Step 3).
    sides
        Where ends of edges come from; unless given, the graph is undirected.

    Notes
    -----
    O(n log n + m̃) time.
    """
    sides = sides or Sides.undirected(labels.size)
    inside = inside_blocks(inner_degrees, labels, sides)
    across = _between_blocks(
        outer_degrees, labels, community_pairs, community_edges, between, sides
    )
    parts = sample(engine, inside, across, seed=synthesis_seed(rng))
    if not postprocess:
        return parts
    return repaired(
        parts,
        labels=labels,
        inner_degrees=inner_degrees,
        outer_degrees=outer_degrees,
        edge_count=min(max(edge_count, 0), sides.pairs),
        seed=synthesis_seed(rng),
        runner=engine,
        sides=sides,
    )


def _between_blocks(
    outer_degrees: Floats,
    labels: Labels,
    pairs: tuple[Labels, Labels],
    edges: Floats,
    between: Between,
    sides: Sides,
) -> Blocks:
    """Equations 3 and 4, where Σ_z ê_z^a = H_b v̂_ab / V_b cancels to one factor per pair."""
    a, b = pairs
    communities = block_count(labels)
    of_first, of_second = sides.sums(outer_degrees, labels, communities)  # H
    if between == "printed":
        edge_totals = np.bincount(a, weights=edges, minlength=communities)
        if sides.alike:
            edge_totals += np.bincount(b, weights=edges, minlength=communities)  # V
        denominators = edge_totals[a] * of_second[b]
    else:
        denominators = of_first[a] * of_second[b]
    alive = (edges > 0) & (denominators > 0)
    rates = edges[alive] / denominators[alive]
    return Blocks(outer_degrees, labels, a[alive], b[alive], rates, sides)


Read = Callable[[], Any]
Shared = tuple[Positions, Floats, int, int]
Found = tuple[Floats, Integers]

_BINS = 1 << 16
_BIN_SHIFT = 47  # the highest 16 of the 63 bits of a positive number
_LEAST = 1e-6  # fraction of its edges that a node keeps
_LAST = 2.0**-500  # weight of edges that nobody has too many of: they go after all others

ROUND = 8
"""At most one edge in eight is removed before degrees are counted again."""
ROUND_EDGES = 1 << 23
"""Nor are more removed than this: their keys and priorities are held in memory."""


def repaired(
    parts: EdgeParts,
    *,
    labels: Positions,
    inner_degrees: Floats,
    outer_degrees: Floats,
    edge_count: int,
    seed: int,
    runner: Runner,
    sides: Sides | None = None,
) -> EdgeParts:
    """Add or remove edges at the nodes furthest from their target degree, to `edge_count` edges.

    Parameters
    ----------
    parts
        Edges that were drawn with `psgraph.engines.sampling.sample`.
    inner_degrees, outer_degrees
        The target degrees, per side.
    edge_count
        At most the number of pairs of nodes that can be edges; reached exactly.
    sides
        Where ends of edges come from; unless given, the graph is undirected.
    """
    missing = edge_count - parts.edge_count
    if missing == 0:
        return parts
    wanted: Floats = np.concatenate([inner_degrees, outer_degrees])
    if missing > 0:
        lack: Floats = wanted - degrees_by_side(parts, labels, runner)
        sides = sides or Sides.undirected(labels.size)
        return with_more(
            parts, missing, lack=lack, labels=labels, seed=seed, runner=runner, sides=sides
        )
    number = 0
    while parts.edge_count > edge_count:
        most = min(-(-parts.edge_count // ROUND), ROUND_EDGES)
        surplus = min(parts.edge_count - edge_count, most)
        parts = with_fewer(
            parts,
            surplus,
            degrees=degrees_by_side(parts, labels, runner),
            wanted=wanted,
            labels=labels,
            key=derived_key(seed, number),
            runner=runner,
        )
        number += 1
    return parts


def degrees_by_side(parts: EdgeParts, labels: Positions, runner: Runner) -> Integers:
    """Return the degrees inside, then those outside, of all nodes; each per side."""
    size = degree_count(parts.kind, labels.size)
    job = Job(_add_degrees, parts.edges(), (labels, size - labels.size))
    return np.concatenate(runner.sum(job, sizes=(size, size)))


def _add_degrees(
    read: Callable[[], Any], labels: Positions, shift: int, inner: Integers, outer: Integers
) -> None:
    part = read()
    add_split_degrees(part.u, part.v, labels, shift, inner, outer)


# ---- removing edges ----


def with_fewer(
    parts: EdgeParts,
    surplus: int,
    *,
    degrees: Integers,
    wanted: Floats,
    labels: Positions,
    key: int,
    runner: Runner,
) -> EdgeParts:
    """Remove `surplus` edges, exactly, preferring nodes further above their target degree.

    Every edge gets a random priority, an exponential variable divided by its weight, and the
    smallest priorities go: sampling without replacement, with chances in proportion to the
    weights. A priority depends on the edge and a key alone. The parts hand over those up to a
    limit that is guessed from the sum of the weights; if these are too few, a histogram finds
    where the last one to go is.

    Reference: Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006).

    Parameters
    ----------
    degrees, wanted
        Inside, then outside, of all nodes; each per side.
    key
        For the priorities; a new one in every round.
    """
    # Both ends would keep the fraction wanted / degree of their edges if each edge were kept
    # with the product of these fractions.
    weights = -np.log(np.clip(wanted / np.maximum(degrees, 1), _LEAST, 1.0))
    shared = (labels, weights, degree_count(parts.kind, labels.size) - labels.size, key)
    last = _last_to_go(parts, surplus, float(weights @ degrees), shared, runner)
    job = Job(_kept, parts.edges(), (*shared, *last))
    return runner.store(job, nodes=labels.size, kind=parts.kind)


def _last_to_go(
    parts: EdgeParts, surplus: int, total: float, shared: Shared, runner: Runner
) -> tuple[float, int]:
    """Find the last edge to go: its priority and key. `total` is the sum of all weights."""
    # An edge of weight w is below a limit t with probability 1 − exp(−w·t), at most w·t.
    limit = 1.25 * (surplus + 5 * np.sqrt(surplus)) / total if total > 0 else 0.0
    found = _joined(runner.map(Job(_first, parts.edges(), (*shared, limit))))
    if found[0].size >= surplus:
        return _at_rank(found, surplus)
    # Nearly all edges that anyone has too many of go.
    (histogram,) = runner.sum(Job(_add_histogram, parts.edges(), shared), sizes=(_BINS,))
    below = histogram.cumsum()
    last_bin = int(np.searchsorted(below, surplus))
    before = int(below[last_bin - 1]) if last_bin else 0
    found = _joined(runner.map(Job(_in_bin, parts.edges(), (*shared, last_bin))))
    return _at_rank(found, surplus - before)


def _joined(pieces: Iterable[Found]) -> Found:
    priorities, keys = zip(*pieces, strict=True)
    return np.concatenate(priorities), np.concatenate(keys)


def _at_rank(found: Found, rank: int) -> tuple[float, int]:
    """The edge at a rank, from 1 on, in order of (priority, key)."""
    priorities, keys = found
    priority = np.partition(priorities, rank - 1)[rank - 1]
    equal = np.sort(keys[priorities == priority])
    before = np.count_nonzero(priorities < priority)
    return float(priority), int(equal[rank - 1 - before])


def _first(
    read: Read, labels: Positions, weights: Floats, shift: int, key: int, limit: float
) -> Found:
    """The priorities up to a limit, and the keys of their edges."""
    u, v = read()
    edges, priorities = _priorities(u, v, labels, weights, shift, np.uint64(key), limit)
    return priorities, _keys(u, v, edges)


def _add_histogram(
    read: Read, labels: Positions, weights: Floats, shift: int, key: int, histogram: Integers
) -> None:
    priorities, _ = _first(read, labels, weights, shift, key, np.inf)
    histogram += np.bincount(_bins(priorities), minlength=_BINS)


def _in_bin(
    read: Read, labels: Positions, weights: Floats, shift: int, key: int, wanted: int
) -> Found:
    """The priorities and keys of the edges in one bin of the histogram."""
    priorities, keys = _first(read, labels, weights, shift, key, np.inf)
    chosen = _bins(priorities) == wanted
    return priorities[chosen], keys[chosen]


def _kept(
    read: Read, labels: Positions, weights: Floats, shift: int, key: int, limit: float, last: int
) -> tuple[Positions, Positions]:
    """The edges after the last one to go, in order of (priority, key)."""
    u, v = read()
    edges, priorities = _priorities(u, v, labels, weights, shift, np.uint64(key), limit)
    goes = (priorities < limit) | (_keys(u, v, edges) <= last)
    stays = np.ones(u.size, dtype=bool)
    stays[edges[goes]] = False
    return u[stays], v[stays]


def _keys(u: Positions, v: Positions, edges: Integers) -> Integers:
    return pack(u[edges], v[edges])


def _bins(priorities: Floats) -> Integers:
    # Positive numbers are in the order of their bits.
    bins: Integers = priorities.view(np.int64) >> _BIN_SHIFT
    return bins


@kernel
def _priorities(
    u: Positions,
    v: Positions,
    labels: Positions,
    weights: Floats,
    shift: int,
    key: np.uint64,
    limit: float,
) -> tuple[Integers, Floats]:
    """Which edges have a priority up to `limit`, and their priorities.

    The weight of a second end is listed `shift` further on.
    """
    outside = labels.size + shift  # where the weights outside begin
    edges = np.empty(u.size, dtype=np.int64)
    priorities = np.empty(u.size, dtype=np.float64)
    found = 0
    for edge in range(u.size):
        x, y = np.int64(u[edge]), np.int64(v[edge])
        begin = 0 if labels[x] == labels[y] else outside
        weight = max(weights[begin + x] + weights[begin + y + shift], _LAST)
        drawn = keyed_uniform(x, y, key)
        # −log(z) ≥ 1 − z: most need no logarithm. The margin is wider than any rounding.
        if drawn < 1.0 - 1.000001 * limit * weight - 1e-15:
            continue
        priority = -np.log(drawn) / weight
        if priority <= limit:
            edges[found], priorities[found] = edge, priority
            found += 1
    return edges[:found].copy(), priorities[:found].copy()
