"""What is shown while and after working: bars, waits, tables, JSON.

Results go to stdout. All else goes to stderr, and bars only where that is a terminal.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = [
    "compile_notice",
    "compiling",
    "facts",
    "note",
    "print_json",
    "progress",
    "results",
    "table",
    "waiting",
]

_PIPE_WIDTH = 160  # nobody wants a table folded in a log


def results() -> Console:
    """Where tables go: stdout."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


def _messages() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def note(text: str) -> None:
    """A remark on stderr."""
    click.echo(text, err=True)


@contextmanager
def progress(
    what: str, *, length: int | None = None, left: bool = False
) -> Iterator[Callable[[], None]]:
    """A bar on a terminal; yields what to call after every step. `left` shows the time left."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[ProgressColumn] = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    ]
    if left:
        columns += [TimeRemainingColumn(), TextColumn("left")]
    with Progress(*columns, console=_messages(), transient=True) as bar:
        task = bar.add_task(what, total=length)
        yield lambda: bar.advance(task)


@contextmanager
def waiting(what: str | Callable[[], str], *, after: float = 1.0) -> Iterator[None]:
    """Say what is being waited for, once it has taken `after` seconds.

    A spinner on a terminal, one line elsewhere.
    """
    finished = threading.Event()

    def show() -> None:
        if finished.wait(after):
            return
        text = what if isinstance(what, str) else what()
        if not sys.stderr.isatty():
            note(text)
            return
        with _messages().status(text):
            finished.wait()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


@contextmanager
def compile_notice() -> Iterator[None]:
    """Say so, once, if kernels have to be compiled: only the first run of a version does."""
    from numba.core import event

    class Notice(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: object) -> None:
            del event
            if not self.told:
                self.told = True
                note("Compiling kernels (first run only) …")

        def on_end(self, event: object) -> None:
            del event

    with event.install_listener("numba:compile", Notice()):
        yield


@contextmanager
def compiling() -> Iterator[None]:
    """Wait for kernels, and say whether they are being compiled or come from the cache."""
    from numba.core import event

    with (
        event.install_recorder("numba:compile") as compiled,
        waiting(
            lambda: (
                "Compiling kernels (first run only) …" if compiled.buffer else "Loading kernels …"
            )
        ),
    ):
        yield


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Table:
    """A table with its first `left` columns to the left and numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for index, name in enumerate(columns):
        made.add_column(name, justify="left" if index < left else "right")
    for row in rows:
        made.add_row(*row)
    return made


def facts(pairs: Sequence[tuple[str, str]]) -> Table:
    """Names and values below each other, without a frame."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column()
    for name, value in pairs:
        made.add_row(name, value)
    return made
