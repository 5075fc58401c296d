"""Factors that turn what the bootstrap sees into a prediction, and how well that worked.

A rerun of a release is too optimistic where the method is biased: what the first run destroyed, the
second cannot destroy again. For each method and each quantity an experiment on public streams
learned how far reruns are off, and on other streams checked how well the corrected predictions do.
The result is ``calibration.json``, which only the experiment writes::

    make calibration
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from math import log
from typing import TYPE_CHECKING, Any, Literal

from psgraph._runtime.arrays import Floats

if TYPE_CHECKING:
    from psgraph.methods.base import Method

__all__ = [
    "LEAST_COVERAGE",
    "LEVEL",
    "MOST_RATIO",
    "MOST_WIDTH",
    "NOISE_FORMS",
    "Calibration",
    "Correction",
    "MethodCalibration",
    "NoiseForm",
    "Shift",
    "load_calibration",
    "method_calibration",
]

#: What the number of edges was estimated from: the measured edge count; that and the sum of the
#: measured degrees; both, filtered over time.
NoiseForm = Literal["edges", "edges and degrees", "filtered"]

NOISE_FORMS: tuple[NoiseForm, ...] = ("edges", "edges and degrees", "filtered")

LEVEL = 0.9  # of all intervals
LEAST_COVERAGE = 0.8  # of intervals at level 0.9 on streams that the factors were not learned from
MOST_RATIO = 2.0  # of the median of predicted/true, and of its inverse
MOST_WIDTH = 100.0  # of the ratio between the ends of an interval: a wider one says nothing


@dataclass(frozen=True)
class Correction:
    """From the error of a rerun to the error of a release, on a logarithmic scale.

    With x the logarithm of the error between releases and reruns, the logarithm of the error of
    the releases is predicted as ``shift + power·x``.

    Attributes
    ----------
    overall, timestamp
        The ends of the interval around the prediction, for the mean over time and for a single
        timestamp: what it has to be multiplied by, as logarithms.
    coverage, timestamp_coverage
        The share of intervals that contained the true error, on streams held out.
    ratio
        The median of predicted/true there.
    """

    shift: float
    power: float
    overall: tuple[float, float]
    timestamp: tuple[float, float]
    coverage: float
    timestamp_coverage: float
    ratio: float

    def predict(self, rerun: Floats) -> Floats:
        """Return predictions from the logarithms of the errors of reruns."""
        return self.shift + self.power * rerun

    @property
    def usable(self) -> bool:
        """Whether predictions of the mean over time were good enough to be shown."""
        low, high = self.overall
        return (
            self.coverage >= LEAST_COVERAGE
            and 1 / MOST_RATIO <= self.ratio <= MOST_RATIO
            and high - low <= log(MOST_WIDTH)
        )

    @property
    def usable_over_time(self) -> bool:
        """Whether predictions for single timestamps were, too."""
        return self.usable and self.timestamp_coverage >= LEAST_COVERAGE


@dataclass(frozen=True)
class Shift:
    """From a released statistic to the true one, on the statistic's scale.

    With d the difference between R and R′, averaged over reruns, and s its root mean square, the
    true value is predicted at ``share·d + middle·s`` from the released one.

    Attributes
    ----------
    middle, low, high
        The prediction and the ends of its interval, in multiples of s.
    coverage
        The share of intervals that contained the true value, on streams held out.
    noise_form, noise_coverage
        Which intervals that follow from the noise scale alone contained the true value often
        enough, and how often; None where there are none.
    """

    share: float
    middle: float
    low: float
    high: float
    coverage: float
    noise_form: NoiseForm | None = None
    noise_coverage: float | None = None

    @property
    def usable(self) -> bool:
        """Whether intervals were good enough to be shown."""
        return self.coverage >= LEAST_COVERAGE


@dataclass(frozen=True)
class MethodCalibration:
    """What is known about the predictions for one method, by name of error and statistic."""

    errors: Mapping[str, Correction]
    statistics: Mapping[str, Shift]

    def without(self, errors: Iterable[str]) -> MethodCalibration:
        """Return the same, as if nothing were known about some errors."""
        left_out = {*errors}
        known = {name: each for name, each in self.errors.items() if name not in left_out}
        return MethodCalibration(known, self.statistics)


@dataclass(frozen=True)
class Calibration:
    """The content of ``calibration.json``.

    Attributes
    ----------
    command, version
        What wrote it.
    learned_from, checked_on
        Names of the data sets.
    epsilons, windows, repetitions
        Of the runs.
    """

    command: str
    version: str
    learned_from: tuple[str, ...]
    checked_on: tuple[str, ...]
    epsilons: tuple[str, ...]
    windows: tuple[int, ...]
    repetitions: int
    methods: Mapping[str, MethodCalibration]

    def to_json(self) -> str:
        """The content of the file, one line per quantity."""
        head = {name: value for name, value in asdict(self).items() if name != "methods"}
        lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
        methods = []
        for name, found in sorted(self.methods.items()):
            groups = [
                f'"{group}": {{\n'
                + ",\n".join(
                    f"{json.dumps(key)}: {json.dumps(_rounded(asdict(value)))}"
                    for key, value in getattr(found, group).items()
                )
                + "\n}"
                for group in ("errors", "statistics")
            ]
            methods.append(f"{json.dumps(name)}: {{\n" + ",\n".join(groups) + "\n}")
        lines.append('"methods": {\n' + ",\n".join(methods) + "\n}")
        return "{\n" + ",\n".join(lines) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Calibration:
        """Read the file back."""
        content = json.loads(text)
        methods = {
            name: MethodCalibration(
                errors={key: Correction(**_tuples(value)) for key, value in each["errors"].items()},
                statistics={key: Shift(**value) for key, value in each["statistics"].items()},
            )
            for name, each in content.pop("methods").items()
        }
        return cls(**_tuples(content), methods=methods)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.3g}")
    if isinstance(value, list | tuple):
        return [_rounded(each) for each in value]
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return value


def _tuples(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: tuple(value) if isinstance(value, list) else value for key, value in content.items()
    }


@cache
def load_calibration() -> Calibration:
    """Read the calibration that comes with the package.

    >>> "psgraph" in load_calibration().methods
    True
    """
    path = files("psgraph.trust") / "calibration.json"
    return Calibration.from_json(path.read_text(encoding="utf-8"))


def method_calibration(method: Method[Any, Any]) -> MethodCalibration | None:
    """Return the calibration of a method; None if there is none for it and its parameters.

    The factors were learned with the default parameters and say nothing about others.
    """
    if method.parameters() != type(method)().parameters():
        return None
    return load_calibration().methods.get(method.name)
