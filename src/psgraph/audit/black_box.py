"""Black-box bounds: many runs on the worst neighbours, seen from outside.

Three levels: single mechanisms, the phases of a method at one timestamp, and whole streams of 2w
timestamps that differ in all w timestamps of a window. Nothing here knows how a mechanism works;
it only counts outcomes. A bound above the claim is a proof, up to the stated confidence, that the
promise is broken.

ε = 0.01 can't be told from 0 with any affordable number of runs. Mechanisms that are charged so
little are audited at ε = 1, by the same code: the scale is an argument.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.bounds import Bound, epsilon_bound
from psgraph.audit.running import measure_first, measure_stream, synthesise
from psgraph.audit.transcripts import Recorder
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import CommunityChoices
from psgraph.methods.tmf import UnprovenLinearFilter
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.exponential import CommunityChoice
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.mechanisms.top import LargestCells
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

__all__ = [
    "MECHANISMS",
    "MechanismCase",
    "bound_mechanism",
    "bound_phases",
    "bound_stream",
    "claimed_mechanisms",
]

ENGINE = LocalEngine()
ONE = Fraction(1)
NODES = 14


@dataclass(frozen=True)
class MechanismCase:
    """A mechanism on its worst neighbours.

    Attributes
    ----------
    pair
        The mechanism on both.
    outcome
        What is looked at of an output.
    copies
        How many independent draws one call makes.
    wanted
        The share of ε that the bound has to reach.
    """

    pair: tuple[Mechanism[Any], ...]
    outcome: Callable[[Any], Any]
    copies: int = 1
    wanted: float = 0.0


def _laplace(values: list[int], *, sensitivity: int, copies: int) -> LaplaceCounts:
    return LaplaceCounts(np.tile(np.array(values), (copies, 1)), sensitivity)


def _clipped(output: np.ndarray) -> np.ndarray:
    """One number for each row, with everything beyond ±4 in one bin."""
    digits = np.clip(output, -4, 5) + 4
    return np.asarray(digits @ (10 ** np.arange(digits.shape[1])))


def _edge_count(copies: int) -> MechanismCase:
    pair = (_laplace([k], sensitivity=1, copies=copies) for k in (0, 1))
    return MechanismCase(tuple(pair), _clipped, copies, wanted=0.95)


def _two_degrees(copies: int) -> MechanismCase:
    pair = (_laplace([k, k], sensitivity=2, copies=copies) for k in (0, 1))
    return MechanismCase(tuple(pair), _clipped, copies, wanted=0.9)


def _sparse_counts(_copies: int) -> MechanismCase:
    pair = (
        SparseLaplaceCounts(
            cells,
            np.ones_like(cells),
            size=12,
            threshold=lambda _values, _often: 0.0,
            sensitivity=1,
        )
        for cells in (_cells(), _cells(5))
    )
    return MechanismCase(
        tuple(pair), lambda output: int(output.values[output.cells == 5].sum()), wanted=0.5
    )


def _largest_cells(_copies: int) -> MechanismCase:
    pair = (LargestCells(cells, 6, 1) for cells in (_cells(), _cells(5)))
    return MechanismCase(tuple(pair), lambda output: int(output[0]))


def _community_choices(_copies: int) -> MechanismCase:
    labels = np.array([0, 1, 1], dtype=np.int32)
    pair = (
        CommunityChoice(
            CommunityChoices(labels).answer(PrivateEdges(_graph(3, edges), ENGINE)), labels
        )
        for edges in ([(1, 2)], [(0, 1), (1, 2)])
    )
    return MechanismCase(tuple(pair), lambda chosen: tuple(chosen.tolist()))


def _linear_filter(_copies: int) -> MechanismCase:
    """TmF's published shortcut on a dense graph; audited only if it claims to be proven."""
    pair = (UnprovenLinearFilter(np.arange(first, 200), 400, 100) for first in (1, 0))
    return MechanismCase(tuple(pair), lambda output: int(output[0] == 0))


MECHANISMS: dict[str, Callable[[int], MechanismCase]] = {
    "an edge count": _edge_count,
    "two degrees": _two_degrees,
    "sparse counts": _sparse_counts,
    "the largest cells": _largest_cells,
    "a round of community choices": _community_choices,
    "TmF's linear filter": _linear_filter,
}


def claimed_mechanisms() -> list[str]:
    """The mechanisms that claim to be private."""
    return [name for name, case in MECHANISMS.items() if case(1).pair[0].proven]


def _cells(*cells: int) -> np.ndarray:
    return np.array(cells, dtype=np.int64)


def _graph(nodes: int, edges: list[tuple[int, int]]) -> Snapshot:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return Snapshot(Roster.range(nodes), ends[:, 0], ends[:, 1])


def bound_mechanism(name: str, *, draws: int, seconds: float, alpha: float, seed: int = 0) -> Bound:
    """Bound the ε of one of psgraph's mechanisms at ε = 1.

    >>> bound = bound_mechanism("an edge count", draws=40_000, seconds=10, alpha=0.05)
    >>> bound.holds, bound.lower > 0.9
    (True, True)
    """
    case = MECHANISMS[name](draws)
    sampler = Sampler(RandomSource.seeded(seed))
    until = time.process_time() + seconds
    sides: tuple[list[Any], list[Any]] = ([], [])
    while case.copies * len(sides[0]) < draws and time.process_time() < until:
        for side, mechanism in zip(sides, case.pair, strict=True):
            side.append(case.outcome(mechanism.draw(sampler, ONE)))
    outcomes = [np.concatenate(side) if case.copies > 1 else side for side in sides]
    lower = epsilon_bound(outcomes[0], outcomes[1], alpha=alpha)
    return Bound(1.0, lower, len(outcomes[0]), case.wanted)


# ---- methods ----


def _streams(window: int) -> tuple[list[Snapshot], list[Snapshot]]:
    """Two streams of 2w timestamps on a path that differ by its first edge in one window."""
    rest = [(node, node + 1) for node in range(1, NODES - 1)]
    one, other = [], []
    for timestamp in range(2 * window):
        inside = timestamp < window
        one.append(_graph(NODES, [(0, 1), *rest] if inside else rest))
        other.append(_graph(NODES, rest))
    return one, other


def bound_phases(
    method: Method[Any, Any], *, runs: int, seconds: float, alpha: float
) -> dict[str, Bound]:
    """Bound what each phase of the first timestamp reveals, against all that is charged up to it.

    A phase is a label of the trace. Its outcomes are the outputs of the mechanism, cut to their
    first cells, which hold what the differing edge moves.
    """
    one, other = _streams(1)
    guarantee = WEventPrivacy(2, window=1)
    seen: tuple[dict[str, list[Hashable]], dict[str, list[Hashable]]] = ({}, {})
    charged: dict[str, Fraction] = {}
    until = time.process_time() + seconds
    own = copy.deepcopy(method)
    done = 0
    while done < runs and time.process_time() < until:
        for side, stream in zip(seen, (one, other), strict=True):
            seed = 2 * done + (side is seen[1])
            recorder = Recorder(seed=seed)
            measure_first(own, stream[0], guarantee, ENGINE, recorder)
            spent = Fraction(0)
            for call in recorder.transcripts[0].calls:
                if call.mechanism is None:
                    continue
                spent += call.epsilon
                charged[call.facts[1]] = min(
                    max(charged.get(call.facts[1], spent), spent), Fraction(2)
                )
                side.setdefault(call.facts[1], []).append(_fingerprint(call.output))
        done += 1
    share = alpha / max(len(charged), 1)
    return {
        label: Bound(
            float(epsilon),
            epsilon_bound(seen[0][label], seen[1][label], alpha=share),
            len(seen[0][label]),
        )
        for label, epsilon in charged.items()
        if label in seen[0] and label in seen[1]
    }


def _fingerprint(output: Any) -> Hashable:
    """A few small numbers of an output: what one edge moves, coarse enough to be counted."""
    if hasattr(output, "cells") and hasattr(output, "values"):  # sparse counts
        small = output.values[output.cells < 2]
        return tuple(np.clip(small, -3, 4).tolist())
    if isinstance(output, tuple):
        return tuple(np.asarray(part).reshape(-1)[:3].tobytes() for part in output)
    if hasattr(output, "left"):  # a dendrogram
        return (output.left.tobytes(), output.right.tobytes())
    values = np.asarray(output).reshape(-1)
    return (min(values.size, 16), *np.clip(values[:2], -3, 6).tolist())


def bound_stream(
    method: Method[Any, Any],
    *,
    window: int,
    epsilon: int,
    runs: int,
    seconds: float,
    alpha: float,
) -> Bound:
    """Bound what 2w releases reveal together about w edges of one window."""
    streams = _streams(window)
    guarantee = WEventPrivacy(epsilon, window=window)
    sides: tuple[list[Hashable], list[Hashable]] = ([], [])
    until = time.process_time() + seconds
    own = copy.deepcopy(method)
    done = 0
    while done < runs and time.process_time() < until:
        for number, (side, stream) in enumerate(zip(sides, streams, strict=True)):
            edges, joined, seed = 0, 0, 2 * done + number
            recorder, graph = Recorder(seed=seed), None
            for measured in measure_stream(own, stream, guarantee, ENGINE, recorder, seed=seed):
                graph = synthesise(own, measured, graph, ENGINE)
                edges += graph.u.size
                joined += int(((graph.u == 0) & (graph.v == 1)).sum())
            side.append((joined, min(edges // (4 * window), 8)))
        done += 1
    return Bound(float(epsilon), epsilon_bound(*sides, alpha=alpha), done)
