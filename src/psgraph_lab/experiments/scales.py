"""The scale of a row of panels, and the label of its axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Literal

import numpy as np

from psgraph.metrics.metric import Metric
from psgraph.pictures.style import INK
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.words import direction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Scale", "choose_scale", "name_row"]

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
