"""Directed, two-sided and weighted data sets, and what could be done with them before.

As Parquet, such a data set has a row (t, u, v, weight) for every edge of every timestamp; rows of
one pair are added up. All nodes that ever occur are the roster, of each side if it has two.

``trips:undirected`` is the data set Trips that is published as undirected, with its weights left
out, and whose releases are turned back into directed ones: what a user of a method for undirected
graphs could do. A directed graph loses its directions, and each published edge gets one at random,
always the same for a pair. The two sides of a two-sided graph become one roster, and published
edges inside a side are dropped.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from psgraph.graph import Graph, Roster, Snapshot, SyntheticGraph, TwoSidedRoster
from psgraph.graph.kind import UNDIRECTED, find_kind
from psgraph_lab.datasets import catalogue
from psgraph_lab.datasets.further import Dataset

__all__ = ["base_name", "is_undirected", "published_as", "read_kind", "turned_back", "unweighted"]

_SUFFIX = f":{catalogue.UNDIRECTED}"


def is_undirected(name: str) -> bool:
    """Whether a name is that of a data set that is published as undirected.

    >>> is_undirected("trips:undirected"), base_name("trips:undirected")
    (True, 'trips')
    """
    return name.endswith(_SUFFIX)


def base_name(name: str) -> str:
    """The name of the data set itself."""
    return name.removesuffix(_SUFFIX)


def read_kind(dataset: Dataset, path: Path) -> list[Snapshot]:
    """Read the snapshots of a data set from its Parquet file."""
    kind = find_kind(dataset.kind, dataset.weights)
    table = pq.read_table(path, columns=["t", "u", "v", "weight"])
    heads, tails = (table[name].to_numpy(zero_copy_only=False) for name in ("u", "v"))
    if kind.two_sided:
        roster: Roster = TwoSidedRoster(np.unique(heads), np.unique(tails))
    else:
        roster = Roster(np.unique(np.concatenate([heads, tails])))
    u, v = roster.ends(heads, tails)
    times, weight = table["t"].to_numpy(), table["weight"].to_numpy()
    last = pc.max(table["t"]).as_py()
    return [
        Snapshot(roster, u[now], v[now], kind=kind, weight=weight[now], time=str(time))
        for time in range(last + 1)
        for now in [times == time]
    ]


def unweighted(snapshot: Snapshot) -> Snapshot:
    """The same edges without their weights."""
    kind = snapshot.kind.unweighted
    return Snapshot(snapshot.roster, snapshot.u, snapshot.v, kind=kind, time=snapshot.time)


def published_as(snapshot: Snapshot) -> Snapshot:
    """What a method for undirected graphs is given: one roster, no directions, no weights."""
    roster = Roster.range(len(snapshot.roster)) if snapshot.kind.two_sided else snapshot.roster
    u, v, _ = UNDIRECTED.normalise(snapshot.u, snapshot.v)
    return Snapshot(roster, u, v, time=snapshot.time)


def turned_back(release: SyntheticGraph, original: Graph, seed: int) -> SyntheticGraph:
    """A release of `published_as` as a graph of the original's kind, without weights.

    >>> from psgraph.graph.kind import DIRECTED
    >>> original = Snapshot(Roster.range(3), [0], [1], kind=DIRECTED)
    >>> turned_back(SyntheticGraph(Roster.range(3), [0, 1], [1, 2]), original, 7).edge_count
    2
    """
    u, v = release.u, release.v
    roster, kind = original.roster, original.kind.unweighted
    if kind.two_sided:
        across = (u < roster.offset) & (v >= roster.offset)
        return SyntheticGraph(roster, u[across], v[across], kind=kind, time=release.time)
    # A fixed coin for each pair and run, so that an edge that stays keeps its direction.
    coin = UNDIRECTED.keys(u, v).astype(np.uint64) + np.uint64(seed)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        coin = (coin ^ (coin >> np.uint64(shift))) * np.uint64(factor)
    turned = (coin >> np.uint64(63)).astype(bool)
    heads, tails = np.where(turned, v, u), np.where(turned, u, v)
    return SyntheticGraph(roster, heads, tails, kind=kind, time=release.time)
