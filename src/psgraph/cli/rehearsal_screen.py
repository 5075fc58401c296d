"""A rehearsal on the screen, and as a comment in a configuration file."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

from psgraph._runtime.numbers import brief, count
from psgraph.cli.screen import facts, fitted, print_tables, results
from psgraph.reports.rehearsal import (
    CAUTION,
    LEGEND,
    NOTHING_PRIVATE,
    all_metrics_table,
    described,
    explanations,
    recommendations,
    rehearsal_table,
    resemblance,
    smallest_epsilons,
)

if TYPE_CHECKING:
    from psgraph.trust.rehearsal import Rehearsal

__all__ = ["comment_lines", "show_rehearsal"]


def show_rehearsal(found: Rehearsal, *, all_metrics: bool) -> None:
    """Print the table, what its numbers mean, and what would suffice."""
    console = results()
    console.print(f"Rehearsed on a public stream like {found.like}", style="bold")
    console.print(f"{described(found.shape)}.")
    if found.shape != found.template:
        console.print(f"Resized from {described(found.template)}.", style="dim")
    console.print(f"{NOTHING_PRIVATE}\n")
    columns, rows = rehearsal_table(found)
    for shown in fitted(columns, rows, width=console.width, optional=("change",)):
        _divide(shown, found)
        console.print(shown)
    console.print(f"{LEGEND}   mean ± standard deviation over repetitions", style="dim")
    if any(not cell.promise.kept for cell in found.cells):
        console.print("† does not keep the promise; see `psgraph methods`", style="dim")
    console.print(facts(explanations()), style="dim")
    if all_metrics:
        console.print()
        columns, rows = all_metrics_table(found)
        print_tables(fitted(columns, rows, width=console.width))
    console.print()
    columns, rows = smallest_epsilons(found)
    print_tables(fitted(columns, rows, left=len(columns), width=console.width))
    console.print("\nThe smallest ε that answers every question that can be answered", style="bold")
    for line in recommendations(found):
        console.print(line)
    console.print(f"Both judged {CAUTION}.", style="dim")
    for line in _shortfall(found):
        console.print(line, style="yellow")


def _divide(shown: Any, found: Rehearsal) -> None:
    """Draw a line between windows."""
    for number, (cell, following) in enumerate(zip(found.cells, found.cells[1:], strict=False)):
        shown.rows[number].end_section = cell.guarantee.window != following.guarantee.window


def _shortfall(found: Rehearsal) -> list[str]:
    """What time, or the length of the public stream, did not suffice for."""
    warning = resemblance(found)
    lines = [warning] if warning else []
    if found.unfinished:
        names = [
            f"{method} with w = {guarantee.window}, ε = {brief(guarantee.epsilon)}"
            for method, guarantee in found.unfinished
        ]
        lines.append(f"Not finished in time: {'; '.join(names)}.")
    fewest = min(len(cell.runs) for cell in found.cells)
    if fewest < found.repetitions:
        lines.append(f"Some choices have {count(fewest, 'repetition')} of {found.repetitions}.")
    longest = max(found.windows)
    if found.shape.timestamps < longest:
        lines.append(
            f"The stream has {count(found.shape.timestamps, 'timestamp')}, fewer than w = "
            f"{longest}: what is learned over a whole window is not shown."
        )
    return lines


def comment_lines(found: Rehearsal, made_by: str) -> list[str]:
    """The table and the recommendations as plain lines."""
    from rich.console import Console

    sink = StringIO()
    console = Console(file=sink, width=94, highlight=False, markup=False, emoji=False)
    columns, rows = rehearsal_table(found)
    console.print(f"On a public stream like {found.like}: {described(found.shape)}.")
    console.print(f"Made by: {made_by}\n", soft_wrap=True)
    for shown in fitted(columns, rows, width=console.width):
        _divide(shown, found)
        console.print(shown)
    console.print(LEGEND)
    for line in recommendations(found):
        console.print(line)
    return [line.rstrip() for line in sink.getvalue().splitlines()]
