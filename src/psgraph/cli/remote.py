"""``psgraph push`` and ``psgraph pull``: post private edges to a service, get its releases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from psgraph.cli.flags import access_options, json_option
from psgraph.cli.help import Command
from psgraph.cli.screen import facts, note, print_json, progress, results, waiting

if TYPE_CHECKING:
    from psgraph.client import Client
    from psgraph.service.schemas import TimestampView

__all__ = ["pull", "push"]

REFUSED = 3


@click.command(
    "push",
    cls=Command,
    short_help="Post a snapshot or events to a service.",
    examples=[
        "psgraph push https://psgraph.example.org calls 2024-01-05.parquet --timestamp 4 "
        "--token-file token",
        "psgraph push http://127.0.0.1:8765 calls events.csv --events --key 2024-01-05",
    ],
)
@access_options
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--timestamp",
    type=click.IntRange(min=0),
    metavar="T",
    help="The number of the timestamp that FILE is the snapshot of, from 0.",
)
@click.option(
    "--time",
    metavar="NAME",
    help="The public name of the timestamp, such as its date. A stream with a period names its "
    "own.",
)
@click.option("--events", is_flag=True, help="FILE holds events (u, v, time) instead.")
@click.option(
    "--key",
    metavar="NAME",
    help="With --events: a name for this batch. Give it, and the batch can be pushed again after "
    "an error without being added twice.",
)
@click.option(
    "--wait",
    "seconds",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="Wait for the release, at most this long.",
)
@json_option
def push(
    client: Client,
    stream: str,
    file: Path,
    timestamp: int | None,
    time: str | None,
    events: bool,
    key: str | None,
    seconds: float | None,
    as_json: bool,
) -> int:
    """Post FILE (CSV or Parquet, columns u and v) to STREAM of the service at URL.

    It is stored durably before the push returns. Pushing the same data again is harmless: the
    service answers with the same release. Other data for the same timestamp are refused.

    Exit code 3 if the privacy budget refused the timestamp.
    """
    _check_push(timestamp, time, key, seconds, events=events)
    with waiting("Sending …"):
        if events:
            posted = client.push_events(stream, file, key=key)
        else:
            assert timestamp is not None
            posted = client.push(stream, timestamp, file, time=time)
    if posted.also_in:
        note(
            f"The same snapshot was posted to {', '.join(posted.also_in)}: its edges are protected "
            "at the sum of the streams' ε."
        )
    state: TimestampView | None = None
    if seconds is not None and timestamp is not None:
        with waiting("Waiting for the release …"):
            state = client.wait(stream, timestamp, seconds=seconds)
    if as_json:
        print_json((posted if state is None else state).model_dump())
    else:
        rows: list[tuple[str, str]] = [("State", posted.state if state is None else state.state)]
        if state is not None and state.reason:
            rows.append(("Reason", state.reason))
        if state is not None and state.due and not state.final:
            rows.append(("Due", state.due))
        console = results()
        console.print(f"Pushed {file.name} to {stream}", style="bold")
        console.print(facts(rows))
    return REFUSED if state is not None and state.state == "refused" else 0


def _check_push(
    timestamp: int | None, time: str | None, key: str | None, seconds: float | None, *, events: bool
) -> None:
    """Refuse options that contradict each other, before anything is sent."""
    if events and (timestamp is not None or time is not None or seconds is not None):
        raise click.UsageError(
            "--timestamp, --time and --wait are for a snapshot, --events for events\n"
            "The service cuts events at its own ticks."
        )
    if not events and timestamp is None:
        raise click.UsageError(
            "which timestamp is it? Give --timestamp T, or --events if FILE holds events."
        )
    if not events and key is not None:
        raise click.UsageError("--key names a batch of events\nGive --events as well.")


# ---- pull ----


@click.command(
    "pull",
    cls=Command,
    short_help="Download the releases of a service and check them.",
    examples=[
        "psgraph pull https://psgraph.example.org calls --to releases --token-file token",
        "psgraph pull http://127.0.0.1:8765 open-calls --to releases",
    ],
)
@access_options
@click.option(
    "--to",
    "directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="Where the releases go. What is already there is checked and not downloaded again.",
)
@json_option
def pull(client: Client, stream: str, directory: Path, as_json: bool) -> None:
    """Download the releases of STREAM from the service at URL into DIR.

    Every file is checked against its certificate, every certificate against the one before it, and
    every window is added up, as `psgraph verify DIR` does. Run it again to get what is new, or to
    continue after an interruption.
    """
    with progress("Pulling") as step:
        pulled = client.pull(stream, directory, progress=lambda _timestamp: step())
    if not pulled.releases:
        if as_json:
            print_json({"directory": str(directory), "releases": 0, "new": 0})
        else:
            results().print(f"{stream} has no release yet", style="bold")
        return
    from psgraph.publication.verification import verify

    with waiting("Checking …"):
        found = verify(directory)
    if as_json:
        counted = {"directory": str(directory), "releases": pulled.releases, "new": pulled.new}
        print_json({**counted, "verified": found.to_dict()})
        return
    rows = [
        ("Private", found.promise.verdict),
        ("Promise", str(found.promise)),
        ("Releases", f"{pulled.releases:,}, of which {pulled.new:,} new"),
        ("Windows", f"at most {found.spent} spent in any"),
    ]
    console = results()
    console.print(
        f"Pulled {stream} to {directory}; everything is as it was published", style="bold"
    )
    console.print(facts(rows))
