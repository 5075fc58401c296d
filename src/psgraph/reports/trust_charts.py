"""Charts of published statistics with the bands in which the true values should lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.numbers import count, percent, significant
from psgraph.pictures.style import method_look
from psgraph.reports.charts import blank_chart, finish, name_times
from psgraph.reports.parts import MOST_MARKERS, moment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psgraph.reports.drawing import Drawing
    from psgraph.trust.expected import ExpectedErrors
    from psgraph.trust.prediction import Prediction, Range

__all__ = ["curve_chart", "edges_chart", "error_chart"]

_CURVE = "degree_at_least_"
_BAND = 0.22  # opacity


def edges_chart(found: ExpectedErrors) -> tuple[Drawing, str]:
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


def curve_chart(found: ExpectedErrors) -> tuple[Drawing, str]:
    """The degree curve of the last timestamp with its band, and a description."""
    last = found.timestamps - 1
    nodes = max(found.nodes[last], 1)
    points = [
        (int(name.removeprefix(_CURVE)), each.released[last], each.ranges[last])
        for name, each in found.statistics.items()
        if name.startswith(_CURVE) and each.released[last]
    ]
    degrees = np.array([degree for degree, *_ in points], dtype=np.float64)
    shares = np.array([share or np.nan for _, share, _ in points]) / nodes
    low, high = (np.minimum(each / nodes, 1.0) for each in _ends([band for *_, band in points]))
    figure, axes = blank_chart("degree curve")
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
    return finish(figure), f"Degree curve at {when} with its band."


def error_chart(found: ExpectedErrors, prediction: Prediction) -> tuple[Drawing, str]:
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


def _ends(
    ranges: Sequence[Range | None],
) -> tuple[
    np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]
]:
    low = np.array([np.nan if each is None else each.low for each in ranges])
    return low, np.array([np.nan if each is None else each.high for each in ranges])


def _last_words(ranges: Sequence[Range | None]) -> str:
    there = [each for each in ranges if each is not None]
    if not there:
        return "it can't be predicted for this method"
    low, high = significant(there[-1].low), significant(there[-1].high)
    return f"at last {low} to {high} of {count(len(there), 'timestamp')}"
