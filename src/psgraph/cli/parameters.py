"""Which method with which parameters, under which promise, and where releases go."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph.cli.shared import (
    Checked,
    epsilon_option,
    method_option,
    seed_option,
    window_option,
)
from psgraph.errors import InvalidArgument

if TYPE_CHECKING:
    from psgraph.methods.base import Method
    from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["Settings", "build_method", "publication_options", "settings_option"]

Function = TypeVar("Function", bound=Callable[..., Any])
Settings = Iterable[tuple[str, str]]


def _setting(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``; the method's constructor decides what the value means."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidArgument(f"--set takes NAME=VALUE, not {text!r}")
    return name, value


not_private_option = click.option(
    "--not-private",
    is_flag=True,
    help="Publish although the method, with its parameters, does not keep the promise.",
)
large_epsilon_option = click.option(
    "--yes-large-epsilon",
    "large_epsilon",
    is_flag=True,
    help="Publish although ε is above 20, which protects nothing.",
)
settings_option = click.option(
    "--set",
    "settings",
    type=Checked("setting", _setting),
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the method; may be repeated. `psgraph methods` lists them.",
)


def publication_options(function: Function) -> Function:
    """Add where releases go, under which promise, and by which method."""
    for decorate in (
        settings_option,
        large_epsilon_option,
        not_private_option,
        seed_option,
        method_option,
        window_option(),
        epsilon_option(),
        click.option(
            "--ledger",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The record that keeps the promise over restarts, as sensitive as the data.  "
            "[default: DIR.ledger/ledger.sqlite]",
        ),
        click.option(
            "--out",
            metavar="DIR",
            required=True,
            type=click.Path(path_type=Path),
            help="Where the releases go: new, empty, or that of an earlier run, which is resumed.",
        ),
    ):
        function = decorate(function)
    return function


def build_method(name: str, settings: Settings, guarantee: WEventPrivacy) -> Method[Any, Any]:
    """Build the method that the options describe; refuse an ε too small to draw noise for."""
    from psgraph.methods.base import find_method
    from psgraph.privacy.samplers import Sampler

    kind = find_method(name)
    chosen: dict[str, str] = {}
    for parameter, value in settings:
        if parameter in chosen:
            raise click.UsageError(f"--set {parameter} is given twice\nKeep one of them.")
        chosen[parameter] = value
    try:
        method = kind.from_settings(chosen)
    except InvalidArgument as error:
        raise click.UsageError(f"--set for method {name!r}: {error}") from None
    for row in method.plan(guarantee, nodes=1):
        Sampler.rounded_rate(row.epsilon / (row.sensitivity or 1))
    return method
