"""How a method recovers from a jump: against a rival after it, and against the calm stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.numbers import NO_VALUE, count
from psgraph.metrics.metric import Metric
from psgraph.pictures.style import COLOURS, INK, QUIET, WHITE
from psgraph_lab.datasets import find_dataset
from psgraph_lab.datasets.jumps import JUMPS, SETTLED
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.labels import found_metric, shown_point
from psgraph_lab.experiments.scorecard import Match, matches_of
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MOST_AFTER",
    "compose_recovery",
    "exceptions",
    "recovery_sentences",
    "recovery_tables",
]

#: The largest error from the third timestamp after a jump, as a multiple of that without it.
MOST_AFTER = 1.5
#: Inches of a cell, of the names at the left, and above a panel. The whole is narrow, so that its
#: text is legible on a telephone; its background is white, so that it is legible on a dark page.
_CELL, _NAMES, _ABOVE, _DPI = (0.42, 0.25), 1.75, 1.45, 130
_FULL = 4.0  # the colour is full where errors differ by this factor
_SHADES = 6


@dataclass(frozen=True)
class _Side:
    """One of the two comparisons.

    Attributes
    ----------
    matches
        The subject against the other line; `Match.ratio` is the other's error over the subject's.
    most
        The largest error of the subject, as a multiple of the other's, that meets the goal.
    """

    title: str
    matches: Sequence[Match]
    most: float

    def multiple(self, metric: Metric, jump: str) -> float:
        """The geometric mean of the subject's error over the other's; NaN if nothing was run."""
        here = [
            -np.log(each.ratio)
            for each in self.matches
            if each.metric is metric and each.dataset.endswith(f":{jump}")
        ]
        return float(np.exp(np.mean(here))) if here else float("nan")

    def meets(self, match: Match) -> bool:
        """Whether a cell meets the goal, or misses it by no more than two standard errors."""
        return self.above(match) <= 0 or not self._is_clear(match)

    def above(self, match: Match) -> float:
        """By how much the subject's error is above the goal, in the unit of the metric."""
        mine, other = (
            1 - value if match.metric.better == "higher" else value
            for value in (match.subject, match.rival)
        )
        return mine - self.most * other

    def _is_clear(self, match: Match) -> bool:
        # The error of the difference; that of a multiple is at most as many times as large.
        return match.error is not None and self.above(match) > 2 * self.most * match.error


def _sides(experiment: Experiment, curves: Sequence[Curve]) -> list[_Side]:
    """Against each rival after the jump; and, once settled, against the stream without it."""
    sides = [
        _Side(
            f"÷ {rival}, after the jump",
            matches_of(experiment, curves, lines=[rival]),
            most=1.0,
        )
        for rival in experiment.rivals
    ]
    calm = [line.label for line in experiment.lines if line.without_jump]
    settled = [found for curve in curves if (found := _settled(curve, experiment)) is not None]
    sides.append(
        _Side(
            "÷ the same without the jump, from the third timestamp",
            matches_of(experiment, settled, lines=calm),
            most=MOST_AFTER,
        )
    )
    return [side for side in sides if side.matches]


def _settled(curve: Curve, experiment: Experiment) -> Curve | None:
    """A curve of the means from the third timestamp after the jump; None if it has none."""
    if any(SETTLED + name not in curve.mean for name in experiment.metrics):
        return None
    mean, std = (
        {name: values[SETTLED + name] for name in experiment.metrics}
        for values in (curve.mean, curve.std)
    )
    return replace(curve, mean=mean, std=std)


def _jumps(experiment: Experiment) -> list[str]:
    return [
        name for name in JUMPS if any(each.endswith(f":{name}") for each in experiment.datasets)
    ]


def recovery_sentences(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """The result in one sentence per comparison: in how many cells the goal is met."""
    found = []
    for side in _sides(experiment, curves):
        reached = sum(side.above(match) <= 0 for match in side.matches)
        clear = sum(not side.meets(match) for match in side.matches)
        goal = "no larger error" if side.most == 1 else f"at most {side.most:g} times the error"
        found.append(
            f"{experiment.subject} {side.title}: {goal} in {reached:,} of "
            f"{count(len(side.matches), 'cell')}; clearly more in {clear:,}."
        )
    return found


def recovery_tables(experiment: Experiment, curves: Sequence[Curve]) -> list[Table]:
    """The numbers of the figure: a row per metric, a column per jump."""
    jumps = _jumps(experiment)
    tables = []
    for side in _sides(experiment, curves):
        rows = []
        for info in map(found_metric, experiment.metrics):
            multiples = (side.multiple(info, jump) for jump in jumps)
            rows.append((info.words, *(_shown(each) for each in multiples)))
        caption = (
            f"Error of {experiment.subject} {side.title}: geometric means over streams and "
            f"{_axis(experiment)}, at most {side.most:g} is the goal"
        )
        tables.append(Table(caption, ("", *(JUMPS[jump].title for jump in jumps)), tuple(rows)))
    return tables


def exceptions(experiment: Experiment, curves: Sequence[Curve]) -> list[str]:
    """The cells that clearly miss a goal, by name."""
    found = []
    for side in _sides(experiment, curves):
        for match in side.matches:
            if not side.meets(match):
                metric, where = match.metric, find_dataset(match.dataset).title
                found.append(
                    f"{where}, {shown_point(experiment, match.x)}, {side.title}: {metric.words} "
                    f"{metric.shown(match.subject)} against {metric.shown(match.rival)}"
                )
    return found


def compose_recovery(experiment: Experiment, curves: Sequence[Curve]) -> Figure | None:
    """Draw a panel per comparison, a row per metric, a column per jump; None without results."""
    from matplotlib.figure import Figure

    sides, jumps = _sides(experiment, curves), _jumps(experiment)
    metrics = [found_metric(name) for name in experiment.metrics]
    if not sides or not jumps:
        return None
    panel = (len(jumps) * _CELL[0], len(metrics) * _CELL[1])
    width, height = _NAMES + panel[0] + 0.75, len(sides) * (panel[1] + _ABOVE) + 0.1
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor=WHITE)
    for number, side in enumerate(sides):
        bottom = 1 - (number + 1) * (panel[1] + _ABOVE) / height
        axes = figure.add_axes((_NAMES / width, bottom, panel[0] / width, panel[1] / height))
        _draw(axes, side, metrics, jumps)
        top = bottom + (panel[1] + _ABOVE - 0.16) / height
        title = f"Error of {experiment.subject} {side.title}"
        figure.text(0.1 / width, top, title, fontsize=9, color=INK, weight="bold", va="center")
        goal = f"Goal: at most {side.most:g}. Orange: above it."
        figure.text(0.1 / width, top - 0.18 / height, goal, fontsize=8.5, color=QUIET, va="center")
    return figure


def _draw(axes: Axes, side: _Side, metrics: Sequence[Metric], jumps: Sequence[str]) -> None:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    colours = LinearSegmentedColormap.from_list("", [COLOURS[0], "#f6f6f4", COLOURS[4]])
    for row, metric in enumerate(metrics):
        for column, jump in enumerate(jumps):
            multiple = side.multiple(metric, jump)
            text, dark = _shown(multiple), False
            shade: str | tuple[float, float, float, float] = "#f6f6f4"
            if np.isfinite(multiple):
                amount = np.clip(np.log(multiple / side.most) / np.log(_FULL), -1, 1)
                amount = round(float(amount) * _SHADES) / _SHADES
                shade, dark = colours(0.5 + amount / 2), abs(amount) > 0.68
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=shade, edgecolor=WHITE))
            place = (column + 0.5, row + 0.52, text)
            colour = WHITE if dark else INK
            axes.text(*place, ha="center", va="center", fontsize=8.5, color=colour)
    axes.set(xlim=(0, len(jumps)), ylim=(len(metrics), 0))
    names = [jump.replace("-", " ") for jump in jumps]
    places = [column + 0.35 for column in range(len(jumps))]
    axes.set_xticks(places, names, rotation=40, ha="left", fontsize=8.5)
    axes.xaxis.tick_top()
    rows = [row + 0.5 for row in range(len(metrics))]
    axes.set_yticks(rows, [metric.words for metric in metrics], fontsize=8.5)
    axes.tick_params(length=0, colors=INK, pad=2)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _shown(multiple: float) -> str:
    """A multiple in at most three characters.

    >>> _shown(0.234), _shown(1.52), _shown(12.3), _shown(float("nan"))
    ('.23', '1.5', '12', '–')
    """
    if not np.isfinite(multiple):
        return NO_VALUE
    if multiple < 0.995:
        return f"{multiple:.2f}".removeprefix("0")
    return f"{multiple:.1f}" if multiple < 9.95 else f"{multiple:.0f}"


def _axis(experiment: Experiment) -> str:
    return {"epsilon": "ε", "window": "w"}.get(experiment.axis, experiment.axis)
