"""Paths that users give, checked where they enter."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from psgraph.errors import InvalidArgument

__all__ = ["as_path"]


def as_path(value: object, name: str) -> Path:
    """Return a path; refuse what is not one.

    >>> as_path("releases", "out").name
    'releases'
    >>> as_path(5, "out")
    Traceback (most recent call last):
    psgraph.errors.InvalidArgument: out is a path, not int
    Give it as text or as a pathlib.Path.
    """
    if not isinstance(value, str | PathLike):
        raise InvalidArgument(
            f"{name} is a path, not {type(value).__name__}\nGive it as text or as a pathlib.Path.",
            code="not_a_path",
        )
    return Path(value)
