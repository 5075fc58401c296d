"""Publishing from the command line: the options of a publication, and one run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from psgraph._runtime.numbers import count
from psgraph.cli.flags import (
    Settings,
    build_method,
    decorated,
    epsilon_option,
    measure_again_option,
    method_option,
    seed_option,
    settings_option,
    window_option,
)
from psgraph.cli.input import declared_unit, open_input, tell_curator, tell_of_input
from psgraph.cli.screen import compile_notice, note, progress, reading
from psgraph.errors import KindMismatch, PsgraphError
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Edge, Unit

if TYPE_CHECKING:
    from psgraph.graph import Kind, Snapshot
    from psgraph.methods.base import Method, SummaryChart
    from psgraph.publication.certificate import Certificate, Release
    from psgraph.publication.preview import CheckReport, SnapshotFacts
    from psgraph.publication.publisher import Publisher
    from psgraph.streams import Stream
    from psgraph.streams.options import InputOptions
    from psgraph.streams.overflow import Overflow
    from psgraph.streams.time_source import TimeSource

__all__ = [
    "EarlyEnd",
    "Publication",
    "Tally",
    "publication_options",
    "publish_source",
    "tell_of_ends",
    "times_words",
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
    measure_again: bool
    settings: Settings
    unit: Unit = field(default=Edge(), init=False)

    @property
    def guarantee(self) -> WEventPrivacy:
        """The promise."""
        return WEventPrivacy(self.epsilon, self.window, self.unit)

    def protecting(self, source: InputOptions) -> Publication:
        """Return the same under the unit that the options of the input say."""
        from psgraph.publication.terms import thin_budget

        made = replace(self)
        object.__setattr__(made, "unit", declared_unit(source))
        if told := thin_budget(made.guarantee):
            note(f"Warning: {told}")
        return made

    def arguments(self, kind: Kind | None, *, noise: str) -> dict[str, Any]:
        """Return the arguments of a `Publisher`, after checking them against the ledger.

        `kind` is that of the input, if the options say it: a store has its own.
        """
        from psgraph.methods.registry import check_kind
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
            "measure_again": self.measure_again,
        }
        try:
            check_kind(arguments["method"], kind)
        except KindMismatch as error:
            raise click.UsageError(str(error)) from None
        check_history(**arguments, kind=kind)
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
    measure_again_option,
    settings_option,
)


def publication_options(function: Function) -> Callable[..., Any]:
    """Add the options of a publication, passed to the command as one `Publication`."""
    names = [each.name for each in fields(Publication) if each.init]

    @functools.wraps(function)
    def with_publication(**given: Any) -> Any:
        publication = Publication(**{name: given.pop(name) for name in names})
        return function(publication=publication, **given)

    made: Callable[..., Any] = decorated(
        with_publication, _OPTIONS, heading="Promise, method and releases"
    )
    return made


def window_words(window: int, times: TimeSource | None, names: Iterable[str | None] = ()) -> str:
    """Return the length of a window, in time too where that is known."""
    found = None if times is None else times.window(window, names)
    shown = count(window, "timestamp")
    return shown if found is None else f"{shown} = {found}"


def times_words(names: Sequence[str | None]) -> str:
    """Return the first and the last time; timestamps without a name go by their number.

    >>> times_words(["2023-12-01", "2024-01-01"]), times_words([None])
    ('2023-12-01 … 2024-01-01', '0')
    """
    shown = [name or str(number) for number, name in enumerate(names)]
    return shown[0] if len(shown) == 1 else f"{shown[0]} … {shown[-1]}"


@dataclass
class Tally:
    """The result of a run.

    Attributes
    ----------
    nodes, edges
        Of the largest roster, and synthetic ones over all releases.
    sealed
        Timestamps that the ledger had before this run.
    chart
        What the method counts in its summaries; None if nothing.
    renewed
        Timestamps at which that was recomputed, the first included; None if the method does not
        say.
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
    rewritten
        Files of timestamps published before that were missing and were written again.
    """

    timestamps: int = 0
    nodes: int = 0
    edges: int = 0
    sealed: int = 0
    chart: SummaryChart | None = None
    renewed: int | None = None
    self_loops: int = 0
    duplicates: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None
    joined: int = 0
    times: TimeSource | None = None
    held_back: str | None = None
    names: list[str | None] = field(default_factory=list)
    rewritten: int = 0
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
            "first": self.names[0],
            "last": self.names[-1],
            "new": self.new,
            "written_again": self.rewritten,
            "nodes": self.nodes,
            "edges": self.edges,
            "repartitions": self.renewed,
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
        renewed = self.chart.renewed if self.chart is not None else None
        if renewed is not None and renewed in release.certificate.summary:
            self.renewed = (self.renewed or 0) + bool(release.certificate.summary[renewed])

    def tell_of_joined(self) -> None:
        """Say from when on nodes count that were added to the roster. Rosters are public."""
        if self.joined:
            note(
                f"The roster grew by {count(self.joined, 'node')} after timestamp "
                f"{self._joined_at - 1} was published. What is published keeps its nodes; the "
                f"roster as it is now applies from timestamp {self._joined_at} on."
            )


class EarlyEnd(AbstractContextManager["EarlyEnd"]):
    """Says what is published and what is not, when an error or Ctrl-C ends a command.

    Only the names in the directory of the releases are looked at: a ledger that has just failed
    may fail again.

    Attributes
    ----------
    out
        The directory of the releases; a command that learns it from a ledger corrects it then.
    """

    def __init__(self, out: Path | None) -> None:
        self.out = out

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        told = None if error is None else self._told()
        if told is not None:
            note(told)

    def _told(self) -> str | None:
        """What is published; None if nothing is."""
        from psgraph.publication.release_directory import ReleaseDirectory

        if self.out is None:
            return None
        directory = ReleaseDirectory(self.out)
        try:
            written = directory.timestamps()
            partly = written[-1:] if written and not directory.has(written[-1]) else []
        except (OSError, PsgraphError):
            return None
        if not written:
            return None
        complete = written[: len(written) - len(partly)]
        last = f", the last is timestamp {complete[-1]}" if complete else ""
        half = f" Incomplete: timestamp {partly[0]}." if partly else ""
        return (
            f"Published in {self.out}: {count(len(complete), 'timestamp')}{last}.{half} "
            f"Not published: timestamp {written[-1] + 1} and later ones. "
            "The next run continues from there."
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
    from psgraph.graph.left_out import published_as
    from psgraph.publication.preview import report_on
    from psgraph.streams.overflow import Overflow

    keep_freed_memory()
    tally = Tally(chart=method.summary_chart)
    with stopwatch() as seconds, Overflow() as overflow:
        with phase("total"), phase("read"), reading("Checking the input"):
            snapshots, stream, seen = _checked(source, method, overflow)
        length, tally.times, tally.held_back = stream.length, stream.times, stream.held_back
        if told := published_as(stream.dropped):
            note(told)
        if not stream.prepared:
            length = len(seen)
            tell_of_ends(report_on(stream, seen))
        with (
            phase("total"),
            compile_notice(),
            progress("Publishing", length=length) as advance,
            begin() as publisher,
        ):
            tally.sealed = publisher.spending.timestamps
            missing = _missing_files(publisher.out, tally.sealed)
            published = publisher.publish_all(
                snapshots, times=tally.times, dropped=stream.dropped, seen=tally.see
            )
            for release in published:
                tally.add(release)
                advance()
            tally.rewritten = sum(path.exists() for path in missing)
    tally.tell_of_joined()
    names = dict.fromkeys(("total", *seconds))
    tally.seconds = {name: round(seconds[name], 6) for name in names}
    return tally


def _missing_files(out: Path | None, sealed: int) -> list[Path]:
    """Return the files of sealed timestamps that are not there."""
    from psgraph.publication.release_directory import ReleaseDirectory

    return [] if out is None else ReleaseDirectory(out).missing(sealed)


def tell_of_ends(found: CheckReport) -> None:
    """Warn of partial and empty periods; of what private rows show, on a terminal only."""
    for remark in found.remarks:
        note(f"Warning: {remark}")
    for remark in found.curator_remarks:
        tell_curator(f"Warning: {remark}")


def _checked(
    source: InputOptions, method: Method[Any, Any], overflow: Overflow
) -> tuple[Iterable[Snapshot], Stream, list[SnapshotFacts]]:
    """Read all of the input: what is wrong with it shows before anything is measured.

    It is read once, however large it is. A store was checked when it was prepared.
    """
    from psgraph.methods.registry import memory_note
    from psgraph.publication.preview import observed, refuse_empty

    stream = open_input(source, overflow)
    if told := memory_note(method, nodes=stream.nodes, prepared=stream.prepared, kind=stream.kind):
        note(told)
    seen: list[SnapshotFacts] = []
    if stream.prepared:
        tell_of_input(stream)
        return stream, stream, seen
    snapshots = overflow.read(observed(stream, seen))
    tell_of_input(stream)
    refuse_empty(len(seen), stream.held_back)
    return snapshots, stream, seen
