"""Black-box bounds: many runs on the worst neighbours, seen from outside.

Three levels: single mechanisms, the phases of a method at one timestamp, and whole streams of 2w
timestamps that differ in all w timestamps of a window. Nothing here knows how a mechanism works;
it only counts outcomes. A bound above the charge proves, up to the stated confidence, that the
promise is broken.

No affordable number of runs distinguishes ε = 0.01 from 0. Mechanisms that are charged so little
are audited at ε = 1, by the same code: the scale is an argument.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.bounds import Bound, epsilon_bound
from psgraph.audit.transcripts import Recorder, measured_stream
from psgraph.engines.threads import LocalEngine
from psgraph.graph import Roster, Snapshot
from psgraph.methods.audit_cases import MechanismCase
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import CommunityChoices
from psgraph.methods.timestamp import draw_graph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.mechanisms.top import LargestCells
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

__all__ = [
    "bound_mechanism",
    "bound_phases",
    "bound_stream",
    "claimed_mechanisms",
    "mechanism_case",
]

ENGINE = LocalEngine()
ONE = Fraction(1)
NODES = 14


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
    choices = CommunityChoices(np.array([0, 1, 1], dtype=np.int32))
    graphs = (_graph(3, edges) for edges in ([(1, 2)], [(0, 1), (1, 2)]))
    pair = (choices.mechanism(choices.answer(PrivateEdges(graph, ENGINE))) for graph in graphs)
    return MechanismCase(tuple(pair), lambda chosen: tuple(chosen.tolist()))


KERNEL: Mapping[str, Callable[[int], MechanismCase]] = {
    "an edge count": _edge_count,
    "two degrees": _two_degrees,
    "sparse counts": _sparse_counts,
    "the largest cells": _largest_cells,
    "a round of community choices": _community_choices,
}


def mechanism_case(name: str, method: Method[Any, Any] | None, draws: int) -> MechanismCase:
    """Return a case of the kernel, or of a method, for a number of draws."""
    cases = KERNEL if method is None else method.audit_cases().mechanisms
    return cases[name](draws)


def claimed_mechanisms(method: Method[Any, Any] | None = None) -> list[str]:
    """Return the cases of the kernel, or of a method, whose mechanism claims to be private."""
    cases = KERNEL if method is None else method.audit_cases().mechanisms
    return [name for name, case in cases.items() if case(1).pair[0].proven]


def _cells(*cells: int) -> np.ndarray:
    return np.array(cells, dtype=np.int64)


def _graph(nodes: int, edges: list[tuple[int, int]]) -> Snapshot:
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return Snapshot(Roster.range(nodes), ends[:, 0], ends[:, 1])


def bound_mechanism(
    name: str,
    method: Method[Any, Any] | None = None,
    *,
    draws: int,
    seconds: float,
    alpha: float,
    seed: int = 0,
) -> Bound:
    """Bound the ε of a mechanism of the kernel, or of a method, at ε = 1.

    >>> bound = bound_mechanism("an edge count", draws=40_000, seconds=10, alpha=0.05)
    >>> bound.holds, bound.lower > 0.9
    (True, True)
    """
    case = mechanism_case(name, method, draws)
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
            list(measured_stream(own, stream[:1], guarantee, ENGINE, recorder))
            spent = Fraction(0)
            for call in recorder.transcripts[0].calls:
                if call.query is None:
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
    if is_dataclass(output):  # a structure: all of it
        return tuple(np.asarray(getattr(output, each.name)).tobytes() for each in fields(output))
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
            for measured in measured_stream(own, stream, guarantee, ENGINE, recorder, seed=seed):
                graph = draw_graph(own, measured.state, graph, measured.seed, ENGINE)
                edges += graph.u.size
                joined += int(((graph.u == 0) & (graph.v == 1)).sum())
            side.append((joined, min(edges // (4 * window), 8)))
        done += 1
    return Bound(float(epsilon), epsilon_bound(*sides, alpha=alpha), done)
