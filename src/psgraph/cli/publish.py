"""``psgraph publish``: a stream in, a directory of releases out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from psgraph.cli.help import Command
from psgraph.cli.screen import facts, note, print_json, progress, results, waiting
from psgraph.cli.shared import (
    Checked,
    Source,
    epsilon_option,
    json_option,
    method_option,
    seed_option,
    source_options,
    window_option,
)
from psgraph.errors import DataError, exact_decimal
from psgraph.privacy.budget import WEventPrivacy, exact_epsilon

if TYPE_CHECKING:
    from psgraph.certificate import Certificate, Release
    from psgraph.graph import Dropped, Snapshot
    from psgraph.methods.base import Method
    from psgraph.publisher import Publisher

__all__ = ["COMPILING", "Tally", "command", "publish_each"]

COMPILING = "Compiling kernels (first run only) …"
PHASES = ("read", "communities", "perturbation", "seal", "reconstruction", "write")
#: Nodes and edges, of all snapshots together, up to which a stream is kept in memory.
MOST_HELD = 1 << 21


def _threshold(text: str) -> Fraction:
    return exact_epsilon(text, name="threshold")


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
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path),
    help="Where the releases go: empty, new, or that of the same run, which then goes on.",
)
@click.option(
    "--ledger",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The record that keeps the promise over restarts.  [default: DIR/ledger.sqlite]",
)
@epsilon_option()
@window_option()
@method_option
@seed_option
@click.option(
    "--threshold",
    type=Checked("threshold", _threshold),
    metavar="X",
    default="1.0",
    show_default=True,
    help="Find communities again when the noisy number of edges moves by more than X × nodes.",
)
@click.option("--no-fusion", is_flag=True, help="Don't average degrees with the last timestamp.")
@click.option("--no-postprocess", is_flag=True, help="Don't repair the number of edges.")
@click.option(
    "--always-repartition", is_flag=True, help="Find communities at every timestamp (PSGraph-R1)."
)
@click.option(
    "--choice-constant",
    type=click.Choice(["tight", "reference"]),
    default="tight",
    show_default=True,
    help="How much of its ε the community choice uses: all, or half as the published code does.",
)
@click.option(
    "--between",
    type=click.Choice(["printed", "symmetric"]),
    default="printed",
    show_default=True,
    help="Edges between communities: the paper's Equations 3 and 4 as printed, or symmetric.",
)
@click.option(
    "--noise",
    type=click.Choice(["exact", "opendp"]),
    default="exact",
    show_default=True,
    help="Who draws the Laplace noise: psgraph's exact sampler, or the OpenDP library (slow).",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    source: Source,
    out: Path,
    ledger: Path | None,
    epsilon: Fraction,
    window: int,
    method: str,
    seed: int | None,
    noise: str,
    as_json: bool,
    **parameters: Any,
) -> None:
    """Publish every snapshot of INPUT as a synthetic graph with a certificate.

    INPUT is a Parquet, CSV or TSV file (gzipped too) with columns t, u, v; a directory or a
    quoted pattern with one file per timestamp; or, with --every, a table of events with columns
    u, v, time.

    DIR gets NNNNNN.parquet (columns u, v) and NNNNNN.json (what was promised and spent) for
    every timestamp. All of INPUT is checked before the first is made; a run that was cut off
    goes on with the same command and spends nothing twice.

    Only --method psgraph has --threshold, --no-fusion, --no-postprocess, --always-repartition,
    --choice-constant and --between.
    """
    _refuse_foreign_parameters(ctx, method, parameters)

    from psgraph.publisher import Publisher
    from psgraph.releases import LEDGER_NAME, ReleaseDirectory

    chosen = _build_method(method, parameters)
    guarantee = WEventPrivacy(epsilon, window=window)
    _refuse_boundless_noise(chosen, guarantee)
    begin = partial(Publisher, chosen, guarantee, seed=seed, noise=noise)
    begin()  # refuses what can't be; nothing is written yet
    ledger = ledger or out / LEDGER_NAME
    ReleaseDirectory(out).check_usable(begun=ledger.exists())
    tally = _run(source, chosen, partial(begin, out=out, ledger=ledger))

    if tally.dropped.total:
        note(
            f"Dropped from the input: {tally.dropped.self_loops:,} self-loops and "
            f"{tally.dropped.duplicates:,} repeated edges. (For the curator: it tells something "
            "of the edges.)"
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


def _refuse_foreign_parameters(
    ctx: click.Context, method: str, parameters: dict[str, Any]
) -> None:
    if method == "psgraph":
        return
    given = [
        f"--{name.replace('_', '-')}"
        for name in parameters
        if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError(
            f"{', '.join(given)}: only for --method psgraph, not {method!r}\nLeave it out."
        )


def _build_method(name: str, parameters: dict[str, Any]) -> Method[Any, Any]:
    from psgraph.methods.base import find_method

    if name != "psgraph":
        return find_method(name)()
    from psgraph.methods.psgraph import PSGraph

    return PSGraph(
        threshold=parameters["threshold"],
        fusion=not parameters["no_fusion"],
        postprocess=not parameters["no_postprocess"],
        always_repartition=parameters["always_repartition"],
        choice_constant=parameters["choice_constant"],
        between=parameters["between"],
    )


def _refuse_boundless_noise(method: Method[Any, Any], guarantee: WEventPrivacy) -> None:
    """An epsilon too small to draw noise for is found out now and not after reading."""
    from psgraph.privacy.samplers import Sampler

    for row in method.plan(guarantee.per_timestamp, nodes=1):
        Sampler.rounded_rate(row.epsilon / row.sensitivity)


@dataclass
class Tally:
    """What a run came to."""

    timestamps: int = 0
    nodes: int = 0
    edges: int = 0
    repartitions: int | None = None
    dropped: Dropped = field(default_factory=lambda: _nothing_dropped())
    seconds: dict[str, float] = field(default_factory=dict)
    certificate: Certificate | None = None

    def add(self, snapshot: Snapshot, release: Release) -> None:
        """Count one timestamp; nodes are those of the largest roster."""
        self.certificate = release.certificate
        self.timestamps += 1
        self.nodes = max(self.nodes, release.certificate.nodes)
        self.edges += release.certificate.edges
        self.dropped = self.dropped + snapshot.dropped
        found = release.certificate.summary.get("communities_found")
        if found is not None:
            self.repartitions = (self.repartitions or 0) + bool(found)

    def finish(self, seconds: dict[str, float]) -> None:
        """Keep the seconds: in all, and of every phase."""
        names = dict.fromkeys(("total", *PHASES, *seconds))
        self.seconds = {name: round(seconds.get(name, 0.0), 6) for name in names}


def _nothing_dropped() -> Dropped:
    from psgraph.graph import Dropped

    return Dropped()


def _run(source: Source, method: Method[Any, Any], begin: Callable[[], Publisher]) -> Tally:
    """Check the input, compile, publish; start-up and compiling are not on the stopwatch."""
    from psgraph.timing import phase, stopwatch
    from psgraph.warmup import warm_up

    tally = Tally()
    with stopwatch() as seconds:
        with phase("total"):
            stream, length = _checked(source)
        with stopwatch(), waiting(COMPILING):
            warm_up(method)
        with (
            phase("total"),
            progress("Publishing", length=length) as advance,
            begin() as publisher,
        ):

            def count(snapshot: Snapshot, release: Release) -> None:
                tally.add(snapshot, release)
                advance()

            try:
                publish_each(stream, publisher, count)
            except KeyboardInterrupt:
                note(
                    f"{tally.timestamps} of {length} timestamps are published. "
                    "The same command goes on from there."
                )
                raise
    tally.finish(seconds)
    return tally


def _checked(source: Source) -> tuple[Iterable[Snapshot], int]:
    """Read all of the input: what is wrong with it shows before anything is measured.

    A short stream is kept in memory meanwhile; a long one will be read a second time.
    """
    from psgraph.timing import phase

    length = size = 0
    held: list[Snapshot] | None = []
    with phase("read"), waiting("Checking the input …"):
        stream = source.open()
        for snapshot in stream:
            length += 1
            size += snapshot.u.size + len(snapshot.roster)
            if size > MOST_HELD:
                held = None
            elif held is not None:
                held.append(snapshot)
    if not length:
        raise DataError("the input has no snapshot\nGive at least one timestamp.")
    return stream if held is None else held, length


def publish_each(
    stream: Iterable[Snapshot],
    publisher: Publisher,
    keep: Callable[[Snapshot, Release], None],
) -> None:
    """Publish snapshot by snapshot, with reading on the stopwatch.

    Each pair is handed to `keep` and then let go, before the next snapshot is read.
    """
    from psgraph.timing import phase

    snapshots = iter(stream)
    while True:
        with phase("read"):
            snapshot = next(snapshots, None)
        if snapshot is None:
            return
        keep(snapshot, publisher.publish(snapshot))
        del snapshot


def _show(tally: Tally, out: Path) -> None:
    certificate = tally.certificate
    assert certificate is not None
    last = tally.timestamps - 1
    seconds = ", ".join(f"{name} {spent:.2f}" for name, spent in list(tally.seconds.items())[1:])
    rows = [
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
    if not certificate.private:
        console.print("Not private: for research only.", style="bold yellow")
    console.print(facts(rows))
