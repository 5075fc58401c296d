"""``psgraph plan``: how noisy a publication would be."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import exact_decimal, significant
from psgraph.cli.help import Command
from psgraph.cli.parameters import Settings, build_method, settings_option
from psgraph.cli.screen import print_json, results, table
from psgraph.cli.shared import epsilon_option, json_option, method_option, window_option
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.publication.planning import Plan

__all__ = ["command"]


@click.command(
    "plan",
    cls=Command,
    short_help="Show the noise scales before anything is spent.",
    examples=[
        "psgraph plan --nodes 10000 --epsilon 1 --window 5",
        "psgraph plan --nodes 10000 --epsilon 1 --window 5 --method der --set order=degrees",
    ],
)
@click.option(
    "--nodes", type=click.IntRange(min=0), metavar="N", required=True, help="Nodes on the roster."
)
@epsilon_option()
@window_option()
@method_option
@settings_option
@json_option
def command(
    nodes: int,
    epsilon: Fraction,
    window: int,
    method: str,
    settings: Settings,
    as_json: bool,
) -> None:
    """Show what each timestamp would measure and how noisy it would be.

    Reads no data and spends nothing.
    """
    from psgraph.publication.planning import plan

    guarantee = WEventPrivacy(epsilon, window=window)
    made = plan(guarantee, nodes=nodes, method=build_method(method, settings, guarantee))
    if as_json:
        print_json(made.to_dict())
    else:
        _show(made)


def _show(plan: Plan) -> None:
    guarantee = plan.guarantee
    console = results()
    charged = (
        f"charged ε = {exact_decimal(guarantee.per_timestamp)} for each timestamp"
        if plan.even
        else f"charged unevenly, never more than ε = {exact_decimal(guarantee.epsilon)} in a window"
    )
    console.print(
        f"{plan.method} on {plan.nodes:,} nodes, {charged}.\n"
        f"Private: {plan.promise.verdict}. {plan.promise}"
    )
    for case in dict.fromkeys(row.case for row in plan.rows):
        rows = [
            (
                row.label,
                exact_decimal(row.epsilon),
                str(row.sensitivity),
                significant(row.scale),
                f"{row.described} will be off by about {significant(row.scale)}",
            )
            for row in plan.rows
            if row.case == case
        ]
        shown = table(("measured", "ε", "sensitivity", "noise scale", "in words"), rows)
        shown.columns[-1].justify = "left"
        console.print(f"\n{case[0].upper()}{case[1:]}", style="bold")
        console.print(shown)
    for remark in plan.remarks:
        console.print(f"\n{remark}")
