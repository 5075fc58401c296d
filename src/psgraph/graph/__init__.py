"""Graphs as sorted arrays: the public nodes, private snapshots and synthetic graphs."""

from psgraph.graph.base import Graph
from psgraph.graph.normalising import Dropped, Positions
from psgraph.graph.roster import Roster
from psgraph.graph.snapshot import Snapshot
from psgraph.graph.synthetic import SyntheticGraph

__all__ = ["Dropped", "Graph", "Positions", "Roster", "Snapshot", "SyntheticGraph"]
