"""Fetching: local files first, downloads otherwise; what comes out is the same data set."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from psgraph.errors import DataError, InvalidArgument, OutputError
from psgraph_lab.datasets import fetch_dataset, find_dataset, is_available, load_dataset
from psgraph_lab.datasets.snapshots import read_dataset

from .handmade import edges_of, pack, union, write_citations, write_graphs, write_links
from .server import Behaviour, serving


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PSGRAPH_DATA", raising=False)
    monkeypatch.setenv("PSGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr("psgraph_lab.datasets.download._PAUSE", 0.0)
    return tmp_path / "cache"


def write(name: str, directory: Path) -> dict:
    if name == "cit-hepph":
        return write_citations(directory)
    if name == "reddit":
        return write_links(directory, "title", seed=4)
    return write_graphs(directory, name)[0]


@pytest.mark.parametrize("name", ["as-733", "as-caida", "cit-hepph", "reddit"])
def test_the_parquet_form_is_the_same_stream(tmp_path, cache, name):
    expected = write(name, tmp_path / "files")
    original = read_dataset(name, directory=tmp_path / "files")
    steps = []
    fetched = fetch_dataset(name, source=tmp_path / "files", advance=lambda: steps.append(1))
    assert len(steps) == len(expected)
    assert fetched.path == cache / f"{name}.parquet"
    assert fetched.counts == original.counts
    assert (fetched.counts.nodes, fetched.counts.edges) == union(expected)
    shutil.rmtree(tmp_path / "files")
    assert is_available(name)
    assert edges_of(load_dataset(name)) == expected
    assert load_dataset(name) == original.snapshots
    # Counts and remarks outlive the files, self-loops too, and a copy of the copy.
    again = read_dataset(name)
    assert (again.counts, again.remarks) == (original.counts, original.remarks)
    copy = fetch_dataset(name, source=fetched.path, to=tmp_path / "copy")
    assert copy.counts == original.counts
    assert load_dataset(name, directory=tmp_path / "copy") == original.snapshots


def test_columns_of_the_parquet_form(tmp_path):
    import pyarrow.parquet as pq

    write_graphs(tmp_path / "files", "as-caida")
    table = pq.read_table(fetch_dataset("as-caida", source=tmp_path / "files").path)
    assert table.column_names == ["t", "label", "u", "v"]
    assert str(table.schema.field("t").type) == "int32"
    u, v = table["u"].to_numpy(), table["v"].to_numpy()
    assert (u < v).all()
    rows = list(zip(table["t"].to_pylist(), u.tolist(), v.tolist(), strict=True))
    assert len(rows) == len(set(rows))


def test_stand_ins_come_as_parquet_only(tmp_path):
    write_graphs(tmp_path / "files", "as-caida")
    fetch_dataset("as-caida", source=tmp_path / "files", to=tmp_path)
    shutil.copy(tmp_path / "as-caida.parquet", tmp_path / "files" / "wikitalk.parquet")
    fetched = fetch_dataset("wiki-talk", source=tmp_path / "files")
    assert fetched.path.name == "wiki-talk.parquet"
    with pytest.raises(DataError, match=r"hepph\.parquet.*--from DIR"):
        fetch_dataset("hepph-partial")
    with pytest.raises(InvalidArgument):
        fetch_dataset("demo")


def test_local_files_of_the_variable_go_before_a_download(tmp_path, monkeypatch):
    expected, _ = write_graphs(tmp_path / "files", "as-caida")
    monkeypatch.setenv("PSGRAPH_DATA", str(tmp_path / "files"))
    assert fetch_dataset("as-caida").source == tmp_path / "files"
    shutil.rmtree(tmp_path / "files")
    assert edges_of(load_dataset("as-caida")) == expected
    assert fetch_dataset("as-caida").source.name == "as-caida.parquet"


def test_wrong_sources(tmp_path):
    with pytest.raises(DataError, match="nowhere"):
        fetch_dataset("as-733", source=tmp_path / "nowhere")
    with pytest.raises(DataError, match="As-733"):
        fetch_dataset("as-733", source=tmp_path)
    (tmp_path / "as-733.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match=r"as-733\.parquet"):
        fetch_dataset("as-733", source=tmp_path)
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match=r"As-733.*notes\.txt"):
        fetch_dataset("as-733", source=tmp_path / "notes.txt")
    write_graphs(tmp_path / "files", "as-caida")
    with pytest.raises(OutputError):
        fetch_dataset("as-caida", source=tmp_path / "files", to=tmp_path / "notes.txt")


# ---- downloads ----


@pytest.fixture
def served(tmp_path, monkeypatch):
    """As-caida on a server of this machine: its behaviour, and what is in it."""
    expected, _ = write_graphs(tmp_path / "files", "as-caida")
    archive = pack(tmp_path / "files", tmp_path / "as-caida.tar.gz", inside="as-caida/")
    behaviour = Behaviour({"as-caida.tar.gz": archive.read_bytes()})
    archive.unlink()
    shutil.rmtree(tmp_path / "files")
    with serving(behaviour) as address:
        dataset = replace(
            find_dataset("as-caida"), downloads=(f"{address}/as-caida.tar.gz",), checksum=None
        )
        monkeypatch.setattr("psgraph_lab.datasets.download.find_dataset", lambda _: dataset)
        yield behaviour, expected


def test_a_download_is_converted_and_its_checksum_remembered(served, cache):
    behaviour, expected = served
    behaviour.cuts = [1000]
    told = []
    fetched = fetch_dataset("as-caida", watch=lambda *what: told.append(what))
    digest = hashlib.sha256(behaviour.files["as-caida.tar.gz"]).hexdigest()
    assert fetched.checksums == {"as-caida.tar.gz": digest}
    assert fetched.warnings == ()
    assert told[-1][1:] == (len(behaviour.files["as-caida.tar.gz"]),) * 2
    assert json.loads((cache / "originals" / "checksums.json").read_text()) == fetched.checksums
    assert edges_of(load_dataset("as-caida")) == expected
    # Neither the Parquet file nor the archive is made or fetched twice.
    requests = len(behaviour.requests)
    fetch_dataset("as-caida")
    fetched.path.unlink()
    assert fetch_dataset("as-caida").checksums == fetched.checksums
    assert len(behaviour.requests) == requests


def test_a_file_that_changed_at_its_source_is_reported(served, cache, tmp_path):
    behaviour, _ = served
    first = fetch_dataset("as-caida")
    first.path.unlink()
    (cache / "originals" / "as-caida.tar.gz").unlink()
    write_graphs(tmp_path / "other", "as-caida")
    (tmp_path / "other" / "README").write_text("new")
    other = pack(tmp_path / "other", tmp_path / "other.tar.gz").read_bytes()
    behaviour.files["as-caida.tar.gz"] = other
    second = fetch_dataset("as-caida")
    (warning,) = second.warnings
    assert "SHA-256 of as-caida.tar.gz differs" in warning
    assert first.checksums["as-caida.tar.gz"] in warning
    assert second.checksums["as-caida.tar.gz"] == hashlib.sha256(other).hexdigest()


def test_a_file_that_changed_here_is_downloaded_again(served, cache):
    first = fetch_dataset("as-caida")
    first.path.unlink()
    with (cache / "originals" / "as-caida.tar.gz").open("ab") as file:
        file.write(b"more")
    second = fetch_dataset("as-caida")
    assert second.checksums == first.checksums
    assert "downloading it again" in second.warnings[0]


def test_a_known_checksum_is_checked(served, monkeypatch):
    import psgraph_lab.datasets.download as fetching

    dataset = replace(fetching.find_dataset("as-caida"), checksum="0" * 64)
    monkeypatch.setattr(fetching, "find_dataset", lambda _: dataset)
    assert any("0" * 64 in warning for warning in fetch_dataset("as-caida").warnings)


def test_what_can_t_be_read_after_a_download_is_to_be_removed(served, cache):
    behaviour, expected = served
    whole = behaviour.files["as-caida.tar.gz"]
    behaviour.files["as-caida.tar.gz"] = b"<html>we moved</html>"
    archive = cache / "originals" / "as-caida.tar.gz"
    with pytest.raises(DataError, match=str(archive)):
        fetch_dataset("as-caida")
    archive.unlink()
    behaviour.files["as-caida.tar.gz"] = whole
    path = fetch_dataset("as-caida").path
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(DataError, match=str(path)):
        fetch_dataset("as-caida")
    path.unlink()
    assert len(fetch_dataset("as-caida").warnings) == 0
    assert edges_of(load_dataset("as-caida")) == expected


def test_no_network_names_the_address_and_the_way_around(served, cache):
    behaviour, _ = served
    behaviour.status = 404
    with pytest.raises(DataError) as failed:
        fetch_dataset("as-caida")
    assert "/as-caida.tar.gz manually, then: psgraph datasets fetch as-caida --from DIR" in str(
        failed.value
    )
    (cache / "originals").mkdir(exist_ok=True, parents=True)
    (cache / "originals" / "checksums.json").write_text("[")
    with pytest.raises(DataError, match=r"checksums\.json"):
        fetch_dataset("as-caida")
