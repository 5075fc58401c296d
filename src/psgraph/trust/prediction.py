"""Predicted errors with intervals, per timestamp and overall, from a bootstrap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.numbers import NO_VALUE
from psgraph.graph.kind import UNDIRECTED, Kind
from psgraph.metrics.metric import Metric
from psgraph.trust.calibration import LEVEL, MethodCalibration
from psgraph.trust.quantities import Scale, errors_of
from psgraph.trust.reruns import Bootstrap

if TYPE_CHECKING:
    from psgraph.trust.reruns import Series

__all__ = [
    "UNPREDICTABLE",
    "Prediction",
    "Range",
    "Status",
    "from_scale",
    "mean_of",
    "predict_errors",
    "to_log",
    "to_scale",
]

#: ``calibrated``: corrected and checked. ``not calibrated``: as reruns have it, likely too
#: optimistic. ``unpredictable``: tests found predictions for this method to be wrong, or there
#: were none.
Status = Literal["calibrated", "not calibrated", "unpredictable"]

UNPREDICTABLE = "cannot be predicted for this method"

# A scale is what errors and statistics are compared on: what is a ratio becomes a difference.
_LEAST_ERROR, _LEAST_SHARE, _MOST_CORRELATION = 0.002, 0.0005, 0.999


@dataclass(frozen=True)
class Range:
    """A prediction and its 90 % interval, in the unit of what is predicted."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        return {"value": self.value, "low": self.low, "high": self.high}

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Prediction:
    """The predicted error of the releases in one metric.

    Attributes
    ----------
    overall
        The mean over time; None where it cannot be predicted or has no value.
    over_time
        Each timestamp, None where it cannot be predicted or has no value.
    rerun
        The mean error of reruns, before any correction.
    """

    metric: Metric
    status: Status
    overall: Range | None
    over_time: tuple[Range | None, ...]
    rerun: float | None

    @property
    def words(self) -> str:
        return self.metric.words

    def shown(self) -> str:
        """The prediction with its interval, as text."""
        if self.status == "unpredictable":
            return UNPREDICTABLE
        if self.overall is None:
            return NO_VALUE
        number, unit = self.metric.number, self.metric.unit
        low, high = number(self.overall.low), number(self.overall.high)
        return f"{number(self.overall.value)} ({low} to {high}) {unit}".strip()

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "overall": None if self.overall is None else self.overall.to_dict(),
            "over_time": [None if each is None else each.to_dict() for each in self.over_time],
            "rerun": self.rerun,
        }


def to_scale(values: Floats, scale: Scale) -> Floats:
    """Return values on a scale; those too close to its ends are moved away from them.

    >>> to_scale(np.array([0.5, 0.0]), "logit").round(2)
    array([ 0. , -7.6])
    """
    values = np.asarray(values, dtype=np.float64)
    if scale == "log":
        return np.log(np.maximum(values, _LEAST_ERROR))
    if scale == "count":
        return np.log(values + 0.5)
    if scale == "logit":
        share = np.clip(values, _LEAST_SHARE, 1 - _LEAST_SHARE)
        return np.log(share / (1 - share))
    if scale == "atanh":
        return np.arctanh(np.clip(values, -_MOST_CORRELATION, _MOST_CORRELATION))
    return values


def from_scale(values: Floats, scale: Scale) -> Floats:
    """Invert `to_scale`.

    >>> from_scale(to_scale(np.array([0.25]), "logit"), "logit")
    array([0.25])
    """
    values = np.asarray(values, dtype=np.float64)
    if scale == "log":
        return np.exp(values)
    if scale == "count":
        return np.maximum(np.exp(values) - 0.5, 0.0)
    if scale == "logit":
        return 1 / (1 + np.exp(-values))
    return np.tanh(values) if scale == "atanh" else values


def to_log(metric: Metric, values: Floats | float) -> Floats:
    """Return errors on a logarithmic scale; where higher is better, what is missing to 1."""
    numbers = np.asarray(values, dtype=np.float64)
    return to_scale(1 - numbers if metric.better == "higher" else numbers, "log")


def _from_log(metric: Metric, values: Floats) -> Floats:
    numbers = from_scale(values, "log")
    return 1 - numbers if metric.better == "higher" else numbers


def mean_of(values: Sequence[float] | Floats) -> float:
    """The mean of the values that are there; NaN if none is."""
    numbers = np.asarray(values, dtype=np.float64)
    there = numbers[~np.isnan(numbers)]
    return float(there.mean()) if there.size else float("nan")


def predict_errors(
    bootstrap: Bootstrap, calibration: MethodCalibration | None, kind: Kind = UNDIRECTED
) -> dict[str, Prediction]:
    """Predict every error; without a calibration, take the errors of the reruns."""
    return {
        name: _prediction(info, [each.errors for each in bootstrap.repetitions], calibration)
        for name, info in errors_of(kind).items()
    }


def _prediction(
    metric: Metric, reruns: Sequence[Series], calibration: MethodCalibration | None
) -> Prediction:
    name = metric.name
    at_each = np.array([each[name] for each in reruns])
    raw = mean_of([mean_of(each) for each in at_each])
    timestamps = at_each.shape[1]
    if np.isnan(raw):
        status: Status = "not calibrated" if calibration is None else "calibrated"
        return Prediction(metric, status, None, (None,) * timestamps, None)
    if calibration is None:
        around = _quantiles(at_each.ravel())  # of a single timestamp, since reruns are few
        return Prediction(
            metric,
            "not calibrated",
            None if around is None else replace(around, value=raw),
            tuple(_quantiles(column) for column in at_each.T),
            raw,
        )
    correction = calibration.errors.get(name)
    if correction is None or not correction.usable:
        return Prediction(metric, "unpredictable", None, (None,) * timestamps, raw)
    centre = correction.predict(to_log(metric, raw))
    overall = _interval(metric, float(centre), correction.overall)
    over_time: tuple[Range | None, ...] = (None,) * timestamps
    if correction.usable_over_time:
        over_time = tuple(
            None
            if np.isnan(value)
            else _interval(
                metric,
                float(correction.predict(to_log(metric, value))),
                correction.timestamp,
            )
            for value in (mean_of(column) for column in at_each.T)
        )
    return Prediction(metric, "calibrated", overall, over_time, raw)


def _interval(metric: Metric, centre: float, ends: tuple[float, float]) -> Range:
    values = _from_log(metric, centre + np.array([0.0, *ends]))
    if metric.better == "higher":
        values = np.clip(values, metric.lowest, 1.0)
    return Range(float(values[0]), float(values.min()), float(values.max()))


def _quantiles(values: Floats) -> Range | None:
    """The mean and the quantiles of the values that are there."""
    there = values[~np.isnan(values)]
    if not there.size:
        return None
    low, high = np.quantile(there, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Range(float(there.mean()), float(low), float(high))
