"""``psgraph plan``: how noisy a publication would be."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import exact_decimal, significant
from psgraph.cli.help import Command
from psgraph.cli.screen import print_json, results, table
from psgraph.cli.shared import epsilon_option, json_option, method_option, window_option
from psgraph.privacy.guarantee import WEventPrivacy

if TYPE_CHECKING:
    from psgraph.publication.planning import Plan

__all__ = ["command"]

#: What one noisy value of a measurement is about.
_SUBJECTS = {
    "edges": "the number of edges",
    "inner degrees": "a node's inner degree",
    "outer degrees": "a node's outer degree",
    "community edges": "the edges between two communities",
    "super-graph edges": "the edges between two super-nodes",
}


@click.command(
    "plan",
    cls=Command,
    short_help="Show the noise scales before anything is spent.",
    examples=["psgraph plan --nodes 10000 --epsilon 1 --window 5"],
)
@click.option(
    "--nodes", type=click.IntRange(min=0), metavar="N", required=True, help="Nodes on the roster."
)
@epsilon_option()
@window_option()
@method_option
@json_option
def command(nodes: int, epsilon: Fraction, window: int, method: str, as_json: bool) -> None:
    """Show what each timestamp would measure and how noisy it would be.

    Looks at no data and spends nothing.
    """
    from psgraph.publication.planning import plan

    made = plan(WEventPrivacy(epsilon, window=window), nodes=nodes, method=method)
    if as_json:
        print_json(made.to_dict())
    else:
        _show(made)


def _show(plan: Plan) -> None:
    guarantee = plan.guarantee
    console = results()
    console.print(
        f"{plan.method} on {plan.nodes:,} nodes: {guarantee},\n"
        f"ε = {exact_decimal(guarantee.per_timestamp)} for each timestamp."
    )
    for case in dict.fromkeys(row.case for row in plan.rows):
        rows = [
            (
                row.label,
                exact_decimal(row.epsilon),
                str(row.sensitivity),
                significant(row.scale),
                f"{_SUBJECTS.get(row.label, f'each value of {row.label}')} "
                f"will be off by about {significant(row.scale)}",
            )
            for row in plan.rows
            if row.case == case
        ]
        shown = table(("measured", "ε", "sensitivity", "noise scale", "in words"), rows)
        shown.columns[-1].justify = "left"
        console.print(f"\n{case[0].upper()}{case[1:]}", style="bold")
        console.print(shown)
    if plan.method == "psgraph":
        console.print(f"\n{_decision(plan)}")


def _decision(plan: Plan) -> str:
    """What the noise means for keeping communities. Two noises differ by 1.5 scales on average."""
    alone = 1.5 * next(row.scale for row in plan.rows if row.label == "edges")
    return (
        f"Communities are found again when the noisy number of edges moves by more than "
        f"{plan.nodes:,}\nfrom one timestamp to the next (threshold 1 × nodes); "
        f"noise alone moves it by about {significant(alone)}."
    )
