"""``psgraph publish`` and ``psgraph resume``: a stream in, a directory of releases out."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import budget_words, count
from psgraph._runtime.resources import clear_scratch
from psgraph.cli.check import run_check, show_check
from psgraph.cli.config import config_option
from psgraph.cli.flags import EngineChoice, engine_options, json_option, measure_again_option
from psgraph.cli.help import Command
from psgraph.cli.input import declared_kind, input_options, is_prepared, refuse_private_files
from psgraph.cli.publication import (
    EarlyEnd,
    Publication,
    Tally,
    publication_options,
    publish_source,
    times_words,
    window_words,
)
from psgraph.cli.screen import facts, note, print_json, results

if TYPE_CHECKING:
    from psgraph.streams.options import InputOptions

__all__ = ["publish", "resume"]


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
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what would be done, as `psgraph check` does, and stop. Curator only.",
)
@engine_options
@json_option
def publish(
    source: InputOptions,
    publication: Publication,
    noise: str,
    dry_run: bool,
    engine: EngineChoice,
    as_json: bool,
) -> None:
    """Publish every snapshot of INPUT as a synthetic graph with a certificate.

    INPUT is a Parquet, CSV or TSV file (also .gz, .zst) with columns t, u, v; a directory or a
    quoted pattern with one file per timestamp; or, with --every, a table of events with columns
    u, v, time. - reads a table from standard input. --columns names other columns. A store that
    psgraph prepare wrote needs none of the options of INPUT.

    Releases are undirected and unweighted unless --directed, --left with --right, or --weights
    is given.

    DIR gets NNNNNN.parquet (columns u, v) and NNNNNN.json (what was promised and spent) for
    every timestamp, and the node lists in DIR/nodes. With more than 131,072 nodes NNNNNN is a
    directory of Parquet parts. All of INPUT is checked before the first release is made. The
    same publish continues an interrupted run and spends nothing twice.

    --set gives a method its parameters, for example --set threshold=0.5; psgraph methods lists
    them.
    """
    from psgraph.publication.publisher import Publisher

    clear_scratch()
    refuse_private_files(source, publication.out)
    publication = publication.protecting(source)
    if dry_run:
        _dry_run(source, publication, noise=noise, as_json=as_json)
        return
    with EarlyEnd(publication.out):
        arguments = publication.arguments(declared_kind(source), noise=noise)
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
        _show_published(tally, publication.out, arguments["ledger"])


def _dry_run(source: InputOptions, publication: Publication, *, noise: str, as_json: bool) -> None:
    arguments = publication.arguments(declared_kind(source), noise=noise)
    sealed = _sealed(arguments["ledger"])
    found = run_check(source, arguments["method"], publication.guarantee, sealed=sealed)
    if as_json:
        print_json(found.to_dict())
    else:
        show_check(found)


def _sealed(ledger: Path) -> int:
    """Return how many timestamps a ledger has; it is only read."""
    from psgraph.publication.ledger import Ledger

    if not ledger.exists():
        return 0
    with Ledger(ledger, writing=False) as opened:
        return opened.accountant().timestamps


def _show_published(tally: Tally, out: Path, ledger: Path) -> None:
    certificate = tally.certificate
    assert certificate is not None
    last = tally.timestamps - 1
    seconds = ", ".join(f"{name} {spent:.2f}" for name, spent in list(tally.seconds.items())[1:])
    rows = [
        ("Private", certificate.promise.verdict),
        ("Promise", str(certificate.promise)),
        ("New", _new(tally)),
        ("Times", times_words(tally.names)),
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
    done = "Published"
    if not tally.new:
        done = "Nothing to do, already published:"
        if tally.rewritten:
            files = count(tally.rewritten, "missing file")
            done = f"Wrote {files} again; nothing else to do, already published:"
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


# ---- resume ----


@click.command(
    "resume",
    cls=Command,
    short_help="Continue a stream where it stopped.",
    examples=[
        "psgraph resume releases edges.parquet --roster nodes.csv",
        "psgraph resume releases s3://bucket/store --engine dask",
    ],
)
@config_option(ledger_from_out=True)
@click.argument("ledger", metavar="LEDGER", type=click.Path(path_type=Path))
@input_options
@measure_again_option
@engine_options
@json_option
def resume(
    ledger: Path, source: InputOptions, measure_again: bool, engine: EngineChoice, as_json: bool
) -> None:
    """Continue publishing INPUT with the LEDGER it was started with.

    LEDGER is the file, or the directory of its releases. It holds ε, the window, the method and
    its parameters, the sampler, and where the releases go. INPUT is the whole stream from its first
    timestamp, as it was given to `publish`, with more at its end: what is sealed is compared with
    the ledger and costs nothing, the rest is published.
    """
    from psgraph.publication.history import reopen_stream
    from psgraph.publication.locations import ledger_at, releases_at
    from psgraph.publication.publisher import Publisher

    clear_scratch()
    path = ledger_at(ledger)
    with EarlyEnd(releases_at(ledger)) as early_end, reopen_stream(path) as opened:
        out, sealed = opened.out, opened.history.sealed
        early_end.out = out
        opened.history.check_attempts(again=measure_again)
        refuse_private_files(source, out)
        with engine.open(str(source.source) if is_prepared(source) else None) as running:
            begin = partial(
                Publisher.resume,
                opened,
                replay=True,
                measure_again=measure_again,
                engine=running,
            )
            tally = publish_source(source, opened.method, begin)
    known = min(sealed, tally.timestamps)
    if tally.timestamps < sealed:
        note(
            f"INPUT has {count(tally.timestamps, 'timestamp')} and the ledger {sealed:,}: there "
            "was nothing to do."
        )
    if as_json:
        certificate = tally.certificate
        assert certificate is not None
        print_json(
            {
                **tally.facts(),
                "already_sealed": known,
                **certificate.guarantee.to_dict(),
                "window_in_time": tally.window_in_time(certificate.guarantee.window),
                "held_back": tally.held_back,
                "out": None if out is None else str(out),
                "ledger": str(path),
            }
        )
    else:
        _show_resumed(tally, known, path, out)


def _show_resumed(tally: Tally, known: int, ledger: Path, out: Path | None) -> None:
    certificate = tally.certificate
    assert certificate is not None
    spent = budget_words(certificate.window_spent)
    epsilon = budget_words(certificate.guarantee.epsilon)
    rows = [
        ("Already sealed", f"{known:,}, handed back without spending anything"),
        ("New", f"{tally.timestamps - known:,}"),
        *([("Written again", count(tally.rewritten, "file"))] if tally.rewritten else []),
        ("Times", times_words(tally.names)),
        ("Private", certificate.promise.verdict),
        ("Promise", str(certificate.promise)),
        ("Window", window_words(certificate.guarantee.window, tally.times, tally.names)),
        ("Spent", f"{spent} of {epsilon} in the window that ends with the last timestamp"),
        ("Seconds", f"{tally.seconds['total']:.2f}"),
        ("Files", "none: this stream is not written to a directory" if out is None else str(out)),
    ]
    console = results()
    console.print(f"Resumed {ledger}", style="bold")
    console.print(facts(rows))
