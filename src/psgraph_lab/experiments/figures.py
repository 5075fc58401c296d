"""Figures like the paper's: a row per metric, a column per data set, a line or bar per method."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.durable import make_directory, write_whole
from psgraph._runtime.numbers import abbreviated, tick, with_deviation
from psgraph.errors import DataError
from psgraph.metrics.metric import Metric
from psgraph.pictures.style import (
    ALL_COLOURS,
    INK,
    QUIET,
    WHITE,
    Look,
    method_look,
    quiet,
    variant_look,
)
from psgraph.reports.charts import Drawing
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.labels import (
    Scale,
    axis_words,
    choose_scale,
    found_metric,
    name_row,
    stand_in_words,
)
from psgraph_lab.experiments.summary import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

__all__ = ["compose", "draw", "draw_bars", "line_looks", "save_png", "save_svg"]

_WIDE_RANGE = 30.0


def draw_bars(
    row: Sequence[Axes],
    panels: Sequence[Sequence[Curve]],
    info: Metric,
    looks: dict[str, tuple[Look, str]],
) -> None:
    """Draw one bar per line in each panel, labelled with its value; a row shares its scale."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    values = [float(curve.mean[info.name][0]) for curves in panels for curve in curves]
    positive = [value for value in values if value > 0]
    wide = bool(positive) and max(positive) / min(positive) > _WIDE_RANGE
    labels = list(looks)
    # Leave room at the right for the number at the end of the longest bar.
    low, high = 0.0, 1.5 * max(values) or 1.0
    if wide:
        # Bars start at the power of ten below the smallest value.
        low = float(10.0 ** np.floor(np.log10(min(positive)) - 0.15))
        high = max(positive) * (max(positive) / low) ** 0.4
    for column, (axes, curves) in enumerate(zip(row, panels, strict=True)):
        axes.set_xscale("log" if wide else "linear")
        axes.set(xlim=(low, high), ylim=(len(labels) - 0.4, -0.6))
        for curve in curves:
            _draw_bar(axes, labels.index(curve.label), curve, info, looks[curve.label][0], low)
        quiet(axes)
        axes.grid(False, axis="y")
        axes.set_yticks(range(len(labels)), labels if column == 0 else [""] * len(labels))
        axes.tick_params(axis="y", length=0, labelcolor=INK, labelsize=9.5)
        axes.xaxis.set_minor_locator(NullLocator())
        few = LogLocator(numticks=4) if wide else MaxNLocator(3, steps=[1, 2, 5, 10])
        axes.xaxis.set_major_locator(few)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: tick(x)))
    name_row(row[0], info, "log scale" if wide else "")


def _draw_bar(axes: Axes, row: int, curve: Curve, info: Metric, look: Look, low: float) -> None:
    mean, std = float(curve.mean[info.name][0]), float(curve.std[info.name][0])
    axes.barh(row, max(mean - low, 0.0), left=low, height=0.66, color=look.colour, zorder=2)
    if std > 0:
        ends = [max(mean - std, low), mean + std]
        axes.plot(ends, [row, row], color=INK, linewidth=1.1, zorder=3)
    text = axes.annotate(
        with_deviation(mean),
        (max(mean + std, low), row),
        xytext=(3, 0),
        textcoords="offset points",
    )
    text.set(va="center", fontsize=8.5, color=INK)


_FEW_DECADES = 500.0
#: Of the axis: a point closer than that to the next one has no label of its own.
_CROWDED = 0.08
_DPI = 110
_BLENDS, _COARSE = 36, 8
#: Size of a panel and of the outer margin, in inches.
_PANEL, _MARGIN = (2.35, 1.7), (1.0, 1.1)
#: The same where a line has a point for every timestamp.
_LARGE_PANEL = (2.9, 2.4)
#: The band of a longer line is averaged over neighbouring points to keep files small.
_MOST_BAND, _MOST_FAINT = 50, 25
#: Light markers are drawn larger.
_SIZES = {"*": 8.5, "X": 6, "P": 6}
_DASHES = ("-", "--", ":", "-.")


def draw(experiment: Experiment, curves: Sequence[Curve], target: Path) -> tuple[Path, Path]:
    """Draw the results of an experiment that exist so far.

    Parameters
    ----------
    target
        The path without a suffix: writes ``target.png`` and ``target.svg``.

    Raises
    ------
    DataError
        If there is nothing to draw.
    OutputError
        If the files can't be written.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph_lab.experiments.cells import Outcome
    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> from psgraph_lab.experiments.summary import summarise
    >>> experiment = find_experiment("scalability", quick=True)
    >>> outcomes = {cell: Outcome(cell, {"seconds": 0.5}) for cell in experiment.cells()}
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     files = draw(experiment, summarise(experiment, outcomes), Path(directory) / "time")
    ...     [path.name for path in files]
    ['time.png', 'time.svg']
    """
    figure = compose(experiment, curves)
    png = save_png(figure, target)
    svg, _ = save_svg(figure, target, label=experiment.title)
    return png, svg


def compose(experiment: Experiment, curves: Sequence[Curve]) -> Figure:
    """Compose the figure without writing it; `DataError` if there is nothing to draw."""
    from matplotlib.figure import Figure

    if not curves or not experiment.metrics:
        raise DataError(
            f"there are no results of {experiment.name} yet\n"
            f"Run: psgraph experiment run {experiment.name}"
        )
    datasets = list(dict.fromkeys(curve.dataset for curve in curves))
    panels = [[curve for curve in curves if curve.dataset == name] for name in datasets]
    looks = line_looks(experiment, curves)
    rows, columns = len(experiment.metrics), len(datasets)
    width, height = _LARGE_PANEL if experiment.axis == "timestamp" else _PANEL
    size = (columns * width + _MARGIN[0], rows * height + _MARGIN[1])
    figure = Figure(figsize=size, dpi=_DPI, facecolor=WHITE, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for row, name in zip(grid, experiment.metrics, strict=True):
        if experiment.axis == "none":
            draw_bars(row, panels, found_metric(name), looks)
        else:
            _draw_row(experiment, row, panels, found_metric(name), looks)
    for axes, dataset in zip(grid[0], datasets, strict=True):
        axes.set_title(_heading(dataset), fontsize=11, color=INK, pad=8)
    if experiment.axis != "none":
        for axes in grid[:-1].flat:
            axes.tick_params(labelbottom=False)
        for axes in grid[-1]:
            axes.set_xlabel(axis_words(experiment), fontsize=10, color=QUIET)
        _add_legend(figure, looks)
    return figure


def line_looks(experiment: Experiment, curves: Sequence[Curve]) -> dict[str, tuple[Look, str]]:
    """Colour, marker and dashes by label; a method looks the same in every figure.

    A variant of a method gets its own look, and so does each budget of a single line. The budgets
    of several lines differ by their dashes. The order is that of the definition, so that missing
    results change neither colours nor positions.
    """
    lines = {line.label: line for line in experiment.lines}
    variants = [line.label for line in experiment.lines if line.is_variant]
    alone = len(lines) == 1 and len(experiment.epsilons) > 1
    found: dict[tuple[int, int], tuple[str, Look]] = {}
    for curve in curves:
        turn = 0 if curve.epsilon is None else experiment.epsilons.index(curve.epsilon)
        label = curve.label.partition(", ε = ")[0]
        index = list(lines).index(label) if label in lines else 0
        if alone and curve.epsilon is not None:
            look = variant_look(curve.label, turn)
        elif label in variants:
            look = variant_look(label, variants.index(label))
        else:
            look = method_look(curve.method)
        found[index, turn] = curve.label, look
    return {
        label: (look, _DASHES[0 if alone else turn % len(_DASHES)])
        for (_, turn), (label, look) in sorted(found.items(), key=lambda item: item[0])
    }


def save_png(figure: Figure, target: Path) -> Path:
    """Write a figure to ``target.png``."""
    from PIL import Image

    make_directory(target.parent)
    png = target.with_name(f"{target.name}.png")
    raw, sink = BytesIO(), BytesIO()
    figure.savefig(raw, format="png", dpi=figure.dpi)
    figure.set_layout_engine("none")  # the layout is final; don't compute it again
    # A few flat colours and their blends: a palette looks the same at a quarter of the size.
    with Image.open(raw) as picture:
        full = picture.convert("RGB")
    few = full.quantize(palette=_palette(full), dither=Image.Dither.NONE)
    few.save(sink, format="png", optimize=True, dpi=(figure.dpi, figure.dpi))
    write_whole(png, sink.getvalue())
    return png


def _palette(picture: Image) -> Image:
    """The colours of the house style, which must stay exact, and the most frequent others."""
    from PIL import Image, ImageColor

    exact = np.array([ImageColor.getrgb(name) for name in ALL_COLOURS])
    found = picture.quantize(_BLENDS, dither=Image.Dither.NONE).getpalette() or []
    blends = np.reshape(found, (-1, 3))
    # Pillow matches colours coarsely: a blend close to white would replace it.
    apart = np.abs(blends[:, None] - exact).max(axis=2).min(axis=1) >= _COARSE
    palette = Image.new("P", (1, 1))
    palette.putpalette(np.concatenate([exact, blends[apart]]).ravel().tolist())
    return palette


def save_svg(figure: Figure, target: Path, *, label: str) -> tuple[Path, Drawing]:
    """Write a figure to ``target.svg``; returns the path, and the drawing for an HTML page."""
    make_directory(target.parent)
    svg = target.with_name(f"{target.name}.svg")
    drawing = Drawing.from_figure(figure)
    # Outside a page an SVG has to declare its namespace and its typeface.
    head = '<svg xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" '
    markup = drawing.markup("", label=label, themed=False).replace("<svg ", head, 1)
    write_whole(svg, markup.encode())
    return svg, drawing


def _heading(dataset: str) -> str:
    stand_in = stand_in_words(dataset)
    title = find_dataset(dataset).title
    title = title.replace(", with ", ",\nwith ")
    return f"{title}\n({stand_in})" if stand_in else title


def _draw_row(
    experiment: Experiment,
    row: Sequence[Axes],
    panels: Sequence[Sequence[Curve]],
    info: Metric,
    looks: dict[str, tuple[Look, str]],
) -> None:
    scale = choose_scale(panels, info)
    thin = experiment.axis == "timestamp"  # too many points for markers
    for column, (axes, curves) in enumerate(zip(row, panels, strict=True)):
        low, high = scale.limits[column]
        for curve in curves:
            _draw_line(axes, curve, info.name, *looks[curve.label], lowest=low, thin=thin)
        if scale.kind == "symlog":
            axes.set_yscale("symlog", linthresh=scale.smallest, linscale=0.8)
        else:
            axes.set_yscale(scale.kind)
        axes.set_ylim(low, high)
        quiet(axes)
        _divide_x(
            experiment, axes, np.unique(np.concatenate([_positions(curve) for curve in curves]))
        )
        _divide_y(axes, info, scale)
        if column and scale.shared:
            axes.tick_params(labelleft=False)
    name_row(row[0], info, scale.words)


def _draw_line(
    axes: Axes, curve: Curve, metric: str, look: Look, dashes: str, *, lowest: float, thin: bool
) -> None:
    mean, std = curve.mean[metric], curve.std[metric]
    along = _positions(curve)
    if (std > 0).any():
        most = _MOST_FAINT if thin else _MOST_BAND
        x, upper, lower = (_thinned(part, most) for part in (along, mean + std, mean - std))
        # A logarithmic axis can't show values below 0.
        lower = np.maximum(lower, lowest)
        light = 0.05 if thin else 0.18  # in a crowd of lines the bands would hide them
        axes.fill_between(x, lower, upper, color=look.colour, alpha=light, linewidth=0)
    if thin and along.size > _MOST_BAND:
        # Single timestamps stay visible behind the trend.
        axes.plot(along, mean, dashes, color=look.colour, linewidth=0.6, alpha=0.3)
        along, mean = _thinned(along, _MOST_BAND), _thinned(mean, _MOST_BAND)
    (line,) = axes.plot(along, mean, dashes, color=look.colour, label=curve.label)
    if thin:
        line.set(linewidth=1.5)
    else:
        line.set(linewidth=1.6, marker=look.marker, markersize=_SIZES.get(look.marker, 5))
        line.set(markeredgecolor=WHITE, markeredgewidth=0.5)


def _positions(curve: Curve) -> Floats:
    """Positions of the points on the x-axis; a share of the edges is shown as their number."""
    return curve.mean.get("edges", curve.x)


def _thinned(values: Floats, most: int) -> Floats:
    """Average over neighbouring points; the ends stay, so that a band is as long as its line."""
    step = ceil(values.size / most)
    if step == 1:
        return values
    blocks = (values[begin : begin + step] for begin in range(0, values.size, step))
    known = (block[np.isfinite(block)] for block in blocks)
    inner = [block.mean() if block.size else np.nan for block in known]
    return np.array([values[0], *inner, values[-1]])


def _divide_x(experiment: Experiment, axes: Axes, points: Floats) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

    if experiment.axis == "threshold":
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    if experiment.axis == "share":
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: abbreviated(x)))
        return
    few = FixedLocator(points.tolist()) if points.size <= 5 else MaxNLocator(5, integer=True)
    axes.xaxis.set_major_locator(few)
    span = float(np.ptp(points)) or 1.0
    crowded = [low for low, high in pairwise(sorted(points)) if high - low < _CROWDED * span]
    names = {low: "" for low in crowded if experiment.axis != "threshold"}  # that scale is a log
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: names.get(x, f"{x:g}")))


def _divide_y(axes: Axes, info: Metric, scale: Scale) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if scale.kind == "linear":
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    else:
        axes.yaxis.set_minor_locator(NullLocator())
    if scale.kind == "log":
        lowest, highest = axes.get_ylim()
        if highest < _FEW_DECADES * lowest:  # powers of ten alone would give one or two ticks
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: tick(info.scaled(y))))


def _add_legend(figure: Figure, looks: dict[str, tuple[Look, str]]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=look.colour, linestyle=dashes, marker=look.marker, label=label)
        for label, (look, dashes) in looks.items()
    ]
    longest = max(len(label) for label in looks)
    across = max(1, int(figure.get_figwidth() / (0.5 + 0.085 * longest)))
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=min(len(handles), across),
        frameon=False,
        fontsize=11,
        labelcolor=INK,
    )
