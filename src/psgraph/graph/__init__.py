"""Graphs as sorted arrays: the public nodes, private snapshots and synthetic graphs."""

from psgraph.graph.base import Graph
from psgraph.graph.kind import UNDIRECTED, Dropped, Kind
from psgraph.graph.roster import Roster
from psgraph.graph.snapshot import Snapshot
from psgraph.graph.synthetic import SyntheticGraph

__all__ = ["UNDIRECTED", "Dropped", "Graph", "Kind", "Roster", "Snapshot", "SyntheticGraph"]
