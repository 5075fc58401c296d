"""``psgraph watch``: publish files as they arrive, day after day."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import budget_words, count
from psgraph._runtime.resources import clear_scratch
from psgraph.cli.config import config_option
from psgraph.cli.flags import EngineChoice, engine_options
from psgraph.cli.help import Command
from psgraph.cli.input import (
    declared_kind,
    inbox_options,
    refuse_private_files,
    silence_warnings,
    tell_curator,
)
from psgraph.cli.publication import EarlyEnd, Publication, publication_options, window_words
from psgraph.cli.screen import compile_notice, note
from psgraph.errors import exact_decimal

if TYPE_CHECKING:
    from psgraph.publication.publisher import Publisher
    from psgraph.publication.watching import Arrival, Waiting
    from psgraph.streams.options import InputOptions

__all__ = ["command"]

#: The exit code if a file is left that waits.
WAITING = 4


@click.command(
    "watch",
    cls=Command,
    short_help="Publish snapshot files as they arrive in a directory.",
    examples=[
        "psgraph watch inbox --roster nodes.csv --epsilon 1 --window 7 --out releases",
        "psgraph watch inbox --roster-from-edges --epsilon 1 --window 7 --out releases --once",
        "psgraph watch inbox --roster nodes.csv --epsilon 1 --window 7 --out releases "
        "--engine dask",
    ],
)
@config_option()
@inbox_options
@click.option(
    "--missing",
    type=click.Choice(["wait", "empty", "skip"]),
    default="wait",
    show_default=True,
    help="What to do when dates or integers in names show that a file is missing: wait for it, "
    "publish an empty snapshot, or skip it (names need not be regular then).",
)
@click.option(
    "--skip",
    metavar="NAME",
    multiple=True,
    help="A file that will not come, by its name without ending; may be repeated.",
)
@publication_options
@engine_options
@click.option("--once", is_flag=True, help="Publish what is there, then stop.")
@click.option(
    "--settle",
    type=click.FloatRange(min=0, max=3600),
    metavar="SECONDS",
    default=1.0,
    show_default=True,
    help="A file is complete when it has not changed for this long.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON for every file.")
def command(
    source: InputOptions,
    publication: Publication,
    engine: EngineChoice,
    missing: str,
    skip: tuple[str, ...],
    once: bool,
    settle: float,
    as_json: bool,
) -> int:
    """Publish the files of the directory INBOX in the order of their names, as they arrive.

    One file is one timestamp, and its name without the ending is the time: use names that sort,
    such as 2024-01-05.csv. Rename files into the directory when they are complete; a file that is
    still being written is waited for. Hidden files and those ending in .part or .tmp are ignored.

    Dates and integers in the names show when a file is missing. It is waited for, since a window
    is counted in timestamps; --skip NAME says that it will not come.

    Each file is published once. After a restart the files that are still there are compared with
    the ledger. The command stops, before measuring anything, when a published file was changed or
    when a new file sorts before one that is already published.

    Every line starts with the time at which it was printed. Ctrl-C or SIGTERM ends it after the
    timestamp in progress, with exit code 0. With --once the exit code is 4 if a file is left that
    waits for another one or for the end of its period.
    """
    clear_scratch()
    inbox = Path(source.source)
    refuse_private_files(source, publication.out, inbox)
    publication = publication.protecting(source)

    from psgraph.methods.registry import memory_note
    from psgraph.publication.publisher import Publisher
    from psgraph.publication.terms import Promise
    from psgraph.publication.watching import Inbox, Waiting, watch
    from psgraph.streams.input import nodes_of
    from psgraph.streams.rows import PADDED_IDS, Reading

    Inbox(inbox)  # refuses what can't be watched, before a ledger is started
    with EarlyEnd(publication.out):
        arguments = publication.arguments(declared_kind(source), noise="exact")
    method, seeded = arguments["method"], publication.seed is not None
    silence_warnings(source)
    nodes, rows = nodes_of(source), Reading.of(source)
    if needed := memory_note(method, nodes=nodes.count, prepared=False, kind=declared_kind(source)):
        note(needed)
    window = publication.window
    with EarlyEnd(publication.out), _stopping() as stop:
        published = known = 0
        padded = waits = False
        with (
            engine.open(None) as running,
            compile_notice(),
            Publisher(engine=running, **arguments) as publisher,
        ):
            promise = Promise(publication.guarantee, method.caveat, seeded=seeded)
            _log(f"Private: {promise.verdict}. {promise}")
            told = _tell_of_window(window, publisher, source)
            if not once:
                _log(f"Watching {inbox}. Ctrl-C or SIGTERM stops.")
            for arrival in watch(
                inbox,
                publisher,
                roster=nodes.roster,
                roster_from_edges=source.roster_from_edges,
                once=once,
                settle=settle,
                stop=stop,
                every=source.every,
                timezone=source.timezone,
                missing=missing,
                skip=skip,
                close_last=source.close_last,
                reading=rows,
                ids=source.ids,
                unknown_nodes=source.unknown_nodes,
                unknown_nodes_to=source.unknown_nodes_to,
                kind=nodes.kind,
                unit=source.unit(),
            ):
                waits = isinstance(arrival, Waiting)
                if isinstance(arrival, Waiting):
                    _tell_of_waiting(arrival, as_json=as_json)
                    continue
                told = told or _tell_of_window(window, publisher, source)
                published += arrival.new
                known += not arrival.new
                _tell(arrival, as_json=as_json)
                if rows.bad.counts["padded"] and not padded:
                    padded = True
                    tell_curator(PADDED_IDS)
    _log(
        f"Published {count(published, 'new timestamp')} to {publication.out}; "
        f"{count(known, 'file')} had been published before."
    )
    return WAITING if once and waits else 0


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _log(text: str) -> None:
    note(f"{_now()} {text}")


def _tell_of_window(window: int, publisher: Publisher, source: InputOptions) -> bool:
    """Say how long a window is, as soon as that is known."""
    from psgraph.streams.periods import Period
    from psgraph.streams.time_source import TimeSource

    period = None if source.every is None else Period.parse(source.every, source.timezone)
    times = publisher.stated_times or TimeSource("files", period=period)
    if times.window(window, publisher.times()) is None:
        return False
    _log(f"Window: {window_words(window, times, publisher.times())}.")
    return True


def _tell_of_waiting(waiting: Waiting, *, as_json: bool) -> None:
    if as_json:
        line = {
            "at": _now(),
            "file": waiting.file.name,
            "new": False,
            "waiting_for": list(waiting.missing),
        }
        click.echo(json.dumps(line, ensure_ascii=False))
    if not waiting.missing:
        _log(f"{waiting.file.name} waits until its period is over (--close-last publishes it).")
        return
    shown = ", ".join(waiting.missing[:3]) + (", …" if len(waiting.missing) > 3 else "")
    _log(
        f"{waiting.file.name} waits for {shown}. If a file will not come: --skip NAME, or "
        "--missing empty for an empty snapshot."
    )


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that no timestamp is left half done.

    A signal that is ignored stays ignored; see `psgraph.cli.main`.
    """
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(arrival: Arrival, *, as_json: bool) -> None:
    certificate = arrival.release.certificate
    if as_json:
        line = {
            "at": _now(),
            "file": arrival.file.name,
            "new": arrival.new,
            "timestamp": certificate.timestamp,
            "time": certificate.time,
            "private": certificate.private,
            "nodes": certificate.nodes,
            "edges": certificate.edges,
            "spent": exact_decimal(certificate.spent),
            "window_spent": exact_decimal(certificate.window_spent),
        }
        click.echo(json.dumps(line, ensure_ascii=False))
    elif arrival.new:
        click.echo(
            f"{_now()} {arrival.file.name}: timestamp {certificate.timestamp}, "
            f"{certificate.edges:,} synthetic edges, ε {budget_words(certificate.spent)} spent, "
            f"{budget_words(certificate.window_spent)} of "
            f"{budget_words(certificate.guarantee.epsilon)} in the window"
        )
