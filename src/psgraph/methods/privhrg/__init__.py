"""PrivHRG: a hierarchical random graph with noisy probabilities."""

from psgraph.methods.privhrg.method import PrivHRG, PrivHRGMeasurement, PrivHRGState

__all__ = ["PrivHRG", "PrivHRGMeasurement", "PrivHRGState"]
