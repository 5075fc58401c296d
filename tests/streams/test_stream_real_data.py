"""Real streams, where they are available: ``PSGRAPH_DATA`` names the directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from psgraph.streams import read_stream

DATA = Path(os.environ.get("PSGRAPH_DATA", "."))
pytestmark = pytest.mark.skipif(
    "PSGRAPH_DATA" not in os.environ, reason="PSGRAPH_DATA does not name the directory of real data"
)

KNOWN = {
    "as733": (147, 7473, 20_166, "1997-11-08", "1999-12-31"),
    "ascaida": (25, 31_092, 97_164, "2004-01-05", "2007-11-05"),
    "hepph": (36, 10_611, 62_235, "1997-01", "1999-12"),
    "redditshared": (18, 2886, 141_589, "2008-01", "2009-06"),
    "wikitalk": (24, 33_724, 105_544, "2003-05", "2005-04"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_numbers_of_nodes_and_edges(name: str) -> None:
    snapshots, nodes, edges, first, last = KNOWN[name]
    stream = read_stream(DATA / f"{name}.parquet", roster_from_edges=True, time_label="label")
    times, people, pairs = [], set(), set()
    for snapshot in stream:
        times.append(snapshot.time)
        people.update(snapshot.roster.ids.tolist())
        pairs.update(snapshot.to_edges())
        assert snapshot.dropped.total == 0
    assert stream.length == len(times) == snapshots
    assert (times[0], times[-1]) == (first, last)
    assert (len(people), len(pairs)) == (nodes, edges)


@pytest.mark.parametrize(("name", "files"), [("as-733", 3), ("as-caida", 2)])
def test_original_files(name: str, files: int) -> None:
    stream = read_stream(DATA / "raw" / name, roster_from_edges=True)
    snapshots = {snapshot.time: snapshot for snapshot in stream}
    assert stream.length == len(snapshots) == files
    prepared = {
        snapshot.time: snapshot
        for snapshot in read_stream(
            DATA / f"{name.replace('-', '')}.parquet", roster_from_edges=True, time_label="label"
        )
    }
    compared = 0
    for time, snapshot in snapshots.items():
        digits = str(time)[-8:]
        other = prepared.get(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}")
        if other is not None:
            assert snapshot == other
            assert snapshot.dropped.total > 0
            compared += 1
    assert compared >= 2


def test_a_file_of_citations() -> None:
    (snapshot,) = read_stream(
        f"{DATA}/raw/cit-HepPh/cit-HepPh.txt.g[z]", roster_from_edges=True
    )  # fmt: skip
    assert snapshot.time == "cit-HepPh"
    assert snapshot.u.size + snapshot.dropped.total == 201_300
