"""``psgraph serve``: streams, releases and the budget over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import click

from psgraph._runtime.durable import write_whole
from psgraph._runtime.extras import require_service
from psgraph.cli.flags import database_option, json_option, releases_option
from psgraph.cli.help import Command
from psgraph.cli.screen import note

__all__ = ["command"]


def _adoption(text: str) -> tuple[str, Path]:
    name, equals, directory = text.partition("=")
    if not equals or not name or not directory:
        raise click.UsageError(f"--adopt takes NAME=DIR, not {text!r}")
    return name, Path(directory)


@click.command(
    "serve",
    cls=Command,
    short_help="Serve streams, releases and a dashboard over HTTP.",
    examples=[
        "psgraph serve service",
        "psgraph serve service --adopt calls=releases",
        "psgraph serve service --workers 0 --database postgresql://psgraph@db/psgraph",
        "psgraph serve front --read-only --database postgresql://psgraph@db/psgraph "
        "--releases s3://bucket/releases",
        "psgraph serve service --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem "
        "--hostname psgraph.example.org",
    ],
)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8765,
    show_default=True,
    help="The port; 0 takes a free one, which is printed.",
)
@click.option(
    "--tls-cert",
    metavar="FILE",
    type=click.Path(exists=True, path_type=Path),
    help="The certificate chain of the service (PEM).",
)
@click.option(
    "--tls-key",
    metavar="FILE",
    type=click.Path(exists=True, path_type=Path),
    help="The private key of the certificate (PEM).",
)
@click.option("--behind-proxy", is_flag=True, help="A proxy in front of the service handles TLS.")
@click.option(
    "--proxy-address",
    "proxy_addresses",
    metavar="ADDRESS",
    multiple=True,
    help="The address or network of the proxy, unless it is on this machine; may be repeated.",
)
@click.option(
    "--hostname",
    "hostnames",
    metavar="NAME",
    multiple=True,
    help="A name that clients use for the service; may be repeated.",
)
@click.option(
    "--adopt",
    metavar="NAME=DIR",
    multiple=True,
    help="Serve the stream that `psgraph publish` wrote to DIR; may be repeated.",
)
@click.option(
    "--measure-again",
    metavar="NAME",
    multiple=True,
    help="Continue a stream that stopped because a timestamp was measured too often and never "
    "sealed; find out why first. May be repeated.",
)
@click.option("--new-curator-token", is_flag=True, help="Print a new curator token.")
@click.option(
    "--new-administrator-token",
    is_flag=True,
    help="Print a token that manages tokens and streams, and sees no data.",
)
@click.option(
    "--new-key",
    is_flag=True,
    help="Replace DIR/key, which is lost: posts made before are no longer recognised.",
)
@click.option(
    "--token-file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the curator token to FILE, for its owner only, instead of printing it.",
)
@click.option(
    "--max-upload-bytes",
    type=click.IntRange(min=1),
    default=256 << 20,
    show_default=True,
    metavar="N",
    help="The size of an upload, as sent and decompressed.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(min=1),
    default=10_000_000,
    show_default=True,
    metavar="N",
    help="The rows of an upload.",
)
@click.option(
    "--upload-seconds",
    type=click.FloatRange(min=0.1),
    default=300.0,
    show_default=True,
    metavar="S",
    help="The time an upload can take.",
)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    default=100.0,
    show_default=True,
    metavar="N",
    help="Requests per second for each token; five times as many at once.",
)
@click.option(
    "--wrong-tokens",
    type=click.IntRange(min=1),
    default=30,
    show_default=True,
    metavar="N",
    help="Wrong tokens per minute and address before all are refused.",
)
@click.option(
    "--uploads",
    type=click.IntRange(min=1),
    default=16,
    show_default=True,
    metavar="N",
    help="Uploads that are received at the same time, half of them with one token; others are "
    "asked to try again.",
)
@click.option(
    "--upload-memory",
    type=click.IntRange(min=1),
    default=1536 << 20,
    show_default=True,
    metavar="N",
    help="The bytes of memory to read uploads; a single one can take all of it.",
)
@click.option(
    "--connections",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Connections at the same time; half of the files that the system allows at most.",
)
@click.option(
    "--session-minutes",
    type=click.FloatRange(min=0.01),
    default=60.0,
    show_default=True,
    metavar="N",
    help="How long a browser stays signed in.",
)
@click.option(
    "--workers",
    type=click.IntRange(0, 1),
    default=1,
    show_default=True,
    help="0: publish nothing, which `psgraph worker` does, in as many processes as needed.",
)
@click.option(
    "--read-only",
    is_flag=True,
    help="Only show releases, from --releases: DIR holds nothing private and is not shared.",
)
@database_option
@releases_option
@json_option
def command(
    directory: Path,
    adopt: tuple[str, ...],
    measure_again: tuple[str, ...],
    new_curator_token: bool,
    new_administrator_token: bool,
    new_key: bool,
    token_file: Path | None,
    max_upload_bytes: int,
    max_rows: int,
    upload_seconds: float,
    rate: float,
    wrong_tokens: int,
    uploads: int,
    upload_memory: int,
    connections: int,
    workers: int,
    read_only: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Serve the streams in DIR: curators post data, analysts download releases.

    DIR is created at the first start, which prints a curator token once. Only its hash is kept.
    Other tokens are created with it, on the dashboard or over HTTP.

    The service listens on this machine only, unless --host names another address. That needs
    --tls-cert and --tls-key, or --behind-proxy.

    One process does everything by default. With --workers 0 it answers requests only, and can be
    started several times; `psgraph worker` publishes.

    Ctrl-C or SIGTERM ends it after the timestamp in progress, with exit code 0.
    """
    require_service()
    adoptions = [_adoption(text) for text in adopt]

    from psgraph.service.app import serve
    from psgraph.service.audit_log import SERVICE
    from psgraph.service.service import Service
    from psgraph.service.settings import Limits, Settings

    limits = Limits(
        upload_bytes=max_upload_bytes,
        upload_rows=max_rows,
        upload_seconds=upload_seconds,
        requests_per_second=rate,
        burst=max(1, int(5 * rate)),
        failures_per_minute=wrong_tokens,
        concurrent_uploads=uploads,
        upload_memory=upload_memory,
        connections=connections,
    )
    part: Literal["all", "web", "reader"] = "all" if workers else "web"
    part = "reader" if read_only else part
    settings = Settings(directory, limits=limits, part=part, **options)
    service = Service(settings, new_key=new_key)
    try:
        for name, out in adoptions:
            service.streams.adopt(name, out)
        streams = {stream.name: stream for stream in service.streams}
        for name in measure_again:
            if name not in streams:
                raise click.UsageError(f"--measure-again names no stream of {directory}: {name!r}")
            service.streams.measure_again(streams[name], SERVICE)
        token = None if read_only else service.first_token(again=new_curator_token)
        if new_administrator_token:
            click.echo(f"Administrator token: {service.new_administrator()}", err=as_json)
        if token is not None and token_file is not None:
            write_whole(token_file, f"{token}\n".encode(), owner_only=True)
            token = None
    except BaseException:
        service.stop()
        raise
    serve(
        service,
        settings,
        announce=lambda address: _announce(address, token, as_json=as_json),
    )


def _announce(address: str, token: str | None, *, as_json: bool) -> None:
    """Print the address and, once, the token; `note` keeps hints out of a pipe."""
    if as_json:
        click.echo(json.dumps({"url": address, "curator_token": token}))
        return
    click.echo(f"Serving on {address}")
    if token is not None:
        click.echo(f"Curator token: {token}")
        note("Keep the token: it is shown once. Ctrl-C or SIGTERM stops the service.")
