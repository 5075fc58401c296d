"""Which method, the parameters that only PSGraph has, and ``--set`` for those of any other."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from psgraph.cli.shared import (
    Checked,
    epsilon_option,
    method_option,
    seed_option,
    window_option,
)
from psgraph.errors import InvalidArgument
from psgraph.privacy.guarantee import exact_epsilon

if TYPE_CHECKING:
    from psgraph.methods.base import Method
    from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["build_method", "publication_options", "refuse_foreign_options"]

Function = TypeVar("Function", bound=Callable[..., Any])


def _threshold(text: str) -> Fraction:
    return exact_epsilon(text, name="threshold")


def _setting(text: str) -> tuple[str, str | int | bool]:
    """``name=value``, where the value is true, false, a whole number or else text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidArgument(f"--set takes NAME=VALUE, not {text!r}")
    if value in ("true", "false"):
        return name, value == "true"
    return name, int(value) if value.isdecimal() else value


_OPTIONS = (
    click.option(
        "--set",
        "settings",
        type=Checked("setting", _setting),
        metavar="NAME=VALUE",
        multiple=True,
        help="A parameter of the method; may be given again. psgraph methods lists them.",
    ),
    click.option(
        "--threshold",
        type=Checked("threshold", _threshold),
        metavar="X",
        default="1.0",
        show_default=True,
        help="Find communities again when the noisy number of edges moves by more than X × nodes.",
    ),
    click.option("--no-fusion", is_flag=True, help="Don't average degrees with those before."),
    click.option("--no-postprocess", is_flag=True, help="Don't repair the number of edges."),
    click.option(
        "--always-repartition",
        is_flag=True,
        help="Find communities at every timestamp (PSGraph-R1).",
    ),
    click.option(
        "--choice-constant",
        type=click.Choice(["tight", "reference"]),
        default="tight",
        show_default=True,
        help="How much of its ε the community choice uses: all, or half as in the published code.",
    ),
    click.option(
        "--between",
        type=click.Choice(["printed", "symmetric"]),
        default="printed",
        show_default=True,
        help="Edges between communities: the paper's Equations 3 and 4 as printed, or symmetric.",
    ),
)


def psgraph_options(function: Function) -> Function:
    """``--set`` and the options of ``--method psgraph``, handed over by their names."""
    for decorate in reversed(_OPTIONS):
        function = decorate(function)
    return function


def publication_options(function: Function) -> Function:
    """Where releases go, under which promise, and by which method."""
    for decorate in (
        psgraph_options,
        seed_option,
        method_option,
        window_option(),
        epsilon_option(),
        click.option(
            "--ledger",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The record that keeps the promise over restarts.  [default: DIR/ledger.sqlite]",
        ),
        click.option(
            "--out",
            metavar="DIR",
            required=True,
            type=click.Path(path_type=Path),
            help="Where the releases go: empty, new, or that of the same run, which then goes on.",
        ),
    ):
        function = decorate(function)
    return function


def refuse_foreign_options(method: str, parameters: dict[str, Any]) -> None:
    """Refuse PSGraph's options for another method, rather than ignore them."""
    if method == "psgraph":
        return
    context = click.get_current_context()
    given = [
        f"--{name.replace('_', '-')}"
        for name in parameters
        if name != "settings" and context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if given:
        raise click.UsageError(
            f"{', '.join(given)}: only for --method psgraph, not {method!r}\nLeave it out."
        )


def build_method(
    name: str, parameters: dict[str, Any], guarantee: WEventPrivacy
) -> Method[Any, Any]:
    """The method as the options want it; refuses an epsilon it could not draw noise for."""
    from psgraph.methods.base import find_method
    from psgraph.privacy.samplers import Sampler

    kind = find_method(name)
    chosen: dict[str, Any] = {}
    if name == "psgraph":
        chosen = {
            "threshold": parameters["threshold"],
            "fusion": not parameters["no_fusion"],
            "postprocess": not parameters["no_postprocess"],
            "always_repartition": parameters["always_repartition"],
            "choice_constant": parameters["choice_constant"],
            "between": parameters["between"],
        }
    settings = dict(parameters["settings"])
    known = kind().parameters()
    unknown = sorted(settings.keys() - known.keys())
    if unknown:
        raise click.UsageError(
            f"--set {unknown[0]}: {name} has no such parameter\n"
            f"It has: {', '.join(known) or 'none'}."
        )
    method = kind(**(chosen | settings))
    for row in method.plan(guarantee, nodes=1):
        Sampler.rounded_rate(row.epsilon / row.sensitivity)
    return method
