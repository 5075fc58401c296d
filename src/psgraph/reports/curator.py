"""Predicted beside true errors. **For the curator only**: the true ones are computed without noise.

Both are means over the same timestamps. It shows the curator how good the predictions are that
analysts get, on the very same releases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from psgraph._runtime.numbers import count
from psgraph.metrics.metric import UNDEFINED
from psgraph.reports.sections import chosen_timestamps

if TYPE_CHECKING:
    from psgraph.graph import Snapshot, SyntheticGraph
    from psgraph.metrics.comparison import Comparison
    from psgraph.reports.page import Page
    from psgraph.trust.expected import ExpectedErrors
    from psgraph.trust.prediction import Prediction

__all__ = [
    "COLUMNS",
    "Witness",
    "add_predicted",
    "predicted_data",
    "predicted_rows",
]

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
        "predicted_timestamps": list(expected.predicted),
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
        f"both are side by side, over {expected.span}: {inside} of {count(judged, 'interval')} "
        "contain the true error."
    )
    for each in expected.notes:
        page.paragraph(each, kind="note")
    page.table(
        COLUMNS,
        rows,
        numeric=(1, 2),
        caption=f"Means over {expected.span}. Predictions are those of psgraph expect, after "
        f"{count(expected.repetitions, 'rerun')}.",
    )


def _pairs(comparison: Comparison, expected: ExpectedErrors) -> Iterator[tuple[Prediction, float]]:
    """Predictions with the true means of all metrics that were compared, where both have a value.

    Both are means over the same timestamps, and leave out relative errors of a zero.
    """
    rows = [comparison.rows[at] for at in expected.predicted]
    for name, prediction in expected.errors.items():
        values = ({**row.fidelity.to_dict(), **row.more}.get(name) for row in rows)
        there = [value for value in values if value is not None and value < UNDEFINED]
        if there:
            yield prediction, sum(there) / len(there)


# ---- the graphs a quality report shows ----


class Witness:
    """Keeps the first, the middle and the last pair, and all edge counts. For the curator only.

    A stream may be larger than memory and is read once, so the report collects what it needs.

    Parameters
    ----------
    timestamps
        The number of timestamps.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> witness = Witness(4)
    >>> for snapshot in witness.watch_originals(demo_stream(nodes=300, timestamps=4)):
    ...     pass
    >>> sorted(witness.originals), len(witness.original_edges)
    ([0, 2, 3], 4)
    """

    def __init__(self, timestamps: int) -> None:
        self.chosen = chosen_timestamps(timestamps)
        self.originals: dict[int, Snapshot] = {}
        self.synthetic: dict[int, SyntheticGraph] = {}
        self.original_edges: list[int] = []
        self.synthetic_edges: list[int] = []

    def watch_originals(self, stream: Iterable[Snapshot]) -> Iterator[Snapshot]:
        """Yield the snapshots unchanged while collecting from them."""
        for ordinal, snapshot in enumerate(stream):
            self.original_edges.append(int(snapshot.u.size))
            if ordinal in self.chosen:
                self.originals[ordinal] = snapshot
            yield snapshot

    def watch_releases(self, releases: Iterable[SyntheticGraph]) -> Iterator[SyntheticGraph]:
        """Yield the synthetic graphs unchanged while collecting from them."""
        for ordinal, graph in enumerate(releases):
            self.synthetic_edges.append(int(graph.u.size))
            if ordinal in self.chosen:
                self.synthetic[ordinal] = graph
            yield graph
