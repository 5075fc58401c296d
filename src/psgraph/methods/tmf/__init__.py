"""TmF: noise on every cell of the adjacency matrix; the largest cells become the edges."""

from psgraph.methods.tmf.method import TmF, TmFMeasurement

__all__ = ["TmF", "TmFMeasurement"]
