"""Bounds from many draws on the worst neighbours, seen from outside.

Three levels: single mechanisms, the phases of a method given what was released before them, and
whole streams of 2w timestamps that differ in all w timestamps of a window. Nothing here knows how a
mechanism works; it only counts outcomes. A bound above the charge proves, up to the stated
confidence, that the promise is broken.

No affordable number of draws distinguishes ε = 0.01 from 0, or shows an event of probability e⁻²⁰.
Mechanisms are audited at ε = 1, and phases under the guarantee that charges them closest to 1, by
the same code: the scale is an argument.
"""

from __future__ import annotations

import copy
import itertools
import math
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph.audit.bounds import Bound, Cuts, best_cuts, epsilon_bound
from psgraph.audit.reach import Reach
from psgraph.audit.transcripts import Call, Divergence, Recorder, measured_stream
from psgraph.engines.threads import LocalEngine
from psgraph.errors import PsgraphError
from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.methods.audit_cases import MechanismCase
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import CommunityChoices
from psgraph.methods.timestamp import draw_graph
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.mechanisms.top import LargestCells
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.testing.cases import leaves

__all__ = [
    "bound_mechanism",
    "bound_phases",
    "bound_stream",
    "claimed_mechanisms",
    "mechanism_case",
]

ENGINE = LocalEngine()
EDGE = (0, 1)
LEAK = 4  # how many times sharper the noise of a mechanism or a phase is, to test the attack
GROSS_LEAK = 16  # the same for streams: synthetic graphs show little of a noisy count
PILOT = 40  # draws on each side to choose what to look at
CANDIDATES = 5  # pairs of graphs that each phase is tried on
WIDTH = 128  # coordinates of an output that are looked at; those of nodes 0 and 1 come first

# ---- mechanisms ----


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

    def outcomes(side: int, sharpness: int) -> Any:
        outcome = case.outcome(case.pair[side].draw(sampler, Fraction(sharpness)))
        return outcome if case.copies > 1 else [outcome]

    rounds = math.ceil(draws / case.copies)
    until = time.process_time() + seconds
    return _bound(outcomes, 1.0, LEAK, rounds, until, alpha, wanted=case.wanted)


def _bound(
    outcomes: Callable[[int, int], Sequence[Hashable] | np.ndarray],
    claimed: float,
    leak: int,
    rounds: int,
    until: float,
    alpha: float,
    *,
    wanted: float = 0.0,
) -> Bound:
    """Bound ε from outcomes on both sides of a pair, and once more from sharpened ones.

    Parameters
    ----------
    outcomes
        Draws some on a side, with noise of a sharpness of 1 or `leak`.
    until
        The processor time after which no further round starts.
    """
    attacks = list(itertools.product((1, leak), (0, 1)))
    drawn: dict[tuple[int, int], list[Any]] = {attack: [] for attack in attacks}
    for _ in range(rounds):
        for sharpness, side in attacks:
            drawn[sharpness, side].append(outcomes(side, sharpness))
        if time.process_time() >= until:
            break
    joined = {attack: _joined(some) for attack, some in drawn.items()}
    lower, leaking = (
        epsilon_bound(joined[sharpness, 0], joined[sharpness, 1], alpha=alpha)
        for sharpness in (1, leak)
    )
    return Bound(claimed, lower, len(joined[1, 0]), leak, leaking, wanted)


def _joined(drawn: Sequence[Any]) -> Sequence[Hashable] | np.ndarray:
    if isinstance(drawn[0], np.ndarray):
        return np.concatenate(drawn)
    return list(itertools.chain.from_iterable(drawn))


# ---- phases ----

# One of these guarantees charges a phase about 1: neither too little to be told from 4, nor so much
# that a violation is too rare to be seen.
GUARANTEES = (1, 3, 10, 30, 100)
NOTHING_SPENT = Accountant(WEventPrivacy(1, window=1))


def _pairs() -> Iterator[tuple[list[Snapshot], list[Snapshot], int]]:
    """Streams of two small graphs that differ by an edge at one timestamp, and that timestamp."""
    few, many, large = 5, 14, 40
    graphs: list[tuple[int, list[tuple[int, int]]]] = [
        (few, []),
        (large, []),
        (many, [(node, node + 1) for node in range(2, many - 1)]),
        (many, [(end, node) for end in EDGE for node in range(2, many)]),
        (large, [(u, v) for u in range(large) for v in range(u + 2, large, 2)]),
    ]
    for nodes, edges in graphs:
        without, having = _graph(nodes, edges), _graph(nodes, [EDGE, *edges])
        yield [having, without], [without, without], 0
        yield [having, having], [having, without], 1


@dataclass(frozen=True)
class _Phase:
    """A query on two neighbours, after the same answers to all queries before it."""

    calls: tuple[Call, Call]
    sampler: Sampler

    @property
    def epsilon(self) -> Fraction:
        return self.calls[0].epsilon

    @property
    def promise(self) -> tuple[Fraction, float]:
        """How much of the sensitivity the edge attains, and how close to 1 the charge is."""
        attained = Fraction(self.calls[1].distance, self.calls[1].sensitivity)
        return attained, -abs(math.log(self.epsilon))

    def row(self, side: int, sharpness: int) -> Floats:
        """Draw an answer as the budget does, charged `sharpness` times as much."""
        call, epsilon = self.calls[side], sharpness * self.epsilon
        assert call.mechanism is not None
        _, sensitivity, _ = call.facts[5]
        output = Budget(epsilon, self.sampler, spending=NOTHING_SPENT).run(
            call.mechanism, epsilon=epsilon, label=call.facts[1], sensitivity=sensitivity
        )
        return _row(output)


def _row(output: Any) -> Floats:
    """The size and the first numbers of an output."""
    row = np.zeros(WIDTH)
    if hasattr(output, "cells") and hasattr(output, "values"):  # sparse counts
        small = output.cells < WIDTH - 1
        row[0] = output.cells.size
        row[1 + output.cells[small]] = output.values[small]
        return row
    arrays = [np.ravel(leaf) for leaf in leaves(output).values()]
    numbers = np.concatenate([np.empty(0), *(each for each in arrays if each.dtype.kind in "biuf")])
    row[0] = numbers.size
    row[1 : 1 + numbers.size] = numbers[: WIDTH - 1]
    return row


def bound_phases(
    method: Method[Any, Any],
    reach: Reach | None = None,
    *,
    runs: int,
    seconds: float,
    alpha: float,
) -> dict[str, Bound]:
    """Bound what each phase reveals, given what was released before it, against its charge.

    A phase is a label of the trace. The method runs on small graphs, and then on neighbours with
    the answers of the first run; the two mechanisms of a phase are then drawn from many times.
    On which graphs, and which part of the output is looked at, is chosen from sharpened draws.
    """
    bounds = {}
    found = _phases(method)
    for label, candidates in found.items():
        chosen, cuts = _most_telling(candidates)
        bounds[label] = _bound(
            partial(_outcomes, chosen.row, cuts),
            float(chosen.epsilon),
            LEAK,
            runs,
            time.process_time() + seconds,
            alpha / len(found),
        )
        if reach is not None:
            reach.drew("bounds", chosen.calls[0], bounds[label].runs)
    return bounds


def _phases(method: Method[Any, Any]) -> dict[str, list[_Phase]]:
    """Every phase by its label, on each pair under the guarantee that suits it best."""
    found: dict[str, list[_Phase]] = {}
    sampler = Sampler(RandomSource.seeded(0))
    for one, other, differing in _pairs():
        best: dict[str, _Phase] = {}
        for epsilon in GUARANTEES:
            guarantee = WEventPrivacy(epsilon, window=2)
            recorded = Recorder()
            forced = Recorder(recorded.transcripts)
            try:
                for stream, recorder in ((one, recorded), (other, forced)):
                    own = copy.deepcopy(method)
                    list(measured_stream(own, stream, guarantee, ENGINE, recorder))
            except (Divergence, PsgraphError):
                continue  # found by the replay; there are no two mechanisms to compare
            calls = (recorder.transcripts[differing].calls for recorder in (recorded, forced))
            for mine, theirs in zip(*calls, strict=True):
                if mine.query is not None:
                    phase = _Phase((mine, theirs), sampler)
                    label = mine.facts[1]
                    best[label] = max(best.get(label, phase), phase, key=lambda each: each.promise)
        for label, phase in best.items():
            found.setdefault(label, []).append(phase)
    return found


def _most_telling(phases: list[_Phase]) -> tuple[_Phase, Cuts]:
    """Choose the phase in which a leak would show best, and what to look at."""
    tried: list[tuple[float, int, _Phase, Cuts]] = []
    for phase in sorted(phases, key=lambda each: each.promise, reverse=True)[:CANDIDATES]:
        claimed = float(phase.epsilon)
        cuts, shown = _pilot(phase.row, claimed, LEAK, PILOT)
        tried.append((shown - claimed, -len(tried), phase, cuts))
    _, _, chosen, cuts = max(tried, key=lambda each: each[:2])
    return chosen, cuts


def _pilot(
    row: Callable[[int, int], Floats], claimed: float, leak: int, runs: int
) -> tuple[Cuts, float]:
    """Choose cuts; also return roughly how much ε they show.

    From sharpened draws, unless the draws as they are already show more than is claimed: a leak
    is looked for where it is.
    """
    for sharpness in (1, leak):
        one, other = (np.array([row(side, sharpness) for _ in range(runs)]) for side in (0, 1))
        cuts = best_cuts(one, other)
        shown = epsilon_bound(cuts.outcomes(one), cuts.outcomes(other), alpha=0.5)
        if shown > claimed:
            break
    return cuts, shown


def _outcomes(row: Callable[[int, int], Floats], cuts: Cuts, side: int, sharpness: int) -> Integers:
    return cuts.outcomes(row(side, sharpness)[None])


# ---- streams ----


class _Sharpened(Mechanism[Any]):
    """A mechanism that draws as if it had been charged more."""

    def __init__(self, mechanism: Mechanism[Any], sharpness: int) -> None:
        self.name, self.proof, self.proven = (  # type: ignore[misc]
            mechanism.name,
            mechanism.proof,
            mechanism.proven,
        )
        self.sensitivity = mechanism.sensitivity
        self._mechanism, self._sharpness = mechanism, sharpness

    @property
    def shape(self) -> tuple[int, ...]:
        return self._mechanism.shape

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Any:
        return self._mechanism.draw(sampler, self._sharpness * epsilon)


@contextmanager
def _sharpened(sharpness: int) -> Iterator[None]:
    """Let every budget draw noise that was charged `sharpness` times as much."""
    real = Budget.run

    def run(budget: Budget, mechanism: Mechanism[Any], **charge: Any) -> Any:
        return real(budget, _Sharpened(mechanism, sharpness), **charge)

    Budget.run = run  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        Budget.run = real  # type: ignore[method-assign]


def bound_stream(
    method: Method[Any, Any],
    *,
    window: int,
    epsilon: int,
    runs: int,
    seconds: float,
    alpha: float,
) -> Bound:
    """Bound what 2w synthetic graphs reveal together about the w edges of one window.

    The streams repeat a small graph, with one edge more at each timestamp of the first window.
    On which graph, and what is looked at, is chosen from runs with sharpened noise.
    """
    guarantee = WEventPrivacy(epsilon, window=window)
    tried = []
    for nodes, edges in ((4, []), (8, [(node, node + 1) for node in range(2, 7)])):
        without, having = _graph(nodes, edges), _graph(nodes, [EDGE, *edges])
        streams = [having] * window + [without] * window, [without] * 2 * window
        row = partial(_published, copy.deepcopy(method), guarantee, streams, itertools.count())
        cuts, shown = _pilot(row, epsilon, GROSS_LEAK, min(PILOT, 1 + runs // 30))
        tried.append((shown, -nodes, row, cuts))
    _, _, row, cuts = max(tried, key=lambda each: each[:2])
    until = time.process_time() + seconds
    return _bound(partial(_outcomes, row, cuts), float(epsilon), GROSS_LEAK, runs, until, alpha)


def _published(
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    streams: tuple[list[Snapshot], list[Snapshot]],
    seeds: Iterator[int],
    side: int,
    sharpness: int,
) -> Floats:
    """Publish a stream; return what its graphs show one by one, and together."""
    seed, graph, shown = next(seeds), None, []
    recorder = Recorder(seed=seed)
    with _sharpened(sharpness):
        stream = streams[side]
        for measured in measured_stream(method, stream, guarantee, ENGINE, recorder, seed=seed):
            graph = draw_graph(method, measured.state, graph, measured.seed, ENGINE)
            shown.append(_shown(graph))
    inside = np.sum(shown[: guarantee.window], axis=0)
    return np.concatenate([inside, np.sum(shown, axis=0), *shown])


def _shown(graph: SyntheticGraph) -> Floats:
    """What a synthetic graph shows of the edge and of its ends."""
    degrees = np.bincount(np.concatenate([graph.u, graph.v]), minlength=2)
    joined = np.sum((graph.u == EDGE[0]) & (graph.v == EDGE[1]))
    own = degrees[:2]
    return np.array([joined, *own, own.sum(), np.sum(degrees > 0), graph.u.size], float)
