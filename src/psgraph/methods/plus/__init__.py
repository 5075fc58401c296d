"""PSGraph+: measure rarely, filter over time, realise degrees and mixing exactly."""

from psgraph.methods.plus.method import PSGraphPlus
from psgraph.methods.plus.readings import PlusMeasurement
from psgraph.methods.plus.state import PlusState

__all__ = ["PSGraphPlus", "PlusMeasurement", "PlusState"]
