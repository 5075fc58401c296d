"""PSGraph: streaming graph synthesis that keeps its communities while the graph is calm."""

from psgraph.methods.psgraph.method import PSGraph, PSGraphMeasurement, PSGraphState

__all__ = ["PSGraph", "PSGraphMeasurement", "PSGraphState"]
