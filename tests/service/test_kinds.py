"""Streams of directed, two-sided and weighted graphs."""

from __future__ import annotations

import pytest

import psgraph as pg
from psgraph.graph import DIRECTED, TWO_SIDED
from tests.service.offline import CSV, Offline, edges, roster

TERMS = {"name": "calls", "epsilon": "4", "window": 3, "method": "tmf"}


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


def put_side(offline, side: str | None, content: bytes):
    query = "" if side is None else f"?side={side}"
    return offline.call("PUT", f"/streams/calls/roster{query}", content=content, headers=CSV)


def test_a_directed_stream_is_released_as_one(offline):
    stream = offline.create(method="tmf", kind="directed")
    view = offline.call("GET", "/streams/calls").json()
    assert (view["kind"], view["weights"]) == ("directed", None)
    assert "direction" in view["promise"]
    assert offline.post(0, edges()).status_code == 202
    offline.publish()
    (release,) = pg.read_releases(stream.out)
    assert release.graph.kind == DIRECTED
    assert release.certificate.promise == stream.promise


def test_the_two_sides_have_a_list_each_and_the_second_opens_the_stream(offline):
    assert offline.call("POST", "/streams", json={**TERMS, "kind": "two-sided"}).status_code == 201
    assert put_side(offline, None, roster()).json()["error"] == "side_missing"
    assert put_side(offline, "left", b"id\nann\nbob\n").json() == {"nodes": 2, "added": 2}
    views = b"u,v\nann,0\nann,1\nbob,0\n"
    assert offline.post(0, views).json()["error"] == "no_roster"
    assert put_side(offline, "right", roster()).json() == {"nodes": 30, "added": 30}
    assert offline.post(0, b"u,v\n0,ann\n").json()["error"] in ("outside_roster", "unreadable")
    assert offline.post(0, views).status_code == 202
    offline.publish()
    stream = next(iter(offline.service.streams))
    (release,) = pg.read_releases(stream.out)
    assert release.graph.kind == TWO_SIDED
    assert release.graph.roster.sizes == (2, 30)
    assert offline.call("GET", "/streams/calls").json()["nodes"] == 32
    offline.close()
    offline.open()
    assert offline.post(0, views).json()["state"] == "released"


def test_a_stream_with_one_list_has_no_sides(offline):
    offline.create(method="tmf")
    assert put_side(offline, "left", roster()).json()["error"] == "no_sides"


@pytest.mark.parametrize(
    "terms", [{"kind": "signed"}, {"weights": 1}, {"kind": "directed", "method": "der"}]
)
def test_kinds_that_can_not_be_published_are_refused(offline, terms):
    assert offline.call("POST", "/streams", json={**TERMS, **terms}).status_code == 422
    assert len(offline.service.streams) == 0


def test_the_direction_is_part_of_the_data(offline):
    offline.create(method="tmf", kind="directed")
    offline.post(0, b"u,v\n0,1\n")
    offline.publish()
    assert offline.post(0, b"u,v\n0,1\n").json()["state"] == "released"
    assert offline.post(0, b"u,v\n1,0\n").status_code == 409
