"""Output: progress bars, waiting notes, tables, JSON.

Results go to stdout. All else goes to stderr, and bars only where that is a terminal.
"""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
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
    "fitted",
    "folded",
    "note",
    "print_json",
    "print_tables",
    "progress",
    "reading",
    "results",
    "table",
    "waiting",
]

_PIPE_WIDTH = 160  # tables in a log should not be folded
_GAP = 2  # between two columns
_LEAST_HEADING = 10  # characters of a heading on a line, if it has as many
_LEAST_TEXT = 24  # characters of a column of text, if it has as many; longer words are folded


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
    """A remark on stderr; above a bar, if one is shown."""
    print(folded(text), file=sys.stderr, flush=True)  # not by click, which writes past the bar


def folded(text: str) -> str:
    """Break the lines of a message between words, if stderr is a terminal; never a path."""
    if not sys.stderr.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(
        part
        for line in text.splitlines()
        for part in textwrap.wrap(
            line,
            width,
            subsequent_indent=line[: len(line) - len(line.lstrip())],
            break_long_words=False,
            break_on_hyphens=False,
        )
        or [""]
    )


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
def reading(what: str) -> Iterator[None]:
    """Show how many rows were read: on a terminal, for the curator alone. One line elsewhere."""
    if not sys.stderr.isatty():
        with waiting(f"{what} …"):
            yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from psgraph.streams.rows import counting_rows

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TextColumn("{task.completed:,.0f} rows"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_messages(), transient=True) as bar:
        task = bar.add_task(what, total=None)
        with counting_rows(lambda count: bar.advance(task, count)):
            yield


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
    with compile_notice(), waiting("Loading kernels …"):
        yield


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Table:
    """A table with its first `left` columns to the left and numbers to the right.

    Text wraps between words. A number never does, nor is it cut: its column is as wide as it needs
    to be, and its heading wraps instead.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold",
    )
    for index, name in enumerate(columns):
        if index < left:
            made.add_column(name, overflow="fold")
        else:
            width = _width_needed(name, [row[index] for row in rows])
            made.add_column(_wrapped(name, width), justify="right", no_wrap=True)
    for row in rows:
        made.add_row(*row)
    return made


def fitted(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    width: int,
    left: int = 1,
    optional: Sequence[str] = (),
    total: bool = False,
) -> list[Table]:
    """Return tables that fit into a width: without some columns, then one below the other.

    Parameters
    ----------
    left
        Columns of text, which wrap. They are repeated in every table.
    optional
        Columns to leave out where there is no room, the first one first.
    total
        Whether the last row summarises the others.

    Examples
    --------
    >>> rows = [("2024-01", "14,430", "13,998")]
    >>> wide, narrow = (
    ...     fitted(("time", "edges", "noisy"), rows, width=width, optional=["noisy"])
    ...     for width in (80, 20)
    ... )
    >>> [len(made.columns) for made in (*wide, *narrow)]
    [3, 2]
    """
    kept = list(range(len(columns)))
    needed = [
        _width_needed(name, [row[index] for row in rows], wraps=index < left)
        for index, name in enumerate(columns)
    ]
    for name in optional:
        if _total_width(needed, kept) <= width:
            break
        kept.remove(list(columns).index(name))
    keys, values = [each for each in kept if each < left], [each for each in kept if each >= left]
    made = []
    for part in _parts(needed, keys, values, width):
        chosen = [*keys, *part]
        shown = table(
            [columns[each] for each in chosen],
            [[row[each] for each in chosen] for row in rows],
            left=len(keys),
        )
        if total and len(rows) > 1:
            shown.rows[-2].end_section = True
        made.append(shown)
    return made


def _parts(
    needed: Sequence[int], keys: Sequence[int], values: Sequence[int], width: int
) -> list[list[int]]:
    """Divide the columns of values between tables, each of which also has the keys."""
    parts: list[list[int]] = [[]]
    for each in values:
        if parts[-1] and _total_width(needed, [*keys, *parts[-1], each]) > width:
            parts.append([])
        parts[-1].append(each)
    return parts


def _total_width(needed: Sequence[int], chosen: Sequence[int]) -> int:
    return sum(needed[each] for each in chosen) + _GAP * (len(chosen) - 1)


def _width_needed(heading: str, cells: Sequence[str], *, wraps: bool = False) -> int:
    """Return the width a column needs: of its longest line; less if it is text, which wraps."""
    longest = max((len(line) for cell in cells for line in cell.splitlines()), default=0)
    heads = max((len(word) for word in [*heading.split(), heading[:_LEAST_HEADING]]), default=0)
    return max(heads, min(longest, _LEAST_TEXT) if wraps else longest)


def _wrapped(heading: str, width: int) -> str:
    return "\n".join(
        part for line in heading.splitlines() for part in textwrap.wrap(line, width) or [""]
    )


def print_tables(tables: Sequence[Table]) -> None:
    """Print tables on stdout, with an empty line between two."""
    console = results()
    for number, each in enumerate(tables):
        if number:
            console.print()
        console.print(each)


def facts(pairs: Sequence[tuple[str, str]]) -> Table:
    """Names and values below each other, without a frame."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(style="bold", no_wrap=True)
    made.add_column()
    for name, value in pairs:
        made.add_row(name, value)
    return made
