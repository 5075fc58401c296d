"""What a plan of PSGraph+ says before anything is measured."""

from __future__ import annotations

import math
from dataclasses import replace

from psgraph.errors import exact_decimal
from psgraph.graph.kind import Kind
from psgraph.methods.base import NoisePlan
from psgraph.methods.plus.communities import OF_TIMESTAMP
from psgraph.methods.plus.queries import queries_of
from psgraph.methods.plus.schedule import LABELS, RESERVE, least_shares, typical_shares
from psgraph.methods.plus.shares import Components
from psgraph.privacy.guarantee import WEventPrivacy

__all__ = ["remarks", "rows"]

LABEL_SHARES = ("agreement", "label_edges")
SIDE_SHARES = ("curve", "reciprocity")  # have more where edges are few
VISIBLE, FEW_OWNERS = 3, 300  # scales of noise on a degree, and owners of a timestamp


def rows(components: Components, guarantee: WEventPrivacy, kind: Kind) -> list[NoisePlan]:
    """Return the rows of a plan."""
    found, unit = [], guarantee.unit
    sided = components.two_sides and not components.owners
    growing = (*LABEL_SHARES, *(SIDE_SHARES if sided else ()))
    asked = queries_of(components, kind)
    for case, shares in typical_shares(components, guarantee).items():
        for name, queries in asked.items():
            if epsilon := getattr(shares, name, None):
                known = [
                    NoisePlan.of(case, query, unit.edges * epsilon, unit=unit) for query in queries
                ]
                found += [replace(each, at_least=name in growing) for each in known]
    for name, epsilon in least_shares(components, guarantee).items():
        for query in asked[name]:
            case = "a small jump, or a second one"
            row = NoisePlan.of(case, query, unit.edges * epsilon, unit=unit)
            fixed = name in ("edges", "persistence", "kept_weights")
            found.append(replace(row, at_least=not fixed))
    return found


def remarks(
    components: Components,
    guarantee: WEventPrivacy,
    kind: Kind,
    *,
    searches: bool,
    sampled_above: int,
) -> list[str]:
    """Return sentences that help to read a plan.

    Parameters
    ----------
    searches
        Whether communities are searched for.
    sampled_above
        Released edges above which triangles are counted in a sample.
    """
    first = typical_shares(components, guarantee)["first timestamp"]
    found = []
    if guarantee.window > 1:
        found.append(
            "Node degrees are measured once per window, or at every timestamp where released "
            "degrees show that they change too fast for that."
        )
        found.append(
            f"{round(100 * RESERVE)} % of the ε for structure and degrees is kept back where a "
            "window begins. A jump of the released edge count spends it: all of it if the "
            "count at least doubles or halves, less after a smaller jump. At the first "
            "timestamp of a fall only edges are counted."
        )
    if components.owners:
        found.append(_of_owners(components, guarantee))
    elif components.two_sides:
        found.append(
            "Where released edge counts are small, counts that would drown in noise are not made: "
            "edges between degree classes, and nodes with any edge. Degree curves get their ε, and "
            "so do reciprocated pairs, which may take some from degrees too."
            if components.reciprocity
            else "Where released edge counts are small, edges between degree classes are not "
            "counted: they would drown in noise. Degree curves get their ε."
        )
    if searches and kind.sides == 1:
        found.append(
            "Where released sizes say that communities can be found, a search for them takes "
            f"up to {round(100 * OF_TIMESTAMP)} % of what a timestamp has for node degrees."
        )
    found.append(
        "Public labels are not used where edges have a direction or two sides."
        if kind.sides == 2
        else f"If nodes have public labels, {round(100 * LABELS)} % of what is bought with "
        "structure counts edges between labels, and no search is made. Where released edge "
        "counts are small, more of it does, taken from the mixing of classes and from degrees. "
        "Where the released share of edges inside labels swings, up to half of what is kept "
        "back for jumps measures it between windows."
    )
    if first.triangles:
        epsilon = exact_decimal(guarantee.unit.edges * first.triangles)
        found.append(
            f"Triangles are counted once per window with ε = {epsilon} "
            "by the ladder mechanism, whose noise depends on the common neighbours of nodes. "
            "If released degrees and ε are small, those among the first edges of each "
            "node are counted instead, with discrete Laplace noise. Of more than "
            f"{sampled_above:,} released edges a public sample is looked at."
        )
    if first.reserved:
        found.append(
            "Edges kept are counted in two snapshots and paid for by both: half is reserved "
            "where a window begins, half is spent at the timestamp after. After a rise of the "
            "edge count that leaves the share of edges kept unknown they are counted once "
            "more, from what is kept back."
        )
    return found


def _of_owners(components: Components, guarantee: WEventPrivacy) -> str:
    """Say what is counted where the unit is an owner, and what can then be seen."""
    bound, nodes = components.owners, typical_shares(components, guarantee)["first timestamp"].nodes
    least = math.ceil((2 if components.owner_side is None else 1) * VISIBLE / float(nodes))
    return (
        "Owners are counted instead of edges: one owner moves these counts by 1, however many of "
        f"its edges are used. Everything else moves by up to {bound:,}. A node is told from others "
        f"if it has more than about {least:,} edges in use. With fewer than about {FEW_OWNERS} "
        "owners at a timestamp little can be seen."
    )
