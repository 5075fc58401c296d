"""``psgraph publish``: a stream in, a directory of releases out."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path

import click

from psgraph.cli.help import Command
from psgraph.cli.parameters import Settings, build_method, publication_options
from psgraph.cli.publication import Tally, publish_source
from psgraph.cli.screen import facts, note, print_json, results
from psgraph.cli.shared import (
    Source,
    json_option,
    source_options,
)
from psgraph.errors import exact_decimal
from psgraph.privacy.guarantee import WEventPrivacy

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
    ],
)
@source_options
@publication_options
@click.option(
    "--noise",
    type=click.Choice(["exact", "opendp"]),
    default="exact",
    show_default=True,
    help="Who draws the Laplace noise: psgraph's exact sampler, or the OpenDP library (slow).",
)
@json_option
def command(
    source: Source,
    out: Path,
    ledger: Path | None,
    epsilon: Fraction,
    window: int,
    method: str,
    seed: int | None,
    noise: str,
    as_json: bool,
    settings: Settings,
) -> None:
    """Publish every snapshot of INPUT as a synthetic graph with a certificate.

    INPUT is a Parquet, CSV or TSV file (gzipped too) with columns t, u, v; a directory or a
    quoted pattern with one file per timestamp; or, with --every, a table of events with columns
    u, v, time.

    DIR gets NNNNNN.parquet (columns u, v) and NNNNNN.json (what was promised and spent) for
    every timestamp. All of INPUT is checked before the first is made; a run that was cut off
    goes on with the same command and spends nothing twice.

    --set gives a method its parameters, for example --set threshold=0.5; psgraph methods lists
    them.
    """
    from psgraph.publication.publisher import Publisher
    from psgraph.publication.releases import LEDGER_NAME, ReleaseDirectory

    guarantee = WEventPrivacy(epsilon, window=window)
    chosen = build_method(method, settings, guarantee)
    begin = partial(Publisher, chosen, guarantee, seed=seed, noise=noise)
    begin()  # refuses what can't be; nothing is written yet
    ledger = ledger or out / LEDGER_NAME
    ReleaseDirectory(out).check_usable(ledger=ledger)
    tally = publish_source(source, chosen, partial(begin, out=out, ledger=ledger))

    if tally.self_loops or tally.duplicates:
        note(
            f"Dropped from the input: {tally.self_loops:,} self-loops and {tally.duplicates:,} "
            "repeated edges. (For the curator: it tells something of the edges.)"
        )
    if as_json:
        print_json(
            {
                "timestamps": tally.timestamps,
                "nodes": tally.nodes,
                "edges": tally.edges,
                "repartitions": tally.repartitions,
                "seconds": tally.seconds,
                "epsilon": exact_decimal(epsilon),
                "window": window,
                "out": str(out),
            }
        )
    else:
        _show(tally, out)


def _show(tally: Tally, out: Path) -> None:
    certificate = tally.certificate
    assert certificate is not None
    last = tally.timestamps - 1
    seconds = ", ".join(f"{name} {spent:.2f}" for name, spent in list(tally.seconds.items())[1:])
    rows = [
        ("Private", "yes" if certificate.private else "NO, for research only"),
        ("Promise", certificate.promise),
        ("Roster", certificate.roster),
        ("Method", f"{certificate.method}, version {certificate.version}"),
        ("Nodes", f"{tally.nodes:,}"),
        ("Edges", f"{tally.edges:,} over all releases"),
    ]
    if tally.repartitions is not None:
        kept = tally.timestamps - tally.repartitions
        rows.append(
            ("Communities", f"found at {tally.repartitions:,} timestamps, kept at {kept:,}")
        )
    rows += [
        ("Seconds", f"{tally.seconds['total']:.2f} ({seconds})"),
        ("Files", f"{out / '000000.parquet'} … {last:06d}.parquet, each with a .json certificate"),
    ]
    console = results()
    console.print(f"Published {tally.timestamps:,} timestamps to {out}", style="bold")
    console.print(facts(rows))
