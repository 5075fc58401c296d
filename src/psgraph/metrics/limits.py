"""Rules of thumb: which values of a metric are close to the original, and which are poor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psgraph.metrics.groups import MetricInfo

__all__ = ["Limits", "limits_of"]


@dataclass(frozen=True)
class Limits:
    """Thresholds of *close* and *some error*; lower bounds where higher is better."""

    close: float
    fair: float


_LOWER, _HIGHER = Limits(0.1, 0.5), Limits(0.8, 0.5)
#: Metrics that are neither relative errors nor overlaps.
_OWN = {
    "degree_divergence": Limits(0.5, 2.0),  # nats, of which a hole costs 36 times its share
    "path_length_distance": Limits(0.5, 1.5),  # steps
}


def limits_of(metric: MetricInfo) -> Limits:
    """The thresholds of a metric."""
    return _OWN.get(metric.name) or (_HIGHER if metric.better == "higher" else _LOWER)
