"""How far to trust releases: a section of the public report, and a page of its own.

Both are made from public releases alone and can be published with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from math import expm1
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.numbers import NO_VALUE, count, exact_decimal, percent, significant
from psgraph._version import __version__
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.sides import side_names, side_words
from psgraph.pictures.style import method_look
from psgraph.reports.charts import Drawing, blank_chart, finish, name_times
from psgraph.reports.page import Page, Tone
from psgraph.reports.sections import MOST_MARKERS, moment

if TYPE_CHECKING:
    from psgraph.trust.expected import ExpectedErrors
    from psgraph.trust.intervals import Estimate
    from psgraph.trust.prediction import Prediction, Range

__all__ = ["add_trust", "trust_page"]

_BAND = 0.22  # opacity
_ANSWERS: dict[str, tuple[str, Tone]] = {
    "yes": ("Can be answered", "good"),
    "roughly": ("Roughly", "fair"),
    "unclear": ("Uncertain", "fair"),
    "no": ("Cannot be answered", "poor"),
    "unknown": ("Cannot be predicted", "fair"),
    "never": ("Never", "poor"),
}
_TITLE = "How far to trust this"


def trust_page(found: ExpectedErrors) -> Page:
    """Build a page of predicted errors; it is safe to publish.

    Examples
    --------
    >>> import psgraph as pg
    >>> stream = pg.demo_stream(nodes=300, timestamps=2)
    >>> with pg.Publisher(pg.TmF(), pg.WEventPrivacy("4", window=2)) as publisher:
    ...     releases = list(publisher.publish_all(stream))
    >>> page = trust_page(pg.expected_errors(releases, repetitions=1))
    >>> "Which single edges exist?" in page.html()
    True
    """
    page = Page(
        "Expected errors",
        subtitle="How far published synthetic graphs can be trusted, predicted from the graphs "
        "themselves.",
    )
    page.heading("What this is about")
    epsilon, window = exact_decimal(found.guarantee.epsilon), found.guarantee.window
    page.paragraph(
        f"{count(found.releases, 'synthetic graph')} made by {method_look(found.method).title} "
        f"with ε = {epsilon} for any {count(window, 'consecutive timestamp')} (w = {window}).",
        kind="lead",
    )
    add_trust(page, found)
    page.heading("Predicted errors")
    _add_errors(page, found)
    _add_over_time(page, found)
    page.heading("How this page was made")
    page.paragraph(
        f"By psgraph expect, version {__version__}, on "
        f"{datetime.now(UTC).strftime('%Y-%m-%d')}, from published files only. No original, "
        "ledger or further ε was used.",
        kind="note",
    )
    return page


def add_trust(page: Page, found: ExpectedErrors, *, folded: bool = False) -> None:
    """Add the section: a verdict per question, bands, and what they rest on.

    `folded` adds the tables of predicted errors too, behind a line that opens them.
    """
    page.heading(_TITLE)
    page.paragraph(
        "The method was run again on the published graphs, as if they were the originals, with "
        f"fresh noise of the same size ({count(found.repetitions, 'time')}, seed {found.seed}). "
        "How much that changes them shows how far such graphs are from their originals"
        + (
            ", after a correction that was learned and checked on public streams. No private data "
            "and no budget were used."
            if found.calibrated
            else ". No private data and no budget were used."
        )
    )
    for each in found.notes:
        mark = "Not calibrated" if each.startswith("Not calibrated") else "Note"
        text = each.removeprefix("Not calibrated: ")
        page.paragraph(text[:1].upper() + text[1:], verdict=mark, tone="fair")
    for verdict in found.verdicts:
        word, tone = _ANSWERS[verdict.answer]
        page.paragraph(verdict.reason, verdict=f"{verdict.question} {word}", tone=tone)
    charts = [_curve_chart(found, side) for side in range(found.kind.sides)]
    first, second = ("First", "Second") if len(charts) == 1 else ("First two", "Last")
    page.figures(
        [*charts, _edges_chart(found)],
        caption=f"Line: as published. Band: 90 % interval of the true value. {first}: share of "
        "nodes with at least the given degree at "
        f"{moment(found.timestamps - 1, found.times[-1])}, on logarithmic axes. {second}: edges "
        f"over time, the band {found.statistics['edges'].source}."
        + (" There is no band around jumps." if found.jumps else ""),
    )
    page.paragraph(
        "A band holds for each timestamp and each point separately. It is a prediction, based on "
        "the streams that psgraph was tested on; other streams may behave differently.",
        kind="note",
    )
    if folded:
        with page.details("Predicted errors and intervals"):
            _add_errors(page, found)


def _add_errors(page: Page, found: ExpectedErrors) -> None:
    columns, rows = found.table()
    page.table(
        columns,
        rows,
        numeric=(1,),
        caption=f"Means over {found.span}. ↑ higher is better, ↓ lower is better. Where tests "
        "found the predictions of a metric to be wrong for this method, the table says so.",
    )
    last = found.timestamps - 1
    page.table(
        ("statistic", "published", "true value, 90 % interval", "source"),
        [
            (
                each.words,
                _number(each, each.released[last]),
                _interval(each, each.ranges[last]),
                each.source if each.ranges[last] is not None else NO_VALUE,
            )
            for each in found.statistics.values()
            if each.released[last]
        ],
        numeric=(1, 2),
        caption=f"Statistics of the release of {moment(last, found.times[last])}.",
    )


def _add_over_time(page: Page, found: ExpectedErrors) -> None:
    """Add charts of those of the paper's metrics that can be predicted at single timestamps."""
    drawings = [
        _error_chart(found, each)
        for each in found.headlines
        if sum(one is not None for one in each.over_time) > 1
    ]
    which = "the paper's five" if found.kind == UNDIRECTED else "the main"
    if drawings:
        page.figures(
            drawings,
            caption="Predicted errors at every timestamp with their 90 % intervals, for those of "
            f"{which} metrics that can be predicted.",
        )


def _number(estimate: Estimate, value: float | None) -> str:
    if value is None:
        return NO_VALUE
    if estimate.info.is_share:
        return f"{100 * value:.1f} %"
    if estimate.info.scale == "none":  # the logarithm of a ratio
        return f"{100 * expm1(value):+.1f} %"
    return f"{value:,.0f}" if estimate.info.scale == "count" else significant(value)


def _interval(estimate: Estimate, found: Range | None) -> str:
    if found is None:
        return "cannot be predicted" if estimate.status == "unpredictable" else NO_VALUE
    return f"{_number(estimate, found.low)} to {_number(estimate, found.high)}"


def _edges_chart(found: ExpectedErrors) -> tuple[Drawing, str]:
    """The number of edges over time with its band, and a description."""
    estimate = found.statistics["edges"]
    figure, axes = blank_chart("number of edges")
    colour = method_look(found.method).colour
    at = np.arange(found.timestamps)
    published = np.array([np.nan if each is None else each for each in estimate.released])
    low, high = _ends(estimate.ranges)
    if found.timestamps == 1:
        axes.errorbar(at, published, yerr=[published - low, high - published], color=colour, lw=1.4)
    axes.fill_between(at, low, high, color=colour, alpha=_BAND, linewidth=0, label="90 % interval")
    marker = "o" if found.timestamps <= MOST_MARKERS else ""
    axes.plot(
        at, published, color=colour, linewidth=1.8, marker=marker, markersize=3.2, label="published"
    )
    top = np.nanmax([1.0, *published[~np.isnan(published)], *high[~np.isnan(high)]])
    axes.set_ylim(0, 1.1 * top)
    axes.yaxis.set_major_formatter(lambda edges, _: f"{edges:,.0f}")
    axes.legend(loc="lower left", handlelength=1.6)
    name_times(axes, found.times)
    return finish(figure), f"Edges over time with their band: {_last_words(estimate.ranges)}."


def _curve_chart(found: ExpectedErrors, side: int) -> tuple[Drawing, str]:
    """The degree curve of a side at the last timestamp with its band, and a description."""
    last = found.timestamps - 1
    name = side_names(found.kind)[side]
    nodes = max(found.side_nodes[side] if found.kind.two_sided else found.nodes[last], 1)
    points = [
        (degree, each.released[last], each.ranges[last])
        for degree, each in found.curve(name).items()
        if each.released[last]
    ]
    degrees = np.array([degree for degree, *_ in points], dtype=np.float64)
    shares = np.array([share or np.nan for _, share, _ in points]) / nodes
    low, high = (np.minimum(each / nodes, 1.0) for each in _ends([band for *_, band in points]))
    words = f"curve of {side_words(name, 'degrees')}" if name else "degree curve"
    figure, axes = blank_chart(words)
    colour = method_look(found.method).colour
    axes.set(xscale="log", yscale="log")
    least = 0.5 / nodes
    axes.set(xlim=(0.85, 1.3 * max([8.0, *degrees])), ylim=(least, 1.5))
    axes.minorticks_off()
    axes.fill_between(
        *(degrees, np.maximum(low, least), high),
        color=colour,
        alpha=_BAND,
        linewidth=0,
        label="90 % interval",
    )
    axes.plot(degrees, shares, color=colour, linewidth=1.8, label="published")
    axes.xaxis.set_major_formatter(lambda degree, _: f"{degree:,g}")
    axes.yaxis.set_major_formatter(percent)
    axes.set_xlabel("degree")
    axes.legend(loc="lower left", handlelength=1.6)
    when = moment(last, found.times[last])
    return finish(figure), f"{words[:1].upper()}{words[1:]} at {when} with its band."


def _error_chart(found: ExpectedErrors, prediction: Prediction) -> tuple[Drawing, str]:
    """A predicted error over time with its band, and a description."""
    metric = prediction.metric
    title = metric.words if metric.is_share else metric.heading  # ticks have the per cent sign
    figure, axes = blank_chart(f"{title} {metric.arrow}")
    colour = method_look(found.method).colour
    at = np.arange(found.timestamps)
    low, high = _ends(prediction.over_time)
    centre = np.array([np.nan if each is None else each.value for each in prediction.over_time])
    axes.fill_between(at, low, high, color=colour, alpha=_BAND, linewidth=0)
    axes.plot(at, centre, color=colour, linewidth=1.8)
    top = 1.05 if metric.better == "higher" else 1.15 * max(float(np.nanmax(high)), 0.01)
    axes.set_ylim(min(0.0, float(np.nanmin(low))), top)
    if metric.is_share:
        axes.yaxis.set_major_formatter(percent)
    name_times(axes, found.times)
    return finish(figure), f"{metric.words} over time: predicted, with its band."


def _ends(ranges: Sequence[Range | None]) -> tuple[Floats, Floats]:
    low = np.array([np.nan if each is None else each.low for each in ranges])
    return low, np.array([np.nan if each is None else each.high for each in ranges])


def _last_words(ranges: Sequence[Range | None]) -> str:
    there = [each for each in ranges if each is not None]
    if not there:
        return "it cannot be predicted"
    low, high = significant(there[-1].low), significant(there[-1].high)
    return f"{low} to {high} at the last of {count(len(there), 'timestamp')}"
