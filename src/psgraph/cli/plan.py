"""``psgraph plan``: how noisy a publication would be."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from psgraph.cli.help import Command
from psgraph.cli.parameters import Settings, build_method, settings_option
from psgraph.cli.screen import print_json, results, table
from psgraph.cli.shared import epsilon_option, json_option, method_option, window_option
from psgraph.errors import exact_decimal
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
    console.print(
        f"{plan.method} on {plan.nodes:,} nodes, "
        f"charged ε = {exact_decimal(guarantee.per_timestamp)} for each timestamp.\n{plan.promise}"
    )
    for case in dict.fromkeys(row.case for row in plan.rows):
        rows = [
            (
                row.label,
                exact_decimal(row.epsilon),
                str(row.sensitivity),
                _number(row.scale),
                f"{row.described} will be off by about {_number(row.scale)}",
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


def _number(value: float) -> str:
    """Format with three significant digits, and commas in large numbers."""
    if value >= 1e6:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
