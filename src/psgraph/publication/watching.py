"""Publish files as they arrive in a directory: in the order of their names, each once.

The ledger knows which file was published as which timestamp: the name of a file, without its
ending, is the time of its snapshot and is sealed with it. A restart first compares the files that
are still there with the ledger, then publishes those that are not in it.

A name that is missing between two others is waited for: a window is counted in timestamps, and
which timestamps there are is public, by the names.
"""

from __future__ import annotations

import stat
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import pyarrow as pa

from psgraph.errors import (
    DataError,
    InvalidArgument,
    LedgerError,
    OutOfOrder,
    ReplayConflict,
)
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table, stem
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.privacy.unit import Owner
from psgraph.publication.certificate import Release
from psgraph.publication.publisher import Publisher
from psgraph.streams.directories import file_snapshots, is_table, name_order
from psgraph.streams.nodes import Nodes, RosterLike
from psgraph.streams.overflow import Overflow
from psgraph.streams.periods import Period
from psgraph.streams.rows import Reading
from psgraph.streams.sequences import FileSequence, step_of_names
from psgraph.streams.time_source import TimeSource

__all__ = ["MISSING", "Arrival", "FileOrder", "Inbox", "Waiting", "watch"]

LOOK_AGAIN = 1.0  # seconds; some network file systems don't report new files


@dataclass(frozen=True)
class Arrival:
    """A file that arrived, and what it was published as."""

    file: Path
    """Of a missing file that was published as an empty snapshot: its name without an ending."""
    release: Release
    new: bool
    """False if it was published before, and its release was handed back."""


@dataclass(frozen=True)
class Waiting:
    """What is waited for before a file can be published."""

    file: Path
    missing: tuple[str, ...]
    """The names that come before it; none if its own period is not over."""


Look = tuple[int, int, int]


class Inbox:
    """A directory that receives one table file per timestamp.

    Parameters
    ----------
    path
        The directory. Hidden files, and those without the ending of a table (``.part``,
        ``.tmp``), are ignored.
    settle
        A file is complete when its size and modification time have not changed for this many
        seconds. A file that is renamed into the directory is taken after the same time.
    """

    def __init__(self, path: str | Path, *, settle: float = 1.0) -> None:
        self.path, self.settle = Path(path), settle
        self.settled = False
        """Whether no file was still being written at the last call of `complete`."""
        self._looks: dict[Path, tuple[Look, float]] = {}
        self._taken: dict[Path, Look] = {}
        self._list()

    def complete(self) -> list[Path]:
        """The complete files that were not taken yet, in order, up to one still being written."""
        now = time.monotonic()  # the wall clock may be set back
        before, self._looks = self._looks, {}
        for file, look in self._list().items():
            known = before.get(file)
            self._looks[file] = known if known and known[0] == look else (look, now)
        waiting = [file for file, (look, _) in self._looks.items() if self._taken.get(file) != look]
        ready = []
        for file in sorted(waiting, key=lambda file: name_order(stem(file))):
            if now - self._looks[file][1] < self.settle:
                break
            ready.append(file)
        self.settled = len(ready) == len(waiting)
        return ready

    def take(self, file: Path) -> None:
        """Mark a file as done; it is listed again only if it changes."""
        if file in self._looks:
            self._taken[file] = self._looks[file][0]

    def _list(self) -> dict[Path, Look]:
        looks: dict[Path, Look] = {}
        try:
            for file in self.path.iterdir():
                if is_table(file):
                    try:
                        look = file.stat()
                    except FileNotFoundError:
                        continue  # it was removed meanwhile
                    if stat.S_ISREG(look.st_mode):  # reading from a pipe would block
                        looks[file] = (look.st_size, look.st_mtime_ns, look.st_ino)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "I/O error"
            raise DataError(
                f"the inbox {self.path} can't be listed: {reason}\nCheck the path.",
                code="inbox",
            ) from None
        names = [stem(file) for file in looks]
        if len(set(names)) < len(names):
            raise DataError(
                f"{self.path}: two files have the same name but different endings\n"
                "A timestamp can occur only once. Remove one of them.",
                code="same_name",
            )
        return looks


def watch(
    inbox: str | Path,
    publisher: Publisher,
    *,
    roster: RosterLike | None = None,
    roster_from_edges: bool = False,
    once: bool = False,
    settle: float = 1.0,
    stop: threading.Event | None = None,
    every: str | None = None,
    timezone: str | None = None,
    missing: str = "wait",
    skip: Collection[str] = (),
    close_last: bool = False,
    reading: Reading | None = None,
    ids: str = "auto",
    unknown_nodes: str = "refuse",
    unknown_nodes_to: str | PathLike[str] | None = None,
    kind: Kind = UNDIRECTED,
    unit: Owner | None = None,
) -> Iterator[Arrival | Waiting]:
    """Publish the files of a directory as they arrive.

    Parameters
    ----------
    inbox
        The directory; see `Inbox`.
    publisher
        What to publish with. It needs a ledger, to know after a restart what was published.
    roster, roster_from_edges
        Who the nodes are, as in `psgraph.read_stream`; a `TwoSidedRoster` for two-sided graphs.
    kind
        The kind of the graphs.
    unit
        The owners whose rows are protected; None if that is an edge.
    once
        Stop when all files in the directory are published.
    settle
        Seconds without a change after which a file is complete.
    stop
        Set it, from a signal handler or another thread, to stop after the timestamp in progress.
    every, timezone
        The period of the files, and the time zone of its calendar; from the ledger, or recognised
        from dates in their names, unless given. A file is then published when its period is over.
    missing
        Dates and integers in names show which file is missing. ``"wait"`` for it, publish an
        ``"empty"`` snapshot in its place, or ``"skip"`` it: then names need not be regular, and a
        window lasts longer.
    skip
        Names, without ending, of files that will not come.
    close_last
        Publish a file although its period is not over.
    reading, ids, unknown_nodes, unknown_nodes_to
        How to read rows, as in `psgraph.read_stream`.

    Yields
    ------
    Arrival or Waiting
        What was published; and once for every file that has to wait for others.

    Raises
    ------
    TermsChanged
        A name does not continue those before: another form, or a shorter step.
    OutOfOrder
        A new file sorts before one that is already published.
    ReplayConflict
        A file that is already published was changed.
    """
    stop = stop or threading.Event()
    if missing not in MISSING:
        raise InvalidArgument(f"missing={missing!r} is unknown\nGive one of: {', '.join(MISSING)}.")
    overflow = Overflow()
    nodes = Nodes.choose(
        roster,
        roster_from_edges,
        ids=ids,
        unknown=unknown_nodes,
        unknown_to=unknown_nodes_to,
        store=overflow,
        kind=kind,
        unit=unit,
    )
    overflow.kind = kind
    nodes.require()
    reading = reading or Reading()
    box = Inbox(inbox, settle=settle)
    published = _published(publisher)
    if publisher.out is not None and publisher.out.resolve() == box.path.resolve():
        raise InvalidArgument(
            "releases would be written into the inbox and published again\n"
            "Choose another directory for one of them.",
            code="out_is_inbox",
        )
    stated = None if publisher.stated_times is None else publisher.stated_times.period
    period = stated if every is None else Period.parse(every, timezone)
    if stated is None:
        FileSequence(period).check([*published])
    order = FileOrder(FileSequence(period), missing, {*skip}, close_last=close_last)
    times = TimeSource("files", period=period)
    queue: deque[Path] = deque()
    snapshots = file_snapshots(iter(queue.popleft, None), nodes, reading)
    changes = _changes(box.path, stop)
    with overflow:
        while True:
            for file in box.complete():
                if stop.is_set():
                    return
                _refuse_late(file, published)
                new = stem(file) not in published
                if new:
                    absent = order.before(file, published)
                    if absent is None:
                        if order.announce(file):
                            yield Waiting(file, order.waiting)
                        break
                    for name in absent:
                        release = publisher.publish(_empty(nodes, name), times=times)
                        published[name] = release.timestamp
                        yield Arrival(file.with_name(name), release, new=True)
                queue.append(file)
                snapshot = next(snapshots)
                if nodes.unknown is not None:
                    nodes.unknown.finish()  # refuses the file, unless edges outside are dropped
                timestamp = publisher.spending.timestamps if new else published[stem(file)]
                try:
                    release = publisher.publish(
                        snapshot,
                        timestamp=timestamp,
                        times=times,
                        dropped=() if timestamp else _dropped(file, reading),
                    )
                except ReplayConflict:
                    raise ReplayConflict(
                        f"{file.name} was changed after it was published as timestamp {timestamp}\n"
                        "Publishing it again would spend its budget twice. Restore the file, or "
                        "remove it and deliver the new data under a later name."
                    ) from None
                published[stem(file)] = timestamp
                box.take(file)
                yield Arrival(file, release, new=new)
            if stop.is_set() or (once and box.settled):
                return
            if box.settled:
                _pause(changes, stop)
            else:
                stop.wait(settle / 2)


def _dropped(file: Path, reading: Reading) -> tuple[str, ...]:
    """What the columns of a file say about edges, and releases leave out."""
    return reading.dropped(open_table(file, columns=reading.columns))


def _empty(nodes: Nodes, name: str) -> Snapshot:
    return nodes.gather(name, (pa.int64(), pa.int64())).snapshot()


def _changes(path: Path, stop: threading.Event) -> Iterator[object]:
    """Yield when something changes in a directory, and every now and then.

    Never without the optional library watchfiles: the directory is looked at regularly then.
    """
    try:
        import watchfiles
    except ImportError:
        return iter(())
    return watchfiles.watch(
        path,
        watch_filter=None,
        stop_event=stop,
        rust_timeout=int(LOOK_AGAIN * 1000),
        yield_on_timeout=True,
        recursive=False,
    )


def _pause(changes: Iterator[object], stop: threading.Event) -> None:
    """Wait until something changes in the inbox, or for a while where that can't be watched."""
    try:
        if next(changes, None) is not None:
            return
    except (OSError, RuntimeError):  # the system limits the number of watches
        pass
    stop.wait(LOOK_AGAIN)


def _published(publisher: Publisher) -> dict[str, int]:
    """The timestamps of the files in the ledger, by name."""
    if publisher.ledger is None:
        raise InvalidArgument(
            "watching needs a publisher with a ledger\nGive it ledger=… or out=….",
            code="ledger_needed",
        )
    published: dict[str, int] = {}
    for timestamp, name in enumerate(publisher.times()):
        if name is None:
            raise LedgerError(
                f"the timestamps in {publisher.ledger} have no names\n"
                "Which files are already published is therefore unknown. Start a new ledger.",
                code="unnamed_timestamps",
            )
        published[name] = timestamp
    return published


def _refuse_late(file: Path, published: dict[str, int]) -> None:
    """Refuse a file that belongs between timestamps that are already published."""
    name = stem(file)
    if name in published or not published:
        return
    latest = next(reversed(published))
    if name_order(name) <= name_order(latest):
        raise OutOfOrder(
            f"{file.name} sorts before {latest!r}, which is already published\n"
            "Nothing was measured. Remove the file, or give it a name that sorts later."
        )


#: What to do about a missing file; see `psgraph.publication.watching.watch`.
MISSING = ("wait", "empty", "skip")


class FileOrder:
    """Decides whether a file can be published, or what it waits for."""

    def __init__(
        self, sequence: FileSequence, missing: str, skip: set[str], *, close_last: bool
    ) -> None:
        self._sequence, self._missing, self._skip = sequence, missing, skip
        self._close_last = close_last
        self._announced: set[tuple[Path, tuple[str, ...]]] = set()
        self.waiting: tuple[str, ...] = ()

    def before(self, file: Path, published: dict[str, int]) -> list[str] | None:
        """Return the names to publish as empty snapshots first; None if the file has to wait."""
        self.waiting = ()
        if not self._close_last and not self._sequence.over(stem(file)):
            return None
        if self._missing == "skip":
            known = self._sequence.every or step_of_names(published)
            if known is not None:
                FileSequence(known).missing([*published], stem(file))  # refuses a shorter step
            return []
        absent = self._sequence.missing([*published], stem(file))
        left = [name for name in absent if name not in self._skip]
        if left and self._missing == "wait":
            self.waiting = tuple(left)
            return None
        return left

    def announce(self, file: Path) -> bool:
        """Whether it was not said yet what a file waits for."""
        said = (file, self.waiting) in self._announced
        self._announced.add((file, self.waiting))
        return not said
