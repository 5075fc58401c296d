"""What a bug looks at: the private edges, reached past the queries.

`TRUE_EDGES` and `TRUE_DEGREES` are expressions for an `Edit` of code that has a private snapshot
in the variable `private` and NumPy as `np`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from psgraph.graph import Snapshot

__all__ = [
    "TRUE_DEGREES",
    "TRUE_EDGES",
    "remembering",
    "remembering_for_later",
    "then",
    "true_degrees",
    "true_snapshot",
]

TRUE_EDGES = "private._edges.parts.edge_count"
TRUE_DEGREES = (
    "np.bincount(np.concatenate(private._edges.parts.whole()), minlength=len(private.roster))"
)


def true_snapshot(private: Any) -> Snapshot:
    """The private snapshot, which no method may look at."""
    snapshot: Snapshot = private._edges._snapshot
    return snapshot


def true_degrees(private: Any) -> Any:
    snapshot = true_snapshot(private)
    ends = np.concatenate([snapshot.u, snapshot.v])
    return np.bincount(ends, minlength=len(snapshot.roster))


def then(after: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """`measure` followed by ``after(private, measurement)``, which returns what is released."""

    def make(real: Any) -> Any:
        def measure(self: Any, private: Any, state: Any) -> Any:
            return after(private, real(self, private, state))

        return measure

    return make


def remembering(real: Any) -> Any:
    """`measure` that keeps the snapshot in the method, for later steps of the same timestamp."""

    def measure(self: Any, private: Any, state: Any) -> Any:
        self._truth = true_snapshot(private)
        return real(self, private, state)

    return measure


def remembering_for_later(real: Any) -> Any:
    """`measure` that keeps the edge count in the method, for the timestamp that follows."""

    def measure(self: Any, private: Any, state: Any) -> Any:
        measurement = real(self, private, state)
        self._edges_before = true_snapshot(private).u.size
        return measurement

    return measure
