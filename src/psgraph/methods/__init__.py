"""Methods turn snapshots into synthetic graphs; `base` has the protocol all of them follow."""

from __future__ import annotations

__all__ = ["COMPARED_METHODS", "DEFAULT_METHOD"]

DEFAULT_METHOD = "psgraph-plus"
"""The method that commands and functions use unless another one is named."""

COMPARED_METHODS = ("psgraph", "psgraph-plus")
"""The paper's method and ours, which the demo and rehearsals run side by side."""
