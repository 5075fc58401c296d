"""Original files, archives of them and the Parquet form give the same snapshots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from psgraph.errors import DataError, InvalidArgument
from psgraph_lab.datasets import (
    Counts,
    dataset_names,
    fetch_dataset,
    find_dataset,
    is_available,
    load_dataset,
)
from psgraph_lab.datasets.locations import AS_733_DAYS, AS_CAIDA_DAYS
from psgraph_lab.datasets.originals import MonthRange, paper_months
from psgraph_lab.datasets.snapshots import read_dataset

from .handmade import (
    edges_of,
    pack,
    union,
    write_citations,
    write_graphs,
    write_links,
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the data of the person who runs it."""
    monkeypatch.delenv("PSGRAPH_DATA", raising=False)
    monkeypatch.setenv("PSGRAPH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


# ---- the catalogue ----


def test_the_paper_s_four_come_first_and_every_stand_in_stands_for_one_of_them():
    names = dataset_names()
    assert names[:4] == ("as-733", "as-caida", "cit-hepph", "reddit")
    assert names[4:7] == ("hepph-partial", "reddit-shared", "wiki-talk")
    assert names[-1] == "demo"
    for name in names:
        dataset = find_dataset(name)
        assert (dataset.paper is not None) == (name in names[:4])
        assert dataset.stand_in_for in (None, *names[:4])
        assert (dataset.stand_in_for is not None) == (name in names[4:7])
        assert all(
            address.startswith("https://snap.stanford.edu/data/") for address in dataset.downloads
        )
    assert find_dataset("reddit").paper == Counts(34_191, 125_162, 24)


def test_an_unknown_name_lists_the_known_ones():
    for call in (find_dataset, load_dataset, is_available, fetch_dataset):
        with pytest.raises(InvalidArgument, match=r"'as733'\n.*as-733, as-caida"):
            call("as733")


def test_the_selections_are_days_in_order():
    for days, count in ((AS_733_DAYS, 147), (AS_CAIDA_DAYS, 25)):
        assert len(days) == len(set(days)) == count
        assert list(days) == sorted(days)
        np.array([f"{day[:4]}-{day[4:6]}-{day[6:]}" for day in days], dtype="datetime64[D]")
    assert (AS_733_DAYS[0], AS_733_DAYS[-1]) == ("19971108", "19991231")
    assert (AS_CAIDA_DAYS[0], AS_CAIDA_DAYS[-1]) == ("20040105", "20071105")


# ---- graphs by day ----


@pytest.mark.parametrize("name", ["as-733", "as-caida"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("inside", ["", "sub"])
def test_daily_files(tmp_path, name, packed, inside):
    folder = tmp_path / "data" / (name if inside else "")
    expected, loops = write_graphs(folder, name, packed=packed)
    (folder / "as20000102.txt").write_text("not even read")
    assert is_available(name, directory=tmp_path / "data")
    snapshots = load_dataset(name, directory=tmp_path / "data")
    assert edges_of(snapshots) == expected
    assert [each.time for each in snapshots] == list(expected)
    assert all(each.roster.from_edges for each in snapshots)
    counts = read_dataset(name, directory=tmp_path / "data").counts
    assert (counts.nodes, counts.edges) == union(expected)
    assert counts.self_loops == len(loops) > 0


@pytest.mark.parametrize(
    "archive", ["as-caida.tar.gz", "as-caida.tgz", "as-caida.tar", "as-caida.zip"]
)
@pytest.mark.parametrize("inside", ["", "./", "as-caida/", "../../", "/tmp/psgraph-escape/"])
def test_archives_are_read_and_never_write_outside(tmp_path, archive, inside):
    expected, _ = write_graphs(tmp_path / "files", "as-caida", packed=inside == "./")
    before = set(tmp_path.iterdir())
    (tmp_path / "data").mkdir()
    pack(tmp_path / "files", tmp_path / "data" / archive, inside=inside)
    assert is_available("as-caida", directory=tmp_path / "data")
    assert edges_of(load_dataset("as-caida", directory=tmp_path / "data")) == expected
    assert edges_of(load_dataset("as-caida", directory=tmp_path / "data" / archive)) == expected
    assert set(tmp_path.iterdir()) == before | {tmp_path / "data"}
    assert not Path("/tmp/psgraph-escape").exists()


def test_links_in_an_archive_are_passed_over(tmp_path):
    import io
    import tarfile

    secret = tmp_path / "secret.txt"
    secret.write_text("1\t2\n")
    write_graphs(tmp_path / "files", "as-caida")
    (tmp_path / "files" / "as-caida20040105.txt").unlink()
    archive = pack(tmp_path / "files", tmp_path / "as-caida.tar")
    with tarfile.open(archive, "a") as packed:
        link = tarfile.TarInfo("as-caida20040105.txt")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        packed.addfile(link, io.BytesIO())
    with pytest.raises(DataError, match=r" 1 of the 25 .*As-caida: as-caida20040105"):
        load_dataset("as-caida", directory=tmp_path)


@pytest.mark.parametrize("kind", ["as-caida.tar.gz", "as-caida.tar", "as-caida.zip"])
@pytest.mark.parametrize("damage", ["cut", "empty", "noise", "flip"])
def test_damaged_archives_say_so(tmp_path, kind, damage):
    write_graphs(tmp_path / "files", "as-caida")
    archive = pack(tmp_path / "files", tmp_path / kind)
    whole = archive.read_bytes()
    middle = len(whole) // 2
    content = {
        "cut": whole[:middle],
        "empty": b"",
        "noise": b"<html>404</html>" * 100,
        "flip": whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 9]),
    }[damage]
    archive.write_bytes(content)
    with pytest.raises(DataError):
        load_dataset("as-caida", directory=tmp_path)


def test_a_file_twice_in_an_archive(tmp_path):
    import zipfile

    write_graphs(tmp_path / "files", "as-caida")
    archive = pack(tmp_path / "files", tmp_path / "as-caida.zip")
    with zipfile.ZipFile(archive, "a") as zipped:
        zipped.writestr("other/as-caida20040105.txt", "1\t2\n")
    with pytest.raises(DataError, match=r"as-caida20040105\.txt"):
        load_dataset("as-caida", directory=tmp_path)


def test_missing_files_are_named(tmp_path):
    write_graphs(tmp_path, "as-733")
    for day in AS_733_DAYS[3:10]:
        (tmp_path / f"as{day}.txt").unlink()
    assert not is_available("as-733", directory=tmp_path)
    with pytest.raises(DataError) as failed:
        load_dataset("as-733", directory=tmp_path)
    assert f"lacks 7 of the 147 files of As-733: as{AS_733_DAYS[3]}.txt" in str(failed.value)
    assert f"as{AS_733_DAYS[8]}" not in str(failed.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not the original file"),
        (b"# only a header\n", "not the original file"),
        (b"1\n2\n", "not the original file"),
        (b"1\t2\nx\ty\n", "line 2"),
        (b"\x00\x01\x02\n", "not text"),
        (b"PAR1nonsense", "Parquet"),
    ],
)
def test_wrong_daily_files(tmp_path, content, words):
    write_graphs(tmp_path, "as-caida")
    (tmp_path / "as-caida20060703.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"as-caida20060703\.txt") as failed:
        load_dataset("as-caida", directory=tmp_path)
    assert words in str(failed.value)


# ---- citations ----


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_citations(tmp_path, packed, end):
    expected = write_citations(tmp_path / "cit-HepPh", packed=packed, end=end)
    loaded = read_dataset("cit-hepph", directory=tmp_path)
    assert edges_of(loaded.snapshots) == expected
    assert len(expected) == loaded.counts.timestamps == 36
    assert (loaded.counts.nodes, loaded.counts.edges) == union(expected)
    assert loaded.counts.self_loops == 1
    assert "a partial copy" in loaded.remarks[0]
    assert loaded.remarks[1] == "citations omitted because a paper has no date: 1"


@given(
    st.lists(
        st.tuples(st.integers(1001, 9_912_999), st.booleans(), st.dates(), st.booleans()),
        min_size=1,
        max_size=30,
    )
)
def test_dates_of_papers(tmp_path_factory, rows):
    """Cross-listed under 11 and the id, with or without the zeros in front."""
    file = tmp_path_factory.mktemp("dates") / "cit-HepPh-dates.txt"
    lines, best = [], {}
    for id_, crossed, day, zeros in rows:
        # Without them, 11 before a short id can't be told from an id.
        text = f"{id_:07}" if zeros or id_ < 100_000 else str(id_)
        lines.append(f"{'11' if crossed else ''}{text}\t{day.year:04}-{day.month:02}-{day.day:02}")
        key = crossed, 12 * (day.year - 1970) + day.month - 1
        best[id_] = min(best.get(id_, key), key)
    file.write_text("\r\n".join(lines) + "\r\n")
    papers, months = paper_months(file)
    assert dict(zip(papers.tolist(), months.tolist(), strict=True)) == {
        id_: month for id_, (_, month) in best.items()
    }
    assert papers.tolist() == sorted(best)


def test_wrong_files_of_citations(tmp_path):
    write_citations(tmp_path)
    dates = tmp_path / "cit-HepPh-dates.txt"
    right = dates.read_text()
    dates.write_text(right + "9" * 12 + "\t1999-01-01\r\n")
    with pytest.raises(DataError, match=r"cit-HepPh-dates\.txt"):
        load_dataset("cit-hepph", directory=tmp_path)
    dates.write_text(right.replace("1998-05", "1998-13"))
    with pytest.raises(DataError, match=r"cit-HepPh-dates\.txt, line \d+"):
        load_dataset("cit-hepph", directory=tmp_path)
    dates.write_text(right.replace("1998-05", "2002-05"))
    with pytest.raises(DataError, match=r"\b1 of the 36 .*1998-05"):
        load_dataset("cit-hepph", directory=tmp_path)
    dates.unlink()
    with pytest.raises(DataError, match=r" 1 of the 2 .*Cit-HepPh: cit-HepPh-dates"):
        load_dataset("cit-hepph", directory=tmp_path)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=40), st.integers(0, 4))
def test_months_are_cut_as_a_dictionary_would(months, first):
    ids = pa.chunked_array([list(range(len(months)))])
    window = MonthRange(f"1970-{first + 1:02}", 2)
    inside = np.array(months, dtype=np.int64)
    expected = [[i for i, m in enumerate(months) if m == month] for month in (first, first + 1)]
    if all(expected):
        cut = list(window.rows(inside, ids, ids, of="x"))
        assert [rows.heads.to_pylist() for rows in cut] == expected
        assert [rows.time for rows in cut] == [f"1970-{first + 1:02}", f"1970-{first + 2:02}"]
    else:
        with pytest.raises(DataError, match=" 2 "):
            list(window.rows(inside, ids, ids, of="x"))


# ---- links ----


@pytest.mark.parametrize("part", ["title", "body"])
@pytest.mark.parametrize("packed", [False, True])
def test_links_of_one_file(tmp_path, part, packed):
    expected = write_links(tmp_path, part, seed=1, packed=packed)
    loaded = read_dataset("reddit", directory=tmp_path)
    assert edges_of(loaded.snapshots) == expected
    assert [each.time for each in loaded.snapshots] == sorted(expected)
    assert (loaded.counts.nodes, loaded.counts.edges) == union(expected)
    assert (loaded.counts.timestamps, loaded.counts.self_loops) == (24, 1)
    assert "the only file available" in loaded.remarks[-1]


def test_of_both_files_the_reading_closest_to_the_paper_is_used(tmp_path, monkeypatch):
    from dataclasses import replace

    titles = write_links(tmp_path, "title", seed=1)
    bodies = write_links(tmp_path, "body", seed=2)
    both = {month: titles[month] | bodies[month] for month in titles}
    for name, expected in (("titles", titles), ("bodies", bodies), ("both", both)):
        paper = Counts(*union(expected), 24)
        wanted = replace(find_dataset("reddit"), paper=paper)
        monkeypatch.setattr("psgraph_lab.datasets.originals.find_dataset", lambda _, d=wanted: d)
        loaded = read_dataset("reddit", directory=tmp_path)
        assert edges_of(loaded.snapshots) == expected
        assert loaded.remarks[-1] == f"used: {name}"
        assert len(loaded.remarks) == 4
        assert any(f"{paper.nodes:,} nodes, {paper.edges:,} edges" in r for r in loaded.remarks)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("TIMESTAMP", "WHEN", "TIMESTAMP were expected"),
        ("SOURCE_SUBREDDIT", "FROM_WHERE", "SOURCE_SUBREDDIT"),
        ("2015-03-01 00:00:00", "in March", "line"),
        ("2015-03", "2012-03", "have no rows (2015-03)"),
        ("\t1u4nrps\t", "\t", "columns"),
    ],
)
def test_wrong_files_of_links(tmp_path, old, new, words):
    write_links(tmp_path, "body", seed=3)
    file = tmp_path / "soc-redditHyperlinks-body.tsv"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1 if old.startswith("\t") else -1))
    with pytest.raises(DataError) as failed:
        load_dataset("reddit", directory=tmp_path)
    assert words in str(failed.value)
    assert "sub1" not in str(failed.value)


# ---- where things are looked for ----


def test_the_demo_is_always_there_and_the_rest_is_not(elsewhere):
    assert is_available("demo")
    assert len(load_dataset("demo")) == 12
    for name in dataset_names()[:-1]:
        if not find_dataset(name).files:  # made on demand
            continue
        assert not is_available(name)
        with pytest.raises(DataError) as failed:
            load_dataset(name)
        assert str(elsewhere) in str(failed.value)
        assert f"psgraph datasets fetch {name}" in str(failed.value)


def test_the_directory_given_then_the_variable_then_the_cache(tmp_path, elsewhere, monkeypatch):
    first, _ = write_graphs(tmp_path / "first", "as-caida")
    write_links(elsewhere, "title", seed=1)
    monkeypatch.setenv("PSGRAPH_DATA", str(tmp_path / "first"))
    assert is_available("as-caida")
    assert is_available("reddit")
    assert edges_of(load_dataset("as-caida")) == first
    assert not is_available("as-caida", directory=elsewhere)
    # What is incomplete in one place does not hide what is whole in the next.
    write_graphs(elsewhere, "as-caida")
    (tmp_path / "first" / "as-caida20040105.txt").unlink()
    assert is_available("as-caida")


def test_the_cache_is_in_the_user_s_data_directory(monkeypatch, tmp_path):
    from psgraph_lab.datasets.locations import cache_directory

    monkeypatch.delenv("PSGRAPH_CACHE")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert cache_directory() == tmp_path / "psgraph"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", "/nowhere")
    assert cache_directory() == Path("/nowhere/.local/share/psgraph")


def test_importing_the_catalogue_loads_nothing_heavy():
    import subprocess
    import sys

    code = (
        "import sys, psgraph_lab.datasets as d; d.dataset_names()\n"
        "import psgraph_lab.datasets.locations\n"
        "print([m for m in ('numpy', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
