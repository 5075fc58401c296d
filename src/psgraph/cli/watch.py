"""``psgraph watch``: publish files as they arrive, day after day."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psgraph._runtime.numbers import count
from psgraph.cli.help import Command
from psgraph.cli.parameters import Settings, build_method, publication_options
from psgraph.cli.screen import compile_notice, note
from psgraph.cli.shared import (
    Source,
    roster_options,
)
from psgraph.errors import exact_decimal
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.publication.watching import Arrival

__all__ = ["command"]


@click.command(
    "watch",
    cls=Command,
    short_help="Publish snapshot files as they arrive in a directory.",
    examples=[
        "psgraph watch inbox --roster nodes.csv --epsilon 1 --window 7 --out releases",
        "psgraph watch inbox --roster-from-edges --epsilon 1 --window 7 --out releases --once",
    ],
)
@click.argument("inbox", metavar="INBOX", type=click.Path(path_type=Path))
@roster_options
@publication_options
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
    inbox: Path,
    roster: str | None,
    roster_column: str | None,
    roster_no_header: bool,
    roster_from_edges: bool,
    out: Path,
    ledger: Path | None,
    epsilon: Fraction,
    window: int,
    method: str,
    seed: int | None,
    not_private: bool,
    large_epsilon: bool,
    once: bool,
    settle: float,
    as_json: bool,
    settings: Settings,
) -> None:
    """Publish the files of the directory INBOX in the order of their names, as they arrive.

    One file is one timestamp, and its name without the ending is the time: use names that sort,
    such as 2024-01-05.csv. Rename files into the directory when they are complete; a file that is
    still being written is waited for. Hidden files and those ending in .part or .tmp are ignored.

    Each file is published once. After a restart the files that are still there are compared with
    the ledger. The command stops, before measuring anything, when a published file was changed or
    when a new file sorts before one that is already published.

    Ctrl-C or SIGTERM ends it after the timestamp in progress, with exit code 0.
    """
    Source(
        str(inbox),
        roster,
        roster_from_edges,
        roster_column=roster_column,
        roster_no_header=roster_no_header,
    )

    from psgraph.publication.locations import ledger_of
    from psgraph.publication.opening import check_history
    from psgraph.publication.promise import Promise
    from psgraph.publication.publisher import Publisher
    from psgraph.publication.watching import Inbox, watch
    from psgraph.streams.rosters import read_roster

    guarantee = WEventPrivacy(epsilon, window=window)
    chosen = build_method(method, settings, guarantee)
    arguments: dict[str, Any] = {
        "method": chosen,
        "guarantee": guarantee,
        "ledger": ledger or ledger_of(out),
        "out": out,
        "seed": seed,
        "noise": "exact",
        "not_private": not_private,
        "large_epsilon": large_epsilon,
    }
    Inbox(inbox)  # refuses what can't be watched, before a ledger is begun
    check_history(**arguments)
    header = False if roster_no_header else None
    nodes = None if roster is None else read_roster(roster, column=roster_column, header=header)
    with _stopping() as stop:
        published = known = 0
        with compile_notice(), Publisher(**arguments) as publisher:
            promise = Promise(guarantee, chosen.caveat, seeded=seed is not None)
            note(f"Private: {promise.verdict}. {promise}")
            if not once:
                note(f"Watching {inbox}. Ctrl-C or SIGTERM stops.")
            for arrival in watch(
                inbox,
                publisher,
                roster=nodes,
                roster_from_edges=roster_from_edges,
                once=once,
                settle=settle,
                stop=stop,
            ):
                published += arrival.new
                known += not arrival.new
                _tell(arrival, as_json=as_json)
    note(
        f"Published {count(published, 'new timestamp')} to {out}; "
        f"{count(known, 'file')} had been published before."
    )


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set, so that no timestamp is left half done."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(arrival: Arrival, *, as_json: bool) -> None:
    certificate = arrival.release.certificate
    spent, window_spent = exact_decimal(certificate.spent), exact_decimal(certificate.window_spent)
    if as_json:
        line = {
            "file": arrival.file.name,
            "new": arrival.new,
            "timestamp": certificate.timestamp,
            "time": certificate.time,
            "private": certificate.private,
            "nodes": certificate.nodes,
            "edges": certificate.edges,
            "spent": spent,
            "window_spent": window_spent,
        }
        click.echo(json.dumps(line, ensure_ascii=False))
    elif arrival.new:
        click.echo(
            f"{arrival.file.name}: timestamp {certificate.timestamp}, {certificate.edges:,} "
            f"synthetic edges, ε {spent} spent, {window_spent} of "
            f"{exact_decimal(certificate.guarantee.epsilon)} in the window"
        )
