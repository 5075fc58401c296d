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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple

from psgraph.audit.boundaries import SETTINGS, boundary_pairs
from psgraph.audit.labelled import LABELLED_FIRST, labelled_streams
from psgraph.audit.neighbours import (
    SIZES,
    Neighbours,
    attaining_streams,
    hard_streams,
    neighbouring_streams,
    unrelated_streams,
)
from psgraph.audit.owned import owned_streams
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
from psgraph.privacy.unit import Owner
from psgraph.testing.cases import kinds_of

__all__ = [
    "Replayed",
    "Trial",
    "pairs_for",
    "replay",
    "replay_all",
    "trials",
    "tried",
    "variant_of",
]

_AT_ONCE = 3  # undirected pairs for each one of another kind: all kinds share most code


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
    reach = Reach(method.name)
    compared, found, codes, largest = 0, list[str](), list[str](), 0.0
    for trial in trials(method, pairs):
        compared += 1
        loss, code, text = tried(trial, reach, traced=traced)
        largest = max(largest, loss)
        if code:
            found.append(text)
            codes.append(code)
        if len(found) == most:
            break
    return Replayed(compared, tuple(found), largest, tuple(codes), reach)


@dataclass(frozen=True)
class Trial:
    """A pair, the method that it is replayed with, and the name of the variant that this is."""

    pair: Neighbours
    method: Method[Any, Any]
    variant: str
    seed: int


def trials(method: Method[Any, Any], pairs: Iterable[Neighbours]) -> Iterator[Trial]:
    """Give every other pair of a kind to a variant of the method, in turn."""
    variants = _variants(method)
    counted = Counter[str]()
    for pair in pairs:
        kind = kind_text(pair.kind)
        number = counted[kind] if pair.number is None else pair.number
        counted[kind] += 1
        own = pair.own or number % 2 == 0
        variant = "" if own else variants[number // 2 % len(variants)]
        if not _takes(variant_of(method, variant), pair):
            variant = ""
        yield Trial(pair, variant_of(method, variant), variant, number + 1)


def tried(trial: Trial, reach: Reach, *, traced: bool = True) -> tuple[float, str, str]:
    """Replay a pair; return its loss in multiples of ε, and the code and text of a finding."""
    pair = trial.pair
    try:
        loss = replay(trial.method, pair, seed=trial.seed, reach=reach, traced=traced)
    except Divergence as divergence:
        return 0.0, divergence.code, f"{pair}: {divergence}"
    except (PsgraphError, AssertionError, IndexError, ValueError) as error:
        return 0.0, "error", f"{pair}: {type(error).__name__}: {error}".splitlines()[0]
    reach.ran("replay", pair, trial.variant)
    return float(loss / pair.guarantee.epsilon), "", ""


def pairs_for(
    method: Method[Any, Any], pairs: int, *, thorough: bool, first: str = ""
) -> Iterator[Neighbours]:
    """Every kind of pair that a method is replayed on, in turn.

    Neighbours that attain a sensitivity, pairs on rare paths, unrelated streams, random neighbours
    and pairs at the boundaries of the method's decisions; pairs with public labels if it uses them;
    and of kinds other than undirected graphs without weights a quarter as many: what they share
    with these is not tried again.

    Parameters
    ----------
    first
        The pairs to start with, instead of with all in turn: those that differ in the rows of
        "owners", those with "labels", those of other "kinds" of graphs.
    """
    turns = _turns(method, pairs, thorough=thorough)
    while turns:
        ahead = [turn for turn in turns if turn.family == first] or list(turns)
        for turn in ahead:
            made = list(islice(turn.pairs, turn.at_once))
            yield from made
            if not made:
                turns.remove(turn)


class _Turn(NamedTuple):
    """Pairs of one family, and how many of them come before the next family's."""

    family: str
    pairs: Iterator[Neighbours]
    at_once: int = 1


def _turns(method: Method[Any, Any], pairs: int, *, thorough: bool) -> list[_Turn]:
    turns = []
    for kind in kinds_of(method):
        if kind.flows:
            continue  # these come with owners
        if Owner in method.units:
            turns.append(_Turn("owners", _owned(method, pairs, kind)))
        if kind == UNDIRECTED:
            usual, labelled = _undirected(method, pairs, thorough=thorough)
            turns += [_Turn("", usual, _AT_ONCE), _Turn("labels", labelled)]
        else:
            turns.append(_Turn("kinds", _pairs_of(method, pairs, kind, thorough=thorough)))
    return turns


def _owned(method: Method[Any, Any], pairs: int, kind: Kind) -> Iterator[Neighbours]:
    """Pairs that differ in all rows of an owner; on two sides, of flows as well."""
    yield from owned_streams(max(pairs // 8, 9), kind=kind)
    if method.publishes_flows and kind.sides == 2 and not kind.weighted:
        yield from owned_streams(max(pairs // 8, 9), kind=kind.with_flows())


def _undirected(
    method: Method[Any, Any], pairs: int, *, thorough: bool
) -> tuple[Iterator[Neighbours], Iterator[Neighbours]]:
    """Pairs without and with labels, the latter numbered between random ones and boundaries."""
    settings, most = (SETTINGS, 4) if thorough else (SETTINGS[:1], 1)
    unrelated, labels = max(pairs // 4, 10), max(pairs // 8, 6)
    usual = chain(
        hard_streams(),  # find most bugs, soonest
        attaining_streams(),
        unrelated_streams(unrelated),
        neighbouring_streams(pairs),
    )
    number = _rare() + unrelated + pairs
    labelled: Iterator[Neighbours] = iter(())
    if method.uses_labels:
        labelled = _numbered(labelled_streams(labels), number)
        number += LABELLED_FIRST + labels
    boundaries = _numbered(boundary_pairs(method, settings, most=most), number)
    return chain(_numbered(usual), boundaries), labelled


@cache
def _rare() -> int:
    return sum(1 for _ in chain(hard_streams(), attaining_streams()))


def _numbered(pairs: Iterable[Neighbours], start: int = 0) -> Iterator[Neighbours]:
    return (replace(pair, number=number) for number, pair in enumerate(pairs, start))


def _pairs_of(
    method: Method[Any, Any], pairs: int, kind: Kind, *, thorough: bool
) -> Iterator[Neighbours]:
    """Pairs of a kind other than undirected graphs without weights."""
    yield from attaining_streams(kind)
    yield from neighbouring_streams(max(pairs // 4, 8), kind=kind, sizes=SIZES[:2])
    yield from unrelated_streams(max(pairs // 12, 3), kind=kind)
    if thorough:
        yield from hard_streams(kind)
        yield from boundary_pairs(method, SETTINGS, most=4, kind=kind)


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
    pair.check()
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

    Where only the weight of the edge differs, that is the query's sensitivity to weights. An owner
    who is no end of an edge may share it with others, and then only its weight differs as well.

    A query may read the timestamp before if it states so and that timestamp has reserved for it.
    """
    for call in transcripts[timestamp].calls:
        if call.query is None:
            continue
        readable = {timestamp}
        if call.query.reads_previous and timestamp and transcripts[timestamp - 1].reserves:
            readable.add(timestamp - 1)
        edges, weights = pair.differing - pair.reweighted, pair.reweighted
        most, unit = call.sensitivity, pair.guarantee.unit
        if isinstance(unit, Owner) and unit.side is None:
            most = max(most, unit.edges * call.query.weight_sensitivity)
        allowed = len(readable & edges) * most
        allowed += len(readable & weights) * call.query.weight_sensitivity
        if call.distance > allowed:
            raise Divergence(
                "sensitivity",
                f"{call.facts[1]!r} changes by {call.distance}; its sensitivity allows {allowed}",
            )
