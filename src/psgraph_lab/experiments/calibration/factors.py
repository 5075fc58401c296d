"""Learn the factors of predictions on some data sets, and check them on others.

Intervals come from the errors that predictions make on a data set they were not fitted to: each
data set is left out in turn. Every data set weighs the same, however many cells it has. With eight
of them the tails are known poorly, so intervals are widened by a fixed factor: that of a Student
distribution with seven degrees of freedom over a normal one, and of the error of the fit itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats
from psgraph.trust.calibration import (
    LEAST_COVERAGE,
    LEVEL,
    NOISE_FORMS,
    Correction,
    MethodCalibration,
    NoiseForm,
    Shift,
)
from psgraph.trust.intervals import calibration_key
from psgraph.trust.quantities import ERRORS, STATISTICS
from psgraph_lab.datasets.jumps import find_jump
from psgraph_lab.experiments.calibration.cells import CHOSEN
from psgraph_lab.experiments.cells import Outcome

__all__ = ["fit_method"]

_PULL = 2.0  # towards "the error of a rerun, times a factor", in data sets
_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
_WIDER = 1.22  # 1.895/1.645 · √(1 + 1/8)
_LEAST = 0.05  # half the width of an interval of errors, as a logarithm: ± 5 %
_FEWEST = 3  # data sets below which nothing is fitted
_NARROWER = 0.9  # of the width of other intervals: what filtering must gain to be believed


@dataclass(frozen=True)
class _Rows:
    """Numbers of several cells, and which data set each row belongs to, with a jump or without."""

    groups: NDArray[np.str_]
    numbers: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Outcome], *names: str) -> _Rows:
        """Read values of all outcomes that have them."""
        found = [
            (find_jump(each.cell.dataset)[0], [each.values[name] for name in names])
            for each in outcomes
            if all(np.isfinite(each.values.get(name, np.nan)) for name in names)
        ]
        numbers = np.array([row for _, row in found], dtype=np.float64).reshape(-1, len(names))
        return cls(np.array([group for group, _ in found], dtype=np.str_), numbers)

    @property
    def weights(self) -> Floats:
        """One for every data set in total."""
        names, inverse, counts = np.unique(self.groups, return_inverse=True, return_counts=True)
        del names
        return 1.0 / counts[inverse]

    def split(self, group: str) -> tuple[_Rows, _Rows]:
        """All rows but those of a data set, and these."""
        there = self.groups == group
        return _Rows(self.groups[~there], self.numbers[~there]), _Rows(
            self.groups[there], self.numbers[there]
        )

    def joined(self, other: _Rows) -> _Rows:
        return _Rows(
            np.concatenate([self.groups, other.groups]),
            np.concatenate([self.numbers, other.numbers]),
        )

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def datasets(self) -> list[str]:
        return sorted(set(self.groups.tolist()))


def fit_method(tuned: Sequence[Outcome], held_out: Sequence[Outcome]) -> MethodCalibration:
    """Fit all quantities of one method on `tuned` outcomes and check them on `held_out` ones."""
    errors = {}
    for name in ERRORS:
        found = _correction(name, tuned, held_out)
        if found is not None:
            errors[name] = found
    statistics = {}
    for key in dict.fromkeys(calibration_key(name) for name in STATISTICS):
        shift = _shift(key, tuned, held_out)
        if shift is not None:
            statistics[key] = shift
    return MethodCalibration(errors, statistics)


# ---- errors ----


def _correction(
    name: str, tuned: Sequence[Outcome], held_out: Sequence[Outcome]
) -> Correction | None:
    columns = (f"true|{name}", f"first|{name}")
    learn, check = _Rows.of(tuned, *columns), _Rows.of(held_out, *columns)
    learn_times = _at_timestamps(name, tuned)
    if len(learn.datasets) < _FEWEST or len(check.datasets) < _FEWEST:
        return None
    factors = _fit(learn)
    residuals = _left_out(learn)
    at_times = _left_out(learn, learn_times)
    overall, timestamp = _error_ends(*residuals), _error_ends(*at_times)
    off = check.numbers[:, 0] - _predicted(factors, check.numbers)
    times = _at_timestamps(name, held_out)
    off_times = times.numbers[:, 0] - _predicted(factors, times.numbers)
    return Correction(
        *factors,
        overall=overall,
        timestamp=timestamp,
        coverage=_share(off, overall, check.weights),
        timestamp_coverage=_share(off_times, timestamp, times.weights),
        ratio=float(np.exp(-_quantile(off, check.weights, 0.5))),
    )


def _error_ends(values: Floats, weights: Floats) -> tuple[float, float]:
    low, high = _tails(values, weights)
    return min(low, -_LEAST), max(high, _LEAST)


def _at_timestamps(name: str, outcomes: Sequence[Outcome]) -> _Rows:
    """The true error and that of reruns, at all timestamps that were kept."""
    found = _Rows(np.zeros(0, dtype=np.str_), np.zeros((0, 2)))
    for number in range(CHOSEN):
        columns = (f"true|{name}|{number}", f"first|{name}|{number}")
        found = found.joined(_Rows.of(outcomes, *columns))
    return found


def _fit(rows: _Rows) -> tuple[float, float]:
    """Weighted least squares with a pull of the slope towards 1."""
    true, rerun = rows.numbers.T
    weights = rows.weights
    features = np.column_stack([np.ones(len(rows)), rerun])
    pull, towards = np.diag([0.0, _PULL]), np.array([0.0, 1.0])
    left = features.T @ (weights[:, None] * features) + pull
    right = features.T @ (weights * true) + pull @ towards
    shift, power = np.linalg.solve(left, right)
    return float(shift), float(power)


def _predicted(factors: tuple[float, float], numbers: Floats) -> Floats:
    shift, power = factors
    return shift + power * numbers[:, 1]


def _left_out(rows: _Rows, applied: _Rows | None = None) -> tuple[Floats, Floats]:
    """Residuals on each data set of factors fitted to the others, with their weights.

    The factors are fitted to `rows` and applied to the rows of `applied`, the same unless given.
    """
    applied = rows if applied is None else applied
    residuals, weights = [], []
    for group in rows.datasets:
        factors = _fit(rows.split(group)[0])
        there = applied.split(group)[1]
        residuals.append(there.numbers[:, 0] - _predicted(factors, there.numbers))
        weights.append(there.weights)
    return np.concatenate(residuals), np.concatenate(weights)


# ---- statistics ----


def _shift(key: str, tuned: Sequence[Outcome], held_out: Sequence[Outcome]) -> Shift | None:
    learn, check = _statistic_rows(key, tuned), _statistic_rows(key, held_out)
    if len(learn.datasets) < _FEWEST or len(check.datasets) < _FEWEST:
        return None
    share = _fit_share(learn)
    residuals, weights = [], []
    for group in learn.datasets:
        others, there = learn.split(group)
        residuals.append(_scaled(there, _fit_share(others)))
        weights.append(there.weights)
    scaled, weight = np.concatenate(residuals), np.concatenate(weights)
    low, high = _tails(scaled, weight)
    form, noise_coverage = _noise_form(tuned, held_out) if key == "edges" else (None, None)
    return Shift(
        share=share,
        middle=_quantile(scaled, weight, 0.5),
        low=low,
        high=high,
        coverage=_share(_scaled(check, share), (low, high), check.weights),
        noise_form=form,
        noise_coverage=noise_coverage,
    )


def _statistic_rows(key: str, outcomes: Sequence[Outcome]) -> _Rows:
    """How far the truth is from the release, how far reruns are, and their spread."""
    found = _Rows(np.zeros(0, dtype=np.str_), np.zeros((0, 3)))
    for name in STATISTICS:
        if calibration_key(name) != key:
            continue
        for number in range(CHOSEN):
            columns = (f"off|{name}|{number}", f"moved|{name}|{number}", f"spread|{name}")
            found = found.joined(_Rows.of(outcomes, *columns))
    return found


def _scaled(rows: _Rows, share: float) -> Floats:
    off, moved, spread = rows.numbers.T
    return (off - share * moved) / spread


def _fit_share(rows: _Rows) -> float:
    """The share of the reruns' bias that the release has too, between none and all of it."""
    off, moved, spread = rows.numbers.T
    x, y, weights = moved / spread, np.clip(off / spread, -10, 10), rows.weights
    share = float((weights * x * y).sum() / ((weights * x * x).sum() + _PULL))
    return min(max(share, 0.0), 1.0)


def _noise_form(
    tuned: Sequence[Outcome], held_out: Sequence[Outcome]
) -> tuple[NoiseForm | None, float | None]:
    """The narrowest intervals from the noise scale that hold what they promise, if any do."""
    best: tuple[NoiseForm | None, float | None] = (None, None)
    width = np.inf
    for form in NOISE_FORMS:
        checked = _noise_coverage(form, held_out)
        if _noise_coverage(form, tuned) < LEVEL - 0.05 or checked < LEAST_COVERAGE:
            continue
        here = _noise_width(form, tuned)
        if here < _NARROWER * width:
            best, width = (form, checked), here
    return best


def _noise_width(form: NoiseForm, outcomes: Sequence[Outcome]) -> float:
    """The typical width of intervals of a form, relative to those of the edge count alone."""
    ratios = [
        _Rows.of(outcomes, f"noise|{NOISE_FORMS[0]}|{number}", f"noise|{form}|{number}").numbers
        for number in range(CHOSEN)
    ]
    one, other = np.concatenate(ratios).T
    there = other > 0
    return float(np.median(one[there] / other[there])) if there.any() else np.inf


def _noise_coverage(form: NoiseForm, outcomes: Sequence[Outcome]) -> float:
    found = _Rows(np.zeros(0, dtype=np.str_), np.zeros((0, 1)))
    for number in range(CHOSEN):
        found = found.joined(_Rows.of(outcomes, f"noise|{form}|{number}"))
    return _share(found.numbers[:, 0], (0.0, 1.0), found.weights) if len(found) else 0.0


# ---- weighted statistics ----


def _tails(values: Floats, weights: Floats) -> tuple[float, float]:
    """The ends of an interval around the median."""
    middle = _quantile(values, weights, 0.5)
    low, high = (middle + _WIDER * (_quantile(values, weights, share) - middle) for share in _TAILS)
    return low, high


def _quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    cumulated = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    return float(np.interp(share, cumulated, values[order]))


def _share(values: Floats, ends: tuple[float, float], weights: Floats) -> float:
    inside = (values >= ends[0]) & (values <= ends[1])
    return float((weights * inside).sum() / weights.sum())
