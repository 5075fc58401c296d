"""Releases at an address: workers copy them there, and a reader without private data shows them."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.errors import InvalidArgument
from psgraph.service.copies import Copies, address_of
from psgraph.service.settings import Settings
from psgraph.stores.part_files import Address
from tests.publication.in_parts import NODES, InParts
from tests.service.offline import Offline, edges
from tests.service.postgres import Postgres, needs_postgres
from tests.service.scenario import as_csv, new_stream, post
from tests.service.scenario import edges as edges_at
from tests.service.server import Server, tree


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


def copies_of(offline: Offline, directory: Path) -> Copies:
    """What copies the releases of a service."""
    address = address_of(str(directory / "copies"))
    return Copies(offline.service.streams, address, offline.service.database)


@pytest.fixture
def copies(offline: Offline, tmp_path: Path) -> Copies:
    """Three releases, and what copies them."""
    offline.create()
    for timestamp in range(3):
        offline.post(timestamp, edges(timestamp + 1))
    offline.publish()
    return copies_of(offline, tmp_path)


def test_a_copy_is_a_release_directory(offline, copies, tmp_path):
    copies.copy_all()
    assert copies.problem is None
    assert pg.verify(tmp_path / "copies" / "calls").releases == 3
    published = tree(offline.directory / "streams" / "calls" / "releases")
    published.pop("index.csv")  # derived
    assert tree(tmp_path / "copies" / "calls") == published


def test_copying_continues_where_it_ended_and_certificates_come_last(
    offline, copies, tmp_path, monkeypatch
):
    written, write = [], Address.write_bytes

    def interrupted(self: Address, content: bytes) -> None:
        if len(written) == 4:
            raise OSError(5, "Input/output error")
        written.append(self.name)
        write(self, content)

    monkeypatch.setattr(Address, "write_bytes", interrupted)
    copies.copy_all()
    assert copies.problem is not None
    assert written[1:] == ["000000.parquet", "000000.json", "000001.parquet"]
    monkeypatch.setattr(Address, "write_bytes", write)
    again = copies_of(offline, tmp_path)  # by another worker
    again.copy_all()
    assert again.problem is None
    assert pg.verify(tmp_path / "copies" / "calls").releases == 3


def test_large_graphs_are_copied_part_by_part(offline, tmp_path):
    with pg.Publisher(InParts(), pg.WEventPrivacy("20", 1), out=tmp_path / "out") as publisher:
        publisher.publish(pg.Snapshot(pg.Roster.range(NODES), [0, 1], [1, 2]))
    offline.service.streams.adopt("large", tmp_path / "out")
    copies_of(offline, tmp_path).copy_all()
    assert pg.verify(tmp_path / "copies" / "large").releases == 1


def test_a_reader_needs_a_database_and_an_address(tmp_path):
    for given in ({}, {"database": "postgresql://x"}, {"releases": "s3://bucket"}):
        with pytest.raises(InvalidArgument):
            Settings(tmp_path, part="reader", **given)


@needs_postgres
def test_a_reader_shows_releases_and_holds_nothing_private(tmp_path):
    """Web processes on machines without the directory of the service."""
    copies = str(tmp_path / "copies")
    with Postgres() as postgres:
        shared = ("--database", postgres.address, "--releases", copies)
        with Server(tmp_path / "data", *shared) as server:
            name = new_stream(server)
            for timestamp in range(2):
                assert post(server, name, timestamp, as_csv(edges_at(timestamp))).status == 202
            path = f"/streams/{name}/releases"
            known = {
                each: server.call("POST", "/tokens", content={"role": each}).json["token"]
                for each in ("analyst", "auditor")
            }
            while not (Path(copies) / name / "000001.json").exists():
                time.sleep(0.1)
            listed, content = (server.call("GET", each).body for each in (path, f"{path}/1/edges"))
            token = server.token
        reader = Server(tmp_path / "front", *shared, "--read-only")
        reader.token = token
        with reader:
            assert reader.call("GET", path).body == listed
            got = reader.call("GET", f"{path}/1/edges", token=known["analyst"])
            assert got.body == content
            tag = got.headers["etag"]
            headers = {"If-None-Match": f'"x", {tag}'}
            assert reader.call("GET", f"{path}/1/edges", headers=headers).status == 304
            part = reader.call("GET", f"{path}/1/edges", headers={"Range": "bytes=4-9"})
            assert (part.status, part.body) == (206, content[4:10])
            head = reader.call("HEAD", f"{path}/0/edges")
            assert (head.status, head.body) == (200, b"")
            assert reader.call("GET", f"{path}/0/nodes").status == 200
            verified = reader.call("GET", f"/streams/{name}/verify", token=known["auditor"])
            assert verified.json["ok"], verified.json
            assert reader.call("GET", "/healthz", api=False).json["problems"] == []
            view = reader.call("GET", f"/streams/{name}").json
            assert (view["released"], view["health"], view["nodes"]) == (2, "ok", 40)
            for method, where, body in (
                ("POST", f"/streams/{name}/snapshots/2", as_csv(edges_at(2))),
                ("PUT", f"/streams/{name}/roster", b"id\n1\n"),
                ("POST", "/tokens", json.dumps({"role": "curator"}).encode()),
                ("PATCH", f"/streams/{name}", json.dumps({"title": "x"}).encode()),
            ):
                refused = reader.call(method, where, body=body)
                assert (refused.status, refused.json["error"]) == (403, "read_only")
        private = {"key", "service.sqlite", "ledger.sqlite", "roster.parquet"}
        assert not private & {each.name for each in (tmp_path / "front").rglob("*")}
        graph = tmp_path / "front" / "streams" / name / "releases" / "000001.parquet"
        assert hashlib.sha256(graph.read_bytes()).hexdigest() in tag
