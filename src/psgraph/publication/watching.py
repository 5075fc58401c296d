"""Publish files as they arrive in a directory: in the order of their names, each once.

Which file was published as which timestamp is known from the ledger: the name of a file, without
its ending, is the time of its snapshot and is sealed with it. So a restart begins by comparing
the files that are still there with the ledger, and goes on with those that are not in it.
"""

from __future__ import annotations

import stat
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import watchfiles

from psgraph.errors import (
    DataError,
    InvalidArgument,
    LedgerError,
    OutOfOrder,
    ReplayConflict,
)
from psgraph.graph.formats.files import stem
from psgraph.publication.certificate import Release
from psgraph.publication.publisher import Publisher
from psgraph.streams.directories import file_snapshots, is_table, name_order
from psgraph.streams.nodes import Nodes, RosterLike

__all__ = ["Arrival", "Inbox", "watch"]

LOOK_AGAIN = 2.0  # seconds; some network file systems tell nobody of new files


@dataclass(frozen=True)
class Arrival:
    """A file that arrived, and what it was published as."""

    file: Path
    release: Release
    new: bool
    """False if the ledger knew it already, and its release was handed back."""


Look = tuple[int, int, int]


class Inbox:
    """A directory into which someone puts one table file per timestamp.

    Parameters
    ----------
    path
        The directory. Hidden files and those that don't end like a table (``.part``, ``.tmp``)
        are left alone.
    settle
        A file is complete when its size and its time of change have stayed the same for so many
        seconds. A file that is renamed into place is complete from the start, and is taken after
        the same time.
    """

    def __init__(self, path: str | Path, *, settle: float = 1.0) -> None:
        self.path, self.settle = Path(path), settle
        self.settled = False
        """Whether, when last asked, no file was still being written."""
        self._looks: dict[Path, tuple[Look, float]] = {}
        self._taken: dict[Path, Look] = {}
        self._list()

    def complete(self) -> list[Path]:
        """The complete files that were not taken yet, in order, up to one still being written."""
        now = time.monotonic()  # not the clock on the wall, which may be set back
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
        """Note that a file was dealt with; it comes up again only if it changes."""
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
                        continue  # it was taken away meanwhile
                    if stat.S_ISREG(look.st_mode):  # reading from a pipe would wait for ever
                        looks[file] = (look.st_size, look.st_mtime_ns, look.st_ino)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "I/O error"
            raise DataError(
                f"the inbox {self.path} can't be listed: {reason}\nCheck the path."
            ) from None
        names = [stem(file) for file in looks]
        if len(set(names)) < len(names):
            raise DataError(
                f"{self.path}: two files have the same name but for the ending\n"
                "A timestamp can occur only once. Remove one of them."
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
) -> Iterator[Arrival]:
    """Publish the files of a directory as they arrive.

    Parameters
    ----------
    inbox
        The directory; see `Inbox`.
    publisher
        What to publish with. Without a ledger nothing would be known after a restart, so it
        needs one.
    roster, roster_from_edges
        Who the nodes are, as in `psgraph.read_stream`.
    once
        Stop when all files that are there are published.
    settle
        Seconds for which a file must not change before it counts as complete.
    stop
        Set it, from a signal handler or another thread, to stop after the timestamp in progress.

    Raises
    ------
    OutOfOrder
        A new file comes, by its name, before one that is already published.
    ReplayConflict
        A file that is already published was changed.
    """
    stop = stop or threading.Event()
    nodes = Nodes.choose(roster, roster_from_edges)
    nodes.require()
    box = Inbox(inbox, settle=settle)
    places = _places(publisher)
    if publisher.out is not None and publisher.out.resolve() == box.path.resolve():
        raise InvalidArgument(
            "releases would be written into the inbox and published again\n"
            "Choose another directory for one of them."
        )
    queue: deque[Path] = deque()
    snapshots = file_snapshots(iter(queue.popleft, None), nodes)
    changes = watchfiles.watch(
        box.path,
        watch_filter=None,
        stop_event=stop,
        rust_timeout=int(LOOK_AGAIN * 1000),
        yield_on_timeout=True,
        recursive=False,
    )
    while True:
        for file in box.complete():
            if stop.is_set():
                return
            _refuse_late(file, places)
            queue.append(file)
            snapshot = next(snapshots)
            new = stem(file) not in places
            place = publisher.spending.timestamps if new else places[stem(file)]
            try:
                release = publisher.publish(snapshot, timestamp=place)
            except ReplayConflict:
                raise ReplayConflict(
                    f"{file.name} was changed after it was published as timestamp {place}\n"
                    "Publishing it again would spend its budget twice. Put the file back as it "
                    "was, or take it away and bring the new data under a later name."
                ) from None
            places[stem(file)] = place
            box.take(file)
            yield Arrival(file, release, new=new)
        if stop.is_set() or (once and box.settled):
            return
        if box.settled:
            _pause(changes, stop)
        else:
            stop.wait(settle / 2)


def _pause(changes: Iterator[object], stop: threading.Event) -> None:
    """Until something changes in the inbox, or for a while where that can't be watched."""
    try:
        if next(changes, None) is not None:
            return
    except (OSError, RuntimeError):  # the system may be watching as much as it is willing to
        pass
    stop.wait(LOOK_AGAIN)


def _places(publisher: Publisher) -> dict[str, int]:
    """Where the ledger has the files it knows."""
    if publisher.ledger is None:
        raise InvalidArgument(
            "watching needs a publisher with a ledger\nGive it ledger=… or out=…."
        )
    places: dict[str, int] = {}
    for place, name in enumerate(publisher.times()):
        if name is None:
            raise LedgerError(
                f"the timestamps in {publisher.ledger} have no names\n"
                "Files can't be told from what is already published. Begin a new ledger for them."
            )
        places[name] = place
    return places


def _refuse_late(file: Path, places: dict[str, int]) -> None:
    """A timestamp can't be put in between others afterwards."""
    name = stem(file)
    if name in places or not places:
        return
    latest = next(reversed(places))
    if name_order(name) <= name_order(latest):
        raise OutOfOrder(
            f"{file.name} comes, by its name, before {latest!r}, which is already published\n"
            "Nothing was measured. Take the file away, or give it a name that comes later."
        )
