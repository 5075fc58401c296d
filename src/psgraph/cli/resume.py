"""``psgraph resume``: continue a stream where it stopped."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import count
from psgraph.cli.config import config_option
from psgraph.cli.flags import EngineChoice, engine_options, json_option
from psgraph.cli.help import Command
from psgraph.cli.input import input_options, is_prepared, refuse_private_files
from psgraph.cli.publication import Tally, publish_source, window_words
from psgraph.cli.screen import facts, note, print_json, results
from psgraph.errors import exact_decimal

if TYPE_CHECKING:
    from psgraph.streams.options import InputOptions

__all__ = ["command"]


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
@engine_options
@json_option
def command(ledger: Path, source: InputOptions, engine: EngineChoice, as_json: bool) -> None:
    """Continue publishing INPUT with the LEDGER it was started with.

    LEDGER is the file, or the directory of its releases. It holds ε, the window, the method and
    its parameters, the sampler, and where the releases go. INPUT is the whole stream from its first
    timestamp, as it was given to `publish`, with more at its end: what is sealed is compared with
    the ledger and costs nothing, the rest is published.
    """
    from psgraph.publication.history import reopen_stream
    from psgraph.publication.locations import ledger_at
    from psgraph.publication.publisher import Publisher

    path = ledger_at(ledger)
    with reopen_stream(path) as opened:
        out, sealed = opened.out, opened.history.sealed
        refuse_private_files(source, out)
        with engine.open(str(source.source) if is_prepared(source) else None) as running:
            begin = partial(Publisher.resume, opened, replay=True, engine=running)
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
        _show(tally, known, path, out)


def _show(tally: Tally, known: int, ledger: Path, out: Path | None) -> None:
    certificate = tally.certificate
    assert certificate is not None
    spent = exact_decimal(certificate.window_spent)
    epsilon = exact_decimal(certificate.guarantee.epsilon)
    rows = [
        ("Already sealed", f"{known:,}, handed back without spending anything"),
        ("New", f"{tally.timestamps - known:,}"),
        ("Private", certificate.promise.verdict),
        ("Promise", certificate.promise.text),
        ("Window", window_words(certificate.guarantee.window, tally.times, tally.names)),
        ("Spent", f"{spent} of {epsilon} in the window that ends with the last timestamp"),
        ("Seconds", f"{tally.seconds['total']:.2f}"),
        ("Files", "none: this stream is not written to a directory" if out is None else str(out)),
    ]
    console = results()
    console.print(f"Resumed {ledger}", style="bold")
    console.print(facts(rows))
