"""Checks of what is handed to a publisher, before anything is measured."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from psgraph.errors import DataError, InvalidArgument, KindMismatch, TermsChanged
from psgraph.graph import Graph, Snapshot
from psgraph.graph.kind import Kind
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method, method_names
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.terms import check_guarantee, check_unit
from psgraph.streams.time_source import TimeSource

__all__ = [
    "as_timestamp",
    "check_arguments",
    "check_kind",
    "check_snapshot",
    "check_stream",
    "check_times",
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


def check_stream(stream: Iterable[Snapshot]) -> None:
    """Refuse what is not a sequence of snapshots, such as one snapshot or a path."""
    one = isinstance(stream, str | bytes | Graph) or hasattr(stream, "columns")
    if one or not isinstance(stream, Iterable):
        raise InvalidArgument(
            f"a stream is a sequence of snapshots, not one {type(stream).__name__}\n"
            "Read one with psgraph.read_stream(...), or give a list.",
            code="stream",
        )


def check_kind(method: Method[Any, Any], graphs: object) -> None:
    """Refuse a stream, a snapshot or a kind that the method does not publish, and weights."""
    kind = graphs if isinstance(graphs, Kind) else getattr(graphs, "kind", None)
    if not isinstance(kind, Kind):
        return
    if kind.name not in method.kinds:
        known = sorted(method.kinds)
        raise KindMismatch(
            f"method {method.name!r} publishes {_listed(known, 'and')} graphs only\n"
            + _remedy(kind, _WITHOUT.get(kind.name))
        )
    if kind.weighted and not method.publishes_weights:
        raise KindMismatch(
            f"method {method.name!r} publishes no weights\n" + _remedy(kind, _WITHOUT["weights"])
        )


_WITHOUT = {
    "directed": (
        "leave --directed (kind='directed') out to publish who is connected with whom, without "
        "direction"
    ),
    "weights": "leave --weights (weights=…) out to publish which edges there are",
}


def _remedy(kind: Kind, without: str | None) -> str:
    """Name the methods that publish a kind, and what to leave out instead."""
    names = [name for name in method_names() if _publishes(find_method(name), kind)]
    advice = [f"use {_listed(names, 'or')}"] if names else []
    advice += [without] if without else []
    text = ", or ".join(advice or ["use another method"])
    return f"{text[0].upper()}{text[1:]}."


def _publishes(method: type[Method[Any, Any]], kind: Kind) -> bool:
    return kind.name in method.kinds and (method.publishes_weights or not kind.weighted)


def _listed(words: Sequence[str], last: str) -> str:
    """Join words: ``a, b or c``."""
    *others, end = words
    return f"{', '.join(others)} {last} {end}" if others else end


def check_snapshot(snapshot: Snapshot, method: Method[Any, Any], declared: str | None) -> None:
    """Refuse what is not a snapshot, a kind that does not fit, and a different sort of roster.

    Parameters
    ----------
    declared
        How the roster of the stream was obtained; None before the first timestamp.
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
    found = snapshot.roster.declared
    if declared is not None and declared != found:
        raise TermsChanged(
            f"this stream was started with {_ROSTERS[declared]}, now it has {_ROSTERS[found]}\n"
            "That changes what is public about the nodes. Continue as before, or start a new "
            "ledger.",
            changed={"roster": (declared, found)},
        )


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
