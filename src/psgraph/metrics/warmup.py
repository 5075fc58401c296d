"""Compile the metrics' kernels ahead of the work, so that compiling can be shown by itself."""

from __future__ import annotations

import numpy as np

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics.groups import GROUPS
from psgraph.metrics.report import compare

__all__ = ["warm_up_metrics"]

_NODES = 64


def warm_up_metrics() -> None:
    """Compile, or load from the cache, all that comparing needs. Looks at no data.

    >>> warm_up_metrics()
    """
    around = np.arange(_NODES)
    ring = Snapshot(Roster.range(_NODES), around, (around + 1) % _NODES)
    compare([ring], [SyntheticGraph(ring.roster, ring.u, ring.v)], groups=tuple(GROUPS))
