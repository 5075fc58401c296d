"""Checks of what is handed to a publisher, before anything is measured."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from psgraph.errors import DataError, InvalidArgument, TermsChanged, UnitMismatch
from psgraph.graph import Graph, Snapshot
from psgraph.methods.base import Method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Edge, Unit
from psgraph.streams.statements import continues

__all__ = [
    "as_timestamp",
    "check_arguments",
    "check_guarantee",
    "check_snapshot",
    "check_stream",
    "check_times",
    "check_unit",
]

_ROSTERS = {
    "given": "a roster given from outside",
    "edges": "rosters taken from the edges",
    "nodes": "the nodes of its graphs, declared public",
}


def check_arguments(
    method: Method[Any, Any], guarantee: WEventPrivacy, progress: object = None
) -> None:
    """Refuse what is not a method object, a guarantee, or a function to call."""
    if progress is not None and not callable(progress):
        raise InvalidArgument(
            f"progress is a function, not {type(progress).__name__}\n"
            "It is called with the number of snapshots done and their total."
        )
    if isinstance(method, type) and issubclass(method, Method):
        raise InvalidArgument(
            f"{method.__name__} is a class and a publisher takes an object\n"
            f"Write {method.__name__}()."
        )
    if not isinstance(method, Method):
        raise InvalidArgument(
            f"a publisher takes a method, not {type(method).__name__}\n"
            "Give an object such as psgraph.PSGraph()."
        )
    check_guarantee(guarantee)
    check_unit(method, guarantee)


def check_unit(method: Method[Any, Any], guarantee: WEventPrivacy) -> None:
    """Refuse a guarantee for a unit that the method does not support."""
    supported: tuple[type[Unit], ...] = getattr(method, "units", (Edge,))
    if not isinstance(guarantee.unit, supported):
        known = ", ".join(f"{unit.__name__}(…)" for unit in supported)
        raise UnitMismatch(
            f"method {method.name!r} cannot protect {guarantee.unit.text}\n"
            f"Choose another method, or one of the units it supports: {known}."
        )


def check_guarantee(guarantee: WEventPrivacy) -> None:
    """Refuse what is not a guarantee."""
    if not isinstance(guarantee, WEventPrivacy):
        raise InvalidArgument(
            f"the guarantee is a WEventPrivacy, not {type(guarantee).__name__}\n"
            "Give for example psgraph.WEventPrivacy(epsilon='1', window=5)."
        )


def check_stream(stream: Iterable[Snapshot]) -> None:
    """Refuse what is not a sequence of snapshots, such as one snapshot or a path."""
    one = isinstance(stream, str | bytes | Graph) or hasattr(stream, "columns")
    if one or not isinstance(stream, Iterable):
        raise InvalidArgument(
            f"a stream is a sequence of snapshots, not one {type(stream).__name__}\n"
            "Read one with psgraph.read_stream(...), or give a list."
        )


def check_snapshot(snapshot: Snapshot, kind: str | None) -> None:
    """Refuse what is not a snapshot, a time that can't be written, and another kind of roster.

    Parameters
    ----------
    kind
        The kind of roster the stream was started with; None before the first timestamp.
    """
    if not isinstance(snapshot, Snapshot):
        raise InvalidArgument(
            f"publish takes a Snapshot, not {type(snapshot).__name__}\n"
            "Build one with Snapshot.from_edges(...), or read a stream with read_stream(...)."
        )
    if snapshot.time is not None and not _is_text(snapshot.time):
        raise DataError(
            "the time of a snapshot is not plain Unicode text\nRename the file it comes from."
        )
    found = snapshot.roster.declared
    if kind is not None and kind != found:
        raise TermsChanged(
            f"this stream was started with {_ROSTERS[kind]}, now it has {_ROSTERS[found]}\n"
            "That changes what is public about the nodes. Continue as before, or start a new "
            "ledger.",
            changed={"roster": (kind, found)},
        )


def check_times(stated: str | None, before: str | None) -> None:
    """Refuse a stream whose times have a different source than before.

    A window is counted in timestamps: days in a stream of months would make it 30 times shorter.
    """
    if stated is not None and before is not None and not continues(stated, before):
        raise TermsChanged(
            "the source of this stream's times has changed:\n"
            f"  started with  {before}\n"
            f"  now           {stated}\n"
            "That changes how long a window is, or what is public about the times. Continue as "
            "before, or start a new ledger.",
            changed={"times": (before, stated)},
        )


def as_timestamp(timestamp: int) -> int:
    """A timestamp as an integer."""
    try:
        return operator.index(timestamp)
    except TypeError:
        raise InvalidArgument(
            f"a timestamp is an integer, not {type(timestamp).__name__}"
        ) from None


def _is_text(time: str) -> bool:
    """Whether UTF-8 can hold it; a file name need not be text."""
    try:
        time.encode()
    except UnicodeEncodeError:
        return False
    return True
