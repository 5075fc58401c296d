"""Graphs as sorted arrays: the public nodes, private snapshots and synthetic graphs."""

from psgraph.graph.base import Graph
from psgraph.graph.normalising import Dropped
from psgraph.graph.roster import Roster
from psgraph.graph.snapshot import Snapshot
from psgraph.graph.synthetic import SyntheticGraph

__all__ = ["Dropped", "Graph", "Roster", "Snapshot", "SyntheticGraph"]
