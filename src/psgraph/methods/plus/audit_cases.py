"""For `psgraph audit`: small cases of PSGraph+'s mechanisms, and the paths that it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.methods.audit_cases import (
    AuditCases,
    Probabilities,
    SamplerCase,
    noisy_counts,
    normalised,
)
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.label_queries import AgreeingEdges, LabelEdges
from psgraph.methods.plus.labelling import Plan
from psgraph.methods.plus.noisy_triangles import Ladder
from psgraph.methods.plus.queries import TriangleCount
from psgraph.methods.plus.readings import (
    KindReadings,
    OwnedReadings,
    PlusMeasurement,
    WeightedMeasurement,
)
from psgraph.methods.plus.state import OwnedState, PlusState
from psgraph.methods.plus.triangles import FEWEST_KEPT
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


_SWITCHES = ("curve", "hubs", "persistence", "clustering", "communities", "resets")
_SAMPLED_ABOVE = 60  # edges, which some small graphs have and others have not

_BRANCHES: dict[str, Callable[[PlusMeasurement, Any], bool]] = {
    "a window opens": lambda measured, _: measured.sizes.shares.opens,
    "everything is given back": lambda measured, _: not measured.sizes.shares.bought,
    "degrees are bought, and no structure": lambda measured, _: (
        measured.sizes.shares.nodes > 0 and not measured.sizes.shares.mixing
    ),
    "a rise of the edge count": lambda _, state: state.jumps.found == "rise",
    "a fall waits": lambda _, state: state.jumps.waiting,
    "a fall waits where a window is due": lambda measured, state: (
        state.jumps.waiting
        and measured.sizes.shares.timestamp - state.opened >= measured.sizes.shares.window
    ),
    "a fall that does not wait": lambda _, state: (
        state.jumps.found == "fall" and not state.jumps.waiting
    ),
    "a fall lasts": lambda _, state: state.jumps.found == "confirmed",
    "the edge count comes back": lambda _, state: state.jumps.found == "back",
    "the reserve is spent": lambda measured, state: (
        state.jumps.found in ("rise", "fall", "confirmed")
        and measured.sizes.shares.mixing > 0
        and not measured.sizes.shares.opens
    ),
    "the reserve is too small to be spent": lambda measured, state: (
        state.jumps.found in ("rise", "confirmed") and not measured.sizes.shares.mixing
    ),
    "mode: undecided": lambda _, state: state.mode == "undecided",
    "mode: degrees once per window": lambda _, state: state.mode == "periodic",
    "mode: degrees at every timestamp": lambda _, state: state.mode == "steady",
    "edges kept are counted": lambda measured, _: measured.sizes.noisy_kept_edges is not None,
    "edges kept will be counted once more": lambda _, state: state.jumps.recounts,
    "edges kept can't be counted after a restart": lambda measured, _: (
        measured.sizes.shares.persistence > 0 and measured.sizes.noisy_kept_edges is None
    ),
    "hubs are measured": lambda measured, _: measured.structure.noisy_hub_edges is not None,
    "triangles by the ladder": lambda measured, _: (
        measured.structure.noisy_triangles is not None and measured.structure.cap is None
    ),
    "triangles of 3 edges per node": lambda measured, _: (
        measured.structure.cap is not None and measured.structure.cap.edges == FEWEST_KEPT
    ),
    "triangles of more edges per node": lambda measured, _: (
        measured.structure.cap is not None and measured.structure.cap.edges > FEWEST_KEPT
    ),
    "triangles of a sample of the edges": lambda measured, _: measured.structure.sample is not None,
    "a first search for communities": lambda measured, _: (
        measured.communities is not None and len(measured.communities.noisy_rows) == 1
    ),
    "a later search for communities": lambda measured, _: (
        measured.communities is not None and len(measured.communities.noisy_rows) > 1
    ),
    "a search fails": lambda measured, state: (
        measured.communities is not None and state.search.found is None
    ),
    "a search will be repeated at once": lambda _, state: (
        isinstance(state, PlusState) and state.search.again
    ),
    "communities are used": lambda _, state: isinstance(state, PlusState) and state.search.used,
    "edges between labels are counted": lambda measured, _: (
        measured.labels is not None and measured.labels.noisy_edges is not None
    ),
    "labels take what class mixing would have": lambda measured, _: (
        measured.labels is not None
        and measured.sizes.shares.curve > 0
        and not measured.sizes.shares.mixing
    ),
    "labels are used": lambda _, state: (
        isinstance(state, PlusState) and state.labels_in_use is not None
    ),
    "labels are not used": lambda _, state: (
        isinstance(state, PlusState) and state.labels is not None and not state.labels.used
    ),
    "labels are followed between windows": lambda measured, _: (
        measured.labels is not None and measured.labels.noisy_edges is None
    ),
    "weights are measured": lambda measured, _: (
        isinstance(measured, WeightedMeasurement) and measured.noisy_weights is not None
    ),
    "edges kept in their weight class are counted": lambda measured, _: (
        isinstance(measured.sizes, KindReadings) and measured.sizes.noisy_kept_weights is not None
    ),
    "owners are counted": lambda measured, _: isinstance(measured.sizes, OwnedReadings),
    "owners by number of edges are counted": lambda measured, _: (
        isinstance(measured.sizes, OwnedReadings) and measured.sizes.noisy_owner_sizes is not None
    ),
    "edges are counted by the own class of owners": lambda measured, _: (
        isinstance(measured.sizes, OwnedReadings)
        and measured.sizes.owner_side is not None
        and measured.structure.noisy_class_edges is not None
    ),
    "more edges are drawn than are used": lambda _, state: (
        isinstance(state, OwnedState) and state.owners.factor > 1
    ),
    "rows of flows are counted": lambda measured, _: measured.sizes.kind.flows,
    "reciprocated pairs are counted": lambda measured, _: (
        isinstance(measured.sizes, KindReadings) and measured.sizes.noisy_reciprocated is not None
    ),
}

# Two labels, all others, and one node of each kind: on graphs of four nodes.
_BOOK = LabelBook(("team",), (("a",), ("b",)), (0, 0))
_TEAMS = np.array([0, 0, 1, 2], dtype=np.int32)

CASES = AuditCases(
    variants={
        **{f"without {name}": {name: False} for name in _SWITCHES},
        "triangles of a sample": {"sampled_above": _SAMPLED_ABOVE},
    },
    branches=_BRANCHES,
    phases={
        "triangles": TriangleCount(),
        "edges by agreement of labels": AgreeingEdges(_TEAMS, _BOOK),
        "edges between labels": LabelEdges(_TEAMS, _BOOK.count),
    },
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
