"""A rehearsal as a page and as a picture: quality against ε, a chart per question and w."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.durable import write_whole
from psgraph._runtime.extras import require_drawing
from psgraph._runtime.numbers import count
from psgraph._version import __version__
from psgraph.errors import InvalidArgument, OutputError
from psgraph.pictures.style import INK, QUIET, WHITE, method_look, quiet
from psgraph.reports.charts import blank_chart, finish, literal
from psgraph.reports.page import Page
from psgraph.reports.rehearsal import (
    CAUTION,
    LEGEND,
    NOTHING_PRIVATE,
    Question,
    all_metrics_table,
    described,
    explanations,
    questions_of,
    recommendations,
    rehearsal_table,
    resemblance,
    smallest_epsilons,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from psgraph.trust.rehearsal import Rehearsal

__all__ = ["check_picture", "draw_rehearsal", "rehearsal_page"]

_PANEL = (2.5, 2.1)  # inches of one panel of the picture
_HEAD, _FOOT = 0.75, 0.3  # inches above and below the panels
_ROOM, _LITTLE_ROOM = 1.22, 1.05  # above the highest point or threshold, and above 100 %
_MARGINS = (1.15, 1.6)  # factors of ε, left and right of the lines: on the right are words
_MOST = 2.0  # thresholds of poor: errors further up are cut off


def rehearsal_page(rehearsal: Rehearsal, *, command: str = "") -> Page:
    """Lay out a rehearsal, for curators and everyone else.

    Parameters
    ----------
    command
        The command that made it.
    """
    page = Page("Rehearsal", subtitle="What quality to expect for each choice of ε, w and method.")
    page.paragraph(NOTHING_PRIVATE, kind="lead")
    warning = resemblance(rehearsal)
    if warning:
        page.paragraph(warning, verdict="Little resemblance", tone="poor")
    asked = questions_of(rehearsal)
    page.heading("What is enough")
    page.bullets(recommendations(rehearsal))
    columns, rows = smallest_epsilons(rehearsal)
    page.table(columns, rows, caption="The smallest ε at and above which each question is close")
    page.paragraph(f"Both are judged {CAUTION}.", kind="note")
    for window in rehearsal.windows:
        page.heading(f"Windows of {count(window, 'timestamp')}")
        drawings = []
        for question in asked:
            figure, axes = blank_chart(question.words)
            _draw(axes, rehearsal, window, question)
            if question is asked[0]:
                axes.legend(loc="center right", handlelength=1.8)
            words = f"{question.words} {question.metric.words} against ε for w = {window}."
            drawings.append((finish(figure), words))
        page.figures(
            drawings,
            caption="Means and standard deviations over repetitions, and the thresholds of close "
            "and poor.",
        )
    page.heading("All numbers")
    columns, rows = rehearsal_table(rehearsal)
    page.table(columns, rows, numeric=range(1, len(columns)), caption=LEGEND)
    page.facts(explanations(rehearsal))
    columns, rows = all_metrics_table(rehearsal)
    with page.details("The paper's metrics"):
        page.table(columns, rows, numeric=range(1, len(columns)), caption="Means ± deviations")
    _add_making(page, rehearsal, command)
    return page


def _add_making(page: Page, rehearsal: Rehearsal, command: str) -> None:
    page.heading("What was rehearsed")
    if command:
        page.text(command)
    page.facts(
        [
            ("Public stream", f"{rehearsal.like}: {described(rehearsal.template)}"),
            ("Rehearsed on", described(rehearsal.shape)),
            ("Repetitions", f"up to {rehearsal.repetitions}, seed {rehearsal.seed}"),
            ("Version", f"psgraph {__version__}"),
        ]
    )
    page.paragraph(
        "The public stream is not yours. It has your numbers of nodes and edges, but its own "
        "degrees, triangles and changes. Compare several, and choose ε with room to spare.",
        kind="note",
    )


def check_picture(path: str | PathLike[str]) -> None:
    """Raise if no picture can be written to a path, before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg"):
        raise InvalidArgument(f"a picture is written as .png or .svg, not {target.suffix!r}")
    if target.is_dir() or not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written\nName a file in an existing directory.")
    require_drawing()


def draw_rehearsal(rehearsal: Rehearsal, path: str | PathLike[str]) -> Path:
    """Draw a row of charts for every w, one chart per question, into a PNG or SVG file."""
    check_picture(path)
    from matplotlib.figure import Figure

    asked = questions_of(rehearsal)
    rows, columns = len(rehearsal.windows), len(asked)
    size = (_PANEL[0] * columns, _PANEL[1] * rows + _HEAD + _FOOT)
    figure = Figure(figsize=size, facecolor=WHITE, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for row, window in enumerate(rehearsal.windows):
        for column, question in enumerate(asked):
            axes = grid[row][column]
            quiet(axes)
            _draw(axes, rehearsal, window, question)
            if row == 0:
                title = question.name.capitalize()
                axes.set_title(title, fontsize=10.5, color=INK, loc="left", weight="bold", pad=8)
            if column == 0:
                axes.set_ylabel(f"w = {window}\n{axes.get_ylabel()}")
            for axis in (axes.xaxis, axes.yaxis):
                axis.label.set(fontsize=9.5, color=QUIET)
    _head(figure, rehearsal)
    sink = BytesIO()
    target = Path(path)
    kind = target.suffix.lower().removeprefix(".")
    figure.savefig(sink, format=kind, dpi=144, metadata={"Date": None} if kind == "svg" else None)
    write_whole(target, sink.getvalue())
    return target


def _head(figure: Figure, rehearsal: Rehearsal) -> None:
    """The legend above all panels, and what was rehearsed below them."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper left", ncols=len(labels), frameon=False, fontsize=10.5
    )
    shape = rehearsal.shape
    figure.supxlabel(
        literal(
            f"Rehearsed on a public stream (like {rehearsal.like}): {count(shape.nodes, 'node')}, "
            f"{count(round(shape.edges), 'edge')} per snapshot. Dashed: thresholds of "
            "close and poor.",
            most=200,
        ),
        fontsize=9,
        color=QUIET,
    )


def _draw(axes: Axes, rehearsal: Rehearsal, window: int, question: Question) -> None:
    """Draw one metric against ε, a line per method."""
    metric, limits = question.metric, question.metric.limits
    ticks: dict[float, str] = {}
    highest = metric.scaled(limits.fair)
    for method in rehearsal.methods:
        look = method_look(method)
        cells = [
            cell for cell in rehearsal.of(window, method) if cell.mean(metric.name) is not None
        ]
        x = [float(cell.guarantee.epsilon) for cell in cells]
        y = [metric.scaled(cell.mean(metric.name) or 0.0) for cell in cells]
        spread = [metric.scaled(cell.spread(metric.name) or 0.0) for cell in cells]
        axes.errorbar(
            *(x, y, spread),
            color=look.colour,
            marker=look.marker,
            markersize=5,
            linewidth=1.6,
            capsize=2,
            label=literal(look.title),
        )
        highest = max([highest, *y])
        ticks |= {each: f"{each:g}" for each in x}
    lower = metric.better == "lower"
    for limit, word, below in ((limits.close, "close", lower), (limits.fair, "poor", not lower)):
        axes.axhline(metric.scaled(limit), color=QUIET, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.annotate(
            word,
            (1, metric.scaled(limit)),
            xycoords=("axes fraction", "data"),
            xytext=(-1, -2 if below else 2),
            textcoords="offset points",
            ha="right",
            va="top" if below else "bottom",
            fontsize=8,
            color=QUIET,
        )
    if ticks:
        axes.set_xscale("log")
        axes.set_xticks(list(ticks), list(ticks.values()))
        axes.minorticks_off()
        axes.set_xlim(min(ticks) / _MARGINS[0], max(ticks) * _MARGINS[1])
    top = min(highest, _MOST * metric.scaled(limits.fair)) if lower else metric.scaled(1.0)
    axes.set_ylim(0, (_ROOM if lower else _LITTLE_ROOM) * top)
    axes.set_xlabel("ε")
    what = "error" if lower else "overlap"
    axes.set_ylabel(f"{what}, {metric.unit} {metric.arrow}", fontsize=9)
