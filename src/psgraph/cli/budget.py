"""``psgraph budget``: what a stream has spent, and what is left."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from psgraph._runtime.numbers import brief, budget_words, count
from psgraph.cli.config import config_option
from psgraph.cli.flags import json_option
from psgraph.cli.help import Command
from psgraph.cli.publication import window_words
from psgraph.cli.screen import facts, print_json, results, table
from psgraph.errors import exact_decimal

if TYPE_CHECKING:
    from psgraph.publication.ledger import Ledger
    from psgraph.publication.terms import Promise, Spending

__all__ = ["command"]

MOST_BARS = 30
LONGEST_BAR = 40

_NOISE: dict[str | None, str] = {
    "exact": "psgraph's exact sampler",
    "opendp": "OpenDP",
}


@click.command(
    "budget",
    cls=Command,
    short_help="Show what a stream has spent and what is left.",
    examples=[
        "psgraph budget releases",
        "psgraph budget releases --lifetime 52",
        "psgraph budget releases --json",
    ],
)
@config_option(ledger_from_out=True)
@click.argument("ledger", metavar="LEDGER", type=click.Path(path_type=Path))
@click.option(
    "--lifetime",
    type=click.IntRange(min=1, max=100_000),
    metavar="L",
    help="Show what a tie or a person present for 1, 2, … up to L timestamps has lost at most.",
)
@json_option
def command(ledger: Path, lifetime: int | None, as_json: bool) -> None:
    """Show what the stream recorded in LEDGER has spent in its current window, and what is left.

    LEDGER is the file, or the directory of its releases. It is only read: another process can be
    publishing with it.
    """
    from psgraph.publication.ledger import Ledger
    from psgraph.publication.locations import ledger_at
    from psgraph.publication.terms import Promise, Spending

    path = ledger_at(ledger)
    with Ledger(path, writing=False) as opened:
        promise, spending = Promise.under(opened.terms), Spending.of(opened.accountant())
        if as_json:
            print_json(_report(opened, promise, spending) | _lost(opened, lifetime))
        else:
            _show(opened, promise, spending)
            if lifetime is not None:
                _show_lifetime(opened, spending, lifetime)


def _report(ledger: Ledger, promise: Promise, spending: Spending) -> dict[str, Any]:
    guarantee, times = spending.guarantee, ledger.stated_times()
    nodes = ledger.declared_nodes()
    since = spending.timestamps - len(spending.spends)
    return {
        "ledger": str(ledger.path),
        **promise.to_dict(),
        "method": ledger.terms.method,
        "noise": ledger.noise,
        "roster": None if nodes is None else nodes.declared,
        **({"labels": list(nodes.labels)} if nodes is not None and nodes.labels else {}),
        "times": None if times is None else str(times),
        **guarantee.to_dict(),
        "window_in_time": None if times is None else times.window(guarantee.window, ledger.times()),
        "timestamps": spending.timestamps,
        "spent": exact_decimal(spending.spent),
        "left": exact_decimal(guarantee.epsilon - spending.spent),
        "next_timestamp": exact_decimal(spending.remaining),
        "current_window": [
            {"timestamp": timestamp, "time": time, "spent": exact_decimal(spent)}
            for timestamp, time, spent in ledger.spends(since=since)
        ],
    }


def _losses(ledger: Ledger, lifetime: int) -> list[Fraction]:
    from psgraph.publication.terms import lifetime_losses

    return lifetime_losses([spent for _, _, spent in ledger.spends()], lifetime)


def _lost(ledger: Ledger, lifetime: int | None) -> dict[str, Any]:
    if lifetime is None:
        return {}
    losses = enumerate(_losses(ledger, lifetime), start=1)
    return {"lifetimes": [{"timestamps": n, "lost": exact_decimal(each)} for n, each in losses]}


def _show_lifetime(ledger: Ledger, spending: Spending, lifetime: int) -> None:
    """Print the largest loss for each lifetime where it grows."""
    losses = _losses(ledger, lifetime)
    largest, longest = losses[-1] or Fraction(1), min(LONGEST_BAR, results().width // 3)
    rows = [
        (str(number), "█" * _length(loss, largest, longest), brief(loss))
        for number, loss in enumerate(losses, start=1)
        if number in (1, lifetime) or loss > losses[number - 2]
    ]
    console = results()
    console.print(f"\nThe most that {spending.guarantee.unit.noun} can have lost", style="bold")
    console.print(table(("timestamps present", "", "ε"), rows, left=2))
    console.print(
        "The largest sum of what was spent at that many consecutive timestamps; lifetimes with the "
        "same loss as a shorter one are left out.",
        style="dim",
    )


def _show(ledger: Ledger, promise: Promise, spending: Spending) -> None:
    guarantee = spending.guarantee
    spent, left = spending.spent, guarantee.epsilon - spending.spent
    rows = [
        ("Private", promise.verdict),
        ("Promise", str(promise)),
        ("Method", ledger.terms.method),
        ("Noise", _NOISE.get(ledger.noise, "the sampler is not recorded")),
        ("Window", window_words(guarantee.window, ledger.stated_times(), ledger.times())),
        ("Published", count(spending.timestamps, "timestamp")),
        ("Spent", f"{budget_words(spent)} in the current window ({spending.window})"),
        ("Left", f"{budget_words(left)} of {budget_words(guarantee.epsilon)} in that window"),
        ("Next timestamp", f"can spend up to {budget_words(spending.remaining)}"),
    ]
    console = results()
    console.print(f"The budget of {ledger.path}", style="bold")
    console.print(facts(rows))
    if sys.stdout.isatty() and spending.timestamps:
        console.print()
        console.print(_chart(ledger, spending, longest=min(LONGEST_BAR, console.width // 3)))


def _chart(ledger: Ledger, spending: Spending, *, longest: int) -> Any:
    """Spends of the last timestamps; those of the current window with a full bar."""
    latest = list(ledger.spends(since=max(0, spending.timestamps - MOST_BARS)))
    largest = max(spent for _, _, spent in latest) or Fraction(1)
    inside = spending.timestamps - len(spending.spends)
    rows = [
        (
            str(timestamp),
            time or "",
            ("█" if timestamp >= inside else "░") * _length(spent, largest, longest),
            brief(spent),
        )
        for timestamp, time, spent in latest
    ]
    return table(("timestamp", "time", "█ in the current window", "ε spent"), rows, left=3)


def _length(spent: Fraction, largest: Fraction, longest: int) -> int:
    """The length of a bar; a timestamp that spent nothing has none."""
    return max(1, round(longest * spent / largest)) if spent else 0
