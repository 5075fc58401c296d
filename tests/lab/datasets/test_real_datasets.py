"""The real data sets, where they are available: ``PSGRAPH_DATA`` names the directory."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

from psgraph.errors import DataError
from psgraph_lab.datasets import Counts, find_dataset, is_available, load_dataset
from psgraph_lab.datasets.counts import compare_with_paper
from psgraph_lab.datasets.originals import graph_rows
from psgraph_lab.datasets.snapshots import read_dataset

from .handmade import edges_of, union

KNOWN = {
    "as-733": Counts(7_473, 20_166, 147),
    "as-caida": Counts(31_092, 97_164, 25),
    "hepph-partial": Counts(10_611, 62_235, 36),
    "reddit-shared": Counts(2_886, 141_589, 18),
    "wiki-talk": Counts(33_724, 105_544, 24),
    "bitcoin-alpha": Counts(3_783, 14_124, 63),
    "bitcoin-otc": Counts(5_881, 21_492, 63),
    "canparl": Counts(734, 45_457, 14),
    "college-msg": Counts(1_899, 13_838, 28),
    "dblp": Counts(27_185, 83_266, 19),
    "email-eu": Counts(986, 16_025, 75),
    "facebook-wall": Counts(45_813, 183_412, 52),
    "high-school": Counts(327, 5_818, 41),
    "math-overflow": Counts(24_759, 187_985, 79),
    "radoslaw-email": Counts(167, 3_250, 40),
    "wiki-talk-2004": Counts(102_758, 278_605, 24),
}


def need(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is not in the directory that PSGRAPH_DATA names")
    return path


@pytest.mark.parametrize("name", KNOWN)
def test_known_counts(real_data, name):
    if not is_available(name, directory=real_data):
        pytest.skip(f"{name} is not in the directory that PSGRAPH_DATA names")
    loaded = read_dataset(name, directory=real_data)
    assert loaded.counts == KNOWN[name]
    assert load_dataset(name, directory=real_data) == loaded.snapshots
    if name not in ("as-733", "as-caida"):  # the same numbers by plain sets, which take long
        assert union(edges_of(loaded.snapshots)) == (loaded.counts.nodes, loaded.counts.edges)


def test_counts_compare_with_paper_s():
    verdicts = {
        name: [line.verdict for line in compare_with_paper(find_dataset(name), counts)]
        for name, counts in KNOWN.items()
    }
    assert verdicts["as-733"][:2] == verdicts["as-caida"][:2] == ["exact", "exact"]
    assert verdicts["as-caida"][2] == "exact"
    assert verdicts["as-733"][2].startswith("-2,539, the number of self-loops")
    assert verdicts["wiki-talk"] == ["", "", ""]
    told = Counts(7_473, 20_166, 147, 2_539)
    other = Counts(7_473, 20_166, 147, 2_538)
    edges = [compare_with_paper(find_dataset("as-733"), counts)[2] for counts in (told, other)]
    assert [line.verdict for line in edges] == ["exact with 2,539 self-loops", "-2,539"]


@pytest.mark.parametrize("name", ["as-733", "as-caida"])
def test_original_graphs_are_those_of_the_parquet_form(real_data, name):
    files = sorted(need(real_data / "raw" / name).glob("*.txt.gz"))
    prepared = {each.time: each for each in load_dataset(name, directory=real_data)}
    compared = 0
    for rows in graph_rows(files):
        loops = len(rows.self_loops())
        snapshot = rows.snapshot()
        assert (loops > 0) == (snapshot.dropped.self_loops > 0)
        if rows.time in prepared:
            assert snapshot == prepared[rows.time]
            compared += 1
    assert compared >= 2
    with pytest.raises(DataError, match=r" \d+ of the \d+ .*As-"):
        load_dataset(name, directory=real_data / "raw")


def test_original_citations_are_those_of_the_parquet_form(real_data, tmp_path):
    folder = need(real_data / "raw" / "cit-HepPh")
    loaded = read_dataset("cit-hepph", directory=real_data / "raw")
    prepared = load_dataset("hepph-partial", directory=real_data)
    assert loaded.snapshots == prepared
    assert [each.time for each in loaded.snapshots] == [each.time for each in prepared]
    assert loaded.remarks == ("a partial copy: 201,300 of 421,578 citations",)
    # Unpacked, and with other line ends, it is the same.
    for file in folder.glob("*.gz"):
        text = gzip.decompress(file.read_bytes()).replace(b"\r\n", b"\n")
        (tmp_path / file.name.removesuffix(".gz")).write_bytes(text)
    assert load_dataset("cit-hepph", directory=tmp_path) == prepared
    shutil.copy(folder / "cit-HepPh.txt.gz", tmp_path / "cit-HepPh-dates.txt")
    with pytest.raises(DataError, match=r"cit-HepPh-dates\.txt, line 1"):
        load_dataset("cit-hepph", directory=tmp_path)
