"""``psgraph budget``: what a stream has spent, and what is left."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psgraph.cli.help import Command
from psgraph.cli.screen import facts, print_json, results, table
from psgraph.cli.shared import json_option
from psgraph.errors import exact_decimal

if TYPE_CHECKING:
    from psgraph.privacy.accountant import Accountant
    from psgraph.publication.ledger import Ledger

__all__ = ["command"]

MOST_BARS = 30
LONGEST_BAR = 40


@click.command(
    "budget",
    cls=Command,
    short_help="Show what a stream has spent and what is left.",
    examples=["psgraph budget releases/ledger.sqlite", "psgraph budget releases --json"],
)
@click.argument("ledger", metavar="LEDGER", type=click.Path(path_type=Path))
@json_option
def command(ledger: Path, as_json: bool) -> None:
    """Show what the stream recorded in LEDGER has spent in its current window, and what is left.

    LEDGER is the file, or the directory with releases it lies in. It is only read: another
    process may be publishing with it.
    """
    from psgraph.publication.ledger import Ledger
    from psgraph.publication.releases import ledger_at

    path = ledger_at(ledger)
    with Ledger(path, writing=False) as opened:
        if as_json:
            print_json(_report(opened))
        else:
            _show(opened)


def _report(ledger: Ledger) -> dict[str, Any]:
    account = ledger.accountant()
    since = account.timestamps - len(account.recent)
    return {
        "ledger": str(ledger.path),
        "private": ledger.terms.private,
        "method": ledger.terms.method,
        "epsilon": exact_decimal(account.guarantee.epsilon),
        "window": account.guarantee.window,
        "timestamps": account.timestamps,
        "spent": exact_decimal(account.window_spent),
        "left": exact_decimal(account.guarantee.epsilon - account.window_spent),
        "next_timestamp": exact_decimal(account.remaining),
        "current_window": [
            {"timestamp": timestamp, "time": time, "spent": exact_decimal(spent)}
            for timestamp, time, spent in ledger.spends(since=since)
        ],
    }


def _show(ledger: Ledger) -> None:
    account = ledger.accountant()
    guarantee = account.guarantee
    spent, left = account.window_spent, guarantee.epsilon - account.window_spent
    rows = [
        ("Promise", guarantee.promise),
        ("Private", "yes" if ledger.terms.private else "NO, for research only"),
        ("Method", ledger.terms.method),
        ("Published", f"{account.timestamps:,} timestamps"),
        (
            "Spent",
            f"{exact_decimal(spent)} in the current window, {_where(account)}",
        ),
        ("Left", f"{exact_decimal(left)} of {exact_decimal(guarantee.epsilon)} in that window"),
        ("Next timestamp", f"may spend up to {exact_decimal(account.remaining)}"),
    ]
    console = results()
    console.print(f"The budget of {ledger.path}", style="bold")
    console.print(facts(rows))
    if sys.stdout.isatty() and account.timestamps:
        console.print()
        console.print(_chart(ledger, account))


def _where(account: Accountant) -> str:
    if not account.recent:
        return "before the first timestamp"
    last = account.timestamps - 1
    return f"timestamps {last - len(account.recent) + 1} to {last}"


def _chart(ledger: Ledger, account: Accountant) -> Any:
    """Spends of the last timestamps; those of the current window with a full bar."""
    latest = list(ledger.spends(since=max(0, account.timestamps - MOST_BARS)))
    largest = max(spent for _, _, spent in latest) or Fraction(1)
    inside = account.timestamps - len(account.recent)
    rows = [
        (
            str(timestamp),
            time or "",
            ("█" if timestamp >= inside else "░") * max(1, round(LONGEST_BAR * spent / largest)),
            exact_decimal(spent),
        )
        for timestamp, time, spent in latest
    ]
    return table(("timestamp", "time", "█ in the current window", "ε spent"), rows, left=3)
