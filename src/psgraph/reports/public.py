"""The public report: what was promised, what was checked, what was published.

Fit to publish. Its only sources are the release directory's numbered files, which are public
already, and the outcome of verifying them. It can't reach a snapshot, a ledger or a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from psgraph._version import __version__
from psgraph.errors import DataError, exact_decimal
from psgraph.pictures.style import COLOURS, method_look
from psgraph.publication.reading import Releases, read_releases
from psgraph.reports.page import Page
from psgraph.reports.parts import (
    Counts,
    add_communities,
    add_spend,
    chosen_timestamps,
    count,
    degree_chart,
    description,
    joined,
    moment,
    settings,
)

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate
    from psgraph.publication.verification import Verification

__all__ = ["NOT_PRIVATE", "public_page"]

NOT_PRIVATE = "NOT PRIVATE. These releases promise no privacy to anyone."

#: Longer tables show their two ends only.
_MOST_ROWS = 2_000
_ROWS_UNFOLDED = 24
_STYLES = ("-", "--", ":")
_NOISE: dict[str | None, str] = {
    "exact": "integer noise from psgraph's exact sampler",
    "opendp": "integer noise from OpenDP",
}

_NOT_PROMISED = (
    "Edges that live longer than w. An edge present at L consecutive timestamps is protected at "
    "⌈L/w⌉·ε, not at ε. If edges never leave, nothing bounded is promised of “this edge ever "
    "existed”.",
    "Groups of edges. k edges at a timestamp are protected at k·ε; a person with many ties is "
    "such a group.",
    "Who the nodes are. The list of nodes, the number and times of the snapshots, ε, w, the method "
    "and its parameters are public.",
    "Other publications. Publishing the same data again, with any method, adds up.",
    "Inference. A release may make true things about people likelier, as any statistics do. The "
    "promise is that it hardly matters whether a given edge was in the data.",
    "Accuracy. The graphs are synthetic: an edge in them says nothing certain about an edge in the "
    "original, and this page does not say how like the original they are.",
)


def public_page(directory: str | Path, found: Verification) -> Page:
    """The report on a directory that `verify` has found in order.

    Parameters
    ----------
    directory
        Of the releases. A ledger in it is not looked at.
    found
        What verifying it gave.

    Raises
    ------
    VerificationFailed
        If a release was changed since.
    DataError
        If there is no release yet.

    Examples
    --------
    >>> import tempfile, psgraph as pg
    >>> from psgraph.publication.verification import verify
    >>> first = pg.demo_stream(nodes=300, timestamps=1)[0]
    >>> guarantee = pg.WEventPrivacy("1", window=2)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with pg.Publisher(pg.PSGraph(), guarantee, out=place) as publisher:
    ...         _ = publisher.publish(first)
    ...     page = public_page(place, verify(place))
    >>> page.banner, "What is not promised" in page.html()
    ('', True)
    """
    if not found.releases:
        raise DataError("there is no release to report on\nPublish a timestamp first.")
    releases = read_releases(directory)
    certificates = releases.certificates[: found.releases]
    last = certificates[-1]
    page = Page(
        "Public report",
        subtitle="Synthetic graphs published in place of private ones: what is promised, what was "
        "checked, and how to check it.",
        banner="" if all(each.private for each in certificates) else NOT_PRIVATE,
    )
    page.heading("What was published")
    page.paragraph(description(certificates), kind="lead")
    page.facts(
        [
            ("Method", f"{method_look(last.method).title} ({last.method})"),
            ("Parameters", settings(last.parameters)),
            ("Budget", _budget(last)),
            ("Window", f"w = {count(last.guarantee.window, 'consecutive timestamp')}"),
            ("Nodes", last.roster),
            ("Noise", _NOISE.get(last.noise, "sampler not stated")),
            ("Made with", _versions(certificates)),
        ]
    )
    _add_promise(page, last)
    _add_checks(page, found)
    add_spend(page, certificates)
    _add_degrees(page, releases, certificates)
    add_communities(page, certificates)
    _add_releases(page, certificates)
    page.heading("What is not promised")
    page.bullets(_NOT_PROMISED)
    _add_own_check(page, last)
    return page


def _budget(last: Certificate) -> str:
    """ε as it was asked for, and as the method keeps it where that is something else."""
    budget = f"ε = {exact_decimal(last.guarantee.epsilon)}"
    if not last.private or last.provides is None or last.provides == last.guarantee:
        return budget
    return f"{budget}; the method as it was set keeps ε = {exact_decimal(last.provides.epsilon)}"


def _versions(certificates: Sequence[Certificate]) -> str:
    versions = dict.fromkeys(certificate.version for certificate in certificates)
    return joined([f"psgraph {version}" for version in versions])


def _add_promise(page: Page, last: Certificate) -> None:
    page.heading("What is promised")
    if last.private:
        page.paragraph(last.promise)
    else:
        page.paragraph(last.promise, verdict="Not private", tone="poor")
    page.paragraph(
        "Public are the nodes, the number and times of the snapshots, ε, w, the method and its "
        "parameters. Private is which pairs of nodes are joined in each snapshot. The releases "
        "are made of noisy values, and whoever looks at them can hardly tell whether a given edge "
        "was in the data."
        if last.private
        else "Public are the nodes, the number and times of the snapshots, ε, w, the method and "
        "its parameters. A private run of the same method would hide which pairs of nodes are "
        "joined; this one does not."
    )


def _add_checks(page: Page, found: Verification) -> None:
    page.heading("What was checked")
    page.paragraph("Everything below was found in order.", verdict="Verified")
    checks = [
        f"The certificates of {count(found.releases, 'release')}: none was changed, and each names "
        "the digest of the one before, from timestamp 0 on without a gap.",
        "The graphs and node lists: each has the SHA-256 digest that its certificate states.",
        f"The budget: every window of {count(found.window, 'timestamp')} was added up again, "
        f"exactly. At most {found.largest_window_spent} of {found.epsilon} was spent in any.",
    ]
    if found.ledger:
        checks.append(
            "The publisher's ledger: it knows each of these releases and spends, and no other. "
            "The ledger itself is not public; this check was made by the publisher."
        )
    page.bullets(checks)
    if not found.ledger:
        page.paragraph(
            "The publisher's ledger was not at hand, so two things could not be seen: that the "
            "last releases were removed, or that all were exchanged for others.",
            kind="note",
        )
    if found.pending:
        page.paragraph("One more timestamp is being published and is not part of this report.")


def _add_degrees(page: Page, releases: Releases, certificates: Sequence[Certificate]) -> None:
    page.heading("Degrees of the synthetic graphs")
    curves, said = [], []
    for place, timestamp in enumerate(chosen_timestamps(len(certificates))):
        certificate = certificates[timestamp]
        when = moment(timestamp, certificate.time)
        degrees = _degrees(releases.edges(timestamp))
        mean = 2 * certificate.edges / max(certificate.nodes, 1)
        said.append(f"{mean:.1f} and {degrees.max(initial=0):,} ({when})")
        shares = (degrees, certificate.nodes)
        curves.append((when, *shares, COLOURS[(0, 4, 2)[place]], _STYLES[place]))
    chart = degree_chart("degree distribution", curves)
    page.figures(
        [(chart, f"Degrees of the synthetic graphs at {joined([when for when, *_ in curves])}.")],
        caption="The share of nodes that have at least so many neighbours, both axes logarithmic. "
        "Synthetic graphs only.",
    )
    page.paragraph(f"Neighbours of a node, mean and most: {joined(said)}.")


def _degrees(edges: Any) -> Counts:
    """Count the neighbours of every node that has any."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pa.chunked_array([*edges.column("u").chunks, *edges.column("v").chunks])
    counts = pc.value_counts(ends).field("counts")
    return np.asarray(counts.to_numpy(zero_copy_only=False), dtype=np.int64)


def _add_releases(page: Page, certificates: Sequence[Certificate]) -> None:
    page.heading("The releases")
    keys = list(dict.fromkeys(key for each in certificates for key in each.summary))
    columns = ("timestamp", "time", "nodes", "edges", *(key.replace("_", " ") for key in keys))
    rows = [
        (
            str(each.timestamp),
            each.time or "",
            f"{each.nodes:,}",
            f"{each.edges:,}",
            *(_shown(key, each.summary.get(key)) for key in keys),
            exact_decimal(each.spent),
            (each.graph_sha256 or "")[:12],
            each.digest[:12],
        )
        for each in certificates
    ]
    caption = "Edges are those of the synthetic graph. Digests are cut to their first 12 digits."
    if len(rows) > _MOST_ROWS:
        half = _MOST_ROWS // 2
        rows = [*rows[:half], *rows[-half:]]
        caption += f" The first and the last {half:,} of {len(certificates):,}."
    numeric = (2, 3, *range(4, 5 + len(keys)))
    columns = (*columns, "ε spent", "graph", "certificate")

    def add() -> None:
        page.table(columns, rows, numeric=numeric, caption=caption)

    if len(rows) <= _ROWS_UNFOLDED:
        add()
    else:
        with page.details(f"A table of {count(len(rows), 'release')}"):
            add()


def _shown(key: str, value: object) -> str:
    if key == "communities_found" and isinstance(value, bool):
        return "found" if value else "kept"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def _add_own_check(page: Page, last: Certificate) -> None:
    page.heading("Check it yourself")
    page.paragraph(
        "Anyone can repeat the check on a copy of the published files, without the ledger and "
        "without trusting this page. Install psgraph (the package psgraph-dp), put the numbered "
        "files into a directory, and run"
    )
    page.text("psgraph verify DIRECTORY")
    page.paragraph(
        "By hand: NNNNNN.json is the certificate of NNNNNN.parquet. The SHA-256 digest of the "
        "Parquet file is its graph_sha256; its digest is the previous of the next certificate; "
        "the spends of any w consecutive certificates add up to at most ε."
    )
    page.paragraph(
        "That nothing was removed from the end or exchanged as a whole shows by the last digest. "
        "Compare it with a copy of this page that you have from elsewhere, or from before:"
    )
    page.text(f"{last.timestamp:06d}  {last.digest}")
    page.paragraph(
        f"Made from the published files by psgraph verify --report, version {__version__}, on "
        f"{datetime.now(UTC).strftime('%Y-%m-%d')}.",
        kind="note",
    )
