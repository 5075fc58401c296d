"""Publishing a stream from the command line: check, compile, publish, count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from psgraph._runtime.numbers import count
from psgraph.cli.reading import tell_of_input
from psgraph.cli.screen import compile_notice, note, progress, reading
from psgraph.cli.shared import Source
from psgraph.errors import DataError

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.methods.base import Method
    from psgraph.publication.certificate import Certificate, Release
    from psgraph.publication.publisher import Publisher
    from psgraph.streams.overflow import Overflow

__all__ = ["Tally", "publish_source"]


@dataclass
class Tally:
    """What a run came to.

    Attributes
    ----------
    nodes, edges
        Of the largest roster, and synthetic ones over all releases.
    sealed
        Timestamps that the ledger had before this run.
    repartitions
        Timestamps at which communities were found, the first included; None where a method has
        no communities.
    self_loops, duplicates
        What was dropped from the input. For the curator.
    seconds
        In all, and of every phase.
    certificate
        Of the last release.
    joined
        How many nodes joined the roster since timestamps were published that are handed back.
    times
        Where the times come from.
    held_back
        The first period that is not over, if the input has one.
    names
        The times of the releases.
    """

    timestamps: int = 0
    nodes: int = 0
    edges: int = 0
    sealed: int = 0
    repartitions: int | None = None
    self_loops: int = 0
    duplicates: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    joined: int = 0
    times: str | None = None
    held_back: str | None = None
    names: list[str | None] = field(default_factory=list)
    _joined_at: int = 0
    _listed: int = 0

    @property
    def new(self) -> int:
        """Timestamps that were published by this run; the others cost nothing."""
        return max(0, self.timestamps - self.sealed)

    def see(self, snapshot: Snapshot) -> None:
        """Count what was dropped from a snapshot, and the nodes of its roster."""
        self._listed = len(snapshot.roster)
        self.self_loops += snapshot.dropped.self_loops
        self.duplicates += snapshot.dropped.duplicates

    def add(self, release: Release) -> None:
        """Count one release."""
        self.certificate = release.certificate
        self.names.append(release.certificate.time)
        self.timestamps += 1
        if self._listed > release.certificate.nodes:
            self.joined = self._listed - release.certificate.nodes
            self._joined_at = self.timestamps
        self.nodes = max(self.nodes, release.certificate.nodes)
        self.edges += release.certificate.edges
        found = release.certificate.summary.get("communities_found")
        if found is not None:
            self.repartitions = (self.repartitions or 0) + bool(found)

    def tell_of_joined(self) -> None:
        """Say from when on nodes count that were added to the roster. Rosters are public."""
        if self.joined:
            note(
                f"The roster grew by {count(self.joined, 'node')} after timestamp "
                f"{self._joined_at - 1} was published. What is published keeps its nodes; the "
                f"roster as it is now applies from timestamp {self._joined_at} on."
            )


def publish_source(
    source: Source, method: Method[Any, Any], begin: Callable[[], Publisher]
) -> Tally:
    """Publish all of a source.

    Parameters
    ----------
    method
        What it is published with.
    begin
        Opens the publisher. Called when the input is known to be sound, since it may write.
    """
    from psgraph._runtime.memory import keep_freed_memory
    from psgraph._runtime.timing import phase, stopwatch
    from psgraph.streams.overflow import Overflow

    keep_freed_memory()
    tally = Tally()
    with stopwatch() as seconds, Overflow() as overflow:
        with phase("total"), phase("read"), reading("Checking the input"):
            snapshots, length, tally.times, tally.held_back = _checked(source, method, overflow)
        with (
            phase("total"),
            compile_notice(),
            progress("Publishing", length=length) as advance,
            begin() as publisher,
        ):
            tally.sealed = publisher.spending.timestamps
            try:
                for release in publisher.publish_all(snapshots, times=tally.times, seen=tally.see):
                    tally.add(release)
                    advance()
            except KeyboardInterrupt:
                note(
                    f"{tally.timestamps} of {count(length, 'timestamp')} "
                    f"{'is' if tally.timestamps == 1 else 'are'} published. "
                    "The same command continues from there."
                )
                raise
    tally.tell_of_joined()
    names = dict.fromkeys(("total", *seconds))
    tally.seconds = {name: round(seconds[name], 6) for name in names}
    return tally


def _checked(
    source: Source, method: Method[Any, Any], overflow: Overflow
) -> tuple[Iterable[Snapshot], int, str | None, str | None]:
    """Read all of the input: what is wrong with it shows before anything is measured.

    It is read once, however large it is. A store was checked when it was prepared.
    """
    from psgraph.methods.memory import memory_note

    stream = source.open(overflow)
    if told := memory_note(method, nodes=stream.nodes, prepared=stream.prepared):
        note(told)
    if stream.prepared:
        tell_of_input(stream)
        return stream, stream.length or 0, stream.times, stream.held_back
    snapshots = overflow.read(stream)
    tell_of_input(stream)
    if not len(snapshots) and stream.held_back is not None:
        raise DataError(
            "no period of the input is over, so there is nothing to publish yet\n"
            "Run the command again later, or publish it as it is with --close-last."
        )
    if not len(snapshots):
        raise DataError("the input has no snapshot\nGive at least one timestamp.")
    return snapshots, len(snapshots), stream.times, stream.held_back
