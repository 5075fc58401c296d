"""The quality report: how close the releases are to the original.

**For the curator only.** The page is computed from the private edges, without noise.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from psgraph._runtime.numbers import count, joined
from psgraph._version import __version__
from psgraph.metrics.groups import GROUPS, PAPER_METRICS
from psgraph.reports.page import Page
from psgraph.reports.parts import add_communities, add_spend, description, settings
from psgraph.reports.predicted import add_predicted
from psgraph.reports.quality_sections import add_degrees, add_metrics, add_twins, mean_of
from psgraph.reports.verdicts import VERDICTS, verdict_of

if TYPE_CHECKING:
    from psgraph.metrics.comparison import Comparison
    from psgraph.publication.certificate import Certificate
    from psgraph.reports.witness import Witness
    from psgraph.trust.expected import ExpectedErrors

__all__ = ["BANNER", "quality_page"]

BANNER = "Contains private data. For the curator only: do not publish this page."

_PHRASES = {
    "close": "are close to the original in",
    "some error": "have some error in",
    "poor": "are poor in",
}


def quality_page(
    comparison: Comparison,
    witness: Witness,
    certificates: Sequence[Certificate] = (),
    *,
    command: str = "",
    expected: ExpectedErrors | None = None,
) -> Page:
    """Build the report. It contains private facts and says so at the top.

    Parameters
    ----------
    comparison
        The metrics.
    witness
        Collected from the same graphs.
    certificates
        Those of the releases. Without them, the guarantee and the spending are omitted.
    command
        The command that reproduces the page.
    expected
        Predicted errors of the same releases, to be shown beside the true ones.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> from psgraph.graph import SyntheticGraph
    >>> from psgraph.metrics.comparison import compare
    >>> from psgraph.reports.witness import Witness
    >>> stream = demo_stream(nodes=300, timestamps=2)
    >>> copies = [SyntheticGraph(each.roster, each.u, each.v) for each in stream]
    >>> witness = Witness(2)
    >>> comparison = compare(witness.watch_originals(stream), witness.watch_releases(copies))
    >>> "Contains private data" in quality_page(comparison, witness).html()
    True
    """
    page = Page(
        "Quality report",
        subtitle="How close the published synthetic graphs are to the private original.",
        banner=BANNER,
    )
    _add_summary(page, comparison, certificates)
    page.heading("The five metrics over time")
    add_metrics(page, comparison, PAPER_METRICS, witness=witness)
    for name in comparison.groups:
        page.heading(f"More metrics: {GROUPS[name].title.lower()}")
        add_metrics(page, comparison, GROUPS[name].metrics)
    if expected is not None:
        add_predicted(page, comparison, expected)
    add_degrees(page, comparison, witness)
    add_twins(page, comparison, witness)
    if certificates:
        add_communities(page, certificates)
        add_spend(page, certificates)
    _add_all(page, comparison)
    _add_making(page, certificates, command)
    return page


def _add_summary(page: Page, comparison: Comparison, certificates: Sequence[Certificate]) -> None:
    timestamps = len(comparison.rows)
    page.heading("Summary")
    if certificates:
        page.paragraph(description(certificates), kind="lead")
        if not certificates[-1].private:
            page.paragraph(certificates[-1].promise.text, verdict="Not private", tone="poor")
    else:
        page.paragraph(
            f"{count(timestamps, 'synthetic graph')}, without certificates that state the "
            "guarantee and the spending.",
            kind="lead",
        )
    tiles = []
    by_verdict: dict[str, list[str]] = {word: [] for word, _ in VERDICTS}
    for metric in PAPER_METRICS:
        mean = mean_of(comparison, metric)
        assert mean is not None  # the five are defined everywhere
        word, tone = verdict_of(metric, mean)
        by_verdict[word].append(f"{metric.words} ({metric.shown(mean)})")
        tiles.append((f"{metric.words} {metric.arrow}", metric.shown(mean), word, tone))
    said = [f"{_PHRASES[word]} {joined(names)}" for word, names in by_verdict.items() if names]
    page.paragraph(f"On average the releases {'; they '.join(said)}.")
    page.tiles(tiles)
    page.paragraph(
        f"Means over {count(timestamps, 'timestamp')}. ↑ higher is better, 100 % at best; ↓ lower "
        "is better, 0 at best. The thresholds of “close” and “poor” are listed with each metric.",
        kind="note",
    )


def _add_all(page: Page, comparison: Comparison) -> None:
    columns, rows = comparison.table()
    page.heading("All timestamps")
    with page.details(f"Metrics at {count(len(comparison.rows), 'timestamp')}"):
        page.table(
            columns,
            rows,
            numeric=range(2, len(columns)),
            total=True,
            caption="As printed by `psgraph compare`. Last row: mean ± standard deviation over "
            "time.",
        )


def _add_making(page: Page, certificates: Sequence[Certificate], command: str) -> None:
    page.heading("How this page was made")
    if command:
        page.text(command)
    facts = [
        ("psgraph", __version__),
        ("Date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        (
            "Machine",
            f"{platform.system()} on {platform.machine()}, {count(os.cpu_count() or 1, 'core')}, "
            f"Python {platform.python_version()}",
        ),
    ]
    if certificates:
        last = certificates[-1]
        facts[:0] = [
            ("Method", f"{last.method}, published with psgraph {last.version}"),
            ("Parameters", settings(last.parameters)),
            ("Promise", last.promise.text),
            ("Nodes", last.roster),
        ]
    page.facts(facts)
