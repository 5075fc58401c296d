"""A heat map of wins and losses: a panel per metric, a row per data set, a column per point."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, log
from textwrap import fill
from typing import TYPE_CHECKING

from psgraph.metrics.metric import Metric
from psgraph.pictures.style import COLOURS, INK, QUIET, WHITE
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.labels import found_metric, shown_point
from psgraph_lab.experiments.scorecard import Match, groups_of, matches_of
from psgraph_lab.experiments.summary import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

__all__ = ["compose_heat_map"]

#: Columns of cells across the figure, of all panels together.
_ACROSS = 12
#: Inches of one cell, of the names at the left, and around every panel.
_CELL, _NAMES, _ABOVE = (0.45, 0.235), 1.6, 0.85
_TOP, _BETWEEN, _DPI = 0.5, 0.2, 120
#: Characters of a title per inch.
_LETTERS = 13.5
#: Shades from white to the full colour; few of them keep the file small.
_SHADES = 6
#: The colour is full where errors differ by this factor.
_FULL = 4.0
#: An unclear difference has at most this share of the colour.
_PALE = 0.28

Row = tuple[str, str, str]  # group, data set, line


def compose_heat_map(experiment: Experiment, curves: Sequence[Curve]) -> Figure | None:
    """Compose the figure: how many times smaller the subject's errors are than its rivals'.

    None if there is no cell that both were run on.
    """
    from matplotlib.figure import Figure

    matches = matches_of(experiment, curves, lines=experiment.rivals)
    if not matches:
        return None
    rows = _rows(experiment, matches)
    points = sorted({match.x for match in matches})
    there = {match.metric.name for match in matches}
    metrics = [found_metric(name) for name in experiment.metrics if name in there]
    across = min(max(1, _ACROSS // len(points)), len(metrics))
    down = ceil(len(metrics) / across)
    panel = (len(points) * _CELL[0], (len(rows) + _gaps(rows)) * _CELL[1])
    width = _NAMES + across * (panel[0] + _BETWEEN)
    height = _TOP + down * (panel[1] + _ABOVE)
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor=WHITE)
    for number, metric in enumerate(metrics):
        row, column = divmod(number, across)
        left = (_NAMES + column * (panel[0] + _BETWEEN)) / width
        bottom = 1 - (_TOP + (row + 1) * (panel[1] + _ABOVE) - 0.12) / height
        axes = figure.add_axes((left, bottom, panel[0] / width, panel[1] / height))
        here = {
            (_place(experiment, match), match.x): match
            for match in matches
            if match.metric is metric
        }
        _draw_panel(axes, experiment, metric, rows, points, here, named=column == 0)
    _add_key(figure, experiment, width, height)
    return figure


def _place(experiment: Experiment, match: Match) -> Row:
    """The row of a match: grouped by rival if there are several, otherwise by kind of data set."""
    if len(experiment.rivals) > 1:
        return match.line, match.dataset, match.line
    groups = groups_of(experiment, [match.dataset])
    return next(iter(groups)), match.dataset, match.line


def _rows(experiment: Experiment, matches: Sequence[Match]) -> list[Row]:
    found = dict.fromkeys(_place(experiment, match) for match in matches)
    order = (
        list(experiment.rivals)
        if len(experiment.rivals) > 1
        else list(groups_of(experiment, [match.dataset for match in matches]))
    )
    return sorted(found, key=lambda row: order.index(row[0]))


def _gaps(rows: Sequence[Row]) -> int:
    """Every group begins with a line for its name."""
    return len({group for group, _, _ in rows})


def _draw_panel(
    axes: Axes,
    experiment: Experiment,
    metric: Metric,
    rows: Sequence[Row],
    points: Sequence[float],
    matches: dict[tuple[Row, float], Match],
    *,
    named: bool,
) -> None:
    from matplotlib.patches import Rectangle

    colours = _colours()
    lines = len(rows) + _gaps(rows)
    axes.set(xlim=(0, len(points)), ylim=(lines, 0))
    y, group = 0, ""
    for row in rows:
        if row[0] != group:
            group = row[0]
            if named:
                axes.text(-0.12, y + 0.62, group, ha="right", va="center", fontsize=8, color=QUIET)
            y += 1
        if named:
            title = find_dataset(row[1]).title
            axes.text(-0.12, y + 0.5, title, ha="right", va="center", fontsize=8.5, color=INK)
        for x, point in enumerate(points):
            match = matches.get((row, point))
            if match is None:
                axes.text(x + 0.5, y + 0.5, "–", ha="center", va="center", color=QUIET)
                continue
            strength = _strength(match)
            box = Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, color=colours(strength), linewidth=0)
            axes.add_patch(box)
            dark = abs(strength - 0.5) > 0.34
            text = axes.text(x + 0.5, y + 0.53, _ratio(match.ratio), ha="center", va="center")
            text.set(fontsize=8, color=WHITE if dark else INK)
        y += 1
    title = fill(
        f"{metric.words}\N{NO-BREAK SPACE}{metric.arrow}",
        max(14, int(len(points) * _CELL[0] * _LETTERS)),
    )
    axes.set_title(title, fontsize=9.5, color=INK, pad=16, loc="left")
    axes.set_yticks([])
    heads = [f"{point:g}" for point in points]
    heads[0] = shown_point(experiment, points[0])
    axes.set_xticks([number + 0.5 for number in range(len(points))], heads)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0, pad=1)
    axes.tick_params(labelsize=8, labelcolor=QUIET)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _strength(match: Match) -> float:
    """The position on the colour scale: 1 far better, 0.5 equal, 0 far worse."""
    amount = min(1.0, abs(log(match.ratio)) / log(_FULL))
    if not match.is_clear:
        amount = min(amount, _PALE)
    amount = round(amount * _SHADES) / _SHADES
    return 0.5 + (0.5 if match.gain > 0 else -0.5) * amount


def _ratio(ratio: float) -> str:
    """Write a ratio in at most three characters.

    >>> [_ratio(value) for value in (0.123, 0.97, 1.26, 12.3, 99.0)]
    ['.12', '.97', '1.3', '12', '99']
    """
    if ratio < 0.995:
        return f"{ratio:.2f}".removeprefix("0")
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def _colours() -> Colormap:
    """From the colour of losses over white to that of wins, distinguishable by everyone."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("", [COLOURS[4], "#f6f6f4", COLOURS[0]])


def _add_key(figure: Figure, experiment: Experiment, width: float, height: float) -> None:
    """Explain numbers and colours above the panels."""
    rival = experiment.rivals[0] if len(experiment.rivals) == 1 else "the variant"
    figure.text(
        0.12 / width,
        1 - 0.16 / height,
        f"Error of {rival} ÷ error of {experiment.subject}. Blue: {experiment.subject} is better; "
        "orange: worse.",
        fontsize=9,
        color=INK,
        va="center",
    )
    figure.text(
        0.12 / width,
        1 - 0.34 / height,
        "Pale: the difference is within two standard errors. Where higher is better, the error is "
        "what is missing to 1.",
        fontsize=8,
        color=QUIET,
        va="center",
    )
