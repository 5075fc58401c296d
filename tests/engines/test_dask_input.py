"""Clusters and stores that can't be used: a clear error, nothing published, nothing charged."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

from psgraph import Publisher, WEventPrivacy
from psgraph.engines.dask import DaskEngine, connection
from psgraph.engines.dask import engine as dask_module
from psgraph.engines.dask.tasks import check_identity, identity
from psgraph.errors import DataError, EngineError, InvalidArgument
from psgraph.methods.private import PrivateEdges
from psgraph.methods.queries import Degrees
from psgraph.methods.registry import choose_method
from psgraph.stores import new_store, open_store
from psgraph.stores.store import MANIFEST, manifest_digest
from tests.engines.cluster import cluster_with_worker, random_snapshot

GUARANTEE = WEventPrivacy("4", window=2)


@pytest.fixture
def store(tmp_path) -> Path:
    with new_store(tmp_path / "store", part_nodes=16) as writer:
        writer.add(random_snapshot(1))
    return tmp_path / "store"


def part(store: Path) -> Path:
    return store / "000000" / "edges-00002.parquet"


def refused(engine, snapshot, out: Path, file: str) -> None:
    """Publishing fails, names the file and leaves no trace."""
    with Publisher(choose_method("psgraph"), GUARANTEE, out=out, engine=engine) as publisher:
        with pytest.raises(DataError, match=file):
            publisher.publish(snapshot)
        assert publisher.spending.timestamps == 0
    assert not list(out.glob("000000*"))


def test_a_part_that_disappears_while_running_is_named(dask_engine, store, tmp_path):
    (snapshot,) = open_store(store)
    part(store).unlink()
    refused(dask_engine, snapshot, tmp_path / "out", "edges-00002")


def test_a_part_that_changes_while_running_is_named(dask_engine, store, tmp_path):
    (snapshot,) = open_store(store)
    part(store).write_bytes(part(store).read_bytes()[:-1] + b"x")
    refused(dask_engine, snapshot, tmp_path / "out", "edges-00002")


def test_a_part_with_another_schema_is_named(dask_engine, store, tmp_path):
    pq.write_table(pa.table({"u": [1], "v": [2]}), part(store))
    fields = json.loads((store / MANIFEST).read_text())
    del fields["sha256"]
    sha256 = hashlib.sha256(part(store).read_bytes()).hexdigest()
    fields["snapshots"][0]["edges"][2]["sha256"] = sha256
    (store / MANIFEST).write_text(json.dumps({**fields, "sha256": manifest_digest(fields)}))
    (snapshot,) = open_store(store)
    refused(dask_engine, snapshot, tmp_path / "out", "edges-00002")


# ---- workers with other software ----


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise ImportError", "psgraph"),
        ("__version__ = '0.0.1'", "0.0.1"),
    ],
    ids=["without psgraph", "with another version"],
)
def test_a_worker_with_other_software_is_refused(tmp_path, code, words):
    with (
        cluster_with_worker(tmp_path, code=code) as (address, _),
        pytest.raises(EngineError, match=words),
    ):
        DaskEngine(address)


def test_a_worker_that_joins_later_checks_every_task(dask_engine):
    assert list(identity()) == list(dask_engine.client.run(identity).popitem()[1])
    with pytest.raises(EngineError):
        check_identity("another digest")


def test_a_scheduler_without_workers_is_named(monkeypatch):
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    with (
        LocalCluster(
            n_workers=0, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        pytest.raises(EngineError),
    ):
        DaskEngine(cluster.scheduler_address)


def test_a_cluster_that_loses_all_workers_is_given_up(store, tmp_path, monkeypatch):
    monkeypatch.setattr(dask_module, "PATIENCE", 0.5)
    monkeypatch.setattr(dask_module, "LOOK_SECONDS", 0.2)
    (snapshot,) = open_store(store)
    with cluster_with_worker(tmp_path) as (address, worker), DaskEngine(address) as engine:
        worker.kill()
        with pytest.raises(EngineError):
            Degrees().answer(PrivateEdges(snapshot, engine))


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"threads": 0}, {"workers": 1}])
def test_impossible_numbers_are_refused(wrong):
    scheduler = "tcp://127.0.0.1:9" if wrong == {"workers": 1} else None
    with pytest.raises(InvalidArgument):
        DaskEngine(scheduler, **wrong)
