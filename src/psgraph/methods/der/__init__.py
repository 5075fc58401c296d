"""DER: noisy densities of adaptively chosen rectangles of the adjacency matrix."""

from psgraph.methods.der.method import DER, DERMeasurement

__all__ = ["DER", "DERMeasurement"]
