"""Wrong input: a clear message, exit code 2 or 1, nothing written, no node id shown."""

from __future__ import annotations

import json
import os
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from .commands import psgraph, psgraph_here, write_csv

SECRET = "4711000815"  # a node id that must not turn up in any message
EDGE = (0, SECRET, 17)
GOOD = [EDGE, (0, 17, 18), (1, 17, SECRET)]
NODES = f"id\n{SECRET}\n17\n18\n"


def refused(
    tmp_path: Path, *arguments: object, code: int, says: str, command: Any = psgraph_here
) -> None:
    """Run in `tmp_path` and check all that must hold of a refusal."""
    before = sorted(tmp_path.rglob("*"))
    with chdir(tmp_path):
        failed = command("publish", *arguments)
    assert failed.code == code, failed.text
    assert failed.out == ""
    assert "error: " in failed.err
    assert says in failed.err
    assert "Traceback" not in failed.err
    assert "internal error" not in failed.err
    assert SECRET not in failed.err
    assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture
def good(tmp_path: Path) -> Path:
    write_csv(tmp_path / "edges.csv", "t,u,v", GOOD)
    (tmp_path / "nodes.csv").write_text(NODES)
    return tmp_path


PLACE = ("edges.csv", "--roster", "nodes.csv", "--out", "out")
TERMS = ("--epsilon", "1", "--window", "5")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--epsilon", "0"), "greater than 0"),
        (("--epsilon", "-1"), "greater than 0"),
        (("--epsilon", "nan"), "finite"),
        (("--epsilon", "inf"), "finite"),
        (("--epsilon", "1e999"), "1e300"),
        (("--epsilon", "1/0"), "positive number"),
        (("--epsilon", "one"), "positive number"),
        (("--epsilon", ""), "positive number"),
        (("--window", "0"), "at least 1"),
        (("--window", "-3"), "at least 1"),
        (("--window", "2.5"), "an integer"),
        (("--window", "w"), "an integer"),
        (("--method", "psgraph", "--set", "threshold=0"), "threshold"),
        (("--method", "psgraph", "--set", "threshold=nan"), "threshold"),
        (("--method", "psgraph", "--set", "supernode_size=2.5"), "an integer"),
        (("--method", "psgraph", "--set", "fusion=yes"), "true or false"),
        (("--seed", "-1"), "--seed"),
        (("--seed", "x"), "--seed"),
        (("--method", "psgraph", "--set", "choice_constant=loose"), "tight"),
        (("--method", "psgraph", "--set", "between=x"), "printed"),
        (("--noise", "x"), "exact"),
        (("--roster-from-edges",), "contradict"),
        (("--directed", "--undirected"), "contradict"),
        (("--cumulative",), "--every"),
        (("--from", "2024-01-01"), "--every"),
        (("--until", "2024-01-01"), "--every"),
        (("--every", "1d", "--times", "0..3"), "--from and --until"),
        (("--every", "1d", "--time-label", "label"), "--from and --until"),
        (("--every", "1 fortnight"), "length of time"),
        (("--every", "0d"), "length of time"),
        (("--method", "nope"), "no method called"),
        (("--noise", "opendp", "--seed", "1"), "seeded"),
        (("--epsilon", "1e-200"), "too small"),
    ],
    ids=" ".join,
)
def test_arguments_are_checked_before_anything_is_read(
    options: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    # The files are not there, which nobody must notice.
    refused(tmp_path, *PLACE, *TERMS, *options, code=2, says=says)


def test_refusals_from_another_process(good: Path) -> None:
    here = (*PLACE, *TERMS)
    refused(good, *here, "--epsilon", "0", code=2, says="greater than 0", command=psgraph)
    write_csv(good / "edges.csv", "t,u,v", [*GOOD, (0, 17, SECRET)])
    refused(good, *here, code=1, says="line 5: 't' is smaller", command=psgraph)


def test_no_roster_is_refused_and_both_ways_explained(good: Path) -> None:
    for says in ("--roster FILE", "--roster-from-edges", "makes node presence public"):
        refused(good, "edges.csv", "--out", "out", *TERMS, code=2, says=says)


@pytest.mark.parametrize("missing", ["--epsilon", "--window", "--out"])
def test_required_options(missing: str, good: Path) -> None:
    options = {"--epsilon": "1", "--window": "5", "--out": "out", "--roster": "nodes.csv"}
    del options[missing]
    flat = [word for pair in options.items() for word in pair]
    refused(good, "edges.csv", *flat, code=2, says=missing)


def broken(rows: list[tuple[object, ...]], header: str = "t,u,v") -> str:
    return "\n".join([header, *(",".join(map(str, row)) for row in rows), ""])


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("t,u,v\n", "no rows"),
        (broken(GOOD, "a,b,c"), "columns"),
        (broken(GOOD, "t,u,w"), "columns"),
        (broken([*GOOD, ("1", "oops", SECRET)]), "line 5"),
        (broken([*GOOD, (1, SECRET)]), "line 5"),
        (broken([*GOOD, (1, "", SECRET)]), "line 5"),
        (broken([*GOOD, (1, "NaN", SECRET)]), "line 5"),
        (broken([(0, SECRET, "bob"), (0, 17, 18)]), "mix"),
        (broken([*GOOD, (0, 17, 18)]), "Sort the rows"),
        (broken([(0, 17, 18), (1, 17, SECRET), (0, 18, SECRET)]), "Sort the rows"),
        (broken([*GOOD, (1, SECRET, 99)]), "outside the roster"),
        (broken([(f"2024-01-0{d + 1}", *rest) for d, *rest in GOOD], "time,u,v"), "--every"),
    ],
    ids=lambda value: None if "\n" in value else value,
)
def test_broken_tables(content: str, says: str, good: Path) -> None:
    (good / "edges.csv").write_text(content)
    refused(good, *PLACE, *TERMS, code=1, says=says)


@pytest.mark.parametrize(
    ("roster", "says"),
    [
        (f"id\n{SECRET}\n17\n18\n{SECRET}\n", "repeated"),
        (f"id,from,until\n{SECRET},3,1\n17,,\n18,,\n", "1 of 3 stays"),
        ("", "empty"),
        (None, "does not exist"),
    ],
    ids=["duplicates", "backward", "empty", "missing"],
)
def test_broken_rosters(roster: str | None, says: str, good: Path) -> None:
    (good / "nodes.csv").unlink()
    if roster is not None:
        (good / "nodes.csv").write_text(roster)
    refused(good, *PLACE, *TERMS, code=1, says=says)


@pytest.mark.parametrize("options", [(), ("--time-label", "label")])
def test_no_cell_of_an_edge_names_a_time(options: tuple[str, ...], good: Path) -> None:
    """Two tables that differ in one row: certificates are equal, or there are none."""
    certificates = []
    for number, cell in enumerate(("affair", "friend")):
        rows = [(0, SECRET, 17, cell), (0, 17, 18, "friend"), (1, 17, 18, "friend")]
        write_csv(good / "edges.csv", "t,u,v,label", rows)
        out = good / f"out{number}"
        terms = ("--epsilon", "1/1000", "--window", "5", "--out", out, *options)
        source = (good / "edges.csv", "--roster", good / "nodes.csv")
        done = psgraph_here("publish", *source, *terms)
        assert "affair" not in done.text
        texts = [path.read_text() for path in sorted(out.glob("*.json"))] if out.exists() else []
        assert not any("affair" in text for text in texts)
        certificates.append([json.loads(text)["time"] for text in texts])
    assert certificates == ([["0", "1"]] * 2 if not options else [[], ["friend", "friend"]])


def test_removing_an_only_edge_removes_no_release(good: Path) -> None:
    releases = []
    for number, rows in enumerate((GOOD, GOOD[:2])):  # with and without the only edge of t = 1
        write_csv(good / "edges.csv", "t,u,v", [*rows, (2, 17, 18)])
        out = good / f"out{number}"
        source = (good / "edges.csv", "--roster", good / "nodes.csv")
        done = psgraph_here("publish", *source, *TERMS, "--out", out)
        assert done.code == 0, done.text
        releases.append(sorted(path.name for path in out.glob("*.parquet")))
    assert releases[0] == releases[1]
    assert len(releases[0]) == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--times", "0..0"), "line 4: 't' is not one of the declared times"),
        (("--times", "nodes.csv"), "a list of times needs one column"),
        (("--times", "none.csv"), "does not exist"),
        (("--time-label", "weight"), "there is no column 'weight'"),
    ],
    ids=" ".join,
)
def test_times_that_do_not_fit(options: tuple[str, ...], says: str, good: Path) -> None:
    (good / "nodes.csv").write_text("id,from,until\n" + NODES.replace("\n", ",,\n")[5:])
    refused(good, *PLACE, *TERMS, *options, code=1, says=says)


def test_missing_input(good: Path) -> None:
    (good / "edges.csv").unlink()
    refused(good, *PLACE, *TERMS, code=1, says="does not exist")


def test_a_pattern_that_matches_nothing(good: Path) -> None:
    refused(good, "days/*.txt", *PLACE[1:], *TERMS, code=1, says="no file matches")


def test_every_on_data_without_times(good: Path) -> None:
    refused(good, *PLACE, *TERMS, "--every", "1d", code=1, says="no times to cut by")


def test_output_that_is_not_empty(good: Path) -> None:
    (good / "out").mkdir()
    (good / "out" / "precious.txt").write_text("mine")
    refused(good, *PLACE, *TERMS, code=1, says="not empty")
    assert (good / "out" / "precious.txt").read_text() == "mine"


def test_output_that_is_a_file(good: Path) -> None:
    (good / "out").write_text("mine")
    refused(good, *PLACE, *TERMS, code=1, says="not a directory")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_unwritable_output(good: Path) -> None:
    (good / "locked").mkdir(mode=0o500)
    options = ("edges.csv", "--roster", "nodes.csv", "--out", "locked/out")
    refused(good, *options, *TERMS, code=1, says="not writable")


def test_a_broken_end_is_found_before_the_beginning_is_published(good: Path) -> None:
    rows = [(t, u, 17) for t in range(50) for u in (SECRET, 18)]
    write_csv(good / "edges.csv", "t,u,v", [*rows, (3, 17, 18)])
    refused(good, *PLACE, *TERMS, code=1, says="line 102")
