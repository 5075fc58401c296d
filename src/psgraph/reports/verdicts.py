"""Verdicts on metrics: close, some error, poor. Every page lists the thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psgraph.reports.page import Tone

if TYPE_CHECKING:
    from psgraph.metrics.groups import MetricInfo

__all__ = ["VERDICTS", "Limits", "limits_of", "verdict_of", "verdict_within"]

#: The words, best first, and their tones.
VERDICTS: tuple[tuple[str, Tone], ...] = (
    ("close", "good"),
    ("some error", "fair"),
    ("poor", "poor"),
)


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


def verdict_of(metric: MetricInfo, value: float) -> tuple[str, Tone]:
    """The verdict on a value of a metric, and its tone.

    >>> from psgraph.metrics.groups import METRICS
    >>> verdict_of(METRICS["eigenvector_overlap"], 0.95)
    ('close', 'good')
    >>> verdict_of(METRICS["density_error"], 0.3), verdict_of(METRICS["density_error"], 2.0)
    (('some error', 'fair'), ('poor', 'poor'))
    """
    return verdict_within(limits_of(metric), value)


def verdict_within(limits: Limits, value: float) -> tuple[str, Tone]:
    """The verdict under given thresholds; they ascend where lower is better."""
    sign = 1 if limits.close < limits.fair else -1
    for limit, verdict in zip((limits.close, limits.fair), VERDICTS, strict=False):
        if sign * value <= sign * limit:
            return verdict
    return VERDICTS[-1]
