"""Gray-box replay: two neighbouring streams, one transcript.

The method runs on a stream, then on a neighbour with every mechanism's output forced to that of
the first run. If the method reads private edges only through queries, and each states its
sensitivity correctly, then

* both runs request the same ε, and ask the same queries with the same ε, sensitivities and shapes
  in the same order;
* the exact answers of each query are no further apart than its stated sensitivity, to an edge or
  to another weight of one;
* measurements, states and synthetic graphs are equal;
* what the calls lose together stays within what the differing timestamps were charged, and what
  is charged within ε in every window.

All but the second and the last also hold for streams that have nothing in common but their rosters,
which are replayed too: they bring out every decision that looks at the truth. Answers may be any
that a mechanism can give, so those of the first run are partly chosen by the auditor.

This finds any dependence on the edges that the pair brings out, without statistics. It can't find
a mechanism whose own distribution is wrong: see `psgraph.audit.enumeration` and `black_box`.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from psgraph.audit.boundaries import SETTINGS, boundary_pairs
from psgraph.audit.labelled import labelled_streams
from psgraph.audit.neighbours import (
    SIZES,
    Neighbours,
    attaining_streams,
    hard_streams,
    neighbouring_streams,
    unrelated_streams,
)
from psgraph.audit.reach import Reach, kind_text
from psgraph.audit.transcripts import (
    Divergence,
    Recorder,
    Transcript,
    measured_stream,
    same_values,
)
from psgraph.engines.threads import LocalEngine
from psgraph.errors import PsgraphError, RosterError
from psgraph.graph import UNDIRECTED, Kind, Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.timestamp import draw_graph
from psgraph.privacy.budget import Charge, composed
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.testing.cases import kinds_of

__all__ = ["Replayed", "pairs_for", "replay", "replay_all", "variant_of"]


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
    reach
        What the replay reached of the method.
    """

    pairs: int
    divergences: tuple[str, ...]
    largest_loss: float
    codes: tuple[str, ...]
    reach: Reach

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
    most: int = 10,
    traced: bool = True,
) -> Replayed:
    """Replay every pair, every other one with a variant of the method; stop after `most` findings.

    Unless `traced`, the lines that were reached are not noted, which is faster.

    Examples
    --------
    >>> from psgraph.audit.neighbours import neighbouring_streams
    >>> from psgraph.methods.tmf import TmF
    >>> replayed = replay_all(TmF(), neighbouring_streams(9))
    >>> replayed.holds, replayed.largest_loss <= 1
    (True, True)
    """
    variants = _variants(method)
    reach = Reach(method.name)
    compared, found, codes, largest = Counter[str](), list[str](), list[str](), 0.0
    for pair in pairs:
        kind = kind_text(pair.kind)
        number = compared[kind]  # of its kind, so that others change nothing
        own = pair.own or number % 2 == 0
        variant = "" if own else variants[number // 2 % len(variants)]
        if not _takes(variant_of(method, variant), pair):
            variant = ""
        compared[kind] += 1
        try:
            loss = replay(
                variant_of(method, variant), pair, seed=number + 1, reach=reach, traced=traced
            )
            reach.ran("replay", pair, variant)
            largest = max(largest, float(loss / pair.guarantee.epsilon))
        except Divergence as divergence:
            found.append(f"{pair}: {divergence}")
            codes.append(divergence.code)
        except (PsgraphError, AssertionError, IndexError, ValueError) as error:
            found.append(f"{pair}: {type(error).__name__}: {error}".splitlines()[0])
            codes.append("error")
        if len(found) == most:
            break
    return Replayed(compared.total(), tuple(found), largest, tuple(codes), reach)


def pairs_for(method: Method[Any, Any], pairs: int, *, thorough: bool) -> Iterator[Neighbours]:
    """Every kind of pair that a method is replayed on, one kind of graph after the other in turn.

    Neighbours that attain a sensitivity, pairs on rare paths, unrelated streams, random neighbours,
    pairs with public labels if it uses them, and pairs at the boundaries of its decisions. Of
    kinds other than undirected graphs without weights, a quarter as many: what they share with
    these is not tried again.
    """
    turns = [_pairs_of(method, pairs, kind, thorough=thorough) for kind in kinds_of(method)]
    while turns:
        for turn in tuple(turns):
            pair = next(turn, None)
            if pair is None:
                turns.remove(turn)
            else:
                yield pair


def _pairs_of(
    method: Method[Any, Any], pairs: int, kind: Kind, *, thorough: bool
) -> Iterator[Neighbours]:
    settings, most = (SETTINGS, 4) if thorough else (SETTINGS[:1], 1)
    if kind != UNDIRECTED:
        yield from neighbouring_streams(max(pairs // 4, 16), kind=kind, sizes=SIZES[:2])
        yield from unrelated_streams(max(pairs // 12, 3), kind=kind)
        if thorough:
            yield from hard_streams(kind)
            yield from boundary_pairs(method, settings, most=most, kind=kind)
        return
    yield from hard_streams()  # find most bugs, soonest
    yield from attaining_streams()
    yield from unrelated_streams(max(pairs // 4, 10))
    yield from neighbouring_streams(pairs)
    if method.uses_labels:
        yield from labelled_streams(max(pairs // 8, 6))
    yield from boundary_pairs(method, settings, most=most)


def _takes(method: Method[Any, Any], pair: Neighbours) -> bool:
    """Whether a method can publish the pair: it may need labels, and the roster may have none."""
    try:
        method.check_roster(pair.one[0].roster)
    except RosterError:
        return False
    return True


def _variants(method: Method[Any, Any]) -> list[str]:
    return list(method.audit_cases().variants) or [""]


def variant_of(method: Method[Any, Any], name: str) -> Method[Any, Any]:
    """Return a method with the parameters of one of its variants; "" for the method itself."""
    if not name:
        return method
    return type(method)(**{**method.parameters(), **method.audit_cases().variants[name]})


def replay(
    method: Method[Any, Any],
    pair: Neighbours,
    *,
    seed: int = 0,
    reach: Reach | None = None,
    traced: bool = True,
) -> Fraction:
    """Replay one pair; return an upper bound of the privacy loss between the two.

    Raises
    ------
    Divergence
        At the first thing that depends on the edges and should not, or is not paid for.
    """
    reach = Reach(method.name) if reach is None else reach
    recorder = Recorder(seed=seed, answers=pair.answers)
    mine = copy.deepcopy(method)
    one = _run(reach.traced(mine) if traced else mine, pair, pair.one, recorder)
    other = _run(copy.deepcopy(method), pair, pair.other, Recorder(one.transcripts))
    reach.asked("replay", other.transcripts, pair.kind, neighbours=not pair.unrelated)
    for measurement, state, _ in other.results:
        reach.took("replay", method, measurement, state)
    _same_results(one, other)
    _within_window(other.spent, pair.guarantee)
    if pair.unrelated:
        return Fraction(0)
    for timestamp, booked in enumerate(other.spent):
        _within_sensitivity(pair, timestamp, other.transcripts)
        if composed(other.traces[timestamp]) > booked:
            raise Divergence("charge", f"timestamp {timestamp} draws more than it is charged")
    loss = sum((transcript.loss for transcript in other.transcripts), start=Fraction(0))
    paid = sum((other.spent[timestamp] for timestamp in pair.differing), start=Fraction(0))
    if loss > paid:
        raise Divergence("loss", f"the differing timestamps are charged {paid} and lose {loss}")
    return loss


def _run(
    method: Method[Any, Any], pair: Neighbours, stream: Sequence[Snapshot], recorder: Recorder
) -> _Run:
    engine = LocalEngine()
    run = _Run(recorder.transcripts, [], [], [])
    graph: SyntheticGraph | None = None
    for measured in measured_stream(
        method, stream, pair.guarantee, engine, recorder, restarts=pair.restarts
    ):
        run.spent.append(measured.booked)
        run.traces.append(measured.charges)
        graph = draw_graph(method, measured.state, graph, measured.seed, engine)
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
        return mine == theirs
    return same_values(mine, theirs)


def _within_window(spent: list[Fraction], guarantee: WEventPrivacy) -> None:
    """Every window, recomputed from the spends without the accountant."""
    for start in range(len(spent)):
        if sum(spent[start : start + guarantee.window]) > guarantee.epsilon:
            raise Divergence("window", f"the window from timestamp {start} spends more than ε")


def _within_sensitivity(pair: Neighbours, timestamp: int, transcripts: list[Transcript]) -> None:
    """Each answer changes by at most what its query states, for every differing snapshot it reads.

    Where only the weight of the edge differs, that is the query's sensitivity to weights.

    A query may read the timestamp before if it states so and that timestamp has reserved for it.
    """
    for call in transcripts[timestamp].calls:
        if call.query is None:
            continue
        readable = {timestamp}
        if call.query.reads_previous and timestamp and transcripts[timestamp - 1].reserves:
            readable.add(timestamp - 1)
        edges, weights = pair.differing - pair.reweighted, pair.reweighted
        allowed = len(readable & edges) * call.sensitivity
        allowed += len(readable & weights) * call.query.weight_sensitivity
        if call.distance > allowed:
            raise Divergence(
                "sensitivity",
                f"{call.facts[1]!r} changes by {call.distance}; its sensitivity allows {allowed}",
            )
