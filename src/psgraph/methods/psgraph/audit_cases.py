"""PSGraph's second phase on graphs of three nodes, for `psgraph audit`."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from psgraph.methods.audit_cases import AuditCases, Phase
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.psgraph import perturbation

__all__ = ["CASES", "STRUCTURE"]

STRUCTURE = frozenset({"inner degrees", "outer degrees", "community edges"})


def _structure(*labels: int) -> Phase:
    communities = np.array(labels, dtype=np.int32)

    def run(private: PrivateSnapshot) -> None:
        perturbation.measure_structure(private, communities, epsilon=private.epsilon)

    return Phase(run, Fraction(2), STRUCTURE)


CASES = AuditCases(
    phases={
        "degrees inside one community": _structure(0, 0, 0),
        "degrees and edges between communities": _structure(0, 1, 2),
    }
)
