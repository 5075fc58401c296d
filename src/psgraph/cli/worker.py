"""``psgraph worker``: publish the streams of a service whose web processes run apart."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import click

from psgraph._runtime.extras import require_service
from psgraph.cli.flags import database_option, releases_option
from psgraph.cli.help import Command

__all__ = ["command"]


@click.command(
    "worker",
    cls=Command,
    short_help="Publish the streams of a service in a process of its own.",
    examples=[
        "psgraph worker service",
        "psgraph worker service --database postgresql://psgraph@db/psgraph",
    ],
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@database_option
@releases_option
def command(directory: Path, database: str | None, releases: str | None) -> None:
    """Publish what is due in DIR, the directory of `psgraph serve DIR --workers 0`.

    Any number of workers can run, on one machine or on several that share DIR. Each stream is
    published by one of them at a time. If a worker dies, another continues its streams within some
    seconds; what it sealed is never measured again.

    Ctrl-C or SIGTERM ends it after the timestamp in progress, with exit code 0.
    """
    require_service()

    from psgraph.service.problems import log
    from psgraph.service.service import Service
    from psgraph.service.settings import Settings

    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    service = Service(Settings(directory, part="worker", database=database, releases=releases))
    try:
        service.start()
        log("started", worker=service.team.name)
        click.echo(f"Publishing {directory}")
        over.wait()
    finally:
        service.stop()
    log("stopped")
