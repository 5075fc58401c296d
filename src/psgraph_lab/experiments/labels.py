"""Names of data sets, metrics and axes on figures and pages, and the scales of panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import numpy as np

from psgraph.metrics.groups import METRICS
from psgraph.metrics.metric import Metric
from psgraph.pictures.style import INK
from psgraph_lab.datasets import find_dataset
from psgraph_lab.datasets.jumps import SETTLED
from psgraph_lab.experiments.definition import Axis, Experiment
from psgraph_lab.experiments.summary import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Scale",
    "axis_words",
    "choose_scale",
    "dataset_words",
    "direction",
    "found_metric",
    "name_row",
    "shown_point",
    "stand_in_words",
]


def _quantity(name: str, reading: str = "") -> Metric:
    """A quantity that a run reports itself, instead of comparing graphs."""
    return Metric(name, unit="", better="lower", reading=reading, compute=lambda _: None)


_COST = (
    _quantity(
        "seconds",
        "Running time for the whole stream, from the first snapshot to the last release.",
    ),
    _quantity(
        "peak_megabytes",
        "Peak memory of the process, including Python, its libraries and the data set.",
    ),
    _quantity(
        "added_megabytes",
        "Peak memory minus the memory in use before the first snapshot was published.",
    ),
)
_METRICS = {**METRICS, **{info.name: info for info in _COST}}
_AXES: dict[Axis, str] = {
    "epsilon": "privacy budget ε",
    "window": "window w",
    "threshold": "threshold × N (log scale)",
    "timestamp": "timestamp",
    "share": "edges of all snapshots",
    "none": "",
}


def found_metric(name: str) -> Metric:
    """Find a metric by its name; an unknown one has no unit and no explanation.

    >>> found_metric("density_error").heading, found_metric("peak_megabytes").heading
    ('density error, %', 'peak megabytes')
    """
    return _METRICS.get(name) or _settled(name) or _quantity(name)


@cache
def _settled(name: str) -> Metric | None:
    """A metric without the first window; None for other names."""
    metric = _METRICS.get(name.removeprefix(SETTLED))
    if metric is None:
        return None
    reading = "The same without the timestamps of the first window."
    return replace(metric, name=name, title=f"{metric.words}, later", reading=reading)


def direction(info: Metric) -> str:
    """Which direction is better, with an arrow.

    >>> direction(found_metric("density_error"))
    'lower is better ↓'
    """
    return f"{info.better} is better {info.arrow}"


def dataset_words(name: str) -> str:
    """The title of a data set, with what it stands in for.

    >>> dataset_words("wiki-talk")
    'Wiki-talk, stand-in for Reddit'
    """
    return ", ".join(part for part in (find_dataset(name).title, stand_in_words(name)) if part)


def stand_in_words(name: str) -> str:
    """What a data set stands in for; empty for the paper's own.

    >>> stand_in_words("hepph-partial"), stand_in_words("as-733")
    ('stand-in for Cit-HepPh', '')
    """
    original = find_dataset(name).stand_in_for
    return f"stand-in for {find_dataset(original).title}" if original else ""


def axis_words(experiment: Experiment) -> str:
    """The label of the x-axis."""
    return _AXES[experiment.axis]


def shown_point(experiment: Experiment, x: float) -> str:
    """The heading of the column for a position on the x-axis.

    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> shown_point(find_experiment("end-to-end"), 0.5)
    'ε = 0.5'
    """
    before = {"epsilon": "ε = ", "window": "w = "}.get(experiment.axis, "")
    if experiment.axis == "share":
        return f"{100 * x:g} % of the edges"
    after = " × N" if experiment.axis == "threshold" else ""
    return f"{before}{x:g}{after}"


#: Errors that span at least this ratio are drawn on a logarithmic axis.
_WIDE_RANGE = 20.0
#: A logarithmic axis spans at most this ratio; smaller values are negligible.
_MOST_RANGE = 1e5
#: Panels whose largest values differ by more than this factor get separate axes.
_APART = 3.0
_LONGEST_LINE = 24  # characters beside a panel


@dataclass(frozen=True)
class Scale:
    """The scale of a row, and the limits of each of its axes.

    Attributes
    ----------
    limits
        One pair per panel.
    smallest
        The value below which a logarithmic axis that includes 0 becomes linear.
    """

    kind: Literal["linear", "log", "symlog"]
    limits: tuple[tuple[float, float], ...]
    smallest: float = 1.0

    @property
    def shared(self) -> bool:
        """Whether all panels have the same limits and can be compared by eye."""
        return len(set(self.limits)) == 1

    @property
    def words(self) -> str:
        """A remark about the scale, for the label of the axis."""
        kinds = {"log": "log scale", "symlog": "log scale, with 0", "linear": ""}
        return kinds[self.kind] or ("" if self.shared else "scales differ")


def choose_scale(panels: Sequence[Sequence[Curve]], info: Metric) -> Scale:
    """Choose a linear scale from 0, or a logarithmic one for errors of several magnitudes.

    A logarithmic row has the same limits in all panels. So does a linear one, unless the largest
    values of its panels are far apart.
    """
    means, tops = [], []
    for curves in panels:
        mean = np.concatenate([curve.mean[info.name] for curve in curves])
        upper = mean + np.concatenate([curve.std[info.name] for curve in curves])
        means.append(mean[np.isfinite(mean)])
        top = float(upper[np.isfinite(upper)].max(initial=0.0)) or 1.0
        if info.better == "higher":  # a band may exceed the best value, 1; the axis need not
            top = max(min(top, 1.0), float(means[-1].max(initial=0.0)))
        tops.append(top)
    every, top = np.concatenate(means), max(tops)
    positive = every[every > 0]
    if info.better == "lower" and positive.size and top > _WIDE_RANGE * positive.min():
        smallest = max(float(positive.min()), top / _MOST_RANGE)
        if (every == 0).any():
            # Linear up to a power of ten: that is the first tick, well apart from 0.
            smallest = float(10.0 ** np.floor(np.log10(smallest)))
            return Scale("symlog", ((-0.3 * smallest, 1.5 * top),) * len(panels), smallest)
        return Scale("log", ((0.7 * smallest, 1.5 * top),) * len(panels), smallest)
    shared = top <= _APART * min(tops)
    return Scale("linear", tuple((0.0, 1.06 * (top if shared else own)) for own in tops))


def name_row(axes: Axes, info: Metric, scale: str) -> None:
    """Label a row at its left: the metric, which direction is better, and the scale."""
    lines = [*wrap(info.heading, _LONGEST_LINE), direction(info), scale]
    axes.set_ylabel("\n".join(line for line in lines if line), fontsize=10, color=INK)
