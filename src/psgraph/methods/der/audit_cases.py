"""DER's two choices on a triangle of four nodes with two edges, for `psgraph audit`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from fractions import Fraction

import numpy as np

from psgraph.methods.audit_cases import AuditCases, Probabilities, SamplerCase, normalised
from psgraph.methods.der.arrangement import EdgeArrangement
from psgraph.methods.der.rectangles import Regions
from psgraph.methods.der.splits import SplitChoice
from psgraph.privacy.samplers import Sampler

__all__ = ["CASES"]

EDGES = {(0, 1), (1, 3)}
REGIONS = Regions(
    np.array([[0, 4, 0, 4]]),
    np.array([0, 2], np.int64),
    np.array([0, 1], np.int32),
    np.array([1, 3], np.int32),
)


def _arrangement(sampler: Sampler) -> Hashable:
    mechanism = EdgeArrangement(REGIONS, np.array([2], np.int64))
    rows, columns = mechanism.draw(sampler, Fraction(1))
    return tuple(sorted(zip(rows.tolist(), columns.tolist(), strict=True)))


def _arrangements() -> Probabilities:
    cells = [(row, column) for row in range(4) for column in range(row + 1, 4)]
    return normalised(
        {chosen: math.exp(len(EDGES & set(chosen))) for chosen in itertools.combinations(cells, 2)}
    )


def _split(sampler: Sampler) -> Hashable:
    return tuple(SplitChoice(REGIONS, 1, 8).draw(sampler, Fraction(4))[0].tolist())


def _splits(epsilon: float) -> Probabilities:
    """Split points, weighted by the densities of the regions that hold a valid cell."""
    weights: dict[Hashable, float] = {}
    for row, column in itertools.product(range(1, 4), repeat=2):
        densities = []
        for rows in (range(row), range(row, 4)):
            for columns in (range(column), range(column, 4)):
                valid = {(r, c) for r in rows for c in columns if r < c}
                if valid:
                    densities.append(256 * len(valid & EDGES) // len(valid) / 256)
        if len(densities) > 1:
            weights[row, column] = math.exp(epsilon / 2 * (max(densities) - min(densities)))
    return normalised(weights)


CASES = AuditCases(
    samplers={
        "arrangement of edges": SamplerCase(_arrangement, _arrangements),
        "split choice": SamplerCase(_split, lambda: _splits(4.0)),
    }
)
