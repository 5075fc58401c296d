"""How the axes of a figure are divided and named: the scale of a row, numbers at ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from psgraph.metrics.groups import MetricInfo
from psgraph.pictures.style import INK
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.words import direction

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Scale", "choose_scale", "name_row"]

#: From this ratio of largest to smallest on, errors are drawn on a logarithmic axis.
_WIDE_RANGE = 20.0
#: A logarithmic axis shows no more than this; what is smaller is as good as nothing.
_MOST_RANGE = 1e5
#: Panels whose largest values differ by more than this get axes of their own.
_APART = 3.0


@dataclass(frozen=True)
class Scale:
    """How the axes of a row are divided, and from where to where each of them runs.

    Attributes
    ----------
    limits
        One pair per panel.
    smallest
        Where a logarithmic axis that shows 0 too becomes linear.
    """

    kind: Literal["linear", "log", "symlog"]
    limits: tuple[tuple[float, float], ...]
    smallest: float = 1.0

    @property
    def shared(self) -> bool:
        """Whether the panels can be compared by eye."""
        return len(set(self.limits)) == 1

    @property
    def words(self) -> str:
        """What a reader has to know about it."""
        kinds = {"log": "log scale", "symlog": "log scale, with 0", "linear": ""}
        return kinds[self.kind] or ("" if self.shared else "scales differ")


def choose_scale(panels: Sequence[Sequence[Curve]], info: MetricInfo) -> Scale:
    """Linear from 0, or logarithmic for errors of several magnitudes.

    A row is logarithmic as a whole and then has the same limits everywhere. So has a linear one,
    unless the largest values of its panels are far apart.
    """
    means, tops = [], []
    for curves in panels:
        mean = np.concatenate([curve.mean[info.name] for curve in curves])
        upper = mean + np.concatenate([curve.std[info.name] for curve in curves])
        means.append(mean[np.isfinite(mean)])
        tops.append(float(upper[np.isfinite(upper)].max(initial=0.0)) or 1.0)
    every, top = np.concatenate(means), max(tops)
    positive = every[every > 0]
    if info.better == "lower" and positive.size and top > _WIDE_RANGE * positive.min():
        smallest = max(float(positive.min()), top / _MOST_RANGE)
        if (every == 0).any():
            # Linear up to a power of ten: the first tick above 0 is there, well apart from it.
            smallest = float(10.0 ** np.floor(np.log10(smallest)))
            return Scale("symlog", ((-0.3 * smallest, 1.5 * top),) * len(panels), smallest)
        return Scale("log", ((0.7 * smallest, 1.5 * top),) * len(panels), smallest)
    shared = top <= _APART * min(tops)
    return Scale("linear", tuple((0.0, 1.06 * (top if shared else own)) for own in tops))


def name_row(axes: Axes, info: MetricInfo, scale: str) -> None:
    """What a row shows, which way is better and how it is divided, at its left."""
    lines = [info.heading, direction(info), scale]
    axes.set_ylabel("\n".join(line for line in lines if line), fontsize=10, color=INK)
