"""The ladder and the growth pass on graphs of a few nodes, for `psgraph audit`."""

from __future__ import annotations

import math
from collections.abc import Hashable
from fractions import Fraction

import numpy as np

from psgraph.methods.audit_cases import (
    AuditCases,
    Probabilities,
    SamplerCase,
    noisy_counts,
    normalised,
)
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.labelling import Plan
from psgraph.methods.plus.ladder import Ladder
from psgraph.methods.plus.queries import TriangleCount
from psgraph.privacy.samplers import Sampler

__all__ = ["CASES"]


def _rung_weights(value: int, reach: int, widest: int, rate: float) -> Probabilities:
    weights: dict[Hashable, float] = {value: 1.0}
    offset, rung = 0, 1
    while rung * rate < 30:
        for _ in range(min(reach + rung - 1, widest)):
            offset += 1
            weights[value + offset] = weights[value - offset] = math.exp(-rate * rung)
        rung += 1
    return normalised(weights)


def _growth_rows(sampler: Sampler) -> Hashable:
    """A path of three nodes and one label: rows count edges to the nodes before."""
    growth = GrowthPass(
        np.array([0, 1, 3, 4], np.int64),
        np.array([1, 0, 2, 1], np.int32),
        Plan(np.arange(3), np.ones(3), np.zeros((3, 1), np.float32), 0),
    )
    return tuple(np.clip(growth.draw(sampler, Fraction(1)), -3, 4)[:, 0].tolist())


CASES = AuditCases(
    phases={"triangles": TriangleCount()},
    samplers={
        "growth pass": SamplerCase(
            _growth_rows, lambda: noisy_counts([0, 1, 1], 1.0, low=-3, high=4)
        ),
        "ladder": SamplerCase(
            lambda sampler: Ladder(3, 1, 5).draw(sampler, Fraction(1)),
            lambda: _rung_weights(3, 1, 3, 0.5),
        ),
    },
)
