"""A store on an object store: moto's S3 server, on the loopback interface."""

from __future__ import annotations

import os
from collections.abc import Iterator

import fsspec
import pytest
from moto.server import ThreadedMotoServer

from psgraph import Publisher, WEventPrivacy, read_stream
from psgraph.errors import DataError, MissingExtra, OutputError, RosterError
from psgraph.methods.plus import parts
from psgraph.methods.registry import choose_method
from psgraph.stores import open_store
from psgraph.stores.part_files import Address
from psgraph.stores.store import MANIFEST
from psgraph.streams.input import prepare
from tests.engines.cluster import local_engine, scale, with_parts

GUARANTEE = WEventPrivacy("4", window=2)
DAYS = {
    "mon": [(x, (7 * x + 3) % 60) for x in range(60)],
    "tue": [(x, (11 * x + 1) % 60) for x in range(60)],
}


@pytest.fixture(scope="module")
def settings() -> Iterator[dict[str, str]]:
    """The environment in which s3:// is a server on this machine."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        fsspec.filesystem("s3").mkdir("curator")
        yield variables
    server.stop()


@pytest.fixture
def address(settings, request) -> str:
    address = f"s3://curator/{request.node.name}"
    prepare(DAYS, address, roster=range(60), part_nodes=16)
    return address


def test_a_store_on_an_object_store_is_the_stream(address):
    expected = list(read_stream(DAYS, roster=range(60)))
    assert list(read_stream(address)) == expected
    with pytest.raises(OutputError):
        prepare(DAYS, address, roster=range(60))


def set_variables(variables: dict[str, str]) -> None:
    """Change the environment of a worker; `os.environ.update` would change a pickled copy."""
    os.environ.update(variables)


@pytest.mark.parametrize("method", ["psgraph", "psgraph-plus"])
def test_workers_read_an_object_store(address, settings, dask_engine, monkeypatch, method):
    monkeypatch.setattr(parts, "WIDTH", 16)
    scale(dask_engine, 2)  # one may have been killed by another test
    dask_engine.client.run(set_variables, settings)
    graphs = []
    for engine in (local_engine(64), with_parts(dask_engine, 64)):
        with Publisher(choose_method(method), GUARANTEE, seed=1, engine=engine) as publisher:
            graphs.append([each.graph for each in publisher.publish_all(read_stream(address))])
    assert graphs[0] == graphs[1]


def test_a_changed_object_is_refused(address):
    first, _ = read_stream(address)
    changed = Address(address) / "000000/edges-00001.parquet"
    changed.write_bytes(changed.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=r"edges-00001\.parquet"):
        _ = first.u


def test_a_missing_object_is_named(address):
    (first, _), files = read_stream(address), fsspec.filesystem("s3")
    files.rm(f"{address}/000000/edges-00001.parquet")
    with pytest.raises(DataError, match=r"edges-00001\.parquet"):
        _ = first.u
    with pytest.raises(DataError, match=r"edges-00001\.parquet"):
        open_store(Address(address))


def test_a_copy_without_manifest_is_no_store(address):
    fsspec.filesystem("s3").rm(f"{address}/{MANIFEST}")
    with pytest.raises(DataError, match=MANIFEST):
        read_stream(address)


def test_another_roster_is_refused(address):
    with pytest.raises(RosterError):
        read_stream(address, roster=range(61))


def test_an_unreachable_object_store_is_an_error(settings, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    fsspec.filesystem("s3").clear_instance_cache()
    with pytest.raises(DataError):
        read_stream("s3://curator/store")
    fsspec.filesystem("s3").clear_instance_cache()


def test_an_unknown_address_is_an_error():
    with pytest.raises(DataError):
        read_stream("nonsense://bucket/store")


def test_without_fsspec_the_install_line_is_told(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingExtra, match="dask"):
        read_stream("s3://bucket/store")
