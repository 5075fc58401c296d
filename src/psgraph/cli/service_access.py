"""Options of the commands that talk to a service: where it is, and the token, never in argv."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["TOKEN_VARIABLE", "access_options"]

Function = TypeVar("Function", bound=Callable[..., Any])

TOKEN_VARIABLE = "PSGRAPH_TOKEN"

_OPTIONS = (
    click.argument("url", metavar="URL"),
    click.argument("stream", metavar="STREAM"),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"The file that holds the token; otherwise the variable {TOKEN_VARIABLE}. A token is "
        "never an argument: other users of this machine can read those.",
    ),
    click.option(
        "--ca-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The certificates to trust, if the system does not trust that of the service.",
    ),
)


def access_options(function: Function) -> Callable[..., Any]:
    """Add URL, STREAM and the token, passed to the command as `client` and `stream`."""

    @functools.wraps(function)
    def with_client(url: str, token_file: Path | None, ca_file: Path | None, **given: Any) -> Any:
        from psgraph.client import Client

        return function(client=Client(url, _token(token_file), certificates=ca_file), **given)

    decorated: Callable[..., Any] = with_client
    for decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


def _token(file: Path | None) -> str | None:
    """Read the token; None if there is none, which is enough for public streams."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip() or None
    try:
        with file.open(encoding="ascii") as opened:
            return opened.read(1000).strip()
    except (OSError, ValueError):
        raise click.UsageError(
            f"the token in {file} can't be read\nIt holds the token on one line, and nothing else."
        ) from None
