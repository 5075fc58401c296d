"""The results of the calibration: the file of factors, a heat map and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.durable import make_directory, write_whole
from psgraph._runtime.numbers import NO_VALUE, count, joined
from psgraph._version import __version__
from psgraph.pictures.style import COLOURS, INK, QUIET, WHITE, method_look
from psgraph.trust.calibration import (
    LEAST_COVERAGE,
    MOST_RATIO,
    MOST_WIDTH,
    Calibration,
    Correction,
    MethodCalibration,
)
from psgraph.trust.quantities import ERRORS
from psgraph_lab.experiments.calibration.cells import REPETITIONS
from psgraph_lab.experiments.calibration.factors import fit_method
from psgraph_lab.experiments.cells import Outcome
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.figures import save_png
from psgraph_lab.experiments.markdown import Markdown
from psgraph_lab.experiments.pages import NOT_PRIVATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["compose_calibration", "fit", "write_results"]

_CELL, _NAMES, _TOP = (0.62, 0.235), 2.3, 0.95  # inches
_DPI = 120
_SHADES = 6  # from white to the full colour; few of them keep the file small


def compose_calibration(found: Calibration) -> Figure | None:
    """Draw coverage and ratio of every prediction; None if there is none."""
    from matplotlib.figure import Figure

    methods = list(found.methods)
    names = [key for key in ERRORS if any(key in found.methods[name].errors for name in methods)]
    if not methods or not names:
        return None
    panel = (len(methods) * _CELL[0], len(names) * _CELL[1])
    width, height = _NAMES + 2 * (panel[0] + 0.25), _TOP + panel[1] + 0.15
    figure = Figure(figsize=(width, height), dpi=_DPI, facecolor=WHITE)
    for number, (title, draw) in enumerate(
        (("coverage of 90 % intervals", _coverage), ("median of predicted/true", _ratio_shade))
    ):
        left = (_NAMES + number * (panel[0] + 0.25)) / width
        axes = figure.add_axes((left, 0.1 / height, panel[0] / width, panel[1] / height))
        _draw(axes, found, methods, names, draw)
        axes.set_title(title, loc="left", fontsize=11, color=INK, weight="bold", pad=52)
        if number:
            axes.set_yticks([])
    return figure


def _draw(
    axes: Axes,
    found: Calibration,
    methods: list[str],
    names: list[str],
    draw: Callable[[Correction], tuple[float, str]],
) -> None:
    """Fill a panel: the redder a cell, the worse; in grey, what is not shown to analysts."""
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.patches import Rectangle

    shades = LinearSegmentedColormap.from_list("worse", [WHITE, COLOURS[4]], N=_SHADES)
    for row, key in enumerate(names):
        for column, method in enumerate(methods):
            each = found.methods[method].errors.get(key)
            if each is None:
                continue
            badness, text = draw(each)
            colour = shades(min(badness, 1.0) * 0.75) if each.usable else "#d5dae0"
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor=WHITE))
            axes.text(
                column + 0.5,
                row + 0.52,
                text,
                ha="center",
                va="center",
                fontsize=8,
                color=INK if each.usable else QUIET,
            )
    axes.set(xlim=(0, len(methods)), ylim=(len(names), 0))
    axes.set_xticks(
        [column + 0.5 for column in range(len(methods))],
        [method_look(name).title for name in methods],
        rotation=40,
        ha="left",
        fontsize=9,
    )
    axes.xaxis.tick_top()
    axes.set_yticks(
        [row + 0.5 for row in range(len(names))], [ERRORS[key].words for key in names], fontsize=9
    )
    axes.tick_params(length=0, colors=INK)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _coverage(found: Correction) -> tuple[float, str]:
    return max(0.9 - found.coverage, 0.0) / 0.2, f"{100 * found.coverage:.0f} %"


def _ratio_shade(found: Correction) -> tuple[float, str]:
    return abs(log(found.ratio)) / log(2), f"{found.ratio:.2f}"


#: How the file of factors is made, as its readers are told.
COMMAND = "make calibration"


def fit(experiment: Experiment, outcomes: Sequence[Outcome]) -> Calibration:
    """Learn the factors of all methods on the tuned data sets, and check them on the others."""
    methods = {}
    for line in experiment.lines:
        mine = [each for each in outcomes if each.cell.method == line.method]
        tuned = [each for each in mine if each.cell.dataset in experiment.tuned]
        held_out = [each for each in mine if each.cell.dataset not in experiment.tuned]
        found = fit_method(tuned, held_out)
        if found.errors:
            methods[line.method] = found
    there = {each.cell.dataset for each in outcomes}
    return Calibration(
        command=COMMAND,
        version=__version__,
        learned_from=tuple(name for name in experiment.datasets if name in experiment.tuned),
        checked_on=tuple(sorted(there - {*experiment.tuned})),
        epsilons=experiment.epsilons,
        windows=experiment.windows,
        repetitions=REPETITIONS,
        methods=methods,
    )


def write_results(
    experiment: Experiment,
    outcomes: Sequence[Outcome],
    out: Path,
    *,
    command: str,
    facts: Mapping[str, str],
) -> Path:
    """Write ``calibration.json``, the figure and the page; returns the path of the page.

    Without any outcome nothing is written.
    """
    page = out / f"{experiment.name}.md"
    if not outcomes:
        return page
    make_directory(out)
    found = fit(experiment, outcomes)
    write_whole(out / "calibration.json", found.to_json().encode())
    text = Markdown(experiment.title, subtitle=f"not in the paper · experiment {experiment.name}")
    text.paragraph(" ".join(experiment.about.split()))
    figure = compose_calibration(found)
    if figure is not None:
        png = save_png(figure, out / experiment.name)
        text.picture(png.name, alt=f"{experiment.title}: the numbers are in the tables below")
    _add_summary(text, found, outcomes, experiment)
    _add_coverage(text, found)
    _add_statistics(text, found)
    text.heading("How it was made")
    text.text(command)
    text.facts(list(facts.items()))
    text.paragraph(NOT_PRIVATE)
    return text.write(page)


def _add_summary(
    text: Markdown, found: Calibration, outcomes: Sequence[Outcome], experiment: Experiment
) -> None:
    text.heading("What we see")
    rows = []
    for name, each in found.methods.items():
        usable = [one for one in each.errors.values() if one.usable]
        mine = [one for one in outcomes if one.cell.method == name]
        rows.append(
            (
                method_look(name).title,
                f"{len(usable)} of {len(each.errors)}",
                _ratio(_rerun_ratio(mine, experiment)),
                _ratio(_median([one.ratio for one in usable])),
                _percent(_median([one.coverage for one in usable])),
                _percent(_median([one.timestamp_coverage for one in usable])),
                _percent(_coverage_near_jumps(each, mine, experiment)),
            )
        )
    text.table(
        (
            "method",
            "errors that can be predicted",
            "rerun/true",
            "predicted/true",
            "coverage, mean over time",
            "coverage, single timestamps",
            "around jumps (not predicted)",
        ),
        rows,
        numeric=range(1, 7),
        caption="On the streams held out. Medians over metrics: of the errors of reruns before any "
        "correction, over the true ones, for all metrics; and of corrected predictions, for the "
        "metrics that can be predicted. Last: how often the intervals of single timestamps would "
        "have contained the mean error around jumps of the released edge count, where psgraph "
        "expect makes no predictions.",
    )
    text.bullets(
        [
            f"Learned on {joined(found.learned_from)}; checked on {joined(found.checked_on)}.",
            f"{len(outcomes):,} of {count(len(experiment.cells()), 'cell')} were run: ε of "
            f"{joined(found.epsilons)}, w of "
            f"{joined([str(each) for each in found.windows])}, one release of each stream and "
            f"{count(found.repetitions, 'rerun')} of it. Of each stream the first "
            f"{experiment.timestamps} timestamps, fewer of large ones: "
            f"{joined([f'{number} of {name}' for name, number in experiment.shorter])}.",
            *(
                f"{method_look(method).title} was not run on {joined(datasets)}, where it is too "
                "slow."
                for method, datasets in experiment.skipped
            ),
            f"An error is shown as “can't be predicted” where the 90 % intervals contain the true "
            f"one in less than {100 * LEAST_COVERAGE:.0f} % of the cells held out, the median of "
            f"predicted/true is outside [1/{MOST_RATIO:g}, {MOST_RATIO:g}], or the ends of "
            f"intervals differ by more than a factor of {MOST_WIDTH:g}.",
        ]
    )


def _add_coverage(text: Markdown, found: Calibration) -> None:
    text.heading("Numbers")
    methods = list(found.methods)
    columns = ("metric", *(method_look(name).title for name in methods))
    for title, show in (
        ("Coverage of the 90 % intervals, mean over time", _shown_coverage),
        ("Median of predicted/true", _shown_ratio),
        ("Factor between the ends of an interval", _shown_width),
    ):
        rows = [
            (info.words, *(show(found.methods[name].errors.get(key)) for name in methods))
            for key, info in ERRORS.items()
        ]
        text.table(
            columns,
            rows,
            numeric=range(1, len(columns)),
            caption=f"{title}, on the streams held out. In brackets: not good enough to be shown.",
        )


def _add_statistics(text: Markdown, found: Calibration) -> None:
    methods = list(found.methods)
    keys = dict.fromkeys(key for each in found.methods.values() for key in each.statistics)
    columns = ("statistic", *(method_look(name).title for name in methods))
    rows = []
    for key in keys:
        rows.append(
            (key.replace("_", " "), *(_shown_shift(found.methods[name], key) for name in methods))
        )
    noise = [_shown_noise(found.methods[name]) for name in methods]
    text.table(
        columns,
        [*rows, ("edges, from the noise scale", *noise)],
        numeric=range(1, len(columns)),
        caption="Coverage of the 90 % intervals around statistics of releases, on the streams held "
        "out. In brackets: not good enough to be shown.",
    )


def _rerun_ratio(outcomes: Sequence[Outcome], experiment: Experiment) -> float:
    """The median over metrics of the median of rerun/true, on the streams held out."""
    held_out = [each.values for each in outcomes if each.cell.dataset not in experiment.tuned]
    ratios = []
    for name in ERRORS:
        first, true = f"first|{name}", f"true|{name}"
        there = [each[first] - each[true] for each in held_out if first in each and true in each]
        if there:
            ratios.append(float(np.exp(np.median(there))))
    return _median(ratios)


def _coverage_near_jumps(
    method: MethodCalibration, outcomes: Sequence[Outcome], experiment: Experiment
) -> float:
    """The median over metrics of the coverage around jumps, on the streams held out."""
    held_out = [each.values for each in outcomes if each.cell.dataset not in experiment.tuned]
    shares = []
    for name, correction in method.errors.items():
        first, true = f"first|{name}|near", f"true|{name}|near"
        there = [(each[first], each[true]) for each in held_out if first in each and true in each]
        if correction.usable and there:
            rerun, truth = np.array(there).T
            off = truth - correction.predict(rerun)
            low, high = correction.timestamp
            shares.append(float(((off >= low) & (off <= high)).mean()))
    return _median(shares)


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if values else float("nan")


def _percent(value: float) -> str:
    return NO_VALUE if np.isnan(value) else f"{100 * value:.0f} %"


def _ratio(value: float) -> str:
    return NO_VALUE if np.isnan(value) else f"{value:.2f}"


def _marked(text: str, usable: bool) -> str:
    return text if usable else f"({text})"


def _shown_coverage(found: Correction | None) -> str:
    return NO_VALUE if found is None else _marked(_percent(found.coverage), found.usable)


def _shown_ratio(found: Correction | None) -> str:
    return NO_VALUE if found is None else _marked(_ratio(found.ratio), found.usable)


def _shown_width(found: Correction | None) -> str:
    if found is None:
        return NO_VALUE
    low, high = found.overall
    return _marked(f"{np.exp(min(high - low, 20)):.3g}", found.usable)


def _shown_shift(method: MethodCalibration, key: str) -> str:
    found = method.statistics.get(key)
    return NO_VALUE if found is None else _marked(_percent(found.coverage), found.usable)


def _shown_noise(method: MethodCalibration) -> str:
    found = method.statistics.get("edges")
    if found is None or found.noise_coverage is None:
        return NO_VALUE
    return f"{_percent(found.noise_coverage)} ({found.noise_form})"
