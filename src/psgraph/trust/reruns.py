"""Run a method again on its own releases: the bootstrap behind all predictions.

Releases are public and so is the method, so this is post-processing: it reads no private edge and
costs no ε. Running the method on the releases R gives R′. How far R′ is from R shows how far R may
be from the original. (Running it once more, on R′, was tried: how errors decay from one generation
to the next did not improve predictions.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import tee
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph.engines.threads import LocalEngine
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Graph, Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method
from psgraph.methods.timestamp import draw_graph, measure_stream
from psgraph.metrics.metric import GraphFacts
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.trust.quantities import Errors, Statistics

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate

__all__ = [
    "Bootstrap",
    "Repetition",
    "Series",
    "check_effort",
    "derived_seed",
    "method_of",
    "rerun",
    "run_bootstrap",
]

#: Values by name, one for each timestamp.
Series = Mapping[str, Floats]

KEPT_EDGES = 5_000_000  # with more edges in all releases, they are read again for every repetition


@dataclass(frozen=True)
class Repetition:
    """One rerun of the releases: the errors of R′ against R, and the statistics of R′."""

    errors: Series
    statistics: Series


@dataclass(frozen=True)
class Bootstrap:
    """All repetitions.

    Attributes
    ----------
    released
        The statistics of the releases themselves.
    timestamps
        The number in each repetition; fewer than releases if the time was up before the first
        repetition ended.
    """

    released: Series
    repetitions: tuple[Repetition, ...]
    timestamps: int

    def only(self, timestamps: Sequence[int]) -> Bootstrap:
        """A copy in which reruns have no values at other timestamps."""
        hidden = np.ones(self.timestamps, dtype=np.bool_)
        hidden[list(timestamps)] = False

        def shown(series: Series) -> Series:
            return {name: np.where(hidden, np.nan, values) for name, values in series.items()}

        kept = (Repetition(shown(each.errors), shown(each.statistics)) for each in self.repetitions)
        return replace(self, repetitions=tuple(kept))


def check_effort(seed: int, seconds: float | None, repetitions: int) -> None:
    """Refuse numbers that make no sense, before anything is read."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidArgument(f"a seed must be an integer of at least 0, not {seed!r}")
    if isinstance(repetitions, bool) or not isinstance(repetitions, int) or repetitions < 1:
        raise InvalidArgument(f"repetitions must be an integer of at least 1, not {repetitions!r}")
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (number and seconds > 0):
        raise InvalidArgument(f"seconds must be a number above 0, not {seconds!r}")


def run_bootstrap(
    releases: Iterable[SyntheticGraph],
    method: Method[Any, Any],
    guarantee: WEventPrivacy,
    *,
    seed: int,
    repetitions: int,
    seconds: float | None = None,
    progress: Callable[[], object] = lambda: None,
) -> Bootstrap:
    """Run a method on its own releases.

    Parameters
    ----------
    releases
        In order; iterated once for every repetition.
    seconds
        When to stop. An unfinished repetition is dropped, unless it is the first one, which then
        ends with the timestamp it has reached.
    progress
        Called after every timestamp of every repetition.
    """
    ends = None if seconds is None else monotonic() + seconds
    first = _Kept(releases)
    done: list[Repetition] = []
    released: Series = {}
    timestamps = 0
    for number in range(repetitions):
        walk = _Walk(method, guarantee, seed, number)
        complete = True
        for _ in walk.steps(first):
            progress()
            if ends is not None and monotonic() >= ends:
                complete = walk.length == timestamps
                break
        if number and not complete:
            break
        done.append(walk.repetition())
        released, timestamps = walk.released(), walk.length
        first.stop_after(timestamps)
        if ends is not None and monotonic() >= ends:
            break
    return Bootstrap(released, tuple(done), timestamps)


class _Kept:
    """Releases with their statistics, kept between repetitions if they are small."""

    def __init__(self, releases: Iterable[SyntheticGraph]) -> None:
        self._releases = releases
        self._kept: list[GraphFacts] = []
        self._stop: int | None = None

    def stop_after(self, timestamps: int) -> None:
        """End after this many timestamps from now on."""
        self._stop = timestamps

    def __iter__(self) -> Iterator[GraphFacts]:
        if self._stop is not None and len(self._kept) >= self._stop:
            yield from self._kept[: self._stop]
            return
        self._kept, edges = [], 0
        for number, graph in enumerate(self._releases):
            if number == self._stop:
                return
            facts = GraphFacts(graph)
            edges += graph.edge_count
            if edges <= KEPT_EDGES:
                self._kept.append(facts)
            yield facts


class _Walk:
    """Walks through one repetition, one timestamp at a time: only two graphs are in memory."""

    def __init__(
        self, method: Method[Any, Any], guarantee: WEventPrivacy, seed: int, number: int
    ) -> None:
        self._method, self._guarantee = method, guarantee
        self._seed = derived_seed(seed, number)
        self._errors: Errors | None = None
        self._statistics = Statistics(), Statistics()
        self._rows: list[list[Mapping[str, float]]] = [[], [], []]

    @property
    def length(self) -> int:
        return len(self._rows[0])

    def steps(self, releases: Iterable[GraphFacts]) -> Iterator[None]:
        facts, inputs = tee(releases)
        graphs = (each.graph for each in inputs)
        again = rerun(graphs, self._method, self._guarantee, seed=self._seed)
        for released, made in zip(facts, map(GraphFacts, again), strict=True):
            if self._errors is None:
                self._errors = Errors(released.graph.kind)
            found = (
                self._errors.compute(released, made),
                self._statistics[0].compute(released),
                self._statistics[1].compute(made),
            )
            for rows, values in zip(self._rows, found, strict=True):
                rows.append(values)
            yield

    def released(self) -> Series:
        return _series(self._rows[1])

    def repetition(self) -> Repetition:
        return Repetition(_series(self._rows[0]), _series(self._rows[2]))


def _series(rows: Sequence[Mapping[str, float]]) -> Series:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def rerun(
    graphs: Iterable[Graph], method: Method[Any, Any], guarantee: WEventPrivacy, *, seed: int
) -> Iterator[SyntheticGraph]:
    """Publish graphs again with seeded noise, one timestamp at a time.

    Privacy: for graphs that are already public. Nothing here is private, and nothing is charged
    to anyone; the budget only makes the noise as large as it was in the real run.

    Parameters
    ----------
    graphs
        The graphs of a stream, in order, each read when its release is drawn.
    method, guarantee
        Those of the real run.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> ring = SyntheticGraph(Roster.range(40), range(39), range(1, 40))
    >>> method = find_method("tmf")()
    >>> first, second = rerun([ring, ring], method, WEventPrivacy("2", window=2), seed=1)
    >>> first.roster == ring.roster
    True
    """
    engine, made = LocalEngine(), None
    measured = measure_stream(
        method,
        map(_as_snapshot, graphs),
        guarantee,
        engine,
        samplers=lambda number: Sampler(RandomSource.seeded(seed, timestamp=number)),
    )
    for timestamp in measured:
        made = draw_graph(method, timestamp.state, made, timestamp.seed, engine)
        yield made


def _as_snapshot(graph: Graph) -> Snapshot:
    return Snapshot(
        graph.roster, graph.u, graph.v, kind=graph.kind, weight=graph.weight, time=graph.time
    )


def method_of(certificates: Sequence[Certificate]) -> tuple[Method[Any, Any], WEventPrivacy]:
    """Return the method and the guarantee that all certificates state.

    Raises
    ------
    DataError
        If they differ, or the method is not installed here.
    """
    last = certificates[-1]
    terms = {(each.method, repr(sorted(each.parameters.items()))) for each in certificates}
    if len(terms) > 1:
        names = ", ".join(sorted({name for name, _ in terms}))
        raise DataError(
            f"the releases were not all made by one method with one set of parameters ({names})\n"
            "Predict the errors of each publication separately."
        )
    if len({each.guarantee for each in certificates}) > 1:
        raise DataError(
            "the releases were not all made under one guarantee\n"
            "Predict the errors of each publication separately."
        )
    try:
        # By its installed name only: a certificate comes from elsewhere and must not run code.
        method = find_method(last.method)(**last.parameters)
    except InvalidArgument:
        raise DataError(
            f"method {last.method!r}, which made the releases, is not installed here\n"
            "Install the package it comes from. `psgraph methods` lists what is installed."
        ) from None
    except TypeError:
        raise DataError(
            f"method {last.method!r} does not know all parameters that the releases state\n"
            f"Install the version that made them; psgraph was {last.version}."
        ) from None
    return method, last.guarantee


def derived_seed(seed: int, repetition: int) -> int:
    """Return the seed of one rerun; no two reruns share their noise.

    >>> derived_seed(0, 0) == derived_seed(0, 1)
    False
    """
    facts = ("psgraph trust", str(seed), str(repetition), "1")
    digest = hashlib.sha256("\0".join(facts).encode()).digest()
    return int.from_bytes(digest[:8]) >> 1
