"""Names of data sets, metrics and axes on figures and pages."""

from __future__ import annotations

from psgraph.metrics.groups import METRICS
from psgraph.metrics.metric import Metric
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Axis, Experiment

__all__ = [
    "axis_words",
    "dataset_words",
    "direction",
    "found_metric",
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
    return _METRICS.get(name) or _quantity(name)


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
