"""``psgraph backup``: copy the directory of a service while it runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from psgraph._runtime.extras import require_service
from psgraph._runtime.numbers import count
from psgraph.cli.flags import database_option, json_option
from psgraph.cli.help import Command
from psgraph.cli.screen import note

__all__ = ["command"]


@click.command(
    "backup",
    cls=Command,
    short_help="Copy a service while it runs.",
    examples=[
        "psgraph backup service backups/2026-01-31",
        "psgraph backup service backups/2026-01-31 --database postgresql://psgraph@db/psgraph",
    ],
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("to", metavar="TO", type=click.Path(path_type=Path))
@database_option
@json_option
def command(directory: Path, to: Path, database: str | None, as_json: bool) -> None:
    """Copy DIR, the directory of `psgraph serve`, to the new directory TO while it runs.

    TO is a complete directory: `psgraph serve TO` continues from it. A PostgreSQL database is
    copied into the file that a service without one has.

    The copy is as sensitive as the data. Never continue from one that is older than the last
    release anyone has seen: its ledgers would measure the same data again.
    """
    require_service()

    from psgraph.service.backup import back_up
    from psgraph.service.database import Database

    opened: Database | None = None
    if database is not None:
        from psgraph.service.postgres import PostgresDatabase

        opened = PostgresDatabase(database)
    try:
        backup = back_up(directory, to, opened)
    finally:
        if opened is not None:
            opened.close()
    if as_json:
        click.echo(json.dumps({"to": str(to), **vars(backup)}))
        return
    click.echo(f"Copied {count(len(backup.sealed), 'stream')} to {to}")
    for name, sealed in backup.sealed.items():
        click.echo(f"  {name}: {count(sealed, 'timestamp')}")
    for name, out in backup.elsewhere.items():
        click.echo(f"  {name}: not copied, back up {out} and its ledger yourself")
    note("Encrypt it: it holds private data, ledgers and keys.")
