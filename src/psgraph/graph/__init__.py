"""Graphs as sorted arrays: the public nodes, private snapshots and synthetic graphs."""

from psgraph.graph.graphs import Dropped, Graph, Positions, Roster, Snapshot, SyntheticGraph

__all__ = ["Dropped", "Graph", "Positions", "Roster", "Snapshot", "SyntheticGraph"]
