"""Mutants where the unit is an owner: what one owner changes is counted too small, or leaks."""

from __future__ import annotations

from typing import Any

import numpy as np

from psgraph_lab.mutants.mutant import Edit, Mutant, Swap
from psgraph_lab.mutants.truth import true_snapshot

__all__ = ["PLUS_OWNERS"]

KIND_QUERIES = "psgraph.methods.plus.kind_queries"
METHOD = "psgraph.methods.plus.method"
OWNER_QUERIES = "psgraph.methods.plus.owner_queries"


def _an_edge_for_an_owner(_real: Any) -> Any:
    def sensitivity(query: Any, unit: Any) -> int:
        del unit
        return int(query.sensitivity)

    return sensitivity


def _classes_of_others(real: Any) -> Any:
    """Own classes by rank: what one owner has moves the classes of all others."""

    def classes(sizes: Any, at_most: int) -> Any:
        ranks = np.argsort(np.argsort(sizes, kind="stable"), kind="stable")
        return real(ranks * np.maximum(at_most, 1) // max(sizes.size, 1) + 1, at_most)

    return classes


def _true_share(real: Any) -> Any:
    """The true share that the bound leaves out, in the place of the estimated one."""

    def measure(self: Any, private: Any, state: Any) -> Any:
        snapshot = true_snapshot(private)
        found = real(self, private, state)
        sizes = snapshot.owner_sizes
        self._left_out = None if sizes is None else sizes.sum() / max(snapshot.parts.edge_count, 1)
        return found

    return measure


PLUS_OWNERS = (
    Mutant(
        "an owner is charged for one edge of the weight classes",
        "psgraph-plus",
        (Swap(f"{KIND_QUERIES}:WeightClassEdges.sensitivity_for", _an_edge_for_an_owner),),
        ("replay",),
    ),
    Mutant(
        "owners by number of edges are counted after the bound, and charged for one class",
        "psgraph-plus",
        (
            Edit(
                f"{OWNER_QUERIES}:OwnersBySize.answer",
                "np.minimum(edges.owner_sizes, bounds[-1])",
                "np.minimum(np.unique(edges.parts.whole().v, return_counts=True)[1], bounds[-1])",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "owners are counted by their edges that are used",
        "psgraph-plus",
        (
            Edit(
                f"{OWNER_QUERIES}:OwnerCount.answer",
                "int(edges.owner_sizes.size)",
                "edges.parts.edge_count",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the class of an owner depends on the edges of others",
        "psgraph-plus",
        (Swap(f"{OWNER_QUERIES}:own_classes", _classes_of_others),),
        ("replay",),
    ),
    Mutant(
        "degrees are multiplied by what the bound really leaves out",
        "psgraph-plus",
        (
            Swap(f"{METHOD}:PSGraphPlus.measure", _true_share),
            Edit(
                f"{METHOD}:PSGraphPlus.update",
                "return next_state(state, measurement, step)",
                "after = next_state(state, measurement, step)\n"
                "    if getattr(self, '_left_out', None) and hasattr(after, 'owners'):\n"
                "        owners = replace(after.owners, factor=self._left_out)\n"
                "        after = replace(after, owners=owners)\n"
                "    return after",
            ),
        ),
        ("replay",),
    ),
)
