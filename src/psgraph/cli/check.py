"""``psgraph check``: what publishing would do, before anything is spent."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from psgraph._runtime.numbers import budget_words, count
from psgraph.cli.config import config_option
from psgraph.cli.flags import (
    Settings,
    build_method,
    epsilon_option,
    json_option,
    method_option,
    settings_option,
    window_option,
)
from psgraph.cli.help import Command
from psgraph.cli.input import declared_unit, input_options, open_input
from psgraph.cli.publication import times_words
from psgraph.cli.screen import compile_notice, facts, note, print_json, reading, results
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.methods.base import Method
    from psgraph.publication.preview import CheckReport
    from psgraph.streams.options import InputOptions

__all__ = ["command", "run_check", "show_check"]

CURATOR_ONLY = "For the curator only: this depends on the edges"


@click.command(
    "check",
    cls=Command,
    short_help="Show what publishing would do. Curator only.",
    examples=[
        "psgraph check calls.csv --every 1mo --roster staff.csv",
        "psgraph check calls.csv --every 1mo --roster staff.csv --epsilon 1 --window 12",
    ],
)
@config_option()
@input_options
@epsilon_option(required=False)
@window_option(required=False)
@method_option
@settings_option
@json_option
def command(
    source: InputOptions,
    epsilon: Fraction | None,
    window: int | None,
    method: str,
    settings: Settings,
    as_json: bool,
) -> None:
    """Read all of INPUT and show what `publish` would do with it. Nothing is spent or written.

    Shows which columns are read as what, the first and the last timestamp, partial and empty
    periods, how the roster fits, what is dropped, and with --epsilon and --window the length of a
    window in time, the budget of a timestamp, and the time and memory to expect, by a trial on
    random graphs of the same size.

    CURATOR ONLY: the part that is marked so is computed from the private edges without noise.

    Exit code 1 if `publish` would refuse the input. `psgraph publish --dry-run` also checks the
    ledger and the directory.
    """
    if (epsilon is None) != (window is None):
        raise click.UsageError("--epsilon and --window go together\nGive both, or neither.")
    guarantee = chosen = None
    if epsilon is not None and window is not None:
        guarantee = WEventPrivacy(epsilon, window, declared_unit(source))
        chosen = build_method(method, settings, guarantee)
    found = run_check(source, chosen, guarantee)
    if as_json:
        print_json(found.to_dict())
    else:
        show_check(found)


def run_check(
    source: InputOptions,
    method: Method[Any, Any] | None,
    guarantee: WEventPrivacy | None,
    *,
    sealed: int = 0,
) -> CheckReport:
    """Read all of a source, and return what publishing it would do."""
    from psgraph.methods.registry import memory_note
    from psgraph.publication.preview import check
    from psgraph.streams.overflow import Overflow
    from psgraph.streams.stream import held_back_note

    with Overflow() as overflow, reading("Checking the input"), compile_notice():
        stream = open_input(source, overflow)
        found = check(stream, method=method, guarantee=guarantee, sealed=sealed)
    if stream.held_back is not None:
        note(held_back_note(stream.held_back))
    if method is not None and (
        told := memory_note(method, nodes=stream.nodes, prepared=stream.prepared, kind=stream.kind)
    ):
        note(told)
    return found


def show_check(found: CheckReport) -> None:
    """Print a report: what is public first, then what is for the curator."""
    console = results()
    console.print(f"Publishing {found.description} would do this", style="bold")
    new = max(0, len(found.snapshots) - found.sealed)
    kept = len(found.snapshots) - new
    rows = [
        ("Timestamps", f"{len(found.snapshots):,}"),
        ("New", f"{new:,}" + (f"; {kept:,} already published, which cost nothing" if kept else "")),
        ("Times", times_words(found.names)),
        ("", found.times or ""),
        ("Nodes", f"{found.nodes:,}"),
        ("Roster", found.snapshots[-1].roster),
        ("Graphs", _kind_words(found)),
    ]
    rows += _promised(found)
    console.print(facts(rows))
    for remark in found.remarks:
        console.print(f"Warning: {remark}", style="yellow")
    console.print(f"\n{CURATOR_ONLY}", style="bold yellow")
    edges = [each.edges for each in found.snapshots]
    private = [(role, f"column {words}") for role, words in found.columns.items()]
    private += [
        ("Edges", f"{min(edges):,} to {max(edges):,} in a snapshot"),
        *_fit(found),
        (
            "Dropped",
            f"{count(found.self_loops, 'self-loop')}, {count(found.duplicates, 'repeated edge')}",
        ),
    ]
    private += [
        ("Rows" if not number else "", told) for number, told in enumerate(found.curator_notes)
    ]
    if found.cost is not None:
        private.append(("Takes", str(found.cost)))
    console.print(facts(private))
    for remark in found.curator_remarks:
        console.print(f"Warning: {remark}", style="yellow")
    console.print("\nNothing was measured, spent or published.")


def _kind_words(found: CheckReport) -> str:
    """Say which graphs are published, and what of the input is left out."""
    kind = found.kind
    repeats = "repeated rows add up" if kind.weighted else "repeated rows count once"
    loops = "" if kind.two_sided else ", self-loops are left out"
    words = str(kind) if kind.weighted else f"{kind} and unweighted"
    told = f". {found.published_as}" if found.published_as else ""
    return f"{words}: {repeats}{loops}{told}"


def _fit(found: CheckReport) -> list[tuple[str, str]]:
    """How many nodes of the roster have an edge."""
    if found.active is None:
        return []
    least, most = found.active
    shown = f"{least:,}" if least == most else f"{least:,} to {most:,}"
    return [("Roster", f"{shown} of up to {count(found.nodes, 'node')} have an edge in a snapshot")]


def _promised(found: CheckReport) -> list[tuple[str, str]]:
    made = found.plan
    if made is None:
        return []
    guarantee = made.guarantee
    window = count(guarantee.window, "timestamp")
    return [
        ("Private", made.promise.verdict),
        ("Promise", str(made.promise)),
        ("Method", made.method),
        (
            "Window",
            window if found.window_in_time is None else f"{window} = {found.window_in_time}",
        ),
        (
            "Budget",
            f"ε = {budget_words(guarantee.per_timestamp)} for each timestamp"
            if made.even
            else f"divided by need, at most ε = {budget_words(guarantee.epsilon)} in any window",
        ),
    ]
