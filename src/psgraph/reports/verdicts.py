"""Verdicts on metrics: close, some error, poor. Every page lists the thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph.metrics.metric import Limits
from psgraph.reports.page import Tone

if TYPE_CHECKING:
    from psgraph.metrics.metric import Metric

__all__ = ["VERDICTS", "verdict_of", "verdict_within"]

#: The words, best first, and their tones.
VERDICTS: tuple[tuple[str, Tone], ...] = (
    ("close", "good"),
    ("some error", "fair"),
    ("poor", "poor"),
)


def verdict_of(metric: Metric, value: float) -> tuple[str, Tone]:
    """The verdict on a value of a metric, and its tone.

    >>> from psgraph.metrics.groups import METRICS
    >>> verdict_of(METRICS["eigenvector_overlap"], 0.95)
    ('close', 'good')
    >>> verdict_of(METRICS["density_error"], 0.3), verdict_of(METRICS["density_error"], 2.0)
    (('some error', 'fair'), ('poor', 'poor'))
    """
    return verdict_within(metric.limits, value)


def verdict_within(limits: Limits, value: float) -> tuple[str, Tone]:
    """The verdict under given thresholds; they ascend where lower is better."""
    sign = 1 if limits.close < limits.fair else -1
    for limit, verdict in zip((limits.close, limits.fair), VERDICTS, strict=False):
        if sign * value <= sign * limit:
            return verdict
    return VERDICTS[-1]
