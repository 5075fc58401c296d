"""Tiny files in the original formats, and what is in them."""

from __future__ import annotations

import gzip
import random
import tarfile
import zipfile
from pathlib import Path

from psgraph.graph import Snapshot
from psgraph_lab.datasets.locations import AS_733_DAYS, AS_CAIDA_DAYS

Edges = dict[str | None, set[tuple[object, object]]]


def iso(day: str) -> str:
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def put(path: Path, text: str, *, packed: bool = False) -> None:
    if packed:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode())


def write_graphs(directory: Path, name: str, *, packed: bool = False) -> tuple[Edges, set[int]]:
    """As-733 or As-caida: edges of every day without loops, and the nodes with a loop."""
    directory.mkdir(parents=True, exist_ok=True)
    days, stem = {"as-733": (AS_733_DAYS, "as"), "as-caida": (AS_CAIDA_DAYS, "as-caida")}[name]
    rng = random.Random(5)
    expected: Edges = {}
    loops: set[int] = set()
    for day in days:
        pairs = [(rng.randrange(1, 40), rng.randrange(1, 40)) for _ in range(rng.randrange(2, 30))]
        pairs.append((1, 2))
        third = "\t-1" if name == "as-caida" else ""
        rows = [row for u, v in pairs for row in (f"{u}\t{v}{third}", f"{v}\t{u}{third}")]
        head = f"# Undirected graph: {stem}{day}.txt\n# FromNodeId\tToNodeId\n"
        put(directory / f"{stem}{day}.txt", head + "\n".join(rows) + "\n", packed=packed)
        loops |= {u for u, v in pairs if u == v}
        expected[iso(day)] = {(min(p), max(p)) for p in pairs if p[0] != p[1]}
    return expected, loops


def write_citations(directory: Path, *, packed: bool = False, end: str = "\r\n") -> Edges:
    """Cit-HepPh: 40 months from October 1996, so that some lie outside the window on each side."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(6)
    dated = {}
    rows = []
    for month in range(40):
        year, number = divmod(9 + month, 12)
        for paper in range(3):
            id_ = ((96 + year) % 100) * 100_000 + (number + 1) * 1000 + 201 + paper
            dated[id_] = f"{1996 + year}-{number + 1:02}"
            own, crossed = f"{id_:07}", f"11{id_:07}"
            day = f"{dated[id_]}-1{paper}"
            if paper == 0:
                rows += [f"{crossed}\t2001-01-01", f"{own}\t{day}"]
            else:
                rows.append(f"{own if paper == 1 else crossed}\t{day}")
    ids = list(dated)
    pairs = [
        (citing, rng.choice([id_ for id_ in ids if id_ != citing]))
        for citing in ids
        for _ in range(3)
    ]
    pairs += [(ids[3 * month], ids[3 * month + 1]) for month in range(40)]
    pairs += [(ids[20], ids[20]), (7, ids[20])]  # cites itself; cited by a paper without a date
    put(directory / "cit-HepPh-dates.txt", end.join(rows) + end, packed=packed)
    text = "".join(f"{u}\t{v}{end}" for u, v in pairs)
    put(directory / "cit-HepPh.txt", f"# Directed graph{end}{text}", packed=packed)
    expected: Edges = {}
    for u, v in pairs:
        months = dated.get(u, ""), dated.get(v, "")
        if u != v and all("1997-01" <= month <= "1999-12" for month in months):
            expected.setdefault(months[0], set()).add((min(u, v), max(u, v)))
    return expected


def write_links(directory: Path, part: str, *, seed: int, packed: bool = False) -> Edges:
    """Reddit, titles or bodies: not in the order of time, with a month before and one after."""
    directory.mkdir(parents=True, exist_ok=True)
    rng = random.Random(seed)
    names = ["123", "4chan", *(f"sub{i}" for i in range(12))]
    moments = [f"2013-12-31 16:39:{i:02}" for i in range(5)] + ["2016-01-01 00:00:00"]
    for month in range(24):
        stamp = f"{2014 + month // 12}-{month % 12 + 1:02}"
        moments += [f"{stamp}-01 00:00:00", f"{stamp}-28 23:59:59", f"{stamp}-15 12:00:00"]
    rng.shuffle(moments)
    rows = [(*rng.sample(names, 2), moment) for moment in moments]
    rows.append(("selfish", "selfish", "2014-05-05 05:05:05"))
    head = "SOURCE_SUBREDDIT\tTARGET_SUBREDDIT\tPOST_ID\tTIMESTAMP\tLINK_SENTIMENT\tPROPERTIES\n"
    text = "".join(f"{u}\t{v}\t1u4nrps\t{moment}\t1\t345.0,298.0,0.75\n" for u, v, moment in rows)
    put(directory / f"soc-redditHyperlinks-{part}.tsv", head + text, packed=packed)
    expected: Edges = {}
    for u, v, moment in rows:
        if u != v and "2014" <= moment < "2016":
            expected.setdefault(moment[:7], set()).add((min(u, v), max(u, v)))
    return expected


def pack(directory: Path, archive: Path, *, inside: str = "") -> Path:
    """All files of a directory in a tar or zip archive."""
    files = sorted(directory.iterdir())
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for file in files:
                zipped.write(file, f"{inside}{file.name}")
    else:
        with tarfile.open(archive, "w:gz" if archive.name.endswith("gz") else "w") as packed:
            for file in files:
                packed.add(file, f"{inside}{file.name}")
    return archive


def edges_of(snapshots: list[Snapshot]) -> Edges:
    """Every timestamp's edges as pairs in order, by its time."""
    return {each.time: {(min(pair), max(pair)) for pair in each.to_edges()} for each in snapshots}


def union(edges: Edges) -> tuple[int, int]:
    """How many nodes and edges there are in all."""
    pairs = set().union(*edges.values())
    return len({end for pair in pairs for end in pair}), len(pairs)
