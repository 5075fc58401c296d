"""Streams: snapshots out of files, directories, event tables and Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from psgraph.streams.input import read_stream
    from psgraph.streams.stream import Stream

__all__ = ["Stream", "read_stream"]

_HOME = {"Stream": "stream", "read_stream": "input"}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: the table of options is needed without the readers."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
