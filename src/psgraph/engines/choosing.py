"""Choosing an engine by its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from psgraph.engines.base import Engine
from psgraph.errors import InvalidArgument

__all__ = ["ENGINES", "open_engine"]

ENGINES = ("local", "dask")


@contextmanager
def open_engine(name: str, *, scheduler: str | None = None) -> Iterator[Engine]:
    """Open an engine; a cluster that it starts is stopped in the end.

    Parameters
    ----------
    scheduler
        The address of a running Dask scheduler; see `psgraph.engines.dask.DaskEngine`.

    >>> with open_engine("local") as engine:
    ...     type(engine).__name__
    'LocalEngine'
    """
    if name not in ENGINES:
        raise InvalidArgument(f"there is no engine {name!r}\nChoose one of: {', '.join(ENGINES)}.")
    if scheduler is not None and name != "dask":
        raise InvalidArgument(
            "a scheduler is for the engine dask\nGive --engine dask as well, or leave it out."
        )
    if name == "local":
        from psgraph.engines.local import LocalEngine

        yield LocalEngine()
        return
    from psgraph.engines.dask import DaskEngine

    with DaskEngine(scheduler) as engine:
        yield engine
