"""Graphs that are published as a directory of parts: downloads and pulls."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

import psgraph as pg
from psgraph.client import Pulled, mirror
from psgraph.client.http import Answer, Steps
from psgraph.errors import VerificationFailed
from psgraph.service.schemas import ReleaseView
from tests.publication.in_parts import CHANGES, NAMES, NODES, InParts, change_a_byte, tree
from tests.service.offline import Offline

EDGES = "/streams/calls/releases/0/edges"


@pytest.fixture
def published(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    with pg.Publisher(InParts(), pg.WEventPrivacy("20", 1), out=tmp_path / "out") as publisher:
        for ends in rng.integers(0, NODES, (2, 2, 60)):
            publisher.publish(pg.Snapshot(pg.Roster.range(NODES), *ends))
    return tmp_path / "out"


@pytest.fixture
def offline(tmp_path, monkeypatch, published):
    service = Offline(tmp_path / "service", monkeypatch)
    service.service.streams.adopt("calls", published)
    yield service
    service.close()


def test_parts_are_downloaded_one_by_one(offline, published):
    for number, name in enumerate(NAMES):
        got = offline.call("GET", f"{EDGES}?part={number}")
        assert got.content == (published / "000000" / name).read_bytes()
        assert name in got.headers["Content-Disposition"]
        again = offline.call(
            "GET", f"{EDGES}?part={number}", headers={"If-None-Match": got.headers["ETag"]}
        )
        assert again.status_code == 304


@pytest.mark.parametrize("wrong", ["part=4", "part=0&format=csv"])
def test_a_part_that_is_not_there(offline, wrong):
    got = offline.call("GET", f"{EDGES}?{wrong}")
    assert (got.status_code, got.json()["error"]) == (404, "no_such_part")


def test_all_parts_come_as_an_archive_of_the_directory(offline, published, tmp_path):
    got = offline.call("GET", EDGES)
    assert got.headers["Content-Type"] == "application/x-tar"
    with tarfile.open(fileobj=io.BytesIO(got.content)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    assert tree(tmp_path / "unpacked" / "000000") == tree(published / "000000")


def test_other_formats_hold_all_edges(offline, published):
    edges = pg.read_releases(published)[0].graph.to_edges()
    rows = offline.call("GET", f"{EDGES}?format=csv").text.splitlines()
    assert rows == ['"u","v"', *(f"{u},{v}" for u, v in edges)]
    assert offline.call("GET", f"{EDGES}?format=graphml").text.count("<edge ") == len(edges)


@pytest.mark.parametrize("change", ["a byte", "missing", "swapped"])
def test_changed_parts_are_not_handed_out(offline, published, change):
    CHANGES[change](published / "000000")
    for what in ("", "?part=2", "?format=csv"):
        assert offline.call("GET", EDGES + what).status_code == 500


# ---- pulling ----


class Wire:
    """Runs the steps of a client on a service in this process."""

    def __init__(self, offline: Offline) -> None:
        self.offline = offline
        self.asked: list[str] = []

    def content(self, path: str) -> bytes:
        self.asked.append(path)
        got = self.offline.call("GET", path)
        assert got.status_code == 200
        return got.content

    def run(self, steps: Steps[Pulled]) -> Pulled:
        answer = None
        while True:
            try:
                call = steps.send(answer)
            except StopIteration as end:
                return end.value
            content = self.content(call.path)
            if call.to is not None:
                call.to.write_bytes(content)
            answer = Answer(200, "OK", {}, content, hashlib.sha256(content).hexdigest())


def pulled(wire: Wire, to: Path) -> int:
    listed = wire.offline.call("GET", "/streams/calls/releases").json()
    releases = [ReleaseView(**each) for each in listed]
    return wire.run(mirror.pulled("/streams/calls", releases, to, lambda _: None)).new


def test_parts_are_pulled_and_verified(offline, published, tmp_path):
    to, wire = tmp_path / "pulled", Wire(offline)
    assert pulled(wire, to) == 2
    assert tree(to) == tree(published)
    assert pg.verify(to).releases == 2
    wire.asked.clear()
    assert (pulled(wire, to), wire.asked) == (0, [])


def test_a_pull_that_ended_before_the_certificate_is_continued(offline, published, tmp_path):
    to, wire = tmp_path / "pulled", Wire(offline)
    pulled(wire, to)
    (to / "000001.json").unlink()
    wire.asked.clear()
    assert pulled(wire, to) == 1
    assert not [path for path in wire.asked if "part=" in path]
    assert tree(to) == tree(published)


def test_nothing_is_kept_of_parts_that_are_not_certified(offline, tmp_path, monkeypatch):
    real = Wire.content

    def content(self: Wire, path: str) -> bytes:
        return real(self, path.replace("part=1", "part=2"))

    monkeypatch.setattr(Wire, "content", content)
    with pytest.raises(VerificationFailed, match="000000"):
        pulled(Wire(offline), tmp_path / "pulled")
    assert not list((tmp_path / "pulled").glob("*0000*"))


def test_a_pulled_part_that_was_changed_is_found(offline, tmp_path):
    pulled(Wire(offline), tmp_path / "pulled")
    change_a_byte(tmp_path / "pulled" / "000001")
    with pytest.raises(VerificationFailed, match="000001"):
        pulled(Wire(offline), tmp_path / "pulled")
