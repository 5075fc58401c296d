"""How far to trust releases: the section of the public report, and a page of its own.

Made from public releases alone, so both can be published with them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from math import expm1
from typing import TYPE_CHECKING

from psgraph._runtime.numbers import NO_VALUE, count, exact_decimal, significant
from psgraph._version import __version__
from psgraph.pictures.style import method_look
from psgraph.reports.page import Page, Tone
from psgraph.reports.parts import moment
from psgraph.reports.trust_charts import curve_chart, edges_chart, error_chart

if TYPE_CHECKING:
    from psgraph.trust.expected import ExpectedErrors
    from psgraph.trust.intervals import Estimate
    from psgraph.trust.prediction import Range

__all__ = ["add_trust", "trust_page"]

_ANSWERS: dict[str, tuple[str, Tone]] = {
    "yes": ("Can be told", "good"),
    "roughly": ("Roughly", "fair"),
    "unclear": ("Unclear", "fair"),
    "no": ("Can't be told", "poor"),
    "unknown": ("Can't be predicted", "fair"),
    "never": ("Never", "poor"),
}
_TITLE = "How far to trust this"
_PAPER_METRICS = 5  # which come first


def trust_page(found: ExpectedErrors) -> Page:
    """Build a page of predicted errors; it is safe to publish.

    Examples
    --------
    >>> import psgraph as pg
    >>> stream = pg.demo_stream(nodes=300, timestamps=2)
    >>> with pg.Publisher(pg.TmF(), pg.WEventPrivacy("4", window=2)) as publisher:
    ...     releases = list(publisher.publish_all(stream))
    >>> page = trust_page(pg.expected_errors(releases, repetitions=1))
    >>> "Which single edges exist?" in page.html()
    True
    """
    page = Page(
        "Expected errors",
        subtitle="How far published synthetic graphs can be trusted, predicted from the graphs "
        "themselves.",
    )
    page.heading("What this is about")
    epsilon, window = exact_decimal(found.guarantee.epsilon), found.guarantee.window
    page.paragraph(
        f"{count(found.releases, 'synthetic graph')} made by {method_look(found.method).title} "
        f"with ε = {epsilon} for any {count(window, 'consecutive timestamp')} (w = {window}).",
        kind="lead",
    )
    add_trust(page, found)
    page.heading("Predicted errors")
    _add_errors(page, found)
    _add_over_time(page, found)
    page.heading("How this page was made")
    page.paragraph(
        f"By psgraph expect, version {__version__}, on "
        f"{datetime.now(UTC).strftime('%Y-%m-%d')}, from published files only. No original, "
        "ledger or further ε was used.",
        kind="note",
    )
    return page


def add_trust(page: Page, found: ExpectedErrors, *, folded: bool = False) -> None:
    """Add the section: a verdict per question, bands, and what they rest on.

    `folded` adds the tables of predicted errors too, behind a line that opens them.
    """
    page.heading(_TITLE)
    page.paragraph(
        "The method was run again on the published graphs, as if they were the originals, with "
        f"fresh noise of the same size ({count(found.repetitions, 'time')}, seed {found.seed}). "
        "What that changes shows how far such graphs are from their originals"
        + (
            ", after a correction that was learned and checked on public streams. No private data "
            "and no budget were used."
            if found.calibrated
            else ". No private data and no budget were used."
        )
    )
    for each in found.notes:
        mark = "Not calibrated" if each.startswith("Not calibrated") else "Note"
        text = each.removeprefix("Not calibrated: ")
        page.paragraph(text[:1].upper() + text[1:], verdict=mark, tone="fair")
    for verdict in found.verdicts:
        word, tone = _ANSWERS[verdict.answer]
        page.paragraph(verdict.reason, verdict=f"{verdict.question} {word}", tone=tone)
    page.figures(
        [curve_chart(found), edges_chart(found)],
        caption="Line: as published. Band: where the true value should lie, with a probability of "
        "90 %. First: share of nodes with at least the given degree at "
        f"{moment(found.timestamps - 1, found.times[-1])}, on logarithmic axes. Second: edges over "
        f"time, the band {found.statistics['edges'].source}.",
    )
    page.paragraph(
        "A band holds for each timestamp and each point by itself. It is a prediction: it rests on "
        "streams that psgraph was tried on, and a stream of another kind may behave differently.",
        kind="note",
    )
    if folded:
        with page.details("Predicted errors and intervals"):
            _add_errors(page, found)


def _add_errors(page: Page, found: ExpectedErrors) -> None:
    columns, rows = found.table()
    page.table(
        columns,
        rows,
        numeric=(1,),
        caption="Means over time. ↑ higher is better, ↓ lower is better. A metric that psgraph "
        "tried and could not predict for this method says so instead of a number.",
    )
    last = found.timestamps - 1
    page.table(
        ("statistic", "published", "true value, 90 % interval", "source"),
        [
            (
                each.words,
                _number(each, each.released[last]),
                _interval(each, each.ranges[last]),
                each.source if each.ranges[last] is not None else NO_VALUE,
            )
            for each in found.statistics.values()
            if each.released[last]
        ],
        numeric=(1, 2),
        caption=f"Statistics of the release of {moment(last, found.times[last])}.",
    )


def _add_over_time(page: Page, found: ExpectedErrors) -> None:
    """Add charts of the paper's metrics, as far as they can be predicted at single timestamps."""
    drawings = [
        error_chart(found, each)
        for each in islice(found.errors.values(), _PAPER_METRICS)
        if sum(one is not None for one in each.over_time) > 1
    ]
    if drawings:
        page.figures(
            drawings,
            caption="Predicted errors at every timestamp with their 90 % intervals, for those of "
            "the paper's five metrics that can be predicted.",
        )


def _number(estimate: Estimate, value: float | None) -> str:
    if value is None:
        return NO_VALUE
    if estimate.info.is_share:
        return f"{100 * value:.1f} %"
    if estimate.info.scale == "none":  # the logarithm of a ratio
        return f"{100 * expm1(value):+.1f} %"
    return f"{value:,.0f}" if estimate.info.scale == "count" else significant(value)


def _interval(estimate: Estimate, found: Range | None) -> str:
    if found is None:
        return "can't be predicted" if estimate.status == "unpredictable" else NO_VALUE
    return f"{_number(estimate, found.low)} to {_number(estimate, found.high)}"
