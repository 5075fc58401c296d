"""Publishing from a notebook: one call, progress, cards, and wrong arguments."""

from __future__ import annotations

from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import psgraph as pg
from psgraph.errors import InvalidArgument
from psgraph.publication.terms import Spending
from psgraph.streams import read_stream
from tests.refusals import refused

STREAM = pg.demo_stream(nodes=300, timestamps=3)
GUARANTEE = pg.WEventPrivacy("1", window=2)


def publisher(**options: Any) -> pg.Publisher:
    return pg.Publisher(pg.TmF(), GUARANTEE, **options)


# ---- one call ----


def test_publishing_again_costs_nothing_and_measures_what_is_new(tmp_path: Path) -> None:
    out = tmp_path / "releases"
    options: dict[str, Any] = {"epsilon": 1, "window": 2, "method": "tmf", "out": out}
    first = pg.publish(STREAM[:2], **options)
    again = pg.publish(STREAM, **options)
    assert len(again) == 3
    assert [each.digest for each in again.certificates[:2]] == [
        each.digest for each in first.certificates
    ]


def test_options_of_read_stream_are_passed_on(tmp_path: Path) -> None:
    edges = tmp_path / "edges.csv"
    edges.write_text("t,u,v\n0,1,2\n1,2,3\n")
    releases = pg.publish(
        edges, roster=[1, 2, 3, 4], epsilon=1, window=1, method=pg.TmF, out=tmp_path / "out"
    )
    assert [each.nodes for each in releases.certificates] == [4, 4]
    assert all(each.private for each in releases.certificates)


# ---- progress ----


@pytest.mark.parametrize(
    ("stream", "total"), [(STREAM, 3), (read_stream(STREAM), 3), (iter(STREAM), None)]
)
def test_progress_is_called_with_done_and_total(stream: Any, total: int | None) -> None:
    seen: list[tuple[int, int | None]] = []
    with publisher(seed=1, progress=lambda *numbers: seen.append(numbers)) as publishing:
        list(publishing.publish_all(stream))
    assert seen == [(1, total), (2, total), (3, total)]


def test_what_is_published_survives_an_error_in_progress(tmp_path: Path) -> None:
    def stop(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    with (
        publisher(out=tmp_path / "out", progress=stop) as publishing,
        pytest.raises(KeyboardInterrupt),
    ):
        list(publishing.publish_all(STREAM))
    with publisher(out=tmp_path / "out") as publishing:
        assert publishing.spending.timestamps == 1


# ---- wrong arguments ----


@pytest.mark.parametrize(
    ("method", "guarantee", "code"),
    [
        ("psgraph", GUARANTEE, "method"),
        (pg.TmF, GUARANTEE, "method_class"),
        (pg.TmF(), 1, "not_a_guarantee"),
        (pg.TmF(), {"epsilon": 1}, "not_a_guarantee"),
    ],
)
def test_a_publisher_refuses_what_is_not_a_method_or_a_guarantee(
    method: Any, guarantee: Any, code: str
) -> None:
    with refused(InvalidArgument, code):
        pg.Publisher(method, guarantee)


@pytest.mark.parametrize("stream", ["edges.parquet", STREAM[0], None, 7])
def test_publish_all_refuses_what_is_not_a_stream(stream: Any) -> None:
    with publisher(seed=1) as publishing, refused(InvalidArgument, "stream"):
        list(publishing.publish_all(stream))
    assert publishing.spending.timestamps == 0


def test_other_functions_refuse_wrong_types_where_they_enter() -> None:
    with refused(InvalidArgument, "not_a_path"):
        pg.read_releases(7)  # type: ignore[arg-type]
    with refused(InvalidArgument, "not_a_path"):
        pg.verify(7)  # type: ignore[arg-type]
    with refused(InvalidArgument, "not_a_path"):
        publisher(out=7)
    with refused(InvalidArgument, "progress"):
        publisher(seed=1, progress=7)
    with refused(InvalidArgument, "not_a_guarantee"):
        pg.plan(1, nodes=5)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="a method is an object"):
        pg.plan(GUARANTEE, nodes=5, method=7)  # type: ignore[arg-type]


# ---- cards ----


class Reader(HTMLParser):
    """The text of a card; every element has to be closed, and none may run or load anything."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert tag in {"div", "table", "thead", "tbody", "tr", "th", "td"}
        assert {name for name, _ in attrs} <= {"style", "scope", "role", "aria-label"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def text_of(shown: Any) -> str:
    return Reader(shown._repr_html_()).text


def test_a_snapshot_shows_nothing_of_its_edges() -> None:
    snapshot = STREAM[0]
    fewer = pg.Snapshot(snapshot.roster, snapshot.u[1:], snapshot.v[1:], time=snapshot.time)
    empty = pg.Snapshot(snapshot.roster, [], [], time=snapshot.time)
    assert snapshot._repr_html_() == fewer._repr_html_() == empty._repr_html_()
    assert "edges private" in text_of(snapshot)


def test_a_release_and_its_certificate_say_whether_they_are_private(tmp_path: Path) -> None:
    with publisher(out=tmp_path / "out") as publishing:
        private = publishing.publish(STREAM[0])
    with publisher(seed=1) as publishing:
        seeded = publishing.publish(STREAM[0])
    for shown in (private, private.certificate, pg.read_releases(tmp_path / "out")):
        assert "Private: yes" in text_of(shown)
    for shown in (seeded, seeded.certificate):
        assert "Private: NO, for research only" in text_of(shown)
    assert f"{private.graph.edge_count:,} synthetic edges" in text_of(private)
    assert f"edges {private.graph.edge_count:,}" in " ".join(text_of(private.graph).split())


def test_the_spending_shows_exact_numbers() -> None:
    spending = Spending(GUARANTEE, 1, (Fraction(1, 3),), Fraction(1, 3), Fraction(2, 3))
    assert "0.333 (1/3) of 1 in timestamp 0" in text_of(spending)
    assert "0.667 (2/3) for timestamp 1" in text_of(spending)


def test_a_plan_lists_its_measurements_and_remarks() -> None:
    plan = pg.plan(GUARANTEE, nodes=1000, method="psgraph")
    shown = text_of(plan)
    assert all(row.described in shown for row in plan.rows)
    assert all(remark in shown for remark in plan.remarks)


def test_text_from_elsewhere_is_escaped() -> None:
    time = "<script>alert(1)</script>"
    graph = pg.SyntheticGraph(pg.Roster([1]), [], [], time=time)
    assert time in text_of(graph)
    assert "<script" not in graph._repr_html_()
