"""As-733 for the facts the paper reports, and their means over some of its snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from psgraph.graph import Snapshot
from psgraph.methods.base import Method
from psgraph.metrics import Fidelity, compute_fidelity
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher

EVERY = 30
AnyMethod = Method[Any, Any]


def as733(directory: Path) -> list[Snapshot]:
    """Every thirtieth snapshot; nodes as in the paper: those that have an edge."""
    table = pq.read_table(directory / "as733.parquet")
    time, u, v = (table[name].to_numpy() for name in ("t", "u", "v"))
    return [
        Snapshot.from_ids(u[time == t], v[time == t], roster_from_edges=True)
        for t in np.unique(time)[::EVERY]
    ]


def mean_fidelity(method: AnyMethod, snapshots: list[Snapshot], *, epsilon: str) -> Fidelity:
    """The metrics of one seeded run with w = 5, averaged over the snapshots."""
    with Publisher(method, WEventPrivacy(epsilon, window=5), seed=7) as publisher:
        rows = [
            compute_fidelity(snapshot, release.graph)
            for snapshot, release in zip(snapshots, publisher.publish_all(snapshots), strict=True)
        ]
    names = rows[0].to_dict()
    return Fidelity(**{name: float(np.mean([getattr(r, name) for r in rows])) for name in names})


def surplus(method: AnyMethod, snapshots: list[Snapshot], *, epsilon: str) -> float:
    """Edges published for every true edge."""
    with Publisher(method, WEventPrivacy(epsilon, window=5), seed=7) as publisher:
        published = sum(release.graph.edge_count for release in publisher.publish_all(snapshots))
    return published / sum(snapshot.u.size for snapshot in snapshots)
