"""The public report: what is promised, what was checked, what was published.

Safe to publish. Its only sources are the numbered files of the release directory, which are already
public, and the result of verifying them. It cannot reach a snapshot, a ledger or a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph._runtime.numbers import brief, count, exact_decimal, joined
from psgraph._version import __version__
from psgraph.errors import DataError
from psgraph.graph.kind import UNDIRECTED
from psgraph.graph.sides import edge_weights, side_degrees, side_names, side_words
from psgraph.pictures.style import COLOURS, method_look
from psgraph.privacy.unit import Owner
from psgraph.publication.releases import Releases, read_releases
from psgraph.publication.terms import lifetime_losses
from psgraph.reports.labels import add_label_blocks
from psgraph.reports.page import Page
from psgraph.reports.sections import (
    add_spend,
    add_summary_chart,
    chosen_timestamps,
    degree_chart,
    description,
    moment,
    settings,
    summary_chart,
)
from psgraph.reports.trust import add_trust

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate
    from psgraph.publication.verification import Verification
    from psgraph.trust.expected import ExpectedErrors

__all__ = ["COMMANDS", "NOT_PRIVATE", "SCRIPT", "add_release_degrees", "public_page"]

NOT_PRIVATE = "NOT PRIVATE. These releases promise no privacy to anyone."

#: Longer tables show only their two ends.
_MOST_ROWS = 2_000
_ROWS_UNFOLDED = 24
_DIGITS = 12  # of a digest
#: Colour and line of the first, the middle and the last release.
_LOOKS = ((COLOURS[0], "-"), (COLOURS[4], "--"), (COLOURS[2], ":"))
_NOISE: dict[str | None, str] = {
    "exact": "integer noise from psgraph's exact sampler",
    "opendp": "integer noise from OpenDP",
}

_NOT_PROMISED = (
    "Edges that live longer than w. An edge present at L consecutive timestamps is protected at "
    "⌈L/w⌉·ε, not at ε. If edges never leave, there is no bound for “this edge ever existed”.",
    "Groups of edges. k edges at a timestamp are protected at k·ε; all edges of a person are such "
    "a group.",
    "The identity of the nodes. The list of nodes, the number and times of the snapshots, ε, w, "
    "the method and its parameters are public.",
    "Other publications. Publishing the same data again, with any method, adds to ε.",
    "Inference. Like any statistics, a release may let readers infer true facts about people. The "
    "promise limits how much a given edge can add to that, to a factor of e^ε.",
    "Accuracy. The graphs are synthetic: an edge in them says nothing certain about an edge in the "
    "original. How close they are to it can be predicted, not promised.",
)

_NOT_PROMISED_TO_PEOPLE = (
    "People who are active longer than w. A person active at L consecutive timestamps is protected "
    "at ⌈L/w⌉·ε, not at ε.",
    "Other rows. That a person's rows are replaced by other rows is protected at 2ε.",
    "The other end of an edge. What was done to a person, by others, is protected like an edge of "
    "each of them. Several accounts of a person are several owners.",
)

_BOTH_WAYS = (
    "Both directions of a tie. An edge is one direction between two nodes; both directions "
    "together are protected at 2·ε."
)

_DIGEST_WORDS = (
    "The digest of a certificate is the SHA-256 digest of its content without the field digest, "
    "written as JSON in one way only: the names of every object in ascending order, no spaces or "
    "line breaks, numbers as they are in the file, and every character outside ASCII as \\u with "
    "four lower-case hexadecimal digits (two of these, a surrogate pair, above U+FFFF). The file "
    "itself has these characters as UTF-8: ε in the file is \\u03b5 in the digest."
)

#: How to check releases by hand, with nothing but Python's standard library and sha256sum: the
#: report prints this text, and a test runs exactly what is printed.
SCRIPT = r"""import hashlib, json, sys
from fractions import Fraction
from pathlib import Path

def check(holds, number, what):
    if not holds:
        sys.exit(f"{number:06d}.json: {what}")

def path(charge, number):  # the split and the part it was charged to, outermost first
    splits, part = charge.get("split", []), charge.get("part", "")
    names = part.split(" / ", len(splits) - 1) if part else []
    check(len(splits) in (0, len(names)), number, "a charge is in no part")
    return list(zip(splits or [0] * len(names), names))

def cost(charges):  # they add up; of the parts of a split, the most expensive counts
    total, splits = Fraction(0), {}
    for where, epsilon in charges:
        if where:
            parts = splits.setdefault(where[0][0], {})
            parts.setdefault(where[0][1], []).append((where[1:], epsilon))
        else:
            total += epsilon
    return total + sum(max(map(cost, parts.values())) for parts in splits.values())

files = sorted(Path().glob("[0-9]*.json"))
certificates = [json.loads(file.read_text(encoding="utf-8")) for file in files]
for number, certificate in enumerate(certificates):
    content = {name: value for name, value in certificate.items() if name != "digest"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()
    check(digest == certificate["digest"], number, "the digest is wrong")
    before = certificates[number - 1]["digest"] if number else None
    check(certificate["previous"] == before, number, "it does not follow the one before")
    check(certificate["timestamp"] == number, number, "a certificate is missing")
    for term in ("epsilon", "window", "method", "private", "kind", "weights"):
        check(certificate.get(term) == certificates[0].get(term), number, f"{term} has changed")
    stated = certificate["spent"]
    charges = [(path(each, number), Fraction(each["epsilon"])) for each in stated["mechanisms"]]
    check(all(each > 0 for _, each in charges), number, "a charge is not positive")
    check(cost(charges) <= Fraction(stated["timestamp"]), number, "its charges exceed its spend")
    window = certificates[max(0, number + 1 - certificate["window"]) : number + 1]
    spends = [Fraction(each["spent"]["timestamp"]) for each in window]
    check(all(each >= 0 for each in spends), number, "a spend is negative")
    check(sum(spends) <= Fraction(certificate["epsilon"]), number, "its window spent too much")
    check(sum(spends) == Fraction(stated["window"]), number, "its window does not add up")
    parts = sorted(Path(f"{number:06d}").glob("[!.]*"))
    size = certificate.get("graph_part_nodes")
    check(len(parts) == (-(-certificate["nodes"] // size) if size else 0), number, "parts differ")
    if parts:
        names = [f"part-{part:05d}.parquet" for part in range(len(parts))]
        digests = [hashlib.sha256(part.read_bytes()).hexdigest() for part in parts]
        lines = "".join(f"{each}  {name}\n" for each, name in zip(digests, names))
        found = hashlib.sha256(lines.encode("ascii")).hexdigest()
        check([part.name for part in parts] == names, number, "a part has another name")
        check(found == certificate["graph_sha256"], number, "a part was changed")
    else:
        print(f"{certificate['graph_sha256']}  {number:06d}.parquet")
    if "nodes_sha256" in certificate:
        nodes = certificate["nodes_sha256"]
        print(f"{nodes}  nodes/{nodes}.parquet")
print(len(certificates), "certificates checked, last digest", digest, file=sys.stderr)
"""

COMMANDS = "python3 check.py > checksums.txt && sha256sum --check --quiet checksums.txt"


def public_page(
    directory: str | Path, found: Verification, *, expected: ExpectedErrors | None = None
) -> Page:
    """Build the report on a directory that passed `verify`.

    Parameters
    ----------
    directory
        The release directory. A ledger in it is not read.
    found
        The result of verifying it.
    expected
        Predicted errors of the releases, for the section on how far to trust them; it is left out
        without them.

    Raises
    ------
    VerificationFailed
        If a release was changed since then.
    DataError
        If there is no release yet.

    Examples
    --------
    >>> import tempfile, psgraph as pg
    >>> from psgraph.publication.verification import verify
    >>> first = pg.demo_stream(nodes=300, timestamps=1)[0]
    >>> guarantee = pg.WEventPrivacy("1", window=2)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     with pg.Publisher(pg.PSGraph(), guarantee, out=out) as publisher:
    ...         _ = publisher.publish(first)
    ...     page = public_page(out, verify(out))
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
        subtitle="Synthetic graphs published instead of private ones: what is promised, what was "
        "checked, and how to check it.",
        banner="" if all(each.private for each in certificates) else NOT_PRIVATE,
    )
    page.heading("What was published")
    page.paragraph(description(certificates), kind="lead")
    page.facts(
        [
            *([] if last.kind == UNDIRECTED else [("Kind", f"{_upper(str(last.kind))}.")]),
            ("Method", f"{method_look(last.method).title} ({last.method})"),
            ("Parameters", settings(last.parameters)),
            ("Budget", _budget(last)),
            ("Window", f"w = {count(last.guarantee.window, 'consecutive timestamp')}"),
            ("Nodes", last.roster),
            ("Times", f"{_upper(last.times or 'not stated')}."),
            ("Noise", _NOISE.get(last.noise, "sampler not stated")),
            ("Made with", _versions(certificates)),
        ]
    )
    _add_promise(page, last)
    _add_checks(page, found)
    add_spend(page, certificates)
    add_release_degrees(page, releases, certificates)
    add_summary_chart(page, certificates)
    if expected is not None:
        add_trust(page, expected, folded=True)
    _add_labels(page, releases, certificates)
    _add_releases(page, certificates)
    page.heading("What is not promised")
    owners = isinstance(last.guarantee.unit, Owner)
    limits = (*_NOT_PROMISED_TO_PEOPLE, *_NOT_PROMISED[2:]) if owners else _NOT_PROMISED
    page.bullets((*limits, _BOTH_WAYS) if last.kind.directed and not owners else limits)
    if last.private:
        page.paragraph(_lifetimes(certificates))
    _add_own_check(page, last)
    return page


def _lifetimes(certificates: Sequence[Certificate]) -> str:
    """Say what something that stayed has lost, from the spends of these certificates."""
    guarantee, spends = certificates[-1].guarantee, [each.spent for each in certificates]
    spans = sorted({min(factor * guarantee.window, len(spends)) for factor in (1, 2, 4)})
    losses = lifetime_losses(spends, spans[-1])
    shown = [f"ε = {exact_decimal(losses[n - 1])} over {count(n, 'timestamp')}" for n in spans]
    return (
        f"By these certificates, what {guarantee.unit.noun} present without a break has lost is at "
        f"most {joined(shown)}."
    )


def _budget(last: Certificate) -> str:
    """ε as requested, and as provided by the method if that differs."""
    budget = f"ε = {exact_decimal(last.guarantee.epsilon)}"
    provides = last.promise.provides
    if not last.private or provides is None or provides == last.guarantee:
        return budget
    provided = exact_decimal(provides.epsilon)
    return f"{budget}; with these parameters the method provides ε = {provided}"


def _upper(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _versions(certificates: Sequence[Certificate]) -> str:
    versions = dict.fromkeys(certificate.version for certificate in certificates)
    return joined([f"psgraph {version}" for version in versions])


def _add_promise(page: Page, last: Certificate) -> None:
    page.heading("What is promised")
    if last.private:
        page.paragraph(str(last.promise))
    else:
        page.paragraph(str(last.promise), verdict="Not private", tone="poor")
    hidden = "Which nodes are connected in each snapshot" + (
        ", and with which weight," if last.kind.weighted else ""
    )
    page.paragraph(
        "The nodes, the number and times of the snapshots, ε, w, the method and its parameters are "
        f"public. {hidden} is private. The releases are made from noisy values only, and the "
        "promise limits what anyone can learn from them about a given edge."
        if last.private
        else "The nodes, the number and times of the snapshots, ε, w, the method and its "
        "parameters are public. A private run of the same method would hide which nodes are "
        "connected; this one does not."
    )


def _add_checks(page: Page, found: Verification) -> None:
    page.heading("What was checked")
    page.paragraph("All of the following checks passed.", verdict="Verified")
    checks = [
        f"The certificates of {count(found.releases, 'release')}: none was changed, and each has "
        "the digest of the previous one, from timestamp 0 without a gap.",
        "The graphs and node lists: each has the SHA-256 digest that its certificate states.",
        "The budget: the charges of every release were added up again, exactly, and are covered "
        f"by its spend; so were the spends of every window of {count(found.window, 'timestamp')}. "
        f"No window spent more than {found.spent}.",
    ]
    if found.ledger:
        checks.append(
            "The publisher's ledger: it lists exactly these releases and spends. The ledger itself "
            "is not public; the publisher ran this check."
        )
    page.bullets(checks)
    if not found.ledger:
        page.paragraph(
            "The publisher's ledger was not available, so two things could not be detected: that "
            "the last releases were removed, or that all of them were replaced.",
            kind="note",
        )
    if found.pending:
        page.paragraph("One more timestamp is being published and is not included in this report.")


def add_release_degrees(
    page: Page, releases: Releases, certificates: Sequence[Certificate]
) -> None:
    """Add a section on the degrees of the first, the middle and the last release."""
    page.heading("Degrees of the synthetic graphs")
    chosen = [certificates[at] for at in chosen_timestamps(len(certificates))]
    kind = chosen[-1].kind
    read = [_degrees(releases, certificate) for certificate in chosen]
    drawings, sentences = [], []
    for side, name in enumerate(side_names(kind)):
        words, curves, said = side_words(name, "degrees"), [], []
        for index, (certificate, (nodes, degrees)) in enumerate(zip(chosen, read, strict=True)):
            when = moment(certificate.timestamp, certificate.time)
            ends = certificate.edges * (3 - kind.sides)
            mean = ends / max(nodes[side], 1)
            said.append(f"mean {mean:.1f}, maximum {degrees[side].max(initial=0):,} ({when})")
            curves.append((when, degrees[side], nodes[side], *_LOOKS[index]))
        title = f"distribution of {words}" if name else "degree distribution"
        label = (
            f"{_upper(words)} of the synthetic graphs at {joined([each[0] for each in curves])}."
        )
        drawings.append((degree_chart(title, curves), label))
        sentences.append(f"{_upper(side_words(name, 'degree'))}: {'; '.join(said)}.")
    page.figures(
        drawings,
        caption="Share of nodes with at least the given degree; both axes are logarithmic. "
        "Synthetic graphs only.",
    )
    for sentence in sentences:
        page.paragraph(sentence)
    if kind.weighted:
        _add_release_weights(page, releases, chosen)


def _add_labels(page: Page, releases: Releases, certificates: Sequence[Certificate]) -> None:
    """Draw the edges between public labels in the last release, if nodes have any."""
    last = certificates[-1]
    roster = None if last.nodes_sha256 is None else releases.roster(last.timestamp)
    if roster is not None and roster.labels is not None:
        graph = releases[last.timestamp].graph
        add_label_blocks(page, {"release": graph}, when=moment(last.timestamp, last.time))


def _add_release_weights(
    page: Page, releases: Releases, certificates: Sequence[Certificate]
) -> None:
    """Add a section on the weights of a few releases."""
    page.heading("Weights of the synthetic graphs")
    curves, said = [], []
    for index, certificate in enumerate(certificates):
        when = moment(certificate.timestamp, certificate.time)
        weights = edge_weights(releases[certificate.timestamp].graph)
        mean = int(weights.sum()) / max(weights.size, 1)
        said.append(f"mean {mean:.1f}, maximum {weights.max(initial=0):,} ({when})")
        curves.append((when, weights, weights.size, *_LOOKS[index]))
    label = f"Weights of the synthetic edges at {joined([when for when, *_ in curves])}."
    page.figures(
        [(degree_chart("distribution of weights", curves, axis="weight"), label)],
        caption="Share of edges with at least the given weight; both axes are logarithmic. "
        "Synthetic graphs only.",
    )
    largest = certificates[-1].kind.largest_weight
    page.paragraph(f"Weight: {'; '.join(said)}. Weights above {largest:,} count as {largest:,}.")


def _degrees(
    releases: Releases, certificate: Certificate
) -> tuple[tuple[int, ...], tuple[Integers, ...]]:
    """The nodes of each side, and their degrees, at least of those that have any."""
    if certificate.nodes_sha256 is not None:
        found = side_degrees(releases[certificate.timestamp].graph)
        return tuple(each.size for each in found), found
    import pyarrow as pa
    import pyarrow.compute as pc

    edges = releases.edges(certificate.timestamp)  # of version 0.1.0, which listed no nodes
    ends = pa.chunked_array([*edges.column("u").chunks, *edges.column("v").chunks])
    counts = pc.value_counts(ends).field("counts")
    degrees = np.asarray(counts.to_numpy(zero_copy_only=False), dtype=np.int64)
    return (certificate.nodes,), (degrees,)


def _add_releases(page: Page, certificates: Sequence[Certificate]) -> None:
    page.heading("The releases")
    half, left_out, shown = _MOST_ROWS // 2, "", certificates
    if len(certificates) > _MOST_ROWS:
        shown = [*certificates[:half], *certificates[-half:]]
        left_out = f" The first and the last {half:,} of {len(certificates):,} releases."
    keys = list(dict.fromkeys(key for each in certificates for key in each.summary))
    columns = ("timestamp", "time", "nodes", "edges", *(key.replace("_", " ") for key in keys))
    chart = summary_chart(certificates)
    renewed = None if chart is None else chart.renewed
    rows = [
        (
            str(each.timestamp),
            each.time or "",
            f"{each.nodes:,}",
            f"{each.edges:,}",
            *(_shown(each.summary.get(key), renewed=key == renewed) for key in keys),
            brief(each.spent),
        )
        for each in shown
    ]
    numeric = range(2, 5 + len(keys))
    caption = f"Edges are those of the synthetic graph.{left_out}"
    digests = [
        (str(each.timestamp), (each.graph_sha256 or "")[:_DIGITS], each.digest[:_DIGITS])
        for each in shown
    ]

    def add() -> None:
        page.table((*columns, "ε spent"), rows, numeric=numeric, caption=caption)
        page.table(
            ("timestamp", "graph", "certificate"),
            digests,
            caption=f"SHA-256 digests of the releases, their first {_DIGITS} digits.{left_out}",
        )

    if len(rows) <= _ROWS_UNFOLDED:
        add()
    else:
        with page.details(f"Tables of {count(len(rows), 'release')}"):
            add()


def _shown(value: object, *, renewed: bool) -> str:
    if renewed and isinstance(value, bool):
        return "recomputed" if value else "reused"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)


def _add_own_check(page: Page, last: Certificate) -> None:
    page.heading("Check it yourself")
    page.paragraph(
        "Anyone can repeat the check on a copy of the published files, without the ledger and "
        "without trusting this page. Install the package psgraph-dp, put the numbered files into a "
        "directory, and run"
    )
    page.text("psgraph verify DIRECTORY")
    page.paragraph(
        "By hand, without psgraph: NNNNNN.json is the certificate of NNNNNN.parquet. The SHA-256 "
        "digest of the Parquet file is its graph_sha256, and that of its node list its "
        "nodes_sha256. A graph of many nodes is a directory NNNNNN instead, and its graph_sha256 "
        "the digest of what sha256sum part-*.parquet prints there. The certificate's own digest "
        "is the field previous of the next certificate. The charges of a certificate cost at most "
        "what it spent, its window is the sum of the last w spends, and no such sum exceeds "
        f"ε. {_DIGEST_WORDS}"
    )
    page.paragraph("Save this as check.py beside the published files:")
    page.text(SCRIPT)
    page.paragraph(
        "Then run the following. It prints the number of certificates and the last digest, or what "
        "is wrong. (On macOS, write shasum -a 256 for sha256sum.)"
    )
    page.text(COMMANDS)
    page.paragraph(
        "The last digest shows that nothing was removed from the end or replaced as a whole. "
        "Compare it with a copy of this page from another source, or from an earlier date:"
    )
    page.text(f"{last.timestamp:06d}  {last.digest}")
    page.paragraph(
        f"Created from the published files by psgraph verify --report, version {__version__}, on "
        f"{datetime.now(UTC).strftime('%Y-%m-%d')}.",
        kind="note",
    )
