"""Publishing from the command line: the options of a publication, and one run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph._runtime.numbers import count
from psgraph.cli.flags import (
    Settings,
    build_method,
    decorated,
    epsilon_option,
    method_option,
    seed_option,
    settings_option,
    window_option,
)
from psgraph.cli.input import open_input, tell_of_input
from psgraph.cli.screen import compile_notice, note, progress, reading
from psgraph.errors import DataError
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.methods.base import Method
    from psgraph.publication.certificate import Certificate, Release
    from psgraph.publication.publisher import Publisher
    from psgraph.streams.options import InputOptions
    from psgraph.streams.overflow import Overflow
    from psgraph.streams.time_source import TimeSource

__all__ = [
    "Publication",
    "Tally",
    "publication_options",
    "publish_source",
    "window_words",
]

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Publication:
    """Under which promise, by which method, and where releases go."""

    out: Path
    ledger: Path | None
    epsilon: Fraction
    window: int
    method: str
    seed: int | None
    not_private: bool
    large_epsilon: bool
    settings: Settings

    @property
    def guarantee(self) -> WEventPrivacy:
        """The promise."""
        return WEventPrivacy(self.epsilon, window=self.window)

    def arguments(self, *, noise: str) -> dict[str, Any]:
        """Return the arguments of a `Publisher`, after checking them against the ledger."""
        from psgraph.publication.history import check_history
        from psgraph.publication.locations import ledger_of

        arguments: dict[str, Any] = {
            "method": build_method(self.method, self.settings, self.guarantee),
            "guarantee": self.guarantee,
            "ledger": self.ledger or ledger_of(self.out),
            "out": self.out,
            "seed": self.seed,
            "noise": noise,
            "not_private": self.not_private,
            "large_epsilon": self.large_epsilon,
        }
        check_history(**arguments)
        return arguments


_OPTIONS = (
    click.option(
        "--out",
        metavar="DIR",
        required=True,
        type=click.Path(path_type=Path),
        help="Where the releases go: new, empty, or that of an earlier run, which is resumed.",
    ),
    click.option(
        "--ledger",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The record that keeps the promise over restarts, as sensitive as the data.  "
        "[default: DIR.ledger/ledger.sqlite]",
    ),
    epsilon_option(),
    window_option(),
    method_option,
    seed_option,
    click.option(
        "--not-private",
        is_flag=True,
        help="Publish although the method, with its parameters, does not keep the promise.",
    ),
    click.option(
        "--yes-large-epsilon",
        "large_epsilon",
        is_flag=True,
        help="Publish although ε is above 20, which protects nothing.",
    ),
    settings_option,
)


def publication_options(function: Function) -> Callable[..., Any]:
    """Add the options of a publication, passed to the command as one `Publication`."""
    names = [each.name for each in fields(Publication)]

    @functools.wraps(function)
    def with_publication(**given: Any) -> Any:
        publication = Publication(**{name: given.pop(name) for name in names})
        return function(publication=publication, **given)

    made: Callable[..., Any] = decorated(with_publication, _OPTIONS)
    return made


def window_words(window: int, times: TimeSource | None, names: Iterable[str | None] = ()) -> str:
    """Return the length of a window, in time too where that is known."""
    found = None if times is None else times.window(window, names)
    shown = count(window, "timestamp")
    return shown if found is None else f"{shown} = {found}"


@dataclass
class Tally:
    """The result of a run.

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
    times: TimeSource | None = None
    held_back: str | None = None
    names: list[str | None] = field(default_factory=list)
    _joined_at: int = 0
    _listed: int = 0

    @property
    def new(self) -> int:
        """Timestamps that were published by this run; the others cost nothing."""
        return max(0, self.timestamps - self.sealed)

    def window_in_time(self, window: int) -> str | None:
        """Return how long a window is, where that is known."""
        return None if self.times is None else self.times.window(window, self.names)

    def facts(self) -> dict[str, Any]:
        """Return what every run reports as JSON. What was dropped is private and not in it."""
        assert self.certificate is not None
        return {
            **self.certificate.promise.to_dict(),
            "timestamps": self.timestamps,
            "new": self.new,
            "nodes": self.nodes,
            "edges": self.edges,
            "repartitions": self.repartitions,
            "seconds": self.seconds,
        }

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
    source: InputOptions, method: Method[Any, Any], begin: Callable[[], Publisher]
) -> Tally:
    """Publish all of a source.

    Parameters
    ----------
    method
        What it is published with.
    begin
        Opens the publisher. Called after the input was checked, since it may write.
    """
    from psgraph._runtime.resources import keep_freed_memory, phase, stopwatch
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
    source: InputOptions, method: Method[Any, Any], overflow: Overflow
) -> tuple[Iterable[Snapshot], int, TimeSource | None, str | None]:
    """Read all of the input: what is wrong with it shows before anything is measured.

    It is read once, however large it is. A store was checked when it was prepared.
    """
    from psgraph.methods.registry import memory_note

    stream = open_input(source, overflow)
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
