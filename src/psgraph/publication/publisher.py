"""Measure → seal → synthesise over a stream, under a guarantee.

What a method learned is sealed before anything is shown; the rest is made from sealed values and a
sealed seed, and gives the same bytes whenever it is made.
"""

from __future__ import annotations

import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, Self

from psgraph._runtime.durable import as_path
from psgraph._runtime.resources import clear_scratch, phase
from psgraph.engines.runner import Runner
from psgraph.engines.threads import LocalEngine
from psgraph.errors import OutOfOrder, ReplayConflict
from psgraph.graph import Kind, Snapshot
from psgraph.graph.left_out import published_as
from psgraph.methods import DEFAULT_METHOD
from psgraph.methods.base import Method
from psgraph.methods.private import Previous
from psgraph.methods.registry import MethodLike, check_kind, choose_method, memory_note
from psgraph.privacy.guarantee import EpsilonLike, WEventPrivacy
from psgraph.publication import checks
from psgraph.publication.certificate import Release
from psgraph.publication.history import OpenStream, open_stream, reopen_stream
from psgraph.publication.ledger.reader import RosterGrowth
from psgraph.publication.measurement import Measured, Measurer, Seal, check_noise
from psgraph.publication.releases import Releases, read_releases
from psgraph.publication.synthesis import EarlierReleases, Synthesis
from psgraph.publication.terms import Spending, refuse_without_promise
from psgraph.streams.input import read_stream
from psgraph.streams.overflow import Overflow
from psgraph.streams.time_source import TimeSource, as_time_source

__all__ = ["Publisher", "publish"]


class Publisher:
    """Publishes snapshots one after the other, never beyond the guarantee.

    Without `ledger` and `out` nothing is kept: for experiments, not for publishing. Threads can
    share a publisher; they publish one after the other.

    Parameters
    ----------
    method
        What turns snapshots into synthetic graphs, for example ``PSGraph()``.
    guarantee
        What is promised of all releases.
    ledger
        The durable record of the stream: after a crash or a restart a timestamp that is sealed
        is handed back instead of measured again.
    out
        The directory to write releases to. Its ledger is ``out.ledger/ledger.sqlite``, beside it,
        unless another is named.
    seed
        For research: makes the run repeatable, and its releases not private.
    noise
        ``"exact"`` for psgraph's own sampler, ``"opendp"`` to draw Laplace noise with OpenDP.
    not_private
        Publish although the method provides less than the guarantee; without a seed refused.
    large_epsilon
        The same for an ε above 20, which protects nothing.
    measure_again
        Measure a timestamp that was measured several times and never sealed, once. Give it after
        you know why (`MeasuringStopped`); it is recorded, and refused if nothing was stopped.
    engine
        Where edge-sized work runs; the local machine unless given.
    progress
        Called by `publish_all` after every release with the number of snapshots published and
        the number in the stream, None if unknown. If it raises, what is published stays so.
    kind
        The kind of the graphs, which is part of the terms; that of the first snapshot unless given.

    Examples
    --------
    >>> from psgraph.graph import Roster
    >>> from psgraph.methods.psgraph import PSGraph
    >>> snapshot = Snapshot(Roster.range(40), range(39), range(1, 40))
    >>> with Publisher(PSGraph(), WEventPrivacy("1", window=5), seed=1) as publisher:
    ...     release = publisher.publish(snapshot)
    >>> release.certificate.private, release.certificate.spent
    (False, Fraction(1, 5))
    >>> publisher.spending
    Spending(0.2 of 1 spent in timestamp 0, 0.8 available for timestamp 1)
    """

    def __init__(
        self,
        method: Method[Any, Any],
        guarantee: WEventPrivacy,
        *,
        ledger: str | Path | None = None,
        out: str | Path | None = None,
        seed: int | None = None,
        noise: str = "exact",
        not_private: bool = False,
        large_epsilon: bool = False,
        measure_again: bool = False,
        engine: Runner | None = None,
        progress: Callable[[int, int | None], object] | None = None,
        kind: Kind | None = None,
    ) -> None:
        checks.check_arguments(method, guarantee, progress)
        check_kind(method, kind)
        refuse_without_promise(
            method, guarantee, seed=seed, not_private=not_private, large_epsilon=large_epsilon
        )
        check_noise(noise, seed)
        self._start(
            open_stream(
                method,
                guarantee,
                ledger=None if ledger is None else as_path(ledger, "ledger"),
                out=None if out is None else as_path(out, "out"),
                seed=seed,
                noise=noise,
            ),
            engine or LocalEngine(),
            progress,
            measure_again=measure_again,
        )
        if kind is not None:
            self._take_kind(kind, ())

    def _start(
        self,
        opened: OpenStream,
        engine: Runner,
        progress: Callable[[int, int | None], object] | None = None,
        *,
        measure_again: bool = False,
    ) -> None:
        """Start where an opened stream stopped; finish a release that was interrupted."""
        clear_scratch()
        self.method, self.guarantee, method = opened.method, opened.guarantee, opened.method
        self.seed, self.noise = opened.seed, opened.noise
        self._progress, self._cursor = progress, 0
        self._latest: tuple[int, Previous] | None = None  # for queries that read two snapshots
        self._kind: Kind | None = None  # of the snapshots so far, in this run
        self._unsealed: Measured | None = None  # drawn once; what is not sealed is not shown
        self._lock = threading.RLock()
        self._directory, self._history = opened.directory, opened.history
        try:
            self._measuring = Measurer(method, engine, seed=opened.seed, noise=opened.noise)
            self._accountant = self._history.accountant()
            self._state = self._history.latest_state(method.records)
            self._unfinished = self._history.unfinished()
            self._declared_nodes = self._history.declared_nodes()
            self._stated_times = self._history.stated_times()
            if self._history.sealed != self._accountant.timestamps:
                raise OutOfOrder(  # what was read may not fit together
                    "another process published with this ledger while it was opened\n"
                    "Files can't be locked here. Let one process publish at a time."
                )
            self._engine = engine
            self._prepare_synthesis()
            self._finish()
            if measure_again:
                self._history.allow_again()
        except BaseException:
            self.close()
            raise

    def _prepare_synthesis(self) -> None:
        history, directory = self._history, self._directory
        self._synthesis = Synthesis(
            self.method,
            self.guarantee,
            self._engine,
            private=self.private,
            encode=history.durable,
            directory=directory,
            dropped=history.dropped,
        )
        self._earlier = EarlierReleases(self.method, history, directory, self._synthesis)

    def _take_kind(self, kind: Kind, dropped: Iterable[str]) -> None:
        """Take the kind of the first snapshot into the terms; refuse other kinds later."""
        if kind == self._kind:
            return
        self.guarantee = self._history.take_kind(kind, tuple(dropped))
        self._kind = kind
        if not self._accountant.timestamps:
            self._accountant = self._history.accountant()
            self._prepare_synthesis()

    @classmethod
    def resume(
        cls,
        ledger: str | Path | OpenStream,
        *,
        out: str | Path | None = None,
        replay: bool = False,
        measure_again: bool = False,
        engine: Runner | None = None,
    ) -> Self:
        """Continue with a ledger where it stopped, under the terms it was started with.

        `ledger` is its file, the directory of its releases, or an open stream. With `replay` the
        first snapshot comes first again; otherwise the first that is not sealed yet.
        """
        publisher = cls.__new__(cls)
        opened = ledger if isinstance(ledger, OpenStream) else reopen_stream(ledger, out)
        publisher._start(opened, engine or LocalEngine(), measure_again=measure_again)
        if not replay:
            publisher._cursor = publisher._accountant.timestamps
        return publisher

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the ledger, after the timestamp in progress."""
        with self._lock:
            self._history.close()

    @property
    def spending(self) -> Spending:
        """Spent and available ε in the current window."""
        return Spending.of(self._accountant)

    @property
    def ledger(self) -> Path | None:
        """The file of the ledger."""
        return self._history.path

    @property
    def out(self) -> Path | None:
        """The directory releases are written to."""
        return None if self._directory is None else self._directory.path

    def times(self) -> list[str | None]:
        """The times of the published timestamps, in order."""
        with self._lock:
            return self._history.times()

    @property
    def stated_times(self) -> TimeSource | None:
        """Where the times of the stream come from, as stated last."""
        return self._stated_times

    @property
    def unsealed(self) -> bool:
        """Whether a timestamp is measured and could not be sealed: publish the same data again."""
        return self._unsealed is not None

    def allow_again(self) -> None:
        """Allow a timestamp that was measured too often to be measured: `measure_again`, later."""
        with self._lock:
            self._history.allow_again()

    @property
    def private(self) -> bool:
        """Whether the noise comes from a secret source."""
        return self._measuring.private

    def publish_all(
        self,
        stream: Iterable[Snapshot],
        *,
        times: TimeSource | str | None = None,
        dropped: Iterable[str] | None = None,
        seen: Callable[[Snapshot], object] = lambda _: None,
    ) -> Iterator[Release]:
        """Publish every snapshot of a stream, each on demand; it is freed before the next.

        Parameters
        ----------
        times, dropped
            Where the times of the stream come from, and what edges have in the input and not in the
            snapshots, for the certificates; what a `psgraph.streams.Stream` states, unless given.
        seen
            Called with every snapshot after it is published, for example to count it.
        """
        checks.check_stream(stream, self.guarantee)
        check_kind(self.method, stream)  # before a snapshot is read
        times = getattr(stream, "times", None) if times is None else times
        snapshots = iter(stream)
        for done in count(1):
            with phase("read"):
                snapshot = next(snapshots, None)
            if snapshot is None:
                return
            found = getattr(stream, "dropped", ()) if dropped is None else dropped
            release = self.publish(snapshot, times=times, dropped=found)
            seen(snapshot)
            del snapshot
            if self._progress is not None:  # the number of snapshots is public
                sized = len(stream) if isinstance(stream, Sized) else None
                self._progress(done, getattr(stream, "length", sized))
            yield release

    def publish(
        self,
        snapshot: Snapshot,
        *,
        timestamp: int | None = None,
        times: TimeSource | str | None = None,
        dropped: Iterable[str] = (),
    ) -> Release:
        """Publish one snapshot.

        The window is checked before anything is measured; all that is granted is booked unless the
        method gives it back. If the measurement can't be sealed (a full disk, an interrupt), it is
        kept: publish the same snapshot again to seal it. It is not measured again, and other data
        are refused.

        Parameters
        ----------
        timestamp
            Its number in the stream, from 0; the next one unless given. A timestamp that is
            sealed is handed back if the data are the same, and refused otherwise. Nodes that
            joined the roster since are left out: they count from the next timestamp on.
        times
            Where the times come from, as in `publish_all`.
        dropped
            What edges have in the input and not in the snapshots ("direction", "weights", "sides"),
            for the certificates: by the columns or the type of the input, never by its rows.
        """
        with self._lock:
            checks.check_snapshot(snapshot, self.method, self._declared_nodes, self.guarantee)
            self._take_kind(snapshot.kind, dropped)
            source = as_time_source(times)
            checks.check_times(source, self._stated_times)
            self._finish()
            number = self._cursor if timestamp is None else checks.as_timestamp(timestamp)
            following = self._accountant.timestamps
            if not 0 <= number <= following:
                raise OutOfOrder(
                    f"timestamp {number} can't be published before timestamp {following}\n"
                    "Publish the snapshots in order, without gaps."
                )
            if number < following:
                snapshot = self._history.as_sealed(number, snapshot)
                release = self._earlier.release(number, snapshot)
                self._earlier.keep(release)
            else:
                release = self._publish_next(snapshot, source)
                snapshot.parts.let_go()  # once more, of what drawing has left
            self._cursor = number + 1
            if self.method.reads_previous():
                self._latest = number, Previous.of(snapshot, release.certificate.charges)
            return release

    def _publish_next(self, snapshot: Snapshot, times: TimeSource | None) -> Release:
        if self._directory is not None:
            self._directory.refuse_unsealed(self._accountant.timestamps)
        self._earlier.graph_before(self._accountant.timestamps)  # if lost, nothing is measured
        if self._unsealed is None:
            self._unsealed = self._measure(snapshot, times)
        else:
            self._refuse_other_data(self._unsealed, snapshot)
        measured = self._unsealed
        with phase("seal"):
            seal = self._seal(measured)
        snapshot.parts.let_go()  # drawing needs the memory
        self._declared_nodes = measured.snapshot.roster.declaration
        self._stated_times = measured.times or self._stated_times
        recorded = self._accountant.record(measured.spent)
        # No call in between, so that an interrupt finds the timestamp unsealed or unfinished.
        self._accountant, self._state = recorded, measured.state
        self._unsealed, self._unfinished = None, seal
        return self._release(seal)

    def _measure(self, snapshot: Snapshot, times: TimeSource | None) -> Measured:
        before, previous = self._latest or (-1, None)
        if before != self._accountant.timestamps - 1:
            previous = None
        with phase("seal"):
            fingerprint = self._history.fingerprint(snapshot)
        return self._measuring.measure(
            snapshot,
            self._state,
            self._accountant,
            fingerprint=fingerprint,
            times=times,
            previous=previous,
            begin=self._begin_attempt,
        )

    def _begin_attempt(self) -> None:
        if self.private:  # a seed gives the same draw again
            self._history.begin_attempt(self._accountant.timestamps)

    def _refuse_other_data(self, measured: Measured, snapshot: Snapshot) -> None:
        """Refuse other data than those that were measured and not sealed yet."""
        roster = measured.snapshot.roster
        growth = RosterGrowth(lambda _: roster)
        same = growth.reduced(snapshot, roster.digest, measured.timestamp)
        if self._history.fingerprint(same) != measured.fingerprint:
            raise ReplayConflict(
                f"timestamp {measured.timestamp} is already measured, from other data, and not "
                "sealed yet\n"
                "Publish the data it was measured from. Measuring others would spend its budget "
                "twice.",
                code="measured",
            )

    def _seal(self, measured: Measured) -> Seal:
        try:
            return self._history.seal(measured)
        except OutOfOrder:
            # An interrupt may have come after the commit. No other draw has the same seed.
            if self._history.sealed == measured.timestamp + 1:
                seal = self._history.seal_of(measured.timestamp)
                if seal.seed == measured.seed:
                    return seal
            raise

    def _finish(self) -> None:
        """Release a timestamp that was sealed before a run was interrupted."""
        if self._unfinished is not None:
            self._release(self._unfinished)

    def _release(self, seal: Seal) -> Release:
        """Make, write and record the release of the last sealed timestamp."""
        previous = self._history.previous_certificate(seal.timestamp)
        before = self._earlier.graph_before(seal.timestamp)
        release = self._synthesis.release(seal, self._state, previous, before)
        with phase("seal"):
            self._history.record_release(seal.timestamp, release.certificate.digest)
            self._unfinished = None
        self._earlier.keep(release)
        return release


def publish(
    source: str | PathLike[str] | Iterable[Any] | Any,
    *,
    epsilon: EpsilonLike,
    window: int,
    out: str | PathLike[str],
    method: MethodLike = DEFAULT_METHOD,
    seed: int | None = None,
    not_private: bool = False,
    large_epsilon: bool = False,
    measure_again: bool = False,
    engine: Runner | None = None,
    progress: Callable[[int, int | None], object] | None = None,
    **reading: Any,
) -> Releases:
    """Publish a stream to a directory and return its releases.

    Calling it again costs nothing: only new timestamps are measured. `Publisher` has more control.

    Parameters
    ----------
    source
        What `read_stream` takes.
    epsilon, window
        Any `window` consecutive timestamps are private with ε; with ``owner=…`` for all its rows.
    method
        A method object, a class or a name.
    out, seed, not_private, large_epsilon, measure_again, engine, progress
        As in `Publisher`. All others are options of `read_stream`: ``roster``, ``every`` ….

    Examples
    --------
    >>> import tempfile
    >>> from psgraph.streams.demo import demo_stream
    >>> stream = demo_stream(nodes=300, timestamps=2)
    >>> releases = publish(stream, epsilon=1, window=2, out=tempfile.mkdtemp())
    >>> releases, releases[1].certificate.window_spent <= 1
    (Releases(2 timestamps), True)
    """
    guarantee, chosen = WEventPrivacy(epsilon, window), choose_method(method)
    directory = as_path(out, "out")
    with Overflow() as overflow:
        stream = read_stream(source, store=overflow, **reading)
        guarantee = checks.protecting(guarantee, stream)
        check_kind(chosen, stream)
        if told := published_as(stream.dropped):
            warnings.warn(told, stacklevel=2)
        if told := memory_note(chosen, stream.nodes, stream.prepared, stream.kind):
            warnings.warn(told, stacklevel=2)
        with Publisher(
            chosen,
            guarantee,
            out=directory,
            seed=seed,
            not_private=not_private,
            large_epsilon=large_epsilon,
            measure_again=measure_again,
            engine=engine,
            progress=progress,
        ) as publisher:
            deque(publisher.publish_all(stream), maxlen=0)
    return read_releases(directory)
