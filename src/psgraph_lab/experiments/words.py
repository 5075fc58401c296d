"""What figures and pages call things: data sets, metrics, axes, numbers."""

from __future__ import annotations

from math import floor, isfinite, log10

from psgraph.metrics.groups import GROUPS, PAPER, VARIANTS, MetricInfo
from psgraph_lab.datasets import find_dataset
from psgraph_lab.experiments.definition import Axis, Experiment

__all__ = [
    "axis_words",
    "dataset_words",
    "direction",
    "found_metric",
    "join_words",
    "number",
    "shown_point",
    "stand_in_words",
]

_COST = (
    MetricInfo(
        "seconds",
        "running time, seconds",
        "lower",
        False,
        "Seconds for the whole stream, from the first snapshot to the last release.",
    ),
    MetricInfo(
        "peak_megabytes",
        "peak memory, MB",
        "lower",
        False,
        "The most memory the process held, with Python, its libraries and the data set.",
    ),
    MetricInfo(
        "added_megabytes",
        "added memory, MB",
        "lower",
        False,
        "By how much that is more than before the first snapshot was published.",
    ),
)
_METRICS = {
    info.name: info
    for info in (
        *PAPER,
        *VARIANTS,
        *(info for group in GROUPS.values() for info in group.metrics),
        *_COST,
    )
}
_AXES: dict[Axis, str] = {
    "epsilon": "privacy budget ε",
    "window": "window w",
    "threshold": "threshold × N (log scale)",
    "timestamp": "timestamp",
    "share": "edges of all snapshots",
    "none": "",
}


def found_metric(name: str) -> MetricInfo:
    """The words for a metric; one that nobody described goes by its name.

    >>> found_metric("density_error").words, found_metric("seconds").words
    ('density error', 'running time, seconds')
    """
    plain = MetricInfo(name, name.replace("_", " "), "lower", False, "")
    return _METRICS.get(name, plain)


def direction(info: MetricInfo) -> str:
    """Which way is better, with an arrow.

    >>> direction(found_metric("density_error"))
    'lower is better ↓'
    """
    return f"{info.better} is better {info.arrow}"


def dataset_words(name: str) -> str:
    """The title of a data set, and what it stands in for.

    >>> dataset_words("wiki-talk")
    'Wiki-talk, stand-in for Reddit'
    """
    return ", ".join(part for part in (find_dataset(name).title, stand_in_words(name)) if part)


def stand_in_words(name: str) -> str:
    """What a data set stands in for; nothing to say about the paper's own.

    >>> stand_in_words("hepph-partial"), stand_in_words("as-733")
    ('stand-in for Cit-HepPh', '')
    """
    original = find_dataset(name).stand_in_for
    return f"stand-in for {find_dataset(original).title}" if original else ""


def axis_words(experiment: Experiment) -> str:
    """What runs along the x-axis."""
    return _AXES[experiment.axis]


def shown_point(experiment: Experiment, x: float) -> str:
    """A place on the x-axis, at the head of a column.

    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> shown_point(find_experiment("end-to-end"), 0.5)
    'ε = 0.5'
    """
    before = {"epsilon": "ε = ", "window": "w = "}.get(experiment.axis, "")
    if experiment.axis == "share":
        return f"{100 * x:g} % of the edges"
    after = " × N" if experiment.axis == "threshold" else ""
    return f"{before}{x:g}{after}"


def number(mean: float, std: float | None = None, *, is_share: bool = False) -> str:
    """A mean with its deviation, to three digits of the larger one; shares in per cent.

    >>> number(0.12345, 0.0123, is_share=True), number(1234.5), number(3e7, 1e6)
    ('12.3 ± 1.2', '1,234', '3.00e+07 ± 1.00e+06')
    """
    parts = [mean] if std is None else [mean, std]
    if not all(isfinite(part) for part in parts):
        return "undefined"
    parts = [100 * part if is_share else part for part in parts]
    largest = max(abs(part) for part in parts)
    if largest >= 1e6:
        return " ± ".join(f"{part:.2e}" for part in parts)
    digits = 2 - floor(log10(largest)) if largest > 0 else 0
    return " ± ".join(f"{part:,.{min(max(digits, 0), 6)}f}" for part in parts)


def join_words(words: list[str]) -> str:
    """Words in a sentence.

    >>> join_words(["one", "two", "three"])
    'one, two and three'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
