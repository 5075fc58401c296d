"""The quality report: how close the releases are to the original.

**For the curator only.** The page is computed from the private edges, without noise.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.numbers import NO_VALUE, count, joined, percent
from psgraph._version import __version__
from psgraph.graph.kind import pack
from psgraph.graph.sides import edge_weights, side_degrees, side_names, side_words
from psgraph.metrics.groups import chosen_groups, find_metric, headline_metrics
from psgraph.metrics.metric import VERDICTS, Limits, Metric
from psgraph.pictures.layout import arrange
from psgraph.pictures.network import (
    area_per_degree,
    arrows_fit,
    network_png,
    picture_words,
    structure_words,
)
from psgraph.pictures.style import ORIGINAL, QUIET, SYNTHETIC
from psgraph.reports.charts import Drawing, blank_chart, finish, name_times
from psgraph.reports.curator import add_predicted
from psgraph.reports.labels import add_label_blocks
from psgraph.reports.page import TONES, Page, Tone
from psgraph.reports.sections import (
    MOST_MARKERS,
    Curve,
    add_spend,
    add_summary_chart,
    degree_chart,
    description,
    moment,
    settings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from psgraph.metrics.comparison import Comparison
    from psgraph.publication.certificate import Certificate
    from psgraph.reports.curator import Witness
    from psgraph.trust.expected import ExpectedErrors

__all__ = ["BANNER", "quality_page"]

BANNER = "Contains private data. For the curator only: do not publish this page."

Values = Sequence[float | None]

_PHRASES = {
    "close": "are close to the original in",
    "some error": "have some error in",
    "poor": "are poor in",
}
_NUMBERS = {5: "five", 7: "seven"}
#: In nats, of the divergence that does not count holes.
_DEGREE_LIMITS = Limits(0.1, 0.5)


def quality_page(
    comparison: Comparison,
    witness: Witness,
    certificates: Sequence[Certificate] = (),
    *,
    command: str = "",
    expected: ExpectedErrors | None = None,
) -> Page:
    """Build the report. It contains private facts and says so at the top.

    Parameters
    ----------
    comparison
        The metrics.
    witness
        Collected from the same graphs.
    certificates
        Those of the releases. Without them, the guarantee and the spending are omitted.
    command
        The command that reproduces the page.
    expected
        Predicted errors of the same releases, to be shown beside the true ones.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> from psgraph.graph import SyntheticGraph
    >>> from psgraph.metrics.comparison import compare
    >>> from psgraph.reports.curator import Witness
    >>> stream = demo_stream(nodes=300, timestamps=2)
    >>> copies = [SyntheticGraph(each.roster, each.u, each.v) for each in stream]
    >>> witness = Witness(2)
    >>> comparison = compare(witness.watch_originals(stream), witness.watch_releases(copies))
    >>> "Contains private data" in quality_page(comparison, witness).html()
    True
    """
    page = Page(
        "Quality report",
        subtitle="How close the published synthetic graphs are to the private original.",
        banner=BANNER,
    )
    _add_summary(page, comparison, certificates)
    shown = headline_metrics(comparison.kind)
    page.heading(f"The {_NUMBERS[len(shown)]} metrics over time")
    _add_metrics(page, comparison, shown, witness=witness)
    for group in chosen_groups(comparison.groups, comparison.kind).values():
        page.heading(f"More metrics: {group.title.lower()}")
        _add_metrics(page, comparison, group.metrics)
    if expected is not None:
        add_predicted(page, comparison, expected)
    _add_degrees(page, comparison, witness)
    if comparison.kind.weighted:
        _add_weights(page, comparison, witness)
    last = witness.chosen[-1]
    add_label_blocks(
        page,
        {"original": witness.originals[last], "release": witness.synthetic[last]},
        when=moment(last, comparison.rows[last].time),
    )
    _add_twins(page, comparison, witness)
    if certificates:
        add_summary_chart(page, certificates)
        add_spend(page, certificates)
    _add_all(page, comparison)
    _add_making(page, certificates, command)
    return page


def _add_summary(page: Page, comparison: Comparison, certificates: Sequence[Certificate]) -> None:
    timestamps = len(comparison.rows)
    page.heading("Summary")
    if certificates:
        page.paragraph(description(certificates), kind="lead")
        if not certificates[-1].private:
            page.paragraph(certificates[-1].promise.text, verdict="Not private", tone="poor")
    else:
        page.paragraph(
            f"{count(timestamps, 'synthetic graph')}, without certificates that state the "
            "guarantee and the spending.",
            kind="lead",
        )
    tiles: list[tuple[str, str, str, Tone | None]] = []
    by_verdict: dict[str, list[str]] = {word: [] for word in VERDICTS}
    for metric in headline_metrics(comparison.kind):
        mean = _mean_of(comparison, metric)
        if mean is None:
            tiles.append((f"{metric.words} {metric.arrow}", NO_VALUE, "undefined", None))
            continue
        word = metric.limits.verdict(mean)
        by_verdict[word].append(f"{metric.words} ({metric.shown(mean)})")
        tiles.append((f"{metric.words} {metric.arrow}", metric.shown(mean), word, TONES[word]))
    said = [f"{_PHRASES[word]} {joined(names)}" for word, names in by_verdict.items() if names]
    page.paragraph(f"On average the releases {'; they '.join(said)}.")
    page.tiles(tiles)
    page.paragraph(
        f"Means over {count(timestamps, 'timestamp')}. ↑ higher is better, 100 % at best; ↓ lower "
        "is better, 0 at best. The thresholds of “close” and “poor” are listed with each metric.",
        kind="note",
    )


def _add_all(page: Page, comparison: Comparison) -> None:
    columns, rows = comparison.table()
    page.heading("All timestamps")
    with page.details(f"Metrics at {count(len(comparison.rows), 'timestamp')}"):
        page.table(
            columns,
            rows,
            numeric=range(2, len(columns)),
            total=True,
            caption="As printed by `psgraph compare`. Last row: mean ± standard deviation over "
            "time.",
        )


def _add_making(page: Page, certificates: Sequence[Certificate], command: str) -> None:
    page.heading("How this page was made")
    if command:
        page.text(command)
    facts = [
        ("psgraph", __version__),
        ("Date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        (
            "Machine",
            f"{platform.system()} on {platform.machine()}, {count(os.cpu_count() or 1, 'core')}, "
            f"Python {platform.python_version()}",
        ),
    ]
    if certificates:
        last = certificates[-1]
        facts[:0] = [
            ("Method", f"{last.method}, published with psgraph {last.version}"),
            ("Parameters", settings(last.parameters)),
            ("Promise", str(last.promise)),
            ("Nodes", last.roster),
        ]
    page.facts(facts)


def _mean_of(comparison: Comparison, metric: Metric) -> float | None:
    """The mean of a metric over time."""
    if metric.name in comparison.more_mean:
        return comparison.more_mean[metric.name]
    mean: float | None = getattr(comparison.mean, metric.name)
    return mean


def _values_of(comparison: Comparison, metric: Metric) -> Values:
    if metric.name in comparison.more_mean:
        return [row.more[metric.name] for row in comparison.rows]
    return [getattr(row.fidelity, metric.name) for row in comparison.rows]


# ---- metrics over time ----


def _add_metrics(
    page: Page,
    comparison: Comparison,
    metrics: Sequence[Metric],
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


def _limit_row(metric: Metric) -> tuple[str, ...]:
    limits = metric.limits
    close, fair = (
        f"{metric.scaled(limit):g} {metric.unit}".strip() for limit in (limits.close, limits.fair)
    )
    if metric.better == "higher":
        return metric.words, f"{close} or more", f"{fair} or more", "less"
    return metric.words, f"up to {close}", f"up to {fair}", "more"


def _metric_chart(comparison: Comparison, metric: Metric) -> tuple[Drawing, str]:
    title = metric.words if metric.is_share else metric.heading  # ticks have the per cent sign
    figure, axes = blank_chart(f"{title} {metric.arrow}")
    values, mean = _values_of(comparison, metric), _mean_of(comparison, metric)
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


def _add_reading(page: Page, comparison: Comparison, metric: Metric) -> None:
    """Add the verdict on a metric, its range, and its explanation."""
    name = metric.words[:1].upper() + metric.words[1:]
    mean = _mean_of(comparison, metric)
    there = [
        (value, row)
        for value, row in zip(_values_of(comparison, metric), comparison.rows, strict=True)
        if value is not None
    ]
    if mean is None:
        page.paragraph(f"{name}: undefined at every timestamp. {metric.reading}")
        return
    word = metric.limits.verdict(mean)
    said = metric.shown(mean)
    if len(there) > 1:
        worst_last = sorted(
            there, key=lambda each: -each[0] if metric.better == "higher" else each[0]
        )
        (best, at_best), (worst, at_worst) = worst_last[0], worst_last[-1]
        words = [metric.limits.verdict(value) for value, _ in there]
        shares = [f"{each} at {words.count(each):,}" for each in VERDICTS if each in words]
        said += (
            f" on average, at best {metric.shown(best)} "
            f"({moment(at_best.timestamp, at_best.time)}), at worst {metric.shown(worst)} "
            f"({moment(at_worst.timestamp, at_worst.time)}); {joined(shares)} of "
            f"{count(len(there), 'timestamp')}"
        )
    page.paragraph(f"{said}. {metric.reading}", verdict=f"{name}: {word}", tone=TONES[word])


# ---- degrees ----


def _add_degrees(page: Page, comparison: Comparison, witness: Witness) -> None:
    """Add the degree distributions at a few timestamps, one chart each."""
    page.heading("Degree distributions")
    drawings = []
    names = side_names(comparison.kind)
    largest: dict[str, list[str]] = {name: [] for name in names}
    for timestamp in witness.chosen:
        graphs = witness.originals[timestamp], witness.synthetic[timestamp]
        when = moment(timestamp, comparison.rows[timestamp].time)
        for name, before, after in zip(names, *map(side_degrees, graphs), strict=True):
            words = side_words(name, "degrees")
            chart = degree_chart(
                f"{when}, {words}" if name else when, _twin_curves(before, after, before.size)
            )
            label = f"{words[:1].upper()}{words[1:]}"
            drawings.append((chart, f"{label} at {when}: original and synthetic."))
            most = f"{before.max(initial=0):,} and {after.max(initial=0):,}"
            largest[name].append(f"{most} ({when})")
    page.figures(
        drawings,
        caption="Share of nodes with at least the given degree; both axes are logarithmic. The "
        "closer the dashed line is to the solid one, the better.",
    )
    for name in names:
        smoothed = find_metric(f"{name}_degree_divergence_smoothed".lstrip("_"))
        divergence = _mean_of(comparison, smoothed)
        assert divergence is not None  # defined everywhere
        word = _DEGREE_LIMITS.verdict(divergence)
        of_side = f" of the {side_words(name, 'degrees')}" if name else ""
        page.paragraph(
            f"The smoothed degree divergence{of_side}, which does not count holes, is "
            f"{divergence:.2f} nats on average (close up to {_DEGREE_LIMITS.close:g}, some error "
            f"up to {_DEGREE_LIMITS.fair:g}). Maximum degree of the original and of the release: "
            f"{joined(largest[name])}.",
            verdict=word.capitalize(),
            tone=TONES[word],
        )


def _twin_curves(before: Integers, after: Integers, nodes: int, others: int = 0) -> list[Curve]:
    return [
        ("original", before, nodes, ORIGINAL, "-"),
        ("synthetic", after, others or nodes, SYNTHETIC, "--"),
    ]


def _add_weights(page: Page, comparison: Comparison, witness: Witness) -> None:
    """Add the distributions of weights at a few timestamps, one chart each."""
    page.heading("Weights")
    drawings = []
    for timestamp in witness.chosen:
        graphs = witness.originals[timestamp], witness.synthetic[timestamp]
        when = moment(timestamp, comparison.rows[timestamp].time)
        before, after = map(edge_weights, graphs)
        curves = _twin_curves(before, after, before.size, after.size)
        chart = degree_chart(when, curves, axis="weight")
        drawings.append((chart, f"Weights at {when}: original and synthetic."))
    page.figures(
        drawings,
        caption="Share of edges with at least the given weight; both axes are logarithmic. "
        f"Weights above {comparison.kind.largest_weight:,} count as that.",
    )


# ---- one pair ----


def _add_twins(page: Page, comparison: Comparison, witness: Witness) -> None:
    """Add pictures of the last snapshot and its release, with the same node positions."""
    timestamp = witness.chosen[-1]
    original, synthetic = witness.originals[timestamp], witness.synthetic[timestamp]
    when = moment(timestamp, comparison.rows[timestamp].time)
    page.heading("One snapshot and its release")
    layout, area = arrange(original), area_per_degree(original)
    arrows = arrows_fit(original, synthetic)
    page.figures(
        [
            (
                network_png(graph, layout, node_area=area, arrows=arrows),
                f"{name} graph at {when}.",
            )
            for graph, name in ((original, "The original"), (synthetic, "The synthetic"))
        ],
        caption=f"First the private original at {when}, then the release. A node has the same "
        f"position and colour in both; {picture_words(comparison.kind, arrows=arrows)}.",
    )
    before, after = int(original.u.size), int(synthetic.u.size)
    one, other = (pack(graph.u, graph.v) for graph in (original, synthetic))
    common = np.intersect1d(one, other, assume_unique=True).size
    share = f"{100 * common / after:.1f} %" if after else "none"
    page.paragraph(
        f"The original has {count(before, 'edge')} and the release {after:,}, of which {common:,} "
        f"({share}) are also edges of the original. A release is not meant to reproduce edges, but "
        f"the structure: {structure_words(comparison.kind)}."
    )
