"""The curator's report: its numbers are the comparison's, its sections those that apply."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics.comparison import compare
from psgraph.metrics.groups import GROUPS, PAPER_METRICS
from psgraph.metrics.metric import Limits
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import read_releases
from psgraph.reports.curator import Witness
from psgraph.reports.quality import BANNER, quality_page

from .reading import checked

ALWAYS = (
    "Summary",
    "The five metrics over time",
    "Degree distributions",
    "One snapshot and its release",
    "All timestamps",
    "How this page was made",
)


def reported(stream, releases, certificates=(), *, groups=(), command=""):
    witness = Witness(len(stream))
    comparison = compare(
        witness.watch_originals(stream), witness.watch_releases(releases), groups=groups
    )
    return comparison, quality_page(comparison, witness, certificates, command=command).html()


@pytest.fixture(scope="module")
def pages(stream, publications):
    made = {}
    for name, path in publications.items():
        releases = read_releases(path)
        groups = ("structure", "stream") if name == "psgraph" else ()
        graphs = (release.graph for release in releases)
        made[name] = reported(
            stream, graphs, releases.certificates, groups=groups, command="psgraph …"
        )
    return made


@pytest.mark.parametrize("name", ["psgraph", "tmf", "privgraph"])
def test_it_stands_alone_and_is_marked(pages, name):
    page = checked(pages[name][1])
    assert page.banners == [BANNER]
    assert set(ALWAYS) <= set(page.headings)
    assert "Spending per window" in page.headings
    assert len(pages[name][1]) < 3_000_000


def test_sections_are_those_that_apply(pages):
    headings = {name: checked(html).headings for name, (_, html) in pages.items()}
    assert "Communities reused or recomputed" in headings["psgraph"]
    assert "Communities" in headings["privgraph"]
    assert not [heading for heading in headings["tmf"] if heading.startswith("Communities")]
    more = [heading for heading in headings["psgraph"] if heading.startswith("More metrics")]
    assert more == ["More metrics: structure", "More metrics: change over time"]
    assert not [heading for heading in headings["tmf"] if heading.startswith("More metrics")]


def cells(html: str) -> list[list[str]]:
    table = html[html.index(">timestamp</th>") :].partition("</table>")[0]
    rows = table.split("<tr")[1:]
    return [re.findall(r"<t[dh][^>]*>([^<]*)</t[dh]>", row) for row in rows]


@pytest.mark.parametrize("name", ["psgraph", "tmf"])
def test_the_numbers_are_those_of_the_comparison(pages, name):
    comparison, html = pages[name]
    assert cells(html) == [list(row) for row in comparison.table()[1]]
    text = checked(html).text
    for metric in PAPER_METRICS:
        mean = getattr(comparison.mean, metric.name)
        assert metric.shown(mean) in text
        assert f"{metric.words[0].upper()}{metric.words[1:]}: {metric.limits.verdict(mean)}" in text
        worst = (min if metric.better == "higher" else max)(
            getattr(row.fidelity, metric.name) for row in comparison.rows
        )
        assert f"at worst {metric.shown(worst)}" in text
    for name_, mean in comparison.more_mean.items():
        metric = next(
            each for group in GROUPS.values() for each in group.metrics if each.name == name_
        )
        if mean is None:  # the stream is too short for it
            continue
        assert f"{metric.shown(mean)} on average" in text


def test_the_promise_the_method_and_a_seed_are_said(pages):
    text = checked(pages["psgraph"][1]).text
    assert "made by PSGraph with ε = 1.5 for any 3 consecutive timestamps (w = 3)" in text
    assert "The most expensive window spent 1.5 of 1.5: 100 % of the budget." in text
    assert "Not private" not in text
    assert "Not private. No privacy is promised: this release was made with a known seed" in (
        checked(pages["privgraph"][1]).text
    )


def test_kept_and_found_are_counted_from_the_certificates(pages, publications):
    directory = ReleaseDirectory(publications["psgraph"])
    found = sum(directory.certificate(place).summary["communities_found"] for place in range(5))
    text = checked(pages["psgraph"][1]).text
    assert f"recomputed at {found} of 5 timestamps and reused at {5 - found}" in text


def test_without_certificates_nothing_is_said_of_a_promise(stream):
    pair, last = [stream[0], stream[-1]], stream[-1]
    kept = last.u.size // 2
    synthetic = [
        SyntheticGraph(stream[0].roster, stream[0].u, stream[0].v),
        SyntheticGraph(last.roster, last.u[:kept], last.v[:kept]),
    ]
    _, html = reported(pair, synthetic)
    page = checked(html)
    assert "Spending per window" not in page.headings
    assert "without certificates" in page.text
    assert (
        f"the release {kept:,}, of which {kept:,} (100.0 %) are also edges of the original"
        in page.text
    )


@pytest.mark.parametrize(
    ("nodes", "edges", "kept", "timestamps"),
    [(0, [], 0, 1), (1, [], 0, 2), (3, [], 0, 1), (2, [(0, 1)], 0, 2), (5, [(0, 1), (1, 2)], 1, 1)],
)
def test_small_and_empty_graphs(nodes, edges, kept, timestamps):
    ends = np.array(edges, dtype=int).reshape(-1, 2)
    times = ["$\\x$ </svg><script>", "\x01\n"]
    original = [
        Snapshot(Roster.range(nodes), ends[:, 0], ends[:, 1], time=times[place])
        for place in range(timestamps)
    ]
    synthetic = SyntheticGraph(original[0].roster, ends[:kept, 0], ends[:kept, 1])
    groups = ("stream",) if nodes < 2 else ()
    _, html = reported(original, [synthetic] * timestamps, groups=groups)
    checked(html)


@pytest.mark.parametrize("better", ["lower", "higher"])
def test_limits_are_where_the_page_says(better):
    limits = Limits(0.1, 0.5) if better == "lower" else Limits(0.8, 0.5)
    step = 1e-9 if better == "lower" else -1e-9
    for value, word in (
        (limits.close, "close"),
        (limits.close + step, "some error"),
        (limits.fair, "some error"),
        (limits.fair + step, "poor"),
    ):
        assert limits.verdict(value) == word


def test_every_metric_has_limits_in_the_order_of_its_direction():
    for metric in (*PAPER_METRICS, *(each for group in GROUPS.values() for each in group.metrics)):
        limits = metric.limits
        assert (limits.close < limits.fair) == (metric.better == "lower")


def test_witness_keeps_three_pairs_at_most(stream):
    witness = Witness(5)
    assert list(witness.watch_originals(stream)) == stream
    assert sorted(witness.originals) == [0, 2, 4]
    assert witness.original_edges == [each.u.size for each in stream]


def test_as_733_in_half_a_minute(real_data):
    from psgraph.streams import read_stream

    begun = time.perf_counter()
    snapshots = list(read_stream(real_data / "as733.parquet", roster_from_edges=True))
    copies = [SyntheticGraph(each.roster, each.u, each.v, time=each.time) for each in snapshots]
    _, html = reported(snapshots, copies)
    assert time.perf_counter() - begun < 30
    assert len(html.encode()) < 3_000_000
    checked(html)
