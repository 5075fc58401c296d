"""``psgraph datasets``, as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from psgraph_lab.datasets import dataset_names
from tests.cli.commands import PSGRAPH, psgraph, psgraph_here
from tests.lab.datasets.handmade import pack, write_citations, write_graphs, write_links
from tests.lab.datasets.server import Behaviour, serving

#: Streams that are generated on demand.
MADE = ("demo", "demo-departments", "planted", "simulated-trips", "simulated-views")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("PSGRAPH_DATA", raising=False)
    monkeypatch.setenv("PSGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    return tmp_path / "cache"


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("words", [(), ("list",), ("info",), ("fetch",)])
def test_help_shows_examples_and_imports_nothing_heavy(words):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "psgraph", "datasets", *words, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"  psgraph datasets {' '.join(words)}".rstrip() in done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    imported = {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}
    assert imported.isdisjoint({"numpy", "pyarrow", "rich"})


def test_list(tmp_path, monkeypatch):
    write_graphs(tmp_path / "data", "as-733")
    (tmp_path / "data" / "as-caida20040105.txt").write_text("1\t2\n")
    monkeypatch.setenv("PSGRAPH_DATA", str(tmp_path / "data"))
    shown = psgraph_here("datasets", "list")
    assert shown.code == 0
    rows = {line.split()[0]: flat(line) for line in shown.out.splitlines() if line.strip()}
    assert set(dataset_names()) <= set(rows)
    assert "the paper's" in rows["as-733"]
    assert "original files:" in rows["as-733"]
    assert rows["as-733"].endswith("7,473 22,705 147")
    assert "incomplete, 24 files missing" in rows["as-caida"]
    assert rows["cit-hepph"].endswith("no 12,905 764,525 36")
    assert "stand-in for reddit" in rows["wiki-talk"]
    assert "generated on demand" in rows["demo"]
    listed = json.loads(psgraph_here("datasets", "list", "--json").out)["datasets"]
    assert [each["name"] for each in listed] == list(dataset_names())
    available = {each["name"] for each in listed if each["available"]}
    assert available == {"as-733", *MADE}
    assert listed[0]["paper"] == {"nodes": 7473, "edges": 22705, "timestamps": 147}
    assert listed[0]["path"] == str(tmp_path / "data")


@pytest.mark.parametrize("name", ["as-733", "dblp", *MADE])
def test_info_of_what_is_not_there(name):
    shown = psgraph_here("datasets", "info", name)
    assert shown.code == 0
    assert "Selection" in shown.out
    told = json.loads(psgraph_here("datasets", "info", name, "--json").out)
    assert told["name"] == name
    assert told["available"] == (name in MADE)
    if name not in MADE:
        assert f"psgraph datasets fetch {name}" in shown.out
        assert told["counts"] is None
    if told["paper"] is not None:
        assert told["downloads"]
        assert f"{told['paper']['nodes']:,} nodes" in shown.out


def test_fetch_then_info(tmp_path, cache):
    write_citations(tmp_path / "data")
    shown = psgraph_here("datasets", "fetch", "Cit-HepPh", "--from", tmp_path / "data")
    assert shown.code == 0, shown.err
    assert "Cit-HepPh is available" in shown.out
    assert str(cache / "cit-hepph.parquet") in shown.out
    assert "a partial copy" in shown.out
    assert "which is 48" in flat(shown.out)
    assert "764,525" in shown.out
    told = json.loads(psgraph_here("datasets", "info", "cit-hepph", "--json").out)
    assert told["form"] == "parquet"
    assert told["counts"]["self_loops"] == 1
    by_name = {line["what"]: line for line in told["comparison"]}
    assert by_name["timestamps"]["verdict"] == "exact"
    edges = by_name["edges"]
    assert edges["found"] == told["counts"]["edges"]
    assert edges["verdict"] == f"{edges['found'] - 764_525:+,}"
    shown = psgraph_here("datasets", "info", "cit-hepph")
    assert edges["verdict"] in shown.out
    assert "dropped here" in shown.out


def test_fetch_as_json(tmp_path):
    write_links(tmp_path / "data", "title", seed=1)
    write_links(tmp_path / "data", "body", seed=2)
    pack(tmp_path / "data", tmp_path / "soc-redditHyperlinks.zip")
    shown = psgraph(
        *("datasets", "fetch", "reddit", "--from", tmp_path / "soc-redditHyperlinks.zip"),
        *("--to", tmp_path / "out", "--json"),
    )
    assert shown.code == 0
    told = json.loads(shown.out)
    assert told["path"] == str(tmp_path / "out" / "reddit.parquet")
    assert told["counts"]["timestamps"] == 24
    assert [remark.partition(":")[0] for remark in told["remarks"]] == [
        *("titles", "bodies", "both"),
        "used",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("info", "as733"), 2, "Choose one of: as-733"),
        (("fetch", "nope"), 2, "Choose one of: as-733"),
        (("fetch",), 2, "NAME"),
        (("bogus",), 2, "bogus"),
        (("fetch", "demo"), 2, "generated on demand"),
        (("fetch", "as-733", "--from", "nowhere"), 1, "nowhere does not exist"),
        (("fetch", "as-733", "--from", "."), 1, "As-733 is not available"),
        (("fetch", "wiki-talk"), 1, "--from DIR"),
    ],
)
def test_wrong_input(tmp_path, monkeypatch, arguments, code, words):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    failed = psgraph_here("datasets", *arguments)
    assert failed.code == code
    assert failed.out == ""
    assert failed.err.startswith("error: ")
    assert words in failed.err
    assert "internal" not in failed.err


@pytest.fixture
def reddit_server(tmp_path, monkeypatch):
    from dataclasses import replace

    import psgraph_lab.datasets.download as fetching
    from psgraph_lab.datasets import find_dataset

    write_links(tmp_path / "files", "title", seed=1)
    write_links(tmp_path / "files", "body", seed=2)
    files = {path.name: path.read_bytes() for path in (tmp_path / "files").iterdir()}
    behaviour = Behaviour(files)
    with serving(behaviour) as address:
        downloads = tuple(f"{address}/{name}" for name in files)
        dataset = replace(find_dataset("reddit"), downloads=downloads)
        monkeypatch.setattr(fetching, "find_dataset", lambda _: dataset)
        yield behaviour


def test_a_download_shows_checksums_and_info_remembers_them(reddit_server):
    shown = psgraph_here("datasets", "fetch", "reddit")
    assert shown.code == 0, shown.err
    sums = [line.split()[-1] for line in shown.out.splitlines() if line.startswith("SHA-256")]
    assert len(sums) == 2
    assert all(len(each) == 64 for each in sums)
    told = json.loads(psgraph_here("datasets", "info", "reddit", "--json").out)
    assert sorted(told["downloaded"].values()) == sorted(sums)


def test_a_file_that_is_gone_is_one_message(reddit_server):
    reddit_server.status = 404
    failed = psgraph_here("datasets", "fetch", "reddit")
    assert failed.code == 1
    assert "answered 404" in failed.err
    assert "psgraph datasets fetch reddit --from DIR" in failed.err


def test_no_network_is_one_message():
    # A proxy that is not there makes every host unreachable, also where there is a network.
    env = {"https_proxy": "http://127.0.0.1:9", "no_proxy": ""}
    failed = psgraph("datasets", "fetch", "as-733", env=env)
    assert failed.code == 1
    assert "can't be reached" in failed.err
    assert "https://snap.stanford.edu/data/as-733.tar.gz" in failed.err
    assert "--from DIR" in failed.err


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_bars_on_a_terminal(tmp_path):
    write_graphs(tmp_path / "data", "as-733")
    ours, theirs = os.openpty()
    try:
        done = subprocess.run(
            [*PSGRAPH, *("datasets", "fetch", "as-733", "--json"), "--from", tmp_path / "data"],
            stdout=subprocess.PIPE,
            stderr=theirs,
            check=True,
            timeout=60,
        )
        shown = os.read(ours, 1 << 16).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert "Reading timestamps" in shown
    assert json.loads(done.stdout)["counts"]["timestamps"] == 147
