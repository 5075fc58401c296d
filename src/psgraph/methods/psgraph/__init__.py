"""PSGraph: streaming graph synthesis that reuses communities while the graph is stable."""

from psgraph.methods.psgraph.method import PSGraph, PSGraphMeasurement, PSGraphState

__all__ = ["PSGraph", "PSGraphMeasurement", "PSGraphState"]
