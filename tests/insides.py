"""What a method must never reach, for tests of methods that reach it."""

from __future__ import annotations

from psgraph.graph import Snapshot
from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.budget import Budget

__all__ = ["budget_of", "snapshot_before", "snapshot_of"]


def snapshot_of(private: PrivateSnapshot) -> Snapshot:
    """The snapshot behind something that can only be asked."""
    return private._edges._snapshot


def snapshot_before(private: PrivateSnapshot) -> Snapshot | None:
    """The snapshot of the timestamp before, paid for or not."""
    return private._edges._previous


def budget_of(private: PrivateSnapshot) -> Budget:
    """The budget, which also runs mechanisms that no query states."""
    return private._budget
