"""Keeping last timestamp's communities (Algorithm 1); `steps.communities` finds new ones."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Labels
from psgraph.graph import Roster
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.steps.communities import renumbered

__all__ = ["keep_communities"]


def keep_communities(roster: Roster, labels: Labels, private: PrivateSnapshot) -> Labels:
    """Carry communities over to a new roster; new nodes go to random ones. Asks nothing."""
    new_roster = private.roster
    if roster is new_roster or roster == new_roster:
        return labels
    before = roster.positions(new_roster.ids)
    stayed = before >= 0
    carried = np.empty(len(new_roster), dtype=np.int32)
    carried[stayed] = labels[before[stayed]]
    existing = np.unique(carried[stayed] if stayed.any() else labels)
    newcomers = int(np.count_nonzero(~stayed))
    carried[~stayed] = existing[private.random_labels(newcomers, existing.size)]
    return renumbered(carried)
