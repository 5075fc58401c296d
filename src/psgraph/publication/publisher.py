"""Measure → seal → synthesise over a stream, under a guarantee.

Private edges are read in a method's `measure` and nowhere else. What it learned is sealed before
anything is shown; the rest is made from sealed values and a sealed seed, and gives the same bytes
whenever it is made.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import count
from pathlib import Path
from typing import Any, Self

from psgraph._runtime.paths import as_path
from psgraph._runtime.timing import phase
from psgraph.engines.base import Engine
from psgraph.engines.threads import LocalEngine
from psgraph.errors import OutOfOrder
from psgraph.graph import Snapshot, SyntheticGraph
from psgraph.methods.base import Method
from psgraph.methods.private import Previous
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Release
from psgraph.publication.checking import (
    as_timestamp,
    check_arguments,
    check_snapshot,
    check_stream,
    check_times,
)
from psgraph.publication.handing_back import HandingBack
from psgraph.publication.history import Seal
from psgraph.publication.locations import ledger_at
from psgraph.publication.measuring import Measuring
from psgraph.publication.opening import open_history, resumed
from psgraph.publication.promise import refuse_without_promise
from psgraph.publication.releases import ReleaseDirectory
from psgraph.publication.spending import Spending
from psgraph.publication.synthesis import Synthesis

__all__ = ["Publisher"]


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
        The durable record of the stream. With it a publication survives crashes and restarts:
        a timestamp that is already sealed is handed back instead of measured again.
    out
        The directory to write releases to. Its ledger is ``out.ledger/ledger.sqlite``, beside it,
        unless another is named.
    seed
        For research: makes the run repeatable, and its releases not private.
    noise
        ``"exact"`` for psgraph's own sampler, ``"opendp"`` to draw Laplace noise with OpenDP.
    not_private
        Publish although the method, with its parameters, provides less than the guarantee.
        Without it such a method is refused, unless a seed is given.
    large_epsilon
        Publish although ε is above 20, which protects nothing. Without it such a guarantee is
        refused, unless a seed is given.
    engine
        Where edge-sized work runs; the local machine unless given.
    progress
        Called by `publish_all` after every release with the number of snapshots published and
        the number in the stream, which is None if that is unknown. If it raises an error, what
        is published stays published.

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
        engine: Engine | None = None,
        progress: Callable[[int, int | None], object] | None = None,
    ) -> None:
        check_arguments(method, guarantee, progress)
        refuse_without_promise(
            method, guarantee, seed=seed, not_private=not_private, large_epsilon=large_epsilon
        )
        self.method, self.guarantee, self.seed, self.noise = method, guarantee, seed, noise
        engine = engine or LocalEngine()
        self._measuring = Measuring(method, engine, seed=seed, noise=noise)
        self._progress = progress
        self._cursor = 0
        self._latest: tuple[int, Previous] | None = None  # for queries that read two snapshots
        self._grown: tuple[int, SyntheticGraph] | None = None  # for those that grow from a release
        self._lock = threading.RLock()
        self._directory = None if out is None else ReleaseDirectory(as_path(out, "out"))
        self._history = open_history(
            method,
            guarantee,
            ledger=None if ledger is None else as_path(ledger, "ledger"),
            directory=self._directory,
            seed=seed,
            noise=noise,
        )
        try:
            self._accountant = self._history.accountant()
            self._state = self._history.latest_state(method.records)
            self._unfinished = self._history.unfinished()
            self._roster_kind = self._history.roster_kind()
            self._stated_times = self._history.stated_times()
            if self._history.sealed != self._accountant.timestamps:
                raise OutOfOrder(  # what was read may not fit together
                    "another process published with this ledger while it was opened\n"
                    "Files can't be locked here. Let one process publish at a time."
                )
            self._synthesis = Synthesis(
                method,
                guarantee,
                engine,
                private=self.private,
                encode=self._history.durable,
                directory=self._directory,
            )
            self._earlier = HandingBack(method, self._history, self._directory, self._synthesis)
            self._finish()
        except BaseException:
            self.close()
            raise

    @classmethod
    def resume(
        cls,
        ledger: str | Path,
        *,
        out: str | Path | None = None,
        replay: bool = False,
        engine: Engine | None = None,
    ) -> Self:
        """Continue with a ledger where it stopped, under the terms it was begun with.

        `ledger` is its file, or the directory of its releases. `publish` then expects the first
        snapshot that is not sealed yet. With `replay` it starts over at the first timestamp and
        hands back what is sealed. The engine may be another one than before.
        """
        publisher = cls(**resumed(ledger_at(ledger), out), engine=engine)
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
    def stated_times(self) -> str | None:
        """Where the times of the stream come from, as stated when it was begun."""
        return self._stated_times

    @property
    def private(self) -> bool:
        """Whether the noise comes from a secret source."""
        return self._measuring.private

    # ---- publishing ----

    def publish_all(
        self,
        stream: Iterable[Snapshot],
        *,
        times: str | None = None,
        seen: Callable[[Snapshot], object] = lambda _: None,
    ) -> Iterator[Release]:
        """Publish every snapshot of a stream, each when its release is asked for.

        A snapshot is freed before the next one is read.

        Parameters
        ----------
        stream
            Snapshots in order.
        times
            A few public words on where the times of the stream come from, for the certificates;
            what a `psgraph.streams.Stream` states, unless given.
        seen
            Called with every snapshot after it is published, for example to count it.
        """
        check_stream(stream)
        times = getattr(stream, "times", None) if times is None else times
        snapshots = iter(stream)
        for done in count(1):
            with phase("read"):
                snapshot = next(snapshots, None)
            if snapshot is None:
                return
            release = self.publish(snapshot, times=times)
            seen(snapshot)
            del snapshot
            if self._progress is not None:
                self._progress(done, _length(stream))
            yield release

    def publish(
        self, snapshot: Snapshot, *, timestamp: int | None = None, times: str | None = None
    ) -> Release:
        """Publish one snapshot.

        The window is checked before anything is measured, and all that is granted to the
        timestamp is booked, whether or not the method uses it.

        Parameters
        ----------
        timestamp
            Its number in the stream, from 0; the next one unless given. A timestamp that is
            sealed is handed back if the data are the same, and refused otherwise. Nodes that
            joined the roster since are left out: they count from the next timestamp on.
        times
            A few public words on where the times of the stream come from, for the certificate.
        """
        with self._lock:
            check_snapshot(snapshot, self._roster_kind)
            check_times(times, self._stated_times)
            self._finish()
            number = self._cursor if timestamp is None else as_timestamp(timestamp)
            following = self._accountant.timestamps
            if not 0 <= number <= following:
                raise OutOfOrder(
                    f"timestamp {number} can't be published before timestamp {following}\n"
                    "Publish the snapshots in order, without gaps."
                )
            if number < following:
                snapshot = self._history.as_sealed(number, snapshot)
                release = self._earlier.release(number, snapshot)
                self._keep_graph(release)
            else:
                release = self._publish_next(snapshot, times)
            self._cursor = number + 1
            if self.method.reads_previous():
                self._latest = number, Previous.of(snapshot, release.certificate.charges)
            return release

    def _publish_next(self, snapshot: Snapshot, times: str | None) -> Release:
        if self._directory is not None:
            self._directory.refuse_unsealed(self._accountant.timestamps)
        self._graph_before(self._accountant.timestamps)  # if it is lost, nothing is measured
        before, previous = self._latest or (-1, None)
        if before != self._accountant.timestamps - 1:
            previous = None
        measured = self._measuring.measure(
            snapshot, self._state, self._accountant, times=times, previous=previous
        )
        with phase("seal"):
            self._unfinished = self._history.seal(measured)
        snapshot.parts.let_go()  # drawing needs the memory
        self._accountant = self._accountant.record(measured.spent)
        self._state = measured.state
        self._roster_kind = snapshot.roster.declared
        self._stated_times = times or self._stated_times
        return self._release(self._unfinished)

    def _finish(self) -> None:
        """Release a timestamp that was sealed but not released, because a run was interrupted."""
        if self._unfinished is not None:
            self._release(self._unfinished)

    def _release(self, seal: Seal) -> Release:
        """Make, write and record the release of the last sealed timestamp."""
        previous = self._history.previous_certificate(seal.timestamp)
        before = self._graph_before(seal.timestamp)
        release = self._synthesis.release(seal, self._state, previous, before)
        with phase("seal"):
            self._history.record_release(seal.timestamp, release.certificate.digest)
            self._unfinished = None
        self._keep_graph(release)
        return release

    def _graph_before(self, timestamp: int) -> SyntheticGraph | None:
        """The release before a timestamp, kept, read or made again, if the method grows from it."""
        if timestamp == 0 or not self.method.grows_from_release:
            return None
        if self._grown is None or self._grown[0] != timestamp - 1:
            self._grown = timestamp - 1, self._earlier.graph(timestamp - 1)
        return self._grown[1]

    def _keep_graph(self, release: Release) -> None:
        if self.method.grows_from_release:
            self._grown = release.timestamp, release.graph


def _length(stream: Iterable[Snapshot]) -> int | None:
    """The number of snapshots, which is public, if it is known."""
    return len(stream) if isinstance(stream, Sized) else getattr(stream, "length", None)
