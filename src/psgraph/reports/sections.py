"""Sections that several reports share, from certificates and degrees only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._runtime.arrays import Floats, Integers
from psgraph._runtime.numbers import brief, count, exact_decimal, percent
from psgraph.errors import InvalidArgument
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.methods.base import SummaryChart
from psgraph.methods.registry import find_method
from psgraph.pictures.style import INK, method_look
from psgraph.reports.charts import Drawing, blank_chart, finish, literal, name_times

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate
    from psgraph.reports.page import Page

__all__ = [
    "MOST_MARKERS",
    "Curve",
    "add_spend",
    "add_summary_chart",
    "chosen_timestamps",
    "degree_chart",
    "description",
    "moment",
    "settings",
    "summary_chart",
]

#: Name, degrees (nodes without an edge may be omitted) or weights, their number, colour, line.
Curve = tuple[str, Integers, int, str, str]

_MOST_POINTS = 400  # of a degree curve: more are not visible
#: With more timestamps the dots would overlap.
MOST_MARKERS = 40


def chosen_timestamps(timestamps: int) -> tuple[int, ...]:
    """The first, the middle and the last timestamp.

    >>> chosen_timestamps(147), chosen_timestamps(2), chosen_timestamps(1)
    ((0, 73, 146), (0, 1), (0,))
    """
    return tuple(sorted({0, timestamps // 2, timestamps - 1} - {-1}))


def moment(timestamp: int, time: str | None) -> str:
    """The name of a timestamp: its time, if it has one.

    >>> moment(3, "2024-01-04"), moment(3, None)
    ('2024-01-04', 'timestamp 3')
    """
    return time or f"timestamp {timestamp}"


def settings(parameters: Mapping[str, Any]) -> str:
    """The parameters of a method on one line."""
    return ", ".join(f"{name} = {value}" for name, value in parameters.items()) or "none"


def description(certificates: Sequence[Certificate]) -> str:
    """A sentence about what was published."""
    first, last = certificates[0], certificates[-1]
    guarantee = last.guarantee
    if first.time and last.time and first is not last:
        span = f" from {first.time} to {last.time}"
    else:
        span = f" at {last.time}" if last.time else ""
    sizes = [certificate.nodes for certificate in certificates]
    low, high = min(sizes), max(sizes)
    nodes = count(high, "node") if low == high else f"{low:,} to {high:,} nodes"
    return (
        f"{_graphs(len(certificates), last.kind)}{span} over {nodes}, made by "
        f"{method_look(last.method).title} with ε = {exact_decimal(guarantee.epsilon)} for any "
        f"{count(guarantee.window, 'consecutive timestamp')} (w = {guarantee.window})."
    )


def _graphs(number: int, kind: Kind) -> str:
    """The number of synthetic graphs, with their kind unless they are undirected.

    >>> from psgraph.graph.kind import DIRECTED, UNDIRECTED
    >>> _graphs(2, UNDIRECTED), _graphs(1, DIRECTED.with_weights(64))
    ('2 synthetic graphs', '1 directed synthetic graph with weights up to 64')
    """
    name = "" if kind.name == UNDIRECTED.name else f"{kind.name} "
    weights = f" with weights up to {kind.largest_weight:,}" if kind.weighted else ""
    return count(number, f"{name}synthetic graph") + weights


def degree_chart(title: str, curves: Sequence[Curve], *, axis: str = "degree") -> Drawing:
    """Shares of nodes with at least a given degree, on logarithmic axes, one line per curve.

    With another name of the axis: shares of edges with at least a given weight.
    """
    figure, axes = blank_chart(title)
    # Explicit limits: without an edge a logarithmic axis has nothing to fit.
    largest = max([9, *(int(degrees.max(initial=0)) for _, degrees, *_ in curves)])
    most_nodes = max([10, *(nodes for _, _, nodes, *_ in curves)])
    axes.set(xscale="log", yscale="log")
    axes.set(xlim=(0.85, 1.2 * largest), ylim=(0.7 / most_nodes, 1.5))
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda degree, _: f"{degree:,g}")
    axes.yaxis.set_major_formatter(percent)
    axes.set_xlabel(axis)
    axes.fmt_xdata = lambda value: f"{axis} {value:,.0f}"
    for name, degrees, nodes, colour, style in curves:
        degree, share = _survival(degrees, nodes)
        # Start at the left edge, so that a graph with a single degree is a line too.
        x, y = np.append(0.85, degree), np.append(share[:1], share)
        axes.plot(x[: y.size], y, style, color=colour, linewidth=1.8, label=literal(name))
    axes.legend(loc="lower left", handlelength=1.8)
    return finish(figure)


def _survival(degrees: Integers, nodes: int) -> tuple[Integers, Floats]:
    degree, number = np.unique(degrees[degrees > 0], return_counts=True)
    share = number[::-1].cumsum()[::-1] / max(nodes, 1)
    if degree.size > _MOST_POINTS:
        kept = np.unique(np.geomspace(1, degree.size, _MOST_POINTS).astype(int) - 1)
        degree, share = degree[kept], share[kept]
    return degree, share


def add_spend(page: Page, certificates: Sequence[Certificate]) -> None:
    """Add a section on the budget: what each timestamp and each window spent, compared with ε."""
    guarantee = certificates[-1].guarantee
    epsilon, times = float(guarantee.epsilon), [each.time for each in certificates]
    page.heading("Spending per window")
    drawings = []
    for title, spends in (
        ("ε spent at each timestamp", [each.spent for each in certificates]),
        (
            f"ε spent in a window of {guarantee.window}",
            [each.window_spent for each in certificates],
        ),
    ):
        figure, axes = blank_chart(title)
        heights = [float(spend) for spend in spends]
        colour = method_look(certificates[-1].method).colour
        if len(heights) <= MOST_MARKERS:
            axes.bar(range(len(heights)), heights, width=0.75, color=colour, alpha=0.85)
        else:
            edges = np.arange(len(heights) + 1) - 0.5
            axes.stairs(heights, edges, fill=True, color=colour, alpha=0.85)
        axes.axhline(epsilon, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
        axes.set_ylim(0, 1.18 * max(epsilon, *heights))
        axes.annotate(
            f"ε = {exact_decimal(guarantee.epsilon)}",
            (1, epsilon),
            xycoords=("axes fraction", "data"),
            xytext=(0, 4),
            textcoords="offset points",
            ha="right",
            fontsize=9.5,
            color=INK,
        )
        axes.fmt_ydata = lambda spend: f"ε = {spend:.3g}"
        name_times(axes, times)
        largest = exact_decimal(max(spends))
        drawings.append((finish(figure), f"{title}: at most {largest}, ε is {epsilon:g}."))
    page.figures(
        drawings,
        caption="First: what each timestamp spent. Second: what it and up to "
        f"{count(guarantee.window - 1, 'previous timestamp')} spent together; the guarantee is "
        "that this sum never exceeds the dashed line."
        if guarantee.window > 1
        else "Each timestamp is its own window; none exceeds the dashed line.",
    )
    page.paragraph(_spend_words(certificates))
    with page.details("How the last timestamp spent its budget"):
        page.table(
            ("measured", "mechanism", "ε", "sensitivity", "values", "part"),
            [
                (
                    charge.label,
                    charge.mechanism,
                    exact_decimal(charge.epsilon),
                    str(charge.sensitivity),
                    " × ".join(f"{size:,}" for size in charge.shape) or "1",
                    charge.part,
                )
                for charge in certificates[-1].charges
            ],
            numeric=(2, 3, 4),
            caption="According to its certificate. Parts read disjoint sets of edges, so of "
            "several parts only the most expensive counts.",
        )


def _spend_words(certificates: Sequence[Certificate]) -> str:
    guarantee = certificates[-1].guarantee
    largest = max(each.window_spent for each in certificates)
    same = {each.spent for each in certificates}
    each_time = (
        f"Every timestamp spent {exact_decimal(same.pop())}."
        if len(same) == 1
        else f"Timestamps spent between {brief(min(same))} and {brief(max(same))}."
    )
    used = f"{float(100 * largest / guarantee.epsilon):.0f} %"
    return (
        f"{each_time} The most expensive window spent {exact_decimal(largest)} of "
        f"{exact_decimal(guarantee.epsilon)}: {used} of the budget. No window exceeded it."
    )


def summary_chart(certificates: Sequence[Certificate]) -> SummaryChart | None:
    """What the method that made the releases wants drawn of its summaries; None if nothing.

    Also None if the method is not installed here, or a certificate lacks the number.
    """
    try:
        chart = find_method(certificates[-1].method).summary_chart
    except InvalidArgument:
        return None
    if chart is None:
        return None
    numbers = [each.summary.get(chart.key) for each in certificates]
    return chart if all(type(each) is int for each in numbers) else None


def add_summary_chart(page: Page, certificates: Sequence[Certificate]) -> None:
    """Add a section on the number that the method wants drawn, and when it was recomputed."""
    chart = summary_chart(certificates)
    if chart is None:
        return
    from matplotlib.ticker import MaxNLocator

    many = chart.key.replace("_", " ")
    title = f"{many[:1].upper()}{many[1:]}"
    numbers = [int(each.summary[chart.key]) for each in certificates]
    found = [each.summary.get(chart.renewed) for each in certificates] if chart.renewed else []
    known = bool(found) and all(isinstance(each, bool) for each in found)
    page.heading(f"{title} reused or recomputed" if known else title)
    figure, axes = blank_chart(f"number of {many}")
    ordinals = np.arange(len(numbers))
    colour = method_look(certificates[-1].method).colour
    axes.plot(ordinals, numbers, color=colour, linewidth=1.6, drawstyle="steps-mid", zorder=2)
    size = 26 if len(numbers) <= MOST_MARKERS else 14
    if known:
        new = np.array(found, dtype=bool)
        heights = np.array(numbers)
        axes.scatter(
            ordinals[new], heights[new], s=size, color=colour, label="recomputed", zorder=4
        )
        if len(numbers) <= MOST_MARKERS:
            axes.scatter(
                *(ordinals[~new], heights[~new]),
                s=size,
                facecolors="white",
                edgecolors=colour,
                label="reused",
                zorder=3,
            )
        axes.legend(loc="lower right", ncols=2)
    axes.set_ylim(0, 1.15 * max([*numbers, 1]))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    name_times(axes, [each.time for each in certificates])
    low, high = min(numbers), max(numbers)
    amount = count(high, chart.one, many)
    range_ = amount if low == high else f"{low:,} to {amount}"
    times = int(sum(bool(each) for each in found))
    words = range_ + (f", recomputed at {count(times, 'timestamp')}" if known else "")
    page.figures(
        [(finish(figure), f"{title} over time: {words}.")],
        caption="Filled dots: recomputed. In between: reused from the previous timestamp."
        if known
        else f"This method recomputes {many} at every timestamp.",
    )
    if known:
        page.paragraph(
            f"The number of {many} is {low:,}"
            f"{'' if low == high else f' to {high:,}'}. They were recomputed at {times:,} of "
            f"{count(len(numbers), 'timestamp')} and reused at {len(numbers) - times:,}. "
            f"{chart.reason}".rstrip()
        )
    else:
        page.paragraph(f"{range_}, recomputed at every timestamp.")
