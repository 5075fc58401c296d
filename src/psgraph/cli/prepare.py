"""``psgraph prepare``: raw input in, a store of de-duplicated Parquet parts out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import count
from psgraph.cli.config import config_option
from psgraph.cli.flags import json_option
from psgraph.cli.help import Command
from psgraph.cli.input import input_options, refuse_private_files, silence_warnings, tell_of_input
from psgraph.cli.screen import facts, print_json, reading, results

if TYPE_CHECKING:
    from psgraph.streams.options import InputOptions

__all__ = ["command"]


@click.command(
    "prepare",
    cls=Command,
    short_help="Sort large input into a store once, for all later runs.",
    examples=[
        "psgraph prepare edges.parquet --roster nodes.csv --to store",
        "psgraph prepare calls.csv --every 1mo --roster staff.csv --to store",
        "psgraph publish store --epsilon 1 --window 12 --out releases",
    ],
)
@config_option()
@input_options
@click.option(
    "--to",
    metavar="STORE",
    required=True,
    help="The new directory, or an address (s3://…). It appears whole or not at all; a directory "
    "only you can enter.",
)
@click.option(
    "--part-nodes",
    type=click.IntRange(min=1),
    default=1 << 17,
    show_default=True,
    metavar="N",
    help="Nodes per part: publishing needs memory for the edges of a few parts.",
)
@json_option
def command(source: InputOptions, to: str, part_nodes: int, as_json: bool) -> None:
    """Read INPUT once and write it to STORE, de-duplicated, sorted and cut into parts.

    INPUT may be larger than memory: sorting uses temporary files beside STORE, about 16 bytes for
    every edge of the largest snapshot. publish, compare and rehearse take STORE instead of INPUT,
    without the options that say how to read it.

    STORE holds the private edges. Protect it like INPUT and never publish it.
    """
    from psgraph.streams.input import prepare

    refuse_private_files(source, Path(to))
    silence_warnings(source)
    reading_options = source.keywords()
    del reading_options["store"]  # prepare has its own
    with reading("Preparing"):
        made = prepare(source.source, to, part_nodes=part_nodes, **reading_options)
    tell_of_input(made)
    if as_json:
        # What was dropped depends on the edges; JSON ends up in logs.
        shown = ("timestamps", "nodes", "parts", "held_back")
        print_json({"path": str(made.path), **{name: getattr(made, name) for name in shown}})
        return
    rows = [
        ("Nodes", f"{made.nodes:,}"),
        ("Parts", f"{made.parts:,} per snapshot at most, {part_nodes:,} nodes each"),
        ("Private", f"{made.path} holds the edges: for you alone"),
    ]
    if sys.stdout.isatty():  # not into a log
        rows.insert(
            2,
            (
                "Dropped",
                f"{count(made.self_loops, 'self-loop')}, {count(made.duplicates, 'repeated edge')}"
                " (for the curator only)",
            ),
        )
    console = results()
    console.print(f"Prepared {count(made.timestamps, 'timestamp')} in {made.path}", style="bold")
    console.print(facts(rows))
