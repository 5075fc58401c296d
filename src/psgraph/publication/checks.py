"""Checks of what is handed to a publisher, before anything is measured."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from psgraph.errors import DataError, InvalidArgument, TermsChanged
from psgraph.graph import Graph, Snapshot
from psgraph.graph.roster import DeclaredNodes
from psgraph.methods.base import Method
from psgraph.methods.registry import check_kind
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.terms import check_guarantee, check_owner, check_unit, thin_budget
from psgraph.streams.owners import unit_of
from psgraph.streams.stream import Stream
from psgraph.streams.time_source import TimeSource

__all__ = [
    "as_timestamp",
    "check_arguments",
    "check_snapshot",
    "check_stream",
    "check_times",
    "protecting",
]


def check_arguments(
    method: Method[Any, Any], guarantee: WEventPrivacy, progress: object = None
) -> None:
    """Refuse what is not a method object, a guarantee, or a function to call."""
    if progress is not None and not callable(progress):
        raise InvalidArgument(
            f"progress is a function, not {type(progress).__name__}\n"
            "It is called with the number of snapshots done and their total.",
            code="progress",
        )
    if isinstance(method, type) and issubclass(method, Method):
        raise InvalidArgument(
            f"{method.__name__} is a class and a publisher takes an object\n"
            f"Write {method.__name__}().",
            code="method_class",
        )
    if not isinstance(method, Method):
        raise InvalidArgument(
            f"a publisher takes a method, not {type(method).__name__}\n"
            "Give an object such as psgraph.PSGraph().",
            code="method",
        )
    check_guarantee(guarantee)
    check_unit(method, guarantee)


def protecting(guarantee: WEventPrivacy, stream: Stream) -> WEventPrivacy:
    """Return the guarantee for the owners that a stream was read for, if it was."""
    if stream.unit is None:
        return guarantee
    guarantee = replace(guarantee, unit=stream.unit)
    if told := thin_budget(guarantee):
        warnings.warn(told, stacklevel=3)
    return guarantee


def check_stream(stream: Iterable[Snapshot], guarantee: WEventPrivacy | None = None) -> None:
    """Refuse what is not a sequence of snapshots, and one that was read for other owners."""
    one = isinstance(stream, str | bytes | Graph) or hasattr(stream, "columns")
    if one or not isinstance(stream, Iterable):
        raise InvalidArgument(
            f"a stream is a sequence of snapshots, not one {type(stream).__name__}\n"
            "Read one with psgraph.read_stream(...), or give a list.",
            code="stream",
        )
    if guarantee is not None and isinstance(stream, Stream) and stream.kind is not None:
        check_owner(stream.unit, guarantee, stream.kind)


def check_snapshot(
    snapshot: Snapshot,
    method: Method[Any, Any],
    before: DeclaredNodes | None,
    guarantee: WEventPrivacy,
) -> None:
    """Refuse what is not a snapshot, other owners or kinds, and a different sort of roster.

    Parameters
    ----------
    before
        What was declared about the nodes of the stream; None before the first timestamp.
    """
    if not isinstance(snapshot, Snapshot):
        raise InvalidArgument(
            f"publish takes a Snapshot, not {type(snapshot).__name__}\n"
            "Build one with Snapshot.from_edges(...), or read a stream with read_stream(...).",
            code="snapshot",
        )
    if snapshot.time is not None and not _is_text(snapshot.time):
        raise DataError(
            "the time of a snapshot is not plain Unicode text\nRename the file it comes from.",
            code="time_text",
        )
    check_kind(method, snapshot)
    check_owner(unit_of(snapshot), guarantee, snapshot.kind)
    found = snapshot.roster.declaration
    if before is not None and before != found:
        raise TermsChanged(
            f"this stream was started with {before}, now it has {found}\n"
            "That changes what is public about the nodes. Continue as before, or start a new "
            "ledger.",
            changed={"roster": (before.declared, found.declared)}
            if before.declared != found.declared
            else {"labels": (", ".join(before.labels), ", ".join(found.labels))},
        )
    if before is None:
        method.check_roster(snapshot.roster)


def check_times(stated: TimeSource | None, before: TimeSource | None) -> None:
    """Refuse a stream whose times have a different source than before.

    A window is counted in timestamps: days in a stream of months would make it 30 times shorter.
    """
    if stated is not None and before is not None and not stated.continues(before):
        raise TermsChanged(
            "the source of this stream's times has changed:\n"
            f"  started with  {before}\n"
            f"  now           {stated}\n"
            "That changes how long a window is, or what is public about the times. Continue as "
            "before, or start a new ledger.",
            changed={"times": (str(before), str(stated))},
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
    """Whether it can be encoded as UTF-8; a file name need not be text."""
    try:
        time.encode()
    except UnicodeEncodeError:
        return False
    return True
