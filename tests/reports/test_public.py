"""The public report: nothing in it but what was published, and what verifying found."""

from __future__ import annotations

import base64
import re
import shutil
import sqlite3

import pytest

from psgraph.errors import DataError, VerificationFailed
from psgraph.methods.tmf import TmF
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.cards import certificate_card
from psgraph.publication.locations import ledger_of
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import read_releases
from psgraph.publication.terms import Promise
from psgraph.publication.verification import Verification, verify
from psgraph.reports.public import NOT_PRIVATE, public_page

from .reading import checked

SECTIONS = [
    "Public report",
    "What was published",
    "What is promised",
    "What was checked",
    "Spending per window",
    "Degrees of the synthetic graphs",
    "Communities reused or recomputed",
    "The releases",
    "What is not promised",
    "Check it yourself",
]


@pytest.fixture(scope="module")
def pages(publications):
    return {name: public_page(path, verify(path)).html() for name, path in publications.items()}


def test_it_can_not_reach_the_truth():
    """By import nothing of it leads to a stream, a comparison, a ledger or a publisher."""
    import grimp

    graph = grimp.build_graph("psgraph", exclude_type_checking_imports=True)
    reached = graph.find_upstream_modules("psgraph.reports.public")
    assert "psgraph.publication.releases" in reached
    for forbidden in (
        "streams",
        "metrics",
        "datasets",
        "ledger",
        "publisher",
        "rosters",
        "io.text",
    ):
        name = f"psgraph.{forbidden}"
        assert not [each for each in reached if each == name or each.startswith(f"{name}.")]
    # And the comparison really would be found, if it were there.
    curator = graph.find_upstream_modules("psgraph.reports.quality")
    assert "psgraph.metrics.degrees" in curator


def test_a_copy_without_the_ledger_gives_the_same_page_but_for_that_check(publications, tmp_path):
    path = publications["psgraph"]
    copy = tmp_path / "copy"
    shutil.copytree(path, copy, ignore=shutil.ignore_patterns("ledger*"))
    assert not ledger_of(copy).exists()
    with_ledger = public_page(path, verify(path)).html()
    without = public_page(copy, verify(copy)).html()
    differing = set(with_ledger.splitlines()) ^ set(without.splitlines())
    # The list of checks with the ledger's; the list without it; what could not be detected.
    assert len(differing) == 3
    assert sum("ledger" in line for line in differing) == 2
    assert "could not be detected" in checked(without).text
    assert "could not be detected" not in checked(with_ledger).text


def values(cell: object) -> set[str]:
    """How a value of the ledger could show up on a page."""
    if isinstance(cell, bytes):
        parts = {cell, cell[:12], cell[-12:]} if len(cell) >= 16 else set()
        coded = {base64.b64encode(part).decode().rstrip("=") for part in parts}
        return {part.hex() for part in parts} | {text for text in coded if len(text) >= 12}
    text = str(cell)
    return {text} if len(text) >= 8 else set()


def test_nothing_that_only_the_ledger_knows(publications, pages):
    """Keys, seeds, fingerprints of the input, sealed noisy values: none is on the page."""
    for name, path in publications.items():
        public = "".join(each.read_text() for each in path.glob("*.json"))
        database = sqlite3.connect(f"file:{ledger_of(path)}?mode=ro", uri=True)
        tables = [row[0] for row in database.execute("select name from sqlite_master")]
        secret = {
            value
            for table in tables
            if not table.startswith("sqlite_")
            for row in database.execute(f"select * from {table}")
            for cell in row
            if cell is not None
            for value in values(cell)
            if value not in public
        }
        database.close()
        assert len(secret) > 20
        found = {value for value in secret if value in pages[name]}
        assert not found


@pytest.mark.parametrize("name", ["psgraph", "tmf", "privgraph"])
def test_it_stands_alone_and_has_its_sections(pages, name):
    page = checked(pages[name])
    expected = {
        "psgraph": SECTIONS,
        "tmf": [each for each in SECTIONS if not each.startswith("Communities")],
        "privgraph": [
            each.replace("Communities reused or recomputed", "Communities") for each in SECTIONS
        ],
    }
    assert page.headings == expected[name]


def test_the_table_says_what_the_certificates_say(pages, publications):
    directory = ReleaseDirectory(publications["psgraph"])
    rows = re.findall(r"<tr>(.*?)</tr>", pages["psgraph"].partition(">timestamp</th>")[2])
    cells = [
        re.findall(r">([^<]*)</t", row) for row in rows if not row.startswith('<th scope="col')
    ]
    for timestamp, (row, digests) in enumerate(zip(cells[:5], cells[5:], strict=True)):
        certificate = directory.certificate(timestamp)
        how = "recomputed" if certificate.summary["communities_found"] else "reused"
        assert row == [
            str(timestamp),
            certificate.time,
            f"{certificate.nodes:,}",
            f"{certificate.edges:,}",
            f"{certificate.summary['noisy_edges']:,}",
            f"{certificate.summary['communities']:,}",
            how,
            "0.5",
        ]
        assert digests == [
            str(timestamp),
            certificate.graph_sha256[:12],
            certificate.digest[:12],
        ]
    assert directory.certificate(4).digest in pages["psgraph"]
    assert directory.certificate(4).promise.text in checked(pages["psgraph"]).text


def test_it_claims_no_more_than_a_large_epsilon_gives(tmp_path, stream):
    out = tmp_path / "out"
    guarantee = WEventPrivacy("16", window=2)
    with Publisher(TmF(), guarantee, out=out) as publisher:
        release = publisher.publish(stream[0])
    said = checked(public_page(out, verify(out)).html()).text
    assert "is at most 99.99999 % sure afterwards" in said
    assert "with confidence" not in said
    assert guarantee.meaning in certificate_card(release.certificate)
    assert release.certificate.to_dict()["promise"] == guarantee.text  # sealed without it


def test_degrees_are_those_of_the_published_graphs(pages, publications, stream):
    graph = read_releases(publications["tmf"])[0].graph
    degrees = [degree for _, degree in graph.to_networkx().degree]
    mean, most = sum(degrees) / len(degrees), max(degrees)
    assert f"mean {mean:.1f}, maximum {most} ({stream[0].time})" in checked(pages["tmf"]).text


def test_a_seeded_publication_is_marked(pages):
    marked = checked(pages["privgraph"])
    assert marked.banners == [NOT_PRIVATE]
    assert "Not private. No privacy is promised" in marked.text
    assert "can hardly tell" not in marked.text
    for name in ("psgraph", "tmf"):
        assert checked(pages[name]).banners == []
        assert "not private" not in checked(pages[name]).text.lower()


def test_a_method_that_keeps_less_says_so(tmp_path, stream):
    from psgraph.methods.ldpgen import LDPGen

    guarantee = WEventPrivacy("1", window=2)
    with Publisher(
        LDPGen(ldp_scale=True), guarantee, out=tmp_path / "out", not_private=True
    ) as publisher:
        publisher.publish(stream[0])
    text = checked(public_page(tmp_path / "out", verify(tmp_path / "out")).html()).text
    assert "ε = 1; with these parameters the method provides ε = 2" in text
    assert "differential privacy with ε = 2" in text


def test_what_changed_since_it_was_verified_is_refused(publications, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(publications["tmf"], copy)
    found = verify(copy)
    path = copy / "000002.json"
    path.write_text(path.read_text().replace('"edges": ', '"edges": 1'))
    with pytest.raises(VerificationFailed, match=r"000002\.json"):
        public_page(copy, found)
    (copy / "000000.parquet").write_bytes(b"no Parquet")
    shutil.copy(publications["tmf"] / path.name, path)
    with pytest.raises(VerificationFailed, match=r"000000\.parquet"):
        public_page(copy, found)


def test_without_a_release_there_is_nothing_to_report(tmp_path):
    found = Verification(Promise(WEventPrivacy("1", window=3)), 0, 0, 0, True, "0")
    with pytest.raises(DataError):
        public_page(tmp_path, found)
