"""PSGraph's second phase on graphs of three nodes, for `psgraph audit`."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np

from psgraph.engines.local import LocalEngine
from psgraph.graph import Snapshot
from psgraph.methods.audit_cases import AuditCases, Phase
from psgraph.methods.psgraph import perturbation
from psgraph.privacy.budget import Budget

__all__ = ["CASES", "STRUCTURE"]

STRUCTURE = frozenset({"inner degrees", "outer degrees", "community edges"})
EPSILON = Fraction(2)


def _structure(labels: list[int], snapshot: Snapshot, budget: Budget) -> None:
    perturbation.measure_structure(
        snapshot, np.array(labels, dtype=np.int32), budget, LocalEngine(), epsilon=EPSILON
    )


CASES = AuditCases(
    phases={
        "degrees inside one community": Phase(partial(_structure, [0, 0, 0]), EPSILON, STRUCTURE),
        "degrees and edges between communities": Phase(
            partial(_structure, [0, 1, 2]), EPSILON, STRUCTURE
        ),
    }
)
