"""Public streams to rehearse on: the made-up demo, streams of other packages, public files.

A package offers public streams by the entry-point group ``psgraph.public_streams``: each entry is
a mapping from a name to a function that returns the snapshots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from os import PathLike
from pathlib import Path

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Snapshot
from psgraph.streams import read_stream
from psgraph.streams.demo import demo_stream
from psgraph.trust.rehearsal.template import Template

__all__ = ["DEMO", "PUBLIC_STREAMS", "PublicStream", "load_template", "public_stream_names"]

PUBLIC_STREAMS = "psgraph.public_streams"
"""The entry-point group by which other packages offer public streams."""

DEMO = "demo"

PublicStream = str | PathLike[str] | Iterable[Snapshot]
"""A name, a file that is public, or the snapshots themselves."""

Loaders = Mapping[str, Callable[[], Iterable[Snapshot]]]


def public_stream_names() -> list[str]:
    """Return the names of the public streams that are installed.

    >>> "demo" in public_stream_names()
    True
    """
    return [DEMO, *sorted(_installed())]


def load_template(
    like: PublicStream,
    *,
    timestamps: int,
    every: str | None = None,
    columns: str | None = None,
) -> Template:
    """Load the last `timestamps` snapshots of a public stream; fewer if it is shorter.

    Parameters
    ----------
    like
        ``"demo"``, the name of an installed public stream, the path of a **public** file, or
        snapshots. The nodes of a file are those that occur in it: it is public, so that reveals
        nothing.
    every, columns
        How to read a file, as in `psgraph.read_stream`.

    Raises
    ------
    InvalidArgument
        There is neither such a name nor such a file.
    DataError
        The stream can't be read, or has no edges.
    """
    if not isinstance(like, str | PathLike):
        return _last(like, timestamps)
    name = str(like)
    if name == DEMO:
        return _last(demo_stream(timestamps=timestamps), timestamps)
    installed = _installed()
    if name in installed:
        return _last(installed[name](), timestamps)
    if not Path(name).exists():
        raise InvalidArgument(
            f"there is no public stream and no file called {name!r}\n"
            f"Name a public file or one of: {', '.join(public_stream_names())}."
        )
    stream = read_stream(
        name, roster_from_edges=True, every=every, columns=columns, close_last=every is not None
    )
    return _last(stream, timestamps)


def _last(snapshots: Iterable[Snapshot], timestamps: int) -> Template:
    """The last snapshots of a stream: the most recent, and usually the fullest."""
    kept: list[Snapshot] = []
    for snapshot in snapshots:
        kept = [*kept[-(timestamps - 1) :], snapshot] if timestamps > 1 else [snapshot]
    if not kept:
        raise DataError("the public stream has no snapshots, so there is nothing to rehearse on")
    return Template.from_snapshots(kept)


def _installed() -> dict[str, Callable[[], Iterable[Snapshot]]]:
    """The loaders of all installed streams by name."""
    found: dict[str, Callable[[], Iterable[Snapshot]]] = {}
    for point in entry_points(group=PUBLIC_STREAMS):
        offered: Loaders = point.load()
        found.update({name: load for name, load in offered.items() if name != DEMO})
    return found
