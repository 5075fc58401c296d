"""``psgraph plan``: how noisy a publication would be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import click

from psgraph._runtime.numbers import NO_VALUE, brief, budget_words, exact_decimal, significant
from psgraph.cli.flags import (
    Settings,
    build_method,
    epsilon_option,
    json_option,
    method_option,
    settings_option,
    window_option,
)
from psgraph.cli.help import Command
from psgraph.cli.screen import fitted, print_json, print_tables, results
from psgraph.errors import InvalidArgument
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Edge, Unit
from psgraph.streams.option import chosen_owner

if TYPE_CHECKING:
    from rich.console import Console

    from psgraph.publication.planning import OwnerCost, Plan, Range

__all__ = ["command"]

_AROUND = (Fraction(1, 2), 1, 2)  # times ε, worth rehearsing


@click.command(
    "plan",
    cls=Command,
    short_help="Show the noise scales before anything is spent.",
    examples=[
        "psgraph plan --nodes 10000 --epsilon 1 --window 5",
        "psgraph plan --nodes 10000 --mean-degree 30 --epsilon 1 --window 5",
        "psgraph plan --nodes 10000 --epsilon 1 --window 5 --method der --set order=degrees",
        "psgraph plan --left 8000 --right 1000 --edges 1300 --epsilon 2 --window 7",
        "psgraph plan --nodes 300 --directed --owner rider --at-most 1,2,5 --epsilon 2 --window 7",
    ],
)
@click.option("--nodes", type=click.IntRange(min=0), metavar="N", help="Nodes on the roster.")
@click.option(
    "--left", type=click.IntRange(min=0), metavar="N", help="Two-sided graphs: nodes on the left."
)
@click.option(
    "--right", type=click.IntRange(min=0), metavar="N", help="Two-sided graphs: nodes on the right."
)
@click.option("--directed", is_flag=True, help="For directed graphs.")
@click.option(
    "--weights", type=click.IntRange(min=2), metavar="W", help="For graphs with weights up to W."
)
@click.option(
    "--edges",
    type=click.IntRange(min=0),
    metavar="M",
    help="Edges of a snapshot, about: shows what the noise means for such a graph.",
)
@click.option(
    "--mean-degree",
    type=click.FloatRange(min=0),
    metavar="D",
    help="Mean degree of a snapshot, instead of --edges.",
)
@click.option("--labels", is_flag=True, help="The roster has public labels.")
@click.option("--flows", is_flag=True, help="For flows, which count rows.")
@click.option(
    "--owner", metavar="COLUMN", help="Protect all rows of an owner: u, v or another column."
)
@click.option(
    "--at-most",
    metavar="N,…",
    help="Edges of an owner that are used at a timestamp; several are compared.",
)
@click.option(
    "--edges-per-owner",
    type=click.FloatRange(min=1),
    metavar="D",
    help="A public guess of the mean, to see which share of edges is used (geometric).",
)
@epsilon_option()
@window_option()
@method_option
@settings_option
@json_option
def command(
    nodes: int | None,
    left: int | None,
    right: int | None,
    directed: bool,
    weights: int | None,
    edges: int | None,
    mean_degree: float | None,
    labels: bool,
    flows: bool,
    owner: str | None,
    at_most: str | None,
    edges_per_owner: float | None,
    epsilon: Fraction,
    window: int,
    method: str,
    settings: Settings,
    as_json: bool,
) -> None:
    """Show what each timestamp would measure and how noisy it would be.

    Reads no data and spends nothing. With --edges or --mean-degree it also shows what the noise
    means for a graph of that size, and how that changes with half and twice ε and w. A number
    taken from the data is private, and so is what is shown for it. How good the releases would be
    is what `psgraph rehearse` shows.
    """
    from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED
    from psgraph.publication.planning import owner_costs, plan

    if (left is None) != (right is None) or (nodes is None) == (left is None):
        raise click.UsageError(
            "how many nodes are there?\nGive --nodes, or --left and --right for two-sided graphs."
        )
    if left is not None and directed:
        raise click.UsageError("two-sided graphs are not directed\nLeave --directed out.")
    total = nodes if nodes is not None else (left or 0) + (right or 0)
    kind = TWO_SIDED if left is not None else DIRECTED if directed else UNDIRECTED
    if flows and (weights is not None or kind.sides == 1):
        raise click.UsageError(
            "flows are of directed and two-sided graphs, and their weights are numbers of rows\n"
            "Give --directed, or --left and --right, and no --weights."
        )
    kind = kind.with_flows() if flows else kind.with_weights(weights)
    units = _units(owner, at_most, flows=flows, ordered=kind.sides == 2)
    if edges_per_owner is not None and owner is None:
        raise click.UsageError("--edges-per-owner is about owners\nGive --owner and --at-most.")
    plans = [
        plan(
            guarantee,
            nodes=total,
            edges=_edges(total, edges, mean_degree),
            method=build_method(method, settings, guarantee),
            kind=kind,
            left=left,
            labels=labels,
        )
        for guarantee in (WEventPrivacy(epsilon, window, unit) for unit in units)
    ]
    costs = owner_costs(plans, edges_per_owner=edges_per_owner) if owner is not None else ()
    if as_json:
        owners = {"owners": [each.to_dict() for each in costs]} if costs else {}
        print_json(plans[0].to_dict() | owners)
    else:
        _show(plans[0])
        if costs:
            _show_owners(costs, flows=flows)


def _units(owner: str | None, at_most: str | None, *, flows: bool, ordered: bool) -> list[Unit]:
    """Return the units to compare: an edge, or an owner with each of the bounds."""
    if (owner is None) != (at_most is None):
        raise click.UsageError("--owner and --at-most go together\nGive both, or neither.")
    if owner is None or at_most is None:
        return [Edge()]
    try:
        return [
            chosen_owner(owner, bound.strip(), flows=flows, ordered=ordered, listed=True)
            for bound in at_most.split(",")
        ]
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None


def _show_owners(costs: Sequence[OwnerCost], *, flows: bool) -> None:
    """Print what each bound costs and keeps."""
    thing = "rows" if flows else "edges"
    console = results()
    console.print(f"\nAt most N {thing} of an owner are used", style="bold")
    rows = [
        (
            f"{each.at_most:,}",
            *(_between(found, significant) for found in (each.degree, each.edge_count, each.cell)),
            NO_VALUE if each.kept is None else _percent(each.kept),
        )
        for each in costs
    ]
    columns = ("N", "a degree", f"number of {thing}", f"{thing} between classes", f"{thing} used")
    print_tables(fitted(columns, rows, left=0, width=console.width))
    console.print(
        "Off by about so much, in the best and the worst case; above are all cases of the first N. "
        "A degree shows from about three times its noise on.",
        style="dim",
    )


def _edges(nodes: int, edges: int | None, mean_degree: float | None) -> int | None:
    """Return the number of edges from either option."""
    if mean_degree is None:
        return edges
    computed = round(nodes * mean_degree / 2)
    if edges is not None and abs(edges - computed) > max(nodes, computed) / 100:
        raise click.UsageError(
            f"--edges {edges:,} and --mean-degree {mean_degree:g} don't fit together: {nodes:,} "
            f"nodes with {edges:,} edges have a mean degree of {2 * edges / max(nodes, 1):.3g}\n"
            "Give one of the two."
        )
    return computed if edges is None else edges


def _show(plan: Plan) -> None:
    console = results()
    console.print(_summary(plan))
    if plan.effects:
        console.print()
        _show_effects(console, plan)
    for case in dict.fromkeys(row.case for row in plan.rows):
        rows = [
            (
                row.label,
                row.described,
                brief(row.epsilon),
                "" if row.sensitivity is None else str(row.sensitivity),
                row.noise if row.scale is None else significant(row.scale),
            )
            for row in plan.rows
            if row.case == case
        ]
        console.print(f"\n{case[0].upper()}{case[1:]}", style="bold")
        columns = ("measured", "one value", "ε", "sensitivity", "off by about")
        spare = ("one value", "sensitivity")
        print_tables(fitted(columns, rows, left=2, width=console.width, optional=spare))
    for remark in plan.remarks:
        console.print(f"\n{remark}")
    if not plan.effects:
        console.print("\nAdd --edges or --mean-degree to see what this means for your graph.")
    if plan.kind.sides == 1 and isinstance(plan.guarantee.unit, Edge):
        command = _rehearsal(plan)
        console.print(f"\nWhat quality to expect, by trying it on public data:\n  {command}")


def _rehearsal(plan: Plan) -> str:
    """Return the command that rehearses a publication of this size."""
    edges = "" if plan.edges is None else f" --edges {plan.edges}"
    epsilons = ",".join(exact_decimal(plan.guarantee.epsilon * each) for each in _AROUND)
    window = plan.guarantee.window
    return f"psgraph rehearse --nodes {plan.nodes}{edges} --epsilon {epsilons} --window {window}"


def _summary(plan: Plan) -> str:
    guarantee = plan.guarantee
    charged = (
        f"charged ε = {budget_words(guarantee.per_timestamp)} for each timestamp"
        if plan.even
        else f"charged unevenly, never more than ε = {exact_decimal(guarantee.epsilon)} in a window"
    )
    return (
        f"{plan.method} on {plan.nodes:,} nodes{_kind(plan)}, {charged}.\n"
        f"Private: {plan.promise.verdict}. {plan.promise}"
    )


def _kind(plan: Plan) -> str:
    """Say which graphs, unless they are undirected and unweighted."""
    return f" ({plan.kind})" if plan.kind.to_dict() else ""


def _show_effects(console: Console, plan: Plan) -> None:
    """Print what the noise means for a graph of this size, also for half and twice ε and w."""
    mean_degree = plan.effects[0].mean_degree
    console.print(
        f"For a graph with {plan.edges:,} edges (mean degree {significant(mean_degree)})",
        style="bold",
    )
    rows = [
        (
            brief(each.guarantee.epsilon),
            str(each.guarantee.window),
            _between(each.degree, _degree),
            _between(each.edge_error, _percent),
        )
        for each in plan.effects
    ]
    columns = (
        "ε",
        "w",
        "smallest degree that stands out",
        "error of the edge count",
    )
    (shown, *_) = fitted(columns, rows, left=0, width=console.width)
    shown.rows[0].end_section = True
    console.print(shown)
    console.print(
        "Stands out: with 95 % probability, noise lifts no node of average degree this high. Two "
        f"numbers are the best and the worst case below; {NO_VALUE} means that the method does not "
        "measure it. All before averaging over time.",
        style="dim",
    )


def _between(values: Range, written: Callable[[float], str]) -> str:
    """Write a range, or one number where both ends look the same."""
    return NO_VALUE if values is None else " – ".join(dict.fromkeys(map(written, values)))


def _degree(value: float) -> str:
    return f"{ceil(value):,}"


def _percent(share: float) -> str:
    return f"{significant(100 * share)} %"
