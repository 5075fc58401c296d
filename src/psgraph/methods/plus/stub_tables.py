"""How many stubs of each label in each range of nodes are joined with which others.

The tables are drawn on the driver, from sums over nodes. Given them, one range of nodes can be
joined with another without looking at the rest of the graph, and the edges together are a random
matching of the stubs of every pair of labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Integers, Labels, Positions, Words
from psgraph._runtime.jit import kernel
from psgraph.engines.counter_based import derived_key
from psgraph.methods.plus.contingency import fitted, random_table, stream

__all__ = ["Layout", "StubTables", "stub_tables"]

_QUOTAS, _SPLIT, _PAIRS, _INSIDE = range(4)  # purposes of streams


@dataclass(frozen=True)
class Layout:
    """The ranges of nodes: public.

    Attributes
    ----------
    nodes, width
        Range r has the nodes from r·width on. The width is a constant of the method, whatever
        parts an engine has, because the graph that is drawn depends on it.
    """

    nodes: int
    width: int

    @property
    def ranges(self) -> int:
        """How many ranges there are."""
        return -(-self.nodes // self.width)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first node of a range and the first after it."""
        return number * self.width, min((number + 1) * self.width, self.nodes)


@dataclass(frozen=True)
class StubTables:
    """How stubs are dealt.

    Attributes
    ----------
    cells
        Ranges × groups × ranges × groups: stubs of a group in a range by those they are joined
        with. Inside one range and group every edge counts twice.
    to_hubs
        Ranges × groups × hubs: stubs that are joined with each hub.
    hubs
        Positions of the hubs, ascending.
    begins
        Where the hubs of each range begin in `hubs`.
    hub_pairs
        Hubs that are joined with each other, as positions u < v, ascending.
    """

    cells: Positions
    to_hubs: Positions
    hubs: Positions
    begins: Integers
    hub_pairs: tuple[Positions, Positions]

    def sent(self, number: int, to: int) -> int:
        """Return how many stubs of a range the edges of an earlier one take."""
        hubs = slice(self.begins[to], self.begins[to + 1])
        own = self.cells[number, :, to, :].sum() + self.to_hubs[number, :, hubs].sum()
        return int(own)


def stub_tables(
    rest: Positions,
    labels: Labels,
    quotas: Integers,
    groups: int,
    layout: Layout,
    key: int,
) -> StubTables:
    """Draw tables for the stubs that nodes have left.

    Parameters
    ----------
    rest
        Stubs of every node.
    quotas
        Edges wanted between labels a ≤ b.
    groups
        Labels from this one on are hubs, each a single node.
    """
    count = quotas.shape[0]
    stubs = _stubs(rest, labels, groups, layout.width, layout.ranges)
    where = np.flatnonzero(labels >= groups)
    order = labels[where] - groups  # hubs by position; their labels are by size
    hub_stubs = np.zeros(count - groups, dtype=np.int64)
    hub_stubs[order] = rest[where]
    totals = np.concatenate([stubs.sum(axis=0), hub_stubs])
    quotas = fitted(stream(derived_key(key, _QUOTAS), 0), quotas, totals, groups)
    cells = np.zeros((layout.ranges, groups, layout.ranges, groups), dtype=np.int32)
    to_hubs = np.zeros((layout.ranges, groups, where.size), dtype=np.int32)
    split, shares = derived_key(key, _SPLIT), []
    for a in range(groups):
        needs = quotas[a] + quotas[:, a]
        left = stubs[:, a].copy()
        left[left.argmax()] -= left.sum() - needs.sum()  # at most one stub is not used
        share = random_table(stream(split, a), left, needs)
        to_hubs[:, a] = share[:, groups:][:, order]
        shares.append(share)
    for a in range(groups):
        for b in range(a + 1, groups):
            state = stream(derived_key(key, _PAIRS), a, b)
            table = random_table(state, shares[a][:, b].copy(), shares[b][:, a].copy())
            cells[:, a, :, b], cells[:, b, :, a] = table, table.T
        table = _inside(stream(derived_key(key, _INSIDE), a), shares[a][:, a].copy())
        cells[:, a, :, a] = table + table.T
    first, second = np.nonzero(quotas[groups:, groups:])
    inverse = np.empty(where.size, dtype=np.int64)
    inverse[order] = where
    ends = np.sort(np.stack([inverse[first], inverse[second]]), axis=0).astype(np.int32)
    ends = ends[:, np.lexsort((ends[1], ends[0]))]
    edges_of = np.arange(layout.ranges + 1) * layout.width
    return StubTables(
        cells,
        to_hubs,
        where.astype(np.int32),
        np.searchsorted(where, edges_of),
        (ends[0], ends[1]),
    )


@kernel
def _stubs(rest: Positions, labels: Labels, groups: int, width: int, ranges: int) -> Integers:
    """Stubs by range and group."""
    stubs = np.zeros((ranges, groups), dtype=np.int64)
    for node in range(rest.size):
        if labels[node] < groups:
            stubs[node // width, labels[node]] += rest[node]
    return stubs


def _inside(state: Words, stubs: Integers) -> Integers:
    """Edges inside one group by the range of their first and of their second end."""
    half = np.array([stubs.sum() // 2, stubs.sum() - stubs.sum() // 2])
    heads, tails = random_table(state, half, stubs)
    return random_table(state, heads, tails)
