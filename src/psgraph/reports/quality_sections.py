"""The sections of a quality report: pictures and their interpretation. For the curator only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.numbers import count, joined, percent
from psgraph.graph.kind import pack
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.groups import MetricInfo
from psgraph.metrics.limits import Limits, limits_of
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import area_per_degree, network_png
from psgraph.pictures.style import ORIGINAL, QUIET, SYNTHETIC
from psgraph.reports.charts import blank_chart, finish, name_times
from psgraph.reports.parts import MOST_MARKERS, degree_chart, moment
from psgraph.reports.verdicts import VERDICTS, verdict_of, verdict_within

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psgraph.metrics.report import Comparison
    from psgraph.reports.drawing import Drawing
    from psgraph.reports.page import Page
    from psgraph.reports.witness import Witness

__all__ = ["add_degrees", "add_metrics", "add_twins", "mean_of"]

Values = Sequence[float | None]

#: In nats, of the divergence that does not count holes.
_DEGREE_LIMITS = Limits(0.1, 0.5)


def mean_of(comparison: Comparison, metric: MetricInfo) -> float | None:
    """The mean of a metric over time."""
    if metric.name in comparison.more_mean:
        return comparison.more_mean[metric.name]
    return float(getattr(comparison.mean, metric.name))


def _values_of(comparison: Comparison, metric: MetricInfo) -> Values:
    if metric.name in comparison.more_mean:
        return [row.more[metric.name] for row in comparison.rows]
    return [getattr(row.fidelity, metric.name) for row in comparison.rows]


# ---- metrics over time ----


def add_metrics(
    page: Page,
    comparison: Comparison,
    metrics: Sequence[MetricInfo],
    *,
    witness: Witness | None = None,
) -> None:
    """Add a chart and an explanation per metric; with a witness, also the number of edges."""
    drawings = [_metric_chart(comparison, metric) for metric in metrics]
    if witness is not None:
        drawings.append(_edges_chart(comparison, witness))
    page.figures(
        drawings,
        caption="Timestamps from left to right; the dashed line is the mean. ↑ higher is better, "
        "↓ lower is better.",
    )
    for metric in metrics:
        _add_reading(page, comparison, metric)
    with page.details("Thresholds for close, some error and poor"):
        page.table(
            ("metric", "close", "some error", "poor"),
            [_limit_row(metric) for metric in metrics],
            numeric=(1, 2, 3),
            caption="Rules of thumb, the same for every data set. What an analysis can tolerate is "
            "for its user to decide.",
        )


def _limit_row(metric: MetricInfo) -> tuple[str, ...]:
    limits = limits_of(metric)
    close, fair = (
        f"{metric.scaled(limit):g} {metric.unit}".strip() for limit in (limits.close, limits.fair)
    )
    if metric.better == "higher":
        return metric.words, f"{close} or more", f"{fair} or more", "less"
    return metric.words, f"up to {close}", f"up to {fair}", "more"


def _metric_chart(comparison: Comparison, metric: MetricInfo) -> tuple[Drawing, str]:
    title = metric.words if metric.is_share else metric.heading  # ticks have the per cent sign
    figure, axes = blank_chart(f"{title} {metric.arrow}")
    values, mean = _values_of(comparison, metric), mean_of(comparison, metric)
    there = [value for value in values if value is not None]
    _line(axes, values, SYNTHETIC, "-")
    if mean is not None and len(there) > 1:
        axes.axhline(mean, color=QUIET, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    # At least a hundredth, so that the noise of a tiny error does not look large.
    top = 1.05 if metric.better == "higher" else max(1.15 * max(there, default=0.0), 0.01)
    axes.set_ylim(1.1 * min([0.0, *there]), top)
    if metric.is_share:
        axes.yaxis.set_major_formatter(percent)
    name_times(axes, [row.time for row in comparison.rows])
    return finish(figure), f"{metric.words} over time, {metric.shown(mean)} on average."


def _edges_chart(comparison: Comparison, witness: Witness) -> tuple[Drawing, str]:
    figure, axes = blank_chart("number of edges")
    _line(axes, witness.original_edges, ORIGINAL, "-", label="original")
    _line(axes, witness.synthetic_edges, SYNTHETIC, "--", label="synthetic")
    axes.set_ylim(0, 1.1 * max([*witness.original_edges, *witness.synthetic_edges, 1]))
    axes.yaxis.set_major_formatter(lambda edges, _: f"{edges:,.0f}")
    axes.legend(loc="lower right", ncols=2, handlelength=1.8)
    name_times(axes, [row.time for row in comparison.rows])
    return finish(figure), "Number of edges over time, original and synthetic."


def _line(axes: Axes, values: Values, colour: str, style: str, *, label: str = "") -> None:
    heights = [np.nan if value is None else value for value in values]
    marker = "o" if len(heights) <= MOST_MARKERS else ""
    axes.plot(
        range(len(heights)),
        heights,
        style,
        color=colour,
        linewidth=1.6,
        marker=marker,
        markersize=3.2,
        label=label,
    )


def _add_reading(page: Page, comparison: Comparison, metric: MetricInfo) -> None:
    """Add the verdict on a metric, its range, and its explanation."""
    name = metric.words[:1].upper() + metric.words[1:]
    mean = mean_of(comparison, metric)
    there = [
        (value, row)
        for value, row in zip(_values_of(comparison, metric), comparison.rows, strict=True)
        if value is not None
    ]
    if mean is None:
        page.paragraph(f"{name}: undefined at every timestamp. {metric.reading}")
        return
    word, tone = verdict_of(metric, mean)
    said = metric.shown(mean)
    if len(there) > 1:
        worst_last = sorted(
            there, key=lambda each: -each[0] if metric.better == "higher" else each[0]
        )
        (best, at_best), (worst, at_worst) = worst_last[0], worst_last[-1]
        words = [verdict_of(metric, value)[0] for value, _ in there]
        parts = [f"{each} at {words.count(each):,}" for each, _ in VERDICTS if each in words]
        said += (
            f" on average, at best {metric.shown(best)} "
            f"({moment(at_best.timestamp, at_best.time)}), at worst {metric.shown(worst)} "
            f"({moment(at_worst.timestamp, at_worst.time)}); {joined(parts)} of "
            f"{count(len(there), 'timestamp')}"
        )
    page.paragraph(f"{said}. {metric.reading}", verdict=f"{name}: {word}", tone=tone)


# ---- degrees ----


def add_degrees(page: Page, comparison: Comparison, witness: Witness) -> None:
    """Add the degree distributions at a few timestamps, one chart each."""
    page.heading("Degree distributions")
    drawings, largest = [], []
    for timestamp in witness.chosen:
        original, synthetic = witness.originals[timestamp], witness.synthetic[timestamp]
        before, after = node_degrees(original), node_degrees(synthetic)
        when = moment(timestamp, comparison.rows[timestamp].time)
        nodes = len(original.roster)
        curves = [
            ("original", before, nodes, ORIGINAL, "-"),
            ("synthetic", after, nodes, SYNTHETIC, "--"),
        ]
        chart = degree_chart(when, curves)
        drawings.append((chart, f"Degrees at {when}: original and synthetic."))
        most = f"{before.max(initial=0):,} and {after.max(initial=0):,}"
        largest.append(f"{most} ({when})")
    page.figures(
        drawings,
        caption="Share of nodes with at least the given degree; both axes are logarithmic. The "
        "closer the dashed line is to the solid one, the better.",
    )
    divergence = comparison.mean.degree_divergence_smoothed
    word, tone = verdict_within(_DEGREE_LIMITS, divergence)
    page.paragraph(
        f"The smoothed degree divergence, which does not count holes, is {divergence:.2f} nats on "
        f"average (close up to {_DEGREE_LIMITS.close:g}, some error up to "
        f"{_DEGREE_LIMITS.fair:g}). Maximum degree of the original and of the release: "
        f"{joined(largest)}.",
        verdict=word.capitalize(),
        tone=tone,
    )


# ---- one pair ----


def add_twins(page: Page, comparison: Comparison, witness: Witness) -> None:
    """Add pictures of the last snapshot and its release, with the same node positions."""
    timestamp = witness.chosen[-1]
    original, synthetic = witness.originals[timestamp], witness.synthetic[timestamp]
    when = moment(timestamp, comparison.rows[timestamp].time)
    page.heading("One snapshot and its release")
    layout, area = arrange(original), area_per_degree(original)
    page.figures(
        [
            (network_png(graph, layout, node_area=area), f"{name} graph at {when}.")
            for graph, name in ((original, "The original"), (synthetic, "The synthetic"))
        ],
        caption=f"First the private original at {when}, then the release. A node has the same "
        "position and colour in both; discs are the original's communities; larger nodes have "
        "more neighbours.",
    )
    before, after = int(original.u.size), int(synthetic.u.size)
    one, other = (pack(graph.u, graph.v) for graph in (original, synthetic))
    common = np.intersect1d(one, other, assume_unique=True).size
    share = f"{100 * common / after:.1f} %" if after else "none"
    page.paragraph(
        f"The original has {count(before, 'edge')} and the release {after:,}, of which {common:,} "
        f"({share}) are also edges of the original. A release is not meant to reproduce edges, but "
        "the structure: dense discs with hubs in their centre."
    )
