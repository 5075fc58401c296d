"""Options that say how the rows of an input are read, and what the curator is told about them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph._runtime.numbers import count
from psgraph.cli.screen import note

if TYPE_CHECKING:
    from psgraph.streams import Stream

__all__ = [
    "READING_OPTIONS",
    "check_private_file",
    "reading_options",
    "silence_warnings",
    "tell_of_input",
    "timezone_option",
    "window_words",
]

Function = TypeVar("Function", bound=Callable[..., Any])

timezone_option = click.option(
    "--timezone",
    metavar="NAME",
    help="With --every: the zone of times that have none, and of the calendar of days, weeks, "
    "months and years, such as Europe/Berlin.  [default: UTC]",
)

READING_OPTIONS = (
    click.option(
        "--columns",
        metavar="u=NAME,v=NAME,…",
        help="Which columns hold the two ends and the time: u=caller,v=callee,time=start (or t=…). "
        "Numbers count columns from 1. Recognised without it: u and v, source and target, src and "
        "dst, from and to; time, timestamp, date, datetime; t.",
    ),
    click.option(
        "--ids",
        type=click.Choice(["auto", "integer", "text"]),
        default="auto",
        show_default=True,
        help="How ids are read: text keeps leading zeros and numbers of any length; auto follows "
        "the roster.",
    ),
    click.option(
        "--bad-rows",
        type=click.Choice(["refuse", "skip"]),
        default="refuse",
        show_default=True,
        help="What to do with rows that can't be read: refuse the input and report them all, or "
        "skip them.",
    ),
    click.option(
        "--bad-rows-to",
        metavar="FILE",
        help="List the bad rows in a file. Curator only: it holds private rows.",
    ),
    click.option(
        "--unknown-nodes-to",
        metavar="FILE",
        help="List the ids of edges that are not on the roster. Curator only.",
    ),
)


def reading_options(function: Function) -> Function:
    """Add the options of rows, passed to the command by their names."""
    for decorate in reversed(READING_OPTIONS):
        function = decorate(function)
    return function


def check_private_file(option: str, path: str | None, *others: Path | None) -> None:
    """Refuse a curator's file among the releases, which are bound to be published."""
    for other in others:
        if path is None or other is None:
            continue
        if Path(path).resolve().is_relative_to(other.resolve()):
            raise click.UsageError(
                f"{option}: that file holds private data and must not be stored in {other}\n"
                "Choose a path outside it."
            )


def silence_warnings() -> None:
    """Say what a stream warns about as a note instead; see `tell_of_input`."""
    warnings.filterwarnings("ignore", message="Held back")


def tell_of_input(stream: Stream) -> None:
    """Say what was held back, and on a terminal how many rows were skipped."""
    from psgraph.streams.stream import held_back_note

    if stream.held_back is not None:
        note(held_back_note(stream.held_back))
    if stream.skipped and sys.stderr.isatty():  # not into a log
        note(
            f"Skipped {count(stream.skipped, 'row')} that can't be used. (For the curator only: "
            "this depends on the edges.)"
        )


def window_words(window: int, times: str | None, names: Any = ()) -> str:
    """Return the length of a window, in time too where that is known.

    >>> window_words(6, "periods of 1mo, the first and the last declared by the publisher")
    '6 timestamps = 6 months'
    """
    from psgraph.streams.statements import window_in_time

    found = window_in_time(window, times, names)
    shown = count(window, "timestamp")
    return shown if found is None else f"{shown} = {found}"
