"""Intervals around the statistics of the releases themselves: where does the true value lie?

Most follow from reruns. That of the number of edges may also follow from the noise alone: the
certificate says how noisy the edge count was that a method measured. Where a method filters its
measurements over time, the variance of the filter follows from that noise and from the steps
between releases: in its steady state a random-walk filter moves, from one release to the next, with
exactly the variance with which it assumes the true value to move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.sides import side_names
from psgraph.trust.calibration import LEVEL, MethodCalibration, NoiseForm
from psgraph.trust.prediction import Range, Status, from_scale, to_scale
from psgraph.trust.quantities import (
    CURVE_DEGREES,
    StatisticInfo,
    curve_name,
    degree_class,
    statistics_of,
)
from psgraph.trust.reruns import Bootstrap

if TYPE_CHECKING:
    from psgraph.methods.base import Method
    from psgraph.privacy.query import Counted
    from psgraph.publication.certificate import Certificate

__all__ = [
    "Estimate",
    "Features",
    "Source",
    "calibration_key",
    "edge_margin",
    "estimate_statistics",
    "features",
    "settled_variance",
]

Source = Literal["from the bootstrap", "from the noise scale"]

_LEAST_SPREAD = 0.005  # on the scale of a statistic: reruns that never differ are no proof
_KEYS = {curve_name(each): f"degree_curve_from_{degree_class(each)}" for each in CURVE_DEGREES}


@dataclass(frozen=True)
class Estimate:
    """A statistic at every timestamp: as released, and where the true value should lie.

    Attributes
    ----------
    released
        Of the releases, exactly.
    ranges
        Of the original, with 90 % intervals; None where there is none.
    source
        What the ranges follow from.
    others
        Ranges from the other source, where there are any.
    """

    info: StatisticInfo
    status: Status
    source: Source
    released: tuple[float | None, ...]
    ranges: tuple[Range | None, ...]
    others: tuple[Range | None, ...] = ()

    @property
    def words(self) -> str:
        return self.info.words

    def to_dict(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "source": self.source,
            "released": list(self.released),
            "ranges": _listed(self.ranges),
            **({"other_source": _listed(self.others)} if self.others else {}),
        }


@dataclass(frozen=True)
class Features:
    """What reruns say about a statistic, on its scale.

    Attributes
    ----------
    released, moved
        At every timestamp: the released value, and by how much it lies above that of the reruns.
    spread
        The root mean square of that difference over all timestamps and reruns.
    """

    released: Floats
    moved: Floats
    spread: float


def calibration_key(name: str) -> str:
    """Return the name under which a statistic is calibrated; degree curves by class of degrees."""
    return _KEYS.get(name, name)


def features(bootstrap: Bootstrap, info: StatisticInfo) -> Features:
    """Summarise what reruns do to a statistic."""
    released = to_scale(_counted(bootstrap.released[info.name], info), info.scale)
    reruns = [to_scale(each.statistics[info.name], info.scale) for each in bootstrap.repetitions]
    moved = released - np.array(reruns)
    there = moved[~np.isnan(moved)]
    spread = float(np.sqrt(np.mean(there**2))) if there.size else 0.0
    return Features(released, moved.mean(axis=0), max(spread, _LEAST_SPREAD))


def _counted(values: Floats, info: StatisticInfo) -> Floats:
    """Leave out counts of zero: reruns can't find what is not there."""
    return np.where(values == 0, np.nan, values) if info.scale == "count" else values


def estimate_statistics(
    bootstrap: Bootstrap,
    calibration: MethodCalibration | None,
    method: Method[Any, Any],
    certificates: Sequence[Certificate],
) -> dict[str, Estimate]:
    """Return intervals around every statistic of the releases."""
    kind = certificates[-1].kind if certificates else UNDIRECTED
    found = {
        name: _from_bootstrap(bootstrap, info, calibration)
        for name, info in statistics_of(kind).items()
    }
    for side in side_names(kind):
        found |= _descending([found[curve_name(degree, side)] for degree in CURVE_DEGREES])
    shift = None if calibration is None else calibration.statistics.get("edges")
    if shift is not None and shift.noise_form is not None:
        edges = bootstrap.released["edges"]
        margin = edge_margin(method, certificates[: edges.size], edges, shift.noise_form)
        hidden = np.isnan(bootstrap.repetitions[0].statistics["edges"])
        found["edges"] = _with_noise(found["edges"], edges, margin, hidden)
    return found


def _from_bootstrap(
    bootstrap: Bootstrap, info: StatisticInfo, calibration: MethodCalibration | None
) -> Estimate:
    released = bootstrap.released[info.name]
    shown = tuple(None if np.isnan(value) else float(value) for value in released)
    nothing: tuple[Range | None, ...] = (None,) * released.size
    source: Source = "from the bootstrap"
    seen = features(bootstrap, info)
    if calibration is None:
        # The reruns' own differences, reversed: as far as they fell below, the truth lies above.
        reruns = [
            to_scale(each.statistics[info.name], info.scale) for each in bootstrap.repetitions
        ]
        moved = seen.released - np.array(reruns)
        there = moved[~np.isnan(moved)]
        if not there.size:
            return Estimate(info, "not calibrated", source, shown, nothing)
        around = there - there.mean()
        ends = (0.0, *np.quantile(around, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]))
        centres = np.where(np.isnan(seen.moved), np.nan, seen.released + there.mean())
        ranges = _ranges(info, centres, ends)
        return Estimate(info, "not calibrated", source, shown, ranges)
    shift = calibration.statistics.get(calibration_key(info.name))
    if shift is None or not shift.usable:
        return Estimate(info, "unpredictable", source, shown, nothing)
    ends = tuple(each * seen.spread for each in (shift.middle, shift.low, shift.high))
    ranges = _ranges(info, seen.released + shift.share * seen.moved, ends)
    return Estimate(info, "calibrated", source, shown, ranges)


def _ranges(
    info: StatisticInfo, centres: Floats, ends: Sequence[float]
) -> tuple[Range | None, ...]:
    found: list[Range | None] = []
    for centre in centres:
        if np.isnan(centre):
            found.append(None)
            continue
        value, low, high = from_scale(centre + np.array(ends), info.scale).tolist()
        found.append(Range(value, low, high))
    return tuple(found)


def _descending(curve: Sequence[Estimate]) -> dict[str, Estimate]:
    """Use that a degree curve never ascends: no interval ends above one of a smaller degree."""
    most = [np.inf] * len(curve[0].ranges)
    found = {}
    for each in curve:
        ranges = []
        for at, band in enumerate(each.ranges):
            if band is not None:
                high = max(min(band.high, most[at]), band.low)
                band, most[at] = Range(min(band.value, high), band.low, high), high
            ranges.append(band)
        found[each.info.name] = replace(each, ranges=tuple(ranges))
    return found


def _with_noise(
    estimate: Estimate, edges: Floats, margin: Floats, hidden: NDArray[np.bool_]
) -> Estimate:
    """Put the narrower of two intervals first; both were checked. None where hidden."""
    if np.isnan(margin).any() or hidden.all():
        return estimate
    ranges = tuple(
        None if hide else Range(float(value), max(float(value - half), 0.0), value + half)
        for value, half, hide in zip(edges, margin, hidden, strict=True)
    )
    if _width(ranges) > _width(estimate.ranges):
        return replace(estimate, others=ranges)
    return Estimate(
        estimate.info,
        "calibrated",
        "from the noise scale",
        estimate.released,
        ranges,
        estimate.ranges if any(estimate.ranges) else (),
    )


def _width(ranges: Sequence[Range | None]) -> float:
    widths = [each.high - each.low for each in ranges if each is not None]
    return float(np.mean(widths)) if widths else np.inf


def _listed(ranges: Sequence[Range | None]) -> list[dict[str, float] | None]:
    return [None if each is None else each.to_dict() for each in ranges]


def edge_margin(
    method: Method[Any, Any],
    certificates: Sequence[Certificate],
    edges: Floats,
    form: NoiseForm,
) -> Floats:
    """Return half the width of the 90 % interval of the number of edges, at every timestamp.

    NaN where nothing was measured that the method's plan says to count edges.

    Parameters
    ----------
    certificates
        What was measured, and with which ε.
    edges
        The released numbers of edges, one for each certificate.
    """
    variance = _edge_variance(method, certificates, degrees=form != "edges")
    if form == "filtered":
        variance = settled_variance(variance, np.diff(edges))
    return np.sqrt(variance / 2) * log(10)  # Laplace noise of scale b exceeds b·ln 10 in 10 %


def settled_variance(noise: Floats, steps: Floats) -> Floats:
    """Return the variance of a random-walk filter in its steady state.

    Parameters
    ----------
    noise
        The variance of one measurement, at every timestamp.
    steps
        The differences between consecutive filtered values.

    Examples
    --------
    >>> settled_variance(np.array([100.0]), np.array([10.0, -10.0])).round(1)
    array([61.8])
    """
    if not steps.size:
        return noise
    drift = float(np.mean(np.square(steps)))
    return (np.sqrt(drift**2 + 4 * drift * noise) - drift) / 2


def _edge_variance(
    method: Method[Any, Any], certificates: Sequence[Certificate], *, degrees: bool
) -> Floats:
    """Return the variance of the noise on the number of edges, at every timestamp."""
    last = certificates[-1]
    # Methods of other packages may know undirected graphs only.
    of_kind = {} if last.kind == UNDIRECTED else {"kind": last.kind}
    plan = method.plan(last.guarantee, nodes=max(last.nodes, 1), **of_kind)
    counted: dict[str, tuple[Counted, int]] = {row.label: (row.counts, row.terms) for row in plan}
    found = []
    for certificate in certificates:
        noise: dict[Counted, float] = {}
        for charge in certificate.charges:
            what, terms = counted.get(charge.label, ("", 1))
            if what and charge.epsilon:
                variance = 2 * (charge.sensitivity / float(charge.epsilon)) ** 2 * terms
                noise[what] = noise.get(what, 0.0) + variance
        precision = 1 / noise["edges"] if "edges" in noise else 0.0
        if (
            degrees and "degree" in noise and last.kind.sides == 1
        ):  # their sum is twice the number of edges
            precision += 4 / (max(certificate.nodes, 1) * noise["degree"])
        found.append(1 / precision if precision else np.nan)
    return np.array(found)
