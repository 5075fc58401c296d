"""``psgraph publish``: a stream in, a directory of releases out."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import count
from psgraph.cli.config import config_option
from psgraph.cli.flags import EngineChoice, engine_options, json_option
from psgraph.cli.help import Command
from psgraph.cli.input import input_options, is_prepared, refuse_private_files
from psgraph.cli.publication import (
    Publication,
    Tally,
    publication_options,
    publish_source,
    window_words,
)
from psgraph.cli.screen import facts, note, print_json, results

if TYPE_CHECKING:
    from psgraph.streams.options import InputOptions

__all__ = ["command"]


@click.command(
    "publish",
    cls=Command,
    short_help="Publish a stream as synthetic graphs with certificates.",
    examples=[
        "psgraph publish edges.parquet --roster nodes.csv --epsilon 1 --window 5 --out releases",
        "psgraph publish 'days/*.txt.gz' --roster-from-edges --epsilon 1 --window 7 --out releases",
        "psgraph publish calls.csv --every 1mo --roster staff.csv --epsilon 1/2 --window 12 "
        "--out out",
        "psgraph publish s3://bucket/store --engine dask --epsilon 1 --window 5 --out releases",
    ],
)
@config_option()
@input_options
@publication_options
@click.option(
    "--noise",
    type=click.Choice(["exact", "opendp"]),
    default="exact",
    show_default=True,
    help="Who draws the Laplace noise: psgraph's exact sampler, or the OpenDP library (slow).",
)
@engine_options
@json_option
def command(
    source: InputOptions,
    publication: Publication,
    noise: str,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Publish every snapshot of INPUT as a synthetic graph with a certificate.

    INPUT is a Parquet, CSV or TSV file (also .gz, .zst) with columns t, u, v; a directory or a
    quoted pattern with one file per timestamp; or, with --every, a table of events with columns
    u, v, time. - reads a table from standard input. --columns names other columns. A store that
    psgraph prepare wrote needs none of the options of INPUT.

    DIR gets NNNNNN.parquet (columns u, v) and NNNNNN.json (what was promised and spent) for
    every timestamp, and the node lists in DIR/nodes. With more than 131,072 nodes NNNNNN is a
    directory of Parquet parts. All of INPUT is checked before the first release is made. The
    same command continues an interrupted run and spends nothing twice.

    --set gives a method its parameters, for example --set threshold=0.5; psgraph methods lists
    them.
    """
    from psgraph.publication.publisher import Publisher

    refuse_private_files(source, publication.out)
    arguments = publication.arguments(noise=noise)
    with engine.open(str(source.source) if is_prepared(source) else None) as opened:
        begin = partial(Publisher, engine=opened, **arguments)
        tally = publish_source(source, arguments["method"], begin)

    if (tally.self_loops or tally.duplicates) and sys.stderr.isatty():  # not into a log
        note(
            f"Dropped from the input: {count(tally.self_loops, 'self-loop')} and "
            f"{count(tally.duplicates, 'repeated edge')}. (For the curator only: this depends on "
            "the edges.)"
        )
    if as_json:
        guarantee = publication.guarantee
        print_json(
            {
                **tally.facts(),
                **guarantee.to_dict(),
                "window_in_time": tally.window_in_time(guarantee.window),
                "held_back": tally.held_back,
                "out": str(publication.out),
                "ledger": str(arguments["ledger"]),
            }
        )
    else:
        _show(tally, publication.out, arguments["ledger"])


def _show(tally: Tally, out: Path, ledger: Path) -> None:
    certificate = tally.certificate
    assert certificate is not None
    last = tally.timestamps - 1
    seconds = ", ".join(f"{name} {spent:.2f}" for name, spent in list(tally.seconds.items())[1:])
    rows = [
        ("Private", certificate.promise.verdict),
        ("Promise", certificate.promise.text),
        ("New", _new(tally)),
        ("Roster", certificate.roster),
        ("Window", window_words(certificate.guarantee.window, tally.times, tally.names)),
        ("Method", f"{certificate.method}, version {certificate.version}"),
        ("Nodes", f"{tally.nodes:,}"),
        ("Edges", f"{tally.edges:,} over all releases"),
    ]
    if tally.chart is not None and tally.renewed is not None:
        reused = tally.timestamps - tally.renewed
        told = f"recomputed at {count(tally.renewed, 'timestamp')}, reused at {reused:,}"
        rows.append((tally.chart.key.replace("_", " ").capitalize(), told))
    rows += [
        ("Seconds", f"{tally.seconds['total']:.2f} ({seconds})"),
        ("Files", _files(out, last)),
        ("Ledger", f"{ledger}, for you alone: as sensitive as the data"),
    ]
    console = results()
    done = "Published" if tally.new else "Nothing to do, already published:"
    console.print(f"{done} {count(tally.timestamps, 'timestamp')} to {out}", style="bold")
    console.print(facts(rows))


def _new(tally: Tally) -> str:
    """Say what this run added, and what it spent on the rest: nothing."""
    kept = tally.timestamps - tally.new
    if not tally.new:
        return "nothing: all were already published, and this run has spent nothing"
    if kept:
        return f"{count(tally.new, 'timestamp')}; {kept:,} already published, which cost nothing"
    return count(tally.new, "timestamp")


def _files(out: Path, last: int) -> str:
    first = out / _graph_name(out, 0)
    if not last:
        return f"{first}, with its certificate 000000.json"
    return f"{first} … {_graph_name(out, last)}, each with a .json certificate"


def _graph_name(out: Path, timestamp: int) -> str:
    """The file of a graph, or the directory of its parts."""
    name = f"{timestamp:06d}"
    return name if (out / name).is_dir() else f"{name}.parquet"
