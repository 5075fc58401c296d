"""Gray-box replay: two neighbouring streams, one transcript.

The method runs on a stream, then on a neighbour with every mechanism's output forced to that of
the first run. If the method reads private edges only through queries, and each states its
sensitivity correctly, then

* both runs request the same ε, and ask the same queries with the same ε, sensitivities and shapes
  in the same order;
* the exact answers of each query are no further apart than its stated sensitivity;
* measurements, states and synthetic graphs are equal;
* what the calls lose together stays within what the differing timestamps were charged, and what
  is charged within ε in every window.

This finds any dependence on the edges that the pair brings out, without statistics. It can't find
a mechanism whose own distribution is wrong: see `psgraph.audit.enumeration` and `black_box`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.neighbours import Neighbours
from psgraph.audit.transcripts import Divergence, Recorder, Transcript, measured_stream
from psgraph.engines.threads import LocalEngine
from psgraph.errors import PsgraphError
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.timestamp import draw_graph
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.testing.cases import leaves

__all__ = ["Replayed", "composed", "replay", "replay_all"]


@dataclass(frozen=True)
class Replayed:
    """What the replay of many pairs found.

    Attributes
    ----------
    pairs
        How many were compared.
    divergences
        What went wrong, as name of the pair and sentence.
    codes
        The same as `Divergence.code`; "error" for an exception of the method.
    largest_loss
        The largest privacy loss between two neighbours, in multiples of ε.
    """

    pairs: int
    divergences: tuple[str, ...]
    largest_loss: float
    codes: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.divergences


@dataclass(frozen=True)
class _Run:
    """What a run left behind at each timestamp."""

    transcripts: list[Transcript]
    spent: list[Fraction]
    traces: list[tuple[Charge, ...]]
    results: list[tuple[Any, Any, SyntheticGraph]]


def replay_all(
    method: Method[Any, Any],
    pairs: Iterable[Neighbours],
    *,
    epsilon: Fraction = Fraction(2),
    most: int = 10,
) -> Replayed:
    """Replay every pair; stops after `most` divergences.

    Examples
    --------
    >>> from psgraph.audit.neighbours import neighbouring_streams
    >>> from psgraph.methods.tmf import TmF
    >>> replayed = replay_all(TmF(), neighbouring_streams(9))
    >>> replayed.holds, replayed.largest_loss <= 1
    (True, True)
    """
    compared, found, codes, largest = 0, list[str](), list[str](), Fraction(0)
    for pair in pairs:
        compared += 1
        try:
            largest = max(largest, replay(method, pair, epsilon=epsilon, seed=compared))
        except Divergence as divergence:
            found.append(f"{pair.name}: {divergence}")
            codes.append(divergence.code)
        except (PsgraphError, AssertionError, IndexError, ValueError) as error:
            found.append(f"{pair.name}: {type(error).__name__}: {error}".splitlines()[0])
            codes.append("error")
        if len(found) == most:
            break
    return Replayed(compared, tuple(found), float(largest / epsilon), tuple(codes))


def replay(
    method: Method[Any, Any], pair: Neighbours, *, epsilon: Fraction, seed: int = 0
) -> Fraction:
    """Replay one pair; return an upper bound of the privacy loss between the two.

    Raises
    ------
    Divergence
        At the first thing that depends on the edges and should not, or is not paid for.
    """
    guarantee = WEventPrivacy(epsilon, window=pair.window)
    one = _run(method, pair.one, guarantee, Recorder(seed=seed))
    other = _run(method, pair.other, guarantee, Recorder(one.transcripts))
    _same_results(one, other)
    _within_window(other.spent, guarantee)
    for timestamp, transcript in enumerate(other.transcripts):
        _within_sensitivity(pair, timestamp, other.transcripts)
        if composed(other.traces[timestamp]) > transcript.granted:
            raise Divergence("charge", f"timestamp {timestamp} draws more than it is charged")
    loss = sum((transcript.loss for transcript in other.transcripts), start=Fraction(0))
    paid = sum((other.spent[timestamp] for timestamp in pair.differing), start=Fraction(0))
    if loss > paid:
        raise Divergence("loss", f"the differing timestamps are charged {paid} and lose {loss}")
    return loss


def _run(
    method: Method[Any, Any],
    stream: Sequence[Snapshot],
    guarantee: WEventPrivacy,
    recorder: Recorder,
) -> _Run:
    own, engine = copy.deepcopy(method), LocalEngine()
    run = _Run(recorder.transcripts, [], [], [])
    graph: SyntheticGraph | None = None
    for measured in measured_stream(own, stream, guarantee, engine, recorder):
        run.spent.append(measured.granted)
        run.traces.append(measured.charges)
        graph = draw_graph(own, measured.state, graph, measured.seed, engine)
        run.results.append((measured.measurement, measured.state, graph))
    recorder.check_complete()
    return run


def _same_results(one: _Run, other: _Run) -> None:
    names = ("the measurement", "the state", "the synthetic graph")
    for timestamp, results in enumerate(zip(one.results, other.results, strict=True)):
        for name, mine, theirs in zip(names, *results, strict=True):
            if not _same(mine, theirs):
                raise Divergence("results", f"{name} of timestamp {timestamp} depends on the edges")


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, SyntheticGraph):
        return (
            np.array_equal(mine.u, theirs.u)
            and np.array_equal(mine.v, theirs.v)
            and mine.roster == theirs.roster
        )
    one, other = leaves(mine), leaves(theirs)
    return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)


def _equal(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, np.ndarray):
        same_kind = isinstance(theirs, np.ndarray) and mine.dtype == theirs.dtype
        if not same_kind:
            return False
        return np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
    return type(mine) is type(theirs) and bool(mine == theirs)


def _within_window(spent: list[Fraction], guarantee: WEventPrivacy) -> None:
    """Every window, recomputed from the spends without the accountant."""
    for start in range(len(spent)):
        if sum(spent[start : start + guarantee.window]) > guarantee.epsilon:
            raise Divergence("window", f"the window from timestamp {start} spends more than ε")


def _within_sensitivity(pair: Neighbours, timestamp: int, transcripts: list[Transcript]) -> None:
    """Each answer changes by at most what its query states, for every differing snapshot it reads.

    A query may read the timestamp before if it states so and that timestamp has reserved for it.
    """
    for call in transcripts[timestamp].calls:
        if call.query is None:
            continue
        readable = {timestamp}
        if call.query.reads_previous and timestamp and transcripts[timestamp - 1].reserves:
            readable.add(timestamp - 1)
        allowed = len(readable & pair.differing) * call.sensitivity
        if call.distance > allowed:
            raise Divergence(
                "sensitivity",
                f"{call.facts[1]!r} changes by {call.distance}; its sensitivity allows {allowed}",
            )


def composed(trace: Iterable[Charge]) -> Fraction:
    """What a trace costs.

    Charges on one budget add up, and so do its splits; of the parts of one split, the most
    expensive counts.
    """
    return _cost([(_path(charge), charge.epsilon) for charge in trace])


_Path = tuple[tuple[int, str], ...]


def _path(charge: Charge) -> _Path:
    """The number of the split and the name of the part, from the outermost split inwards."""
    if not charge.part:
        return ()
    names = charge.part.split(" / ", len(charge.split) - 1)
    return tuple(zip(charge.split or [0] * len(names), names, strict=True))


def _cost(charges: list[tuple[_Path, Fraction]]) -> Fraction:
    total = Fraction(0)
    splits: dict[int, dict[str, list[tuple[_Path, Fraction]]]] = {}
    for path, epsilon in charges:
        if path:
            (number, name), *inner = path
            parts = splits.setdefault(number, {})
            parts.setdefault(name, []).append((tuple(inner), epsilon))
        else:
            total += epsilon
    return total + sum(max(map(_cost, parts.values())) for parts in splits.values())
