"""Predicted beside true errors. **For the curator only**: the true ones are computed without noise.

It shows the curator how good the predictions are that analysts get, on the very same releases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from psgraph._runtime.numbers import count

if TYPE_CHECKING:
    from psgraph.metrics.comparison import Comparison
    from psgraph.reports.page import Page
    from psgraph.trust.expected import ExpectedErrors
    from psgraph.trust.prediction import Prediction

__all__ = ["COLUMNS", "add_predicted", "predicted_data", "predicted_rows"]

COLUMNS = ("metric", "true", "predicted, with 90 % interval", "interval contains it")


def predicted_rows(comparison: Comparison, expected: ExpectedErrors) -> list[tuple[str, ...]]:
    """Return a row of text for every metric that was compared."""
    return [
        (
            f"{each.words} {each.metric.arrow}",
            each.metric.shown(true),
            each.shown(),
            "" if each.overall is None else "yes" if true in each.overall else "no",
        )
        for each, true in _pairs(comparison, expected)
    ]


def predicted_data(comparison: Comparison, expected: ExpectedErrors) -> dict[str, Any]:
    """Return the same as plain data, with what the predictions rest on."""
    return {
        "repetitions": expected.repetitions,
        "seed": expected.seed,
        "timestamps": expected.timestamps,
        "calibrated": expected.calibrated,
        "notes": list(expected.notes),
        "errors": {
            each.metric.name: {
                "true": true,
                "status": each.status,
                "predicted": None if each.overall is None else each.overall.to_dict(),
            }
            for each, true in _pairs(comparison, expected)
        },
    }


def add_predicted(page: Page, comparison: Comparison, expected: ExpectedErrors) -> None:
    """Add a section to the quality report."""
    rows = predicted_rows(comparison, expected)
    inside, judged = sum(row[3] == "yes" for row in rows), sum(row[3] != "" for row in rows)
    page.heading("Predicted beside true errors")
    page.paragraph(
        "Analysts see no true error, but predictions that are made from the releases alone. Here "
        f"both are side by side: {inside} of {count(judged, 'interval')} contain the true error."
    )
    for each in expected.notes:
        page.paragraph(each, kind="note")
    page.table(
        COLUMNS,
        rows,
        numeric=(1, 2),
        caption="Means over time. Predictions are those of psgraph expect, after "
        f"{count(expected.repetitions, 'rerun')}.",
    )


def _pairs(comparison: Comparison, expected: ExpectedErrors) -> Iterator[tuple[Prediction, float]]:
    """Predictions with the true means of all metrics that were compared."""
    means = {**comparison.mean.to_dict(), **comparison.more_mean}
    for name, prediction in expected.errors.items():
        true = means.get(name)
        if true is not None:
            yield prediction, true
