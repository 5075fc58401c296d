"""Resize a public stream to other numbers of nodes and edges, keeping what decides quality.

The template is copied as often as it fits. Its communities stay whole inside a copy, and edges
between communities are spread over the copies, so that the result is connected. The nodes still
missing are a sample of the template with the same distribution of degrees:
a node whose neighbour was not sampled is joined to another such node, of its community if there is
one. Every edge of the result is present at the timestamps of the edge it was copied from. Degrees,
the change over time and communities are therefore those of the template; the number of edges and
of triangles is adjusted at the end (`psgraph.trust.rehearsal.builder`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, unpack
from psgraph.metrics.communities import find_communities
from psgraph.trust.rehearsal.builder import adjust
from psgraph.trust.rehearsal.template import Template, edge_times_of_nodes

__all__ = ["check_memory", "check_size", "estimated_bytes", "resize"]

_PER_EDGE = 600  # bytes of resizing, per edge that ever occurs
_PER_EDGE_AND_TIMESTAMP = 24  # bytes of the snapshots and of when edges are present
_PER_SNAPSHOT_EDGE = 400  # bytes of a method and of the metrics
_PASSES, _GIVEN_UP = 30, 0.002  # over pairs that cannot be edges; share of them that may remain
_AS_IT_IS = 0.01  # a template this close to the wanted number of edges is not changed


def check_size(nodes: int, edges: int) -> None:
    """Refuse a size that no graph has.

    >>> check_size(4, 7)
    Traceback (most recent call last):
    psgraph.errors.InvalidArgument: 4 nodes can have at most 6 edges, not 7
    Give more nodes or fewer edges.
    """
    if nodes < 2 or edges < 1:
        raise InvalidArgument(
            f"a rehearsal needs at least 2 nodes and 1 edge, not {nodes:,} and {edges:,}\n"
            "Give the size of a snapshot."
        )
    most = UNDIRECTED.pairs(nodes)
    if edges > most:
        raise InvalidArgument(
            f"{nodes:,} nodes can have at most {most:,} edges, not {edges:,}\n"
            "Give more nodes or fewer edges."
        )


def estimated_bytes(template: Template, *, edges: int) -> float:
    """About how much memory a rehearsal with `edges` edges per snapshot takes."""
    ever = template.u.size * edges / template.edges
    present = _PER_EDGE_AND_TIMESTAMP * template.timestamps
    return ever * (_PER_EDGE + present) + _PER_SNAPSHOT_EDGE * edges


def check_memory(template: Template, *, edges: int, available: int | None = None) -> None:
    """Refuse a rehearsal that would not fit into memory, before any work is done."""
    needed = estimated_bytes(template, edges=edges)
    if available is None:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available:
        raise InvalidArgument(
            f"a rehearsal with {edges:,} edges and {template.timestamps} timestamps takes about "
            f"{needed / 1e9:,.0f} GB of memory, and this machine has {available / 1e9:,.0f} GB\n"
            "Rehearse at a tenth of the size with the same mean degree, or with fewer timestamps."
        )


def resize(template: Template, *, nodes: int, edges: int, seed: int = 0) -> Template:
    """Return a stream like the template with `nodes` nodes and about `edges` edges per snapshot.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> template = Template.from_snapshots(demo_stream(nodes=300, timestamps=3))
    >>> larger = resize(template, nodes=1_000, edges=12_000)
    >>> larger.nodes, larger.timestamps, round(larger.edges / 12_000, 2)
    (1000, 3, 1.0)
    """
    check_size(nodes, edges)
    close = abs(edges - template.edges) <= _AS_IT_IS * template.edges
    if nodes == template.nodes and close:
        return template
    rng = np.random.default_rng(seed)
    union = SyntheticGraph(Roster.range(template.nodes), template.u, template.v)
    communities = find_communities(union)
    copied, origin, labels = _copy(template, communities, nodes, rng)
    return adjust(
        copied,
        like=template,
        edges=edges,
        origin=origin,
        labels=labels,
        inside=float(np.mean(communities[template.u] == communities[template.v])),
        rng=rng,
    )


@dataclass(frozen=True)
class _Stubs:
    """Ends of edges that lost their other end: a node, where to look, and the edge it had."""

    node: Integers
    group: Integers
    edge: Integers


@dataclass(frozen=True)
class _Pairs:
    """Pairs of nodes, and the edge of the template that each is a copy of."""

    one: Integers
    other: Integers
    edge: Integers

    @property
    def keys(self) -> Integers:
        return UNDIRECTED.keys(self.one, self.other)

    def chosen(self, which: NDArray[np.bool_] | Integers) -> _Pairs:
        return _Pairs(self.one[which], self.other[which], self.edge[which])

    def followed_by(self, more: _Pairs) -> _Pairs:
        return _Pairs(
            np.concatenate([self.one, more.one]),
            np.concatenate([self.other, more.other]),
            np.concatenate([self.edge, more.edge]),
        )


def _copy(
    template: Template, communities: Integers, nodes: int, rng: np.random.Generator
) -> tuple[Template, Integers, Integers]:
    """Copy nodes and edges; returns the copy, and for its nodes what they copy and communities."""
    whole, rest = divmod(nodes, template.nodes)
    sampled = _sample(template, rest, rng)
    index = np.full((whole + 1, template.nodes), -1, dtype=np.int64)
    index[:whole] = np.arange(whole * template.nodes).reshape(whole, template.nodes)
    index[whole, sampled] = np.arange(whole * template.nodes, nodes)
    number = int(communities.max()) + 1
    origin = np.concatenate([np.tile(np.arange(template.nodes), whole), sampled])
    labels = communities[origin] + number * (np.arange(nodes) // template.nodes)

    inside = communities[template.u] == communities[template.v]
    copies = np.arange(whole + 1)[:, None]
    # An edge between communities leads to another copy, the same one for all copies of the edge.
    shift = np.where(inside, 0, rng.integers(whole + 1, size=template.u.size))
    a = index[copies, template.u].ravel()
    b = index[(copies + shift) % (whole + 1), template.v].ravel()
    edge = np.tile(np.arange(template.u.size), whole + 1)
    joined = (a >= 0) & (b >= 0)
    one = (a >= 0) ^ (b >= 0)
    node = np.maximum(a, b)[one]
    stubs = _Stubs(node, np.where(inside[edge[one]], labels[node], -1), edge[one])
    pairs = _Pairs(*UNDIRECTED.ordered(a[joined], b[joined]), edge[joined])
    pairs = _without_loops(pairs.followed_by(_match(stubs, rng)), labels, rng)
    keys, where = np.unique(pairs.keys, return_index=True)
    present = template.present[pairs.edge[where]]
    u, v = (ends.astype(np.int64) for ends in unpack(keys))
    kept = None if template.labels is None else template.labels.take(origin)
    return Template(nodes, u, v, present, kept), origin, labels


def _sample(template: Template, count: int, rng: np.random.Generator) -> Integers:
    """Sample nodes evenly along their degrees, so that degrees are as in the template."""
    if not count:
        return np.empty(0, dtype=np.int64)
    tie_break = rng.random(template.nodes)
    order = np.lexsort((tie_break, edge_times_of_nodes(template)))
    spaced = (np.arange(count) + rng.random()) * template.nodes / count
    return np.sort(order[spaced.astype(np.int64)])


def _match(stubs: _Stubs, rng: np.random.Generator) -> _Pairs:
    """Join stubs at random: inside their group, then what is left over with each other."""
    first = _pair(stubs.group, rng)
    left = np.flatnonzero(_others(stubs.node.size, np.concatenate(first)))
    second = _pair(np.zeros_like(left), rng)
    one, other = (np.concatenate([first[side], left[second[side]]]) for side in (0, 1))
    kept = np.where(rng.random(one.size) < 0.5, stubs.edge[one], stubs.edge[other])
    return _Pairs(stubs.node[one], stubs.node[other], kept)


def _pair(groups: Integers, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Indices of stubs that are joined, each with one of its own group."""
    order = np.lexsort((rng.random(groups.size), groups))
    group = groups[order]
    within = np.arange(group.size) - np.searchsorted(group, group)
    first = np.flatnonzero((within[:-1] % 2 == 0) & (group[:-1] == group[1:]))
    return order[first], order[first + 1]


def _without_loops(pairs: _Pairs, labels: Integers, rng: np.random.Generator) -> _Pairs:
    """Resolve loops and repeated pairs by switches, which leave all degrees as they are.

    A pair x-y that cannot be an edge and a good edge p-q become x-p and y-q, where p is in the
    community of x if possible. A few are given up.
    """
    good, bad = _split(pairs)
    for attempt in range(_PASSES):
        if bad.one.size <= _GIVEN_UP * good.one.size or not good.one.size:
            break
        near = labels if attempt < _PASSES // 2 else np.zeros_like(labels)
        tried, partner = _partners(bad, good, near, rng)
        kept = good.chosen(_others(good.one.size, partner))
        switched = _Pairs(bad.one[tried], good.one[partner], bad.edge[tried])
        switched = switched.followed_by(
            _Pairs(bad.other[tried], good.other[partner], good.edge[partner])
        )
        rest = bad.chosen(_others(bad.one.size, tried))
        good, bad = _split(kept.followed_by(switched).followed_by(rest))
    return good


def _partners(
    bad: _Pairs, good: _Pairs, labels: Integers, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Match bad pairs with good ones that start in their community; returns indices of both."""
    order = np.lexsort((rng.random(good.one.size), labels[good.one]))
    sorted_labels = labels[good.one[order]]
    own = labels[bad.one]
    low, high = (np.searchsorted(sorted_labels, own, side=side) for side in ("left", "right"))
    found = np.flatnonzero(high > low)
    span = (high - low)[found]
    partner = order[low[found] + (rng.random(found.size) * span).astype(np.int64)]
    partner, first = np.unique(partner, return_index=True)
    return found[first], partner


def _others(size: int, indices: Integers) -> NDArray[np.bool_]:
    """All positions but those given."""
    kept = np.ones(size, dtype=np.bool_)
    kept[indices] = False
    return kept


def _split(pairs: _Pairs) -> tuple[_Pairs, _Pairs]:
    """The pairs that make a simple graph, each once, and the others."""
    _, where = np.unique(pairs.keys, return_index=True)
    first = np.zeros(pairs.one.size, dtype=np.bool_)
    first[where] = True
    first &= pairs.one != pairs.other
    return pairs.chosen(first), pairs.chosen(~first)
