"""Graphs as sorted arrays: the public nodes, private snapshots and synthetic graphs."""

from psgraph.graph.graphs import Graph, Snapshot, SyntheticGraph
from psgraph.graph.kind import UNDIRECTED, Dropped, Kind
from psgraph.graph.roster import Roster

__all__ = ["UNDIRECTED", "Dropped", "Graph", "Kind", "Roster", "Snapshot", "SyntheticGraph"]
