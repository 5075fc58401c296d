"""Graphs as sorted arrays: the public nodes, private snapshots and synthetic graphs."""

from psgraph.graph.graphs import Graph, Snapshot, SyntheticGraph
from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED, Dropped, Kind
from psgraph.graph.roster import Roster
from psgraph.graph.two_sided import TwoSidedRoster

__all__ = [
    "DIRECTED",
    "TWO_SIDED",
    "UNDIRECTED",
    "Dropped",
    "Graph",
    "Kind",
    "Roster",
    "Snapshot",
    "SyntheticGraph",
    "TwoSidedRoster",
]
