"""``psgraph demo``: a synthetic stream published, compared and drawn."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph.cli.compare import CURATOR_ONLY
from psgraph.cli.flags import epsilon_option, seed_option, window_option
from psgraph.cli.help import Command
from psgraph.cli.screen import compiling, fitted, print_tables, progress, results, waiting
from psgraph.errors import MissingExtra, OutputError, exact_decimal
from psgraph.methods import COMPARED_METHODS
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.graph import Snapshot
    from psgraph.metrics.comparison import Comparison, Row
    from psgraph.metrics.metric import Metric
    from psgraph.publication.certificate import Release

__all__ = ["command", "shown_metrics"]

WITH_LABELS = f"{COMPARED_METHODS[-1]}-with-labels"
_MARK = ".psgraph-demo"  # says that the files may be replaced
_PICTURES = ("picture.png", "picture.svg")


@click.command(
    "demo",
    cls=Command,
    short_help="Publish a synthetic stream by two methods, with and without labels; compare, draw.",
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
@epsilon_option(default="0.5")
@window_option(default=3)
@seed_option
def command(out: Path, epsilon: Fraction, window: int, seed: int | None) -> None:
    """Publish a synthetic stream by two methods, compare with the original, draw one month.

    The stream has the messages of a fictional company over twelve months, with departments, hubs,
    people who join, and a merger in September. No real data is in it, so the comparison may be
    shown. It is published by PSGraph, the paper's method, and by PSGraph+, ours, under the same
    promise; by PSGraph+ also with everyone's department as a public label.
    """
    guarantee = WEventPrivacy(epsilon, window=window)
    _clear(out)

    from psgraph.metrics.comparison import warm_up_metrics
    from psgraph.publication.warmup import warm_up
    from psgraph.streams.demo import demo_stream

    with compiling():
        warm_up()
        warm_up_metrics()
    labelled = demo_stream(labels=True)
    plain = demo_stream()
    _write_input(labelled, out)
    runs = [_Run(name, name, plain) for name in COMPARED_METHODS]
    runs.append(_Run(WITH_LABELS, COMPARED_METHODS[-1], labelled))
    with progress("Publishing", length=len(runs) * len(plain)) as advance:
        shown = [_publish(run, labelled, guarantee, out, seed, advance) for run in runs]
    with waiting("Drawing …"):
        picture = _draw(labelled, shown, out)
    _show(labelled, shown, out, picture=picture)


@dataclass(frozen=True)
class _Run:
    """A method, the stream it publishes, and the name of its directory."""

    name: str
    method: str
    stream: list[Snapshot]


@dataclass(frozen=True)
class _Shown:
    """What one run published, and how good it is."""

    name: str
    title: str
    releases: list[Release]
    comparison: Comparison


def _publish(
    run: _Run,
    originals: list[Snapshot],
    guarantee: WEventPrivacy,
    out: Path,
    seed: int | None,
    advance: Callable[[], None],
) -> _Shown:
    """Publish the stream by one method, and compare every release as it is made."""
    from psgraph.methods.registry import find_method
    from psgraph.metrics.comparison import compare
    from psgraph.publication.publisher import Publisher

    releases: list[Release] = []
    chosen = find_method(run.method)()
    title = run.method if run.name == run.method else f"{chosen.title} with labels"
    with Publisher(chosen, guarantee, out=out / run.name, seed=seed) as publisher:

        def published() -> Iterator[Release]:
            for release in publisher.publish_all(run.stream):
                releases.append(release)
                yield release
                advance()

        return _Shown(run.name, title, releases, compare(originals, published()))


def _clear(out: Path) -> None:
    """Remove what an earlier demo left; refuse to touch anything else."""
    try:
        if out.exists() and not out.is_dir():
            raise OutputError(f"{out} is not a directory\nChoose another for --out.")
        if out.is_dir() and any(out.iterdir()) and not (out / _MARK).exists():
            raise OutputError(
                f"{out} is not empty and not from an earlier demo\nChoose another for --out."
            )
        if (out / _MARK).exists():
            for name in (*COMPARED_METHODS, WITH_LABELS):
                _clear_releases(out / name)
                _clear_releases(out / f"{name}.ledger")
        out.mkdir(parents=True, exist_ok=True)
        (out / _MARK).write_text("Made by `psgraph demo`, which may replace it.\n")
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"{out} can't be written: {error.strerror}\nChoose another for --out."
        ) from None


def _clear_releases(directory: Path) -> None:
    """Remove releases and ledgers, and the directory if it is empty then."""
    for pattern in (
        "[0-9]*.parquet",
        "[0-9]*/part-*.parquet",
        "[0-9]*.json",
        "nodes/*.parquet",
        ".*.part",
        "index.csv",
        "ledger.*",
    ):
        for path in directory.glob(pattern):
            path.unlink()
    for emptied in (*directory.glob("[0-9]*"), directory / "nodes", directory):
        with suppress(OSError):  # it is not there, or holds something else
            emptied.rmdir()


def _write_input(stream: list[Snapshot], out: Path) -> None:
    """Write the stream as a curator would have it, to try the other commands on."""
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
    since: dict[int, tuple[str, str]] = {}
    stays = []
    for snapshot in stream:
        assert snapshot.roster.labels is not None
        day, departments = snapshot.time or "", snapshot.roster.labels.column("department")
        for person, department in enumerate(departments):
            joined, before = since.get(person, (day, department))
            if department != before:
                stays.append(f"{person},{joined},{day},{before}")
                joined = day
            since[person] = joined, department or ""
    stays += [f"{person},{day},,{department}" for person, (day, department) in since.items()]
    lines = ["id,from,until,department", *stays]
    write_whole(out / "nodes.csv", "\n".join([*lines, ""]).encode())


def _draw(stream: list[Snapshot], shown: Sequence[_Shown], out: Path) -> str:
    """Draw the last month; returns where it is, or how to get it where matplotlib is missing."""
    from psgraph.pictures import draw_side_by_side

    guarantee = shown[0].releases[-1].certificate.guarantee
    epsilon = exact_decimal(guarantee.epsilon)
    try:
        for name in _PICTURES:
            draw_side_by_side(
                stream[-1],
                {each.title: each.releases[-1].graph for each in shown},
                out / name,
                title=f"The same promise: ε = {epsilon}, w = {guarantee.window}",
                comparisons={each.title: each.comparison for each in shown},
            )
    except MissingExtra as error:
        return f"not drawn: {str(error).replace(chr(10), ' ')}"
    return f"{out / _PICTURES[0]} and {_PICTURES[1]}"


def _rows(stream: list[Snapshot], shown: Sequence[_Shown]) -> list[tuple[str, ...]]:
    """Return the cells of every timestamp, the methods side by side in each, and of the mean."""
    rows = [
        (
            snapshot.time or str(number),
            f"{snapshot.u.size:,}",
            *_metrics([_values(each.comparison.rows[number]) for each in shown]),
        )
        for number, snapshot in enumerate(stream)
    ]
    means = [{**each.comparison.mean.to_dict(), **each.comparison.more_mean} for each in shown]
    return [*rows, ("mean", "", *_metrics(means))]


def _values(row: Row) -> dict[str, float | None]:
    return {**row.fidelity.to_dict(), **row.more}


def shown_metrics() -> tuple[Metric, ...]:
    """Return the metrics of the table, one a column."""
    from psgraph.metrics.groups import GROUPS, PAPER_METRICS

    return (*PAPER_METRICS, GROUPS["labels"].metrics[0])


def _metrics(values: Sequence[Mapping[str, float | None]]) -> Iterator[str]:
    for metric in shown_metrics():
        yield " → ".join(metric.number(each[metric.name]) for each in values)


def _show(stream: list[Snapshot], shown: Sequence[_Shown], out: Path, *, picture: str) -> None:
    from psgraph.pictures.style import method_look

    console = results()
    console.print(str(shown[0].releases[-1].certificate.promise), style="bold")
    titles = " → ".join(method_look(each.title).title for each in shown)
    console.print(f"\n{titles}: the paper's method, and ours", style="bold")
    columns = ("time", "edges", *(f"{each.words} {each.arrow}" for each in shown_metrics()))
    rows = _rows(stream, shown)
    print_tables(fitted(columns, rows, width=console.width, optional=("edges",), total=True))
    console.print(
        "↑ higher is better, 100 at best.  ↓ lower is better, 0 at best.  All in %, divergence in "
        f"nats.  One run is one draw of the noise.  {CURATOR_ONLY}",
        style="dim",
    )
    source = f"{out / 'edges.parquet'} --roster {out / 'nodes.csv'}"
    compared = f"{out / 'edges.parquet'} again --roster {out / 'nodes.csv'} --labels department"
    places = ", ".join(str(out / each.name) for each in shown)
    console.print(
        f"\nPicture    {picture}\n"
        f"Releases   {places}\n"
        f"Input      {out / 'edges.parquet'} and {out / 'nodes.csv'}\n\n"
        "Try, on the same input:\n"
        f"  {_called()} publish {source} --labels department --epsilon 1 --window 5 --out again\n"
        f"  {_called()} compare {compared} --report quality.html",
        soft_wrap=True,
    )


def _called() -> str:
    """Return how to call the command: by its name, or by its path if it is not on PATH."""
    path = Path(sys.argv[0])
    if shutil.which("psgraph") or path.name != "psgraph":
        return "psgraph"
    return str(path)
