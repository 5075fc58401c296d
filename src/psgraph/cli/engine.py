"""``--engine`` and ``--scheduler``: where edge-sized work runs, for all commands that publish."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from psgraph.engines.base import Engine

__all__ = ["EngineChoice", "engine_options"]

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class EngineChoice:
    """The engine that the options describe; nothing is started before `open`."""

    name: str
    scheduler: str | None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.name != "dask":
            raise click.UsageError("--scheduler is for --engine dask\nGive both, or neither.")

    @contextmanager
    def open(self, source: str | None) -> Iterator[Engine]:
        """Start or connect to the engine, and stop or leave it at the end.

        Parameters
        ----------
        source
            The path or address of a store. None stands for other input, of which large snapshots
            go through scratch files.
        """
        from psgraph.engines.runner import open_engine

        with open_engine(self.name, scheduler=self.scheduler) as engine:
            if self.scheduler is not None:
                _check_access(engine, source)
            yield engine


_OPTIONS = (
    click.option(
        "--engine",
        type=click.Choice(["local", "dask"]),
        default="local",
        show_default=True,
        help="Where edges are counted and drawn: this process, or a Dask cluster. The releases "
        "are the same.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="With --engine dask: the scheduler of a running cluster, tls://HOST:PORT. Otherwise "
        "psgraph starts worker processes on this machine.",
    ),
)


def engine_options(function: Function) -> Callable[..., Any]:
    """Add ``--engine`` and ``--scheduler``, passed to the command as one `EngineChoice`."""

    @functools.wraps(function)
    def with_engine(*, engine: str, scheduler: str | None, **given: Any) -> Any:
        return function(engine=EngineChoice(engine, scheduler), **given)

    decorated: Callable[..., Any] = with_engine
    for decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


def _check_access(engine: Any, source: str | None) -> None:
    """Refuse workers that can't read what this command will have them read.

    It is the same check whatever the size of the input: that is private.
    """
    from psgraph._runtime.scratch import scratch_directory
    from psgraph.stores.places import as_place
    from psgraph.stores.store import MANIFEST

    if source is not None:
        place = as_place(source)
        if isinstance(place, Path):
            engine.check_access(
                place / MANIFEST,
                "Put the store into a directory that all machines share, or at an address: "
                "psgraph prepare --to s3://…",
            )
        return
    with scratch_directory() as directory:
        (directory / "access").write_bytes(b"psgraph")
        engine.check_access(
            directory / "access",
            "Large snapshots go through temporary files. Set TMPDIR to a directory that all "
            "machines share, or publish a store: psgraph prepare.",
        )
