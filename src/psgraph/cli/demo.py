"""``psgraph demo``: a made-up stream published, compared and drawn."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph.cli.compare import CURATOR_ONLY
from psgraph.cli.help import Command
from psgraph.cli.screen import compiling, progress, results, table, waiting
from psgraph.cli.shared import epsilon_option, seed_option, window_option
from psgraph.errors import MissingExtra, OutputError, exact_decimal
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.metrics.report import Comparison, Fidelity
    from psgraph.publication.certificate import Certificate, Release

__all__ = ["command"]

_MARK = ".psgraph-demo"  # says that what is here may be made again
_PICTURES = ("picture.png", "picture.svg")


@click.command(
    "demo",
    cls=Command,
    short_help="Publish a made-up stream, compare it, draw it.",
    examples=["psgraph demo", "psgraph demo --epsilon 1 --window 5 --out /tmp/demo"],
)
@click.option(
    "--out",
    metavar="DIR",
    default="demo",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Where the files go. What an earlier demo left there is replaced.",
)
@epsilon_option(default="2")
@window_option(default=3)
@seed_option
def command(out: Path, epsilon: Fraction, window: int, seed: int | None) -> None:
    """Publish a made-up stream, compare every release with its original, and draw one.

    The stream is a firm's message graph over twelve months, with departments, hubs, people who
    join, and a merger in September. It is nobody's data, so the comparison may be looked at.
    """
    guarantee = WEventPrivacy(epsilon, window=window)
    _clear(out)

    from psgraph.methods.psgraph import PSGraph
    from psgraph.metrics.report import compare
    from psgraph.metrics.warmup import warm_up_metrics
    from psgraph.publication.publisher import Publisher
    from psgraph.publication.warmup import warm_up
    from psgraph.streams.demo import demo_stream

    with compiling():
        warm_up()
        warm_up_metrics()
    stream = demo_stream()
    _write_input(stream, out)
    releases: list[Release] = []
    with (
        progress("Publishing", length=len(stream)) as advance,
        Publisher(PSGraph(), guarantee, out=out / "releases", seed=seed) as publisher,
    ):

        def published() -> Iterator[Release]:
            for release in publisher.publish_all(stream):
                releases.append(release)
                yield release
                advance()

        comparison = compare(stream, published())
    with waiting("Drawing …"):
        picture = _draw(stream, releases, comparison, out)
    _show(stream, releases, comparison, out, picture=picture)


def _clear(out: Path) -> None:
    """Take away what an earlier demo left; refuse to touch anything else."""
    releases = out / "releases"
    try:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is not a directory\nChoose another for --out.")
        if out.is_dir() and any(out.iterdir()) and not (out / _MARK).exists():
            raise OutputError(
                f"{out} is not empty and not from an earlier demo\nChoose another for --out."
            )
        if (out / _MARK).exists():
            for pattern in (
                "[0-9]*.parquet",
                "[0-9]*.json",
                "nodes/*.parquet",
                ".*.part",
                "ledger.sqlite*",  # version 0.1.0
                "../releases.ledger/ledger.sqlite*",
            ):
                for path in releases.glob(pattern):
                    path.unlink()
            with suppress(OSError):  # it is not there, or holds something else
                (releases / "nodes").rmdir()
        out.mkdir(parents=True, exist_ok=True)
        (out / _MARK).write_text("Made by `psgraph demo`, which may replace it.\n")
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"{out} can't be written: {error.strerror}\nChoose another for --out."
        ) from None


def _write_input(stream: list[Snapshot], out: Path) -> None:
    """The made-up stream as a curator would hold hers, to try the other commands on."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from psgraph._runtime.durable import write_whole

    tables = [
        snapshot.to_arrow().add_column(0, "t", pa.array([snapshot.time] * snapshot.u.size))
        for snapshot in stream
    ]
    sink = pa.BufferOutputStream()
    pq.write_table(pa.concat_tables(tables), sink, compression="zstd")
    write_whole(out / "edges.parquet", memoryview(sink.getvalue()))
    joined: dict[int, str] = {}
    for snapshot in stream:
        for person in snapshot.roster.ids.tolist():
            joined.setdefault(person, snapshot.time or "")
    lines = ["id,from", *(f"{person},{day}" for person, day in joined.items())]
    write_whole(out / "nodes.csv", "\n".join([*lines, ""]).encode())


def _draw(
    stream: list[Snapshot], releases: list[Release], comparison: Comparison, out: Path
) -> str:
    """Draw the last pair; returns where it is, or how to get it where matplotlib is missing."""
    from psgraph.pictures import draw_pair

    guarantee = releases[-1].certificate.guarantee
    title = f"PSGraph · ε = {exact_decimal(guarantee.epsilon)}, w = {guarantee.window}"
    try:
        for name in _PICTURES:
            draw_pair(
                stream[-1], releases[-1].graph, out / name, title=title, comparison=comparison
            )
    except MissingExtra as error:
        return f"not drawn: {str(error).replace(chr(10), ' ')}"
    return f"{out / _PICTURES[0]} and {_PICTURES[1]}"


def _metrics(fidelity: Fidelity) -> tuple[str, ...]:
    from psgraph.metrics.groups import PAPER_METRICS

    values = fidelity.to_dict()
    return tuple(metric.shown(values[metric.name]) for metric in PAPER_METRICS)


def _row(snapshot: Snapshot, certificate: Certificate, fidelity: Fidelity) -> tuple[str, ...]:
    summary = certificate.summary
    how = "found" if summary["communities_found"] else "kept"
    return (
        snapshot.time or str(certificate.timestamp),
        f"{snapshot.u.size:,}",
        f"{summary['noisy_edges']:,}",
        f"{summary['communities']} {how}",
        f"{float(certificate.window_spent):.3g}",
        *_metrics(fidelity),
    )


def _show(
    stream: list[Snapshot],
    releases: list[Release],
    comparison: Comparison,
    out: Path,
    *,
    picture: str,
) -> None:
    rows = [
        _row(snapshot, release.certificate, row.fidelity)
        for snapshot, release, row in zip(stream, releases, comparison.rows, strict=True)
    ]
    rows.append(("mean", *[""] * 4, *_metrics(comparison.mean)))
    columns = (
        "time",
        "edges",
        "noisy\nedges",
        "commu-\nnities",
        "ε in\nwindow",
        "eigen-\nvector\noverlap ↑",
        "assorta-\ntivity\nerror ↓",
        "degree\ndiver-\ngence ↓",
        "density\nerror ↓",
        "clus-\ntering\nerror ↓",
    )
    shown = table(columns, rows)
    shown.rows[-2].end_section = True
    console = results()
    console.print(releases[-1].certificate.promise.text, style="bold")
    console.print()
    console.print(shown)
    console.print(
        "↑ higher is better, 100 % at best.  ↓ lower is better, 0 at best.  " + CURATOR_ONLY,
        style="dim",
    )
    console.print(
        f"\nPicture    {picture}\n"
        f"Releases   {out / 'releases'}: NNNNNN.parquet, each with its certificate NNNNNN.json\n"
        f"Input      {out / 'edges.parquet'} and {out / 'nodes.csv'}\n\n"
        "Try, on the same input:\n"
        f"  {_called()} publish {out / 'edges.parquet'} --roster {out / 'nodes.csv'} "
        "--epsilon 1 --window 5 --out again\n"
        f"  {_called()} compare {out / 'edges.parquet'} again --roster {out / 'nodes.csv'} "
        "--report quality.html",
        soft_wrap=True,
    )


def _called() -> str:
    """How to call the command from here: by its name, or by its path where that is not found."""
    path = Path(sys.argv[0])
    if shutil.which("psgraph") or path.name != "psgraph":
        return "psgraph"
    return str(path)
