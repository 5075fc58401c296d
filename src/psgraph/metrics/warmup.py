"""Compile the metrics' kernels before they are needed."""

from __future__ import annotations

import numpy as np

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics.groups import GROUPS
from psgraph.metrics.report import compare

__all__ = ["warm_up_metrics"]

_NODES = 64


def warm_up_metrics() -> None:
    """Compile all kernels that comparing needs, or load them from the cache. Reads no data.

    >>> warm_up_metrics()
    """
    around = np.arange(_NODES)
    ring = Snapshot(Roster.range(_NODES), around, (around + 1) % _NODES)
    compare([ring], [SyntheticGraph(ring.roster, ring.u, ring.v)], groups=tuple(GROUPS))
