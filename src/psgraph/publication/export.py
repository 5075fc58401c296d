"""The folder for analysts: what is public of a publication, and nothing else.

The releases, certificates and node lists are copied byte by byte, so that certificates verify
against the copies. Another form of the graphs comes on top of them, never instead: certificates
state digests of the Parquet files, and a CSV file has another.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.durable import new_folder, write_checksums
from psgraph._runtime.numbers import count
from psgraph._version import __version__
from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import UNDIRECTED, Kind, Roster
from psgraph.graph.blueprint import SIDES
from psgraph.graph.formats.tables import FLOW_COLUMNS
from psgraph.publication.certificate import Certificate
from psgraph.publication.graphml import graphml_chunks
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.releases import Releases

__all__ = [
    "FORMATS",
    "Contents",
    "check_format",
    "csv_chunks",
    "readme",
    "write_folder",
]

_NODES_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class Contents:
    """What goes into a folder.

    Attributes
    ----------
    certificates
        Of the releases to export.
    report
        The public report as HTML; None if it can't be drawn here.
    """

    releases: Releases
    certificates: Sequence[Certificate]
    format: str
    report: str | None


def check_format(format: str) -> None:
    """Refuse a form of graphs that can't be written."""
    if format not in FORMATS:
        raise InvalidArgument(
            f"format must be one of {', '.join(FORMATS)}, not {format!r}", code="format"
        )


def write_folder(contents: Contents, to: Path) -> int:
    """Write a folder that appears whole or not at all; return the number of its files.

    Privacy: a function of published files. No ledger and no snapshot is read.
    """
    with new_folder(to) as folder:
        _copy_releases(contents, folder)
        FORMATS[contents.format](contents, folder)
        listed = _write_nodes(contents, folder)
        ReleaseDirectory(folder).write_index(contents.certificates)
        if contents.report is not None:
            (folder / "report.html").write_text(contents.report, encoding="utf-8")
        text = readme(
            contents.certificates,
            contents.format,
            report=contents.report is not None,
            listed_from=listed,
            labelled=_labelled(contents),
        )
        (folder / "README.md").write_text(text, encoding="utf-8")
        write_checksums(folder)
        return sum(path.is_file() for path in folder.rglob("*"))


def _copy_releases(contents: Contents, folder: Path) -> None:
    """Copy graphs, certificates and node lists, checking each digest once more."""
    there, copy = ReleaseDirectory(contents.releases.path), ReleaseDirectory(folder)
    for certificate in contents.certificates:
        for file in there.graph(certificate):
            to = folder / file.path.relative_to(there.path)
            to.parent.mkdir(exist_ok=True)
            to.write_bytes(file.read())
        text = certificate.to_json()
        copy.certificate_path(certificate.timestamp).write_text(text, encoding="utf-8")
        digest = certificate.nodes_sha256
        if digest is not None and not copy.nodes_path(digest).exists():
            nodes = there.nodes(certificate)
            assert nodes is not None
            copy.nodes_path(digest).parent.mkdir(exist_ok=True)
            copy.nodes_path(digest).write_bytes(nodes)


# ---- the node list ----


def _write_nodes(contents: Contents, folder: Path) -> int | None:
    """Write ``nodes.csv``: every node, with its side if there are two, and when it is listed.

    Returns the first timestamp that has a node list; version 0.1.0 wrote none.
    """
    first = next(_rosters(contents), None)
    if first is None:
        return None
    start, roster = first
    sides = len(roster.sizes) == 2
    with (folder / "nodes.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        named = roster.label_columns
        writer.writerow((*(["id", "side"] if sides else ["id"]), "from", "until", *named))
        for number in range(2 if sides else 1):
            later = ((since, each.sides[number]) for since, each in _rosters(contents))
            for node, *stay in _stays(*next(later), later):
                writer.writerow((node, SIDES[number], *stay) if sides else (node, *stay))
    return start


def _labelled(contents: Contents) -> bool:
    first = next(_rosters(contents), None)
    return first is not None and first[1].labels is not None


def _rosters(contents: Contents) -> Iterator[tuple[int, Roster]]:
    """Yield the node lists, each with the first timestamp it is that of."""
    before: Roster | None = None
    for certificate in contents.certificates:
        roster = contents.releases.roster(certificate.timestamp)
        if roster is not None and roster is not before:
            yield certificate.timestamp, roster
            before = roster


def _stays(
    first: int, before: Roster, later: Iterator[tuple[int, Roster]]
) -> Iterator[tuple[Any, ...]]:
    """Yield every node with the timestamps it is listed from and until, in ascending order.

    Then its labels: a node that changes one is listed twice.
    """
    changed = next(later, None)
    if changed is None:  # there may be millions of nodes
        for begin in range(0, len(before), _NODES_AT_ONCE):
            nodes = np.arange(begin, min(begin + _NODES_AT_ONCE, len(before)))
            for node, labels in _listed(before, nodes):
                yield node, first, None, *labels
        return
    stays: list[tuple[Any, ...]] = []
    since = {node: (first, labels) for node, labels in _listed(before, np.arange(len(before)))}
    for timestamp, roster in chain([changed], later):
        for left, _ in _listed(before, _without(before, roster)):
            start, labels = since.pop(left)
            stays.append((left, start, timestamp, *labels))
        new = _listed(roster, _without(roster, before))
        since |= {node: (timestamp, labels) for node, labels in new}
        before = roster
    stays += [(node, start, None, *labels) for node, (start, labels) in since.items()]
    yield from sorted(stays, key=lambda stay: stay[:2])


def _listed(roster: Roster, nodes: NDArray[Any]) -> Iterator[tuple[Any, tuple[str | None, ...]]]:
    """Yield the ids and the labels of nodes, by their positions."""
    ids = roster.ids[nodes].tolist()
    if roster.labels is None:
        yield from ((node, ()) for node in ids)
    else:
        labels = roster.labels.take(nodes).to_dict()
        yield from zip(ids, zip(*labels.values(), strict=True), strict=True)


def _without(roster: Roster, other: Roster) -> NDArray[Any]:
    """The positions of nodes that are not on another roster, or have other labels there."""
    if roster.strings != other.strings:
        return np.arange(len(roster))
    there = other.positions(roster.ids)
    if roster.labels is None or other.labels is None or roster.labels == other.labels:
        return np.flatnonzero(there < 0)
    now, then = (_label_rows(each) for each in (roster, other))
    same = [index >= 0 and now[node] == then[index] for node, index in enumerate(there.tolist())]
    return np.flatnonzero(~np.array(same, dtype=bool))


def _label_rows(roster: Roster) -> list[tuple[str | None, ...]]:
    return [labels for _, labels in _listed(roster, np.arange(len(roster)))]


# ---- other forms of the graphs ----


def _parquet_only(contents: Contents, folder: Path) -> None:
    """Nothing more: the releases are Parquet files."""


def _write_csv(contents: Contents, folder: Path) -> None:
    """Write ``csv/NNNNNN.csv``, columns u and v, and weight if edges have one."""
    (folder / "csv").mkdir()
    for certificate in contents.certificates:
        with (folder / "csv" / f"{certificate.timestamp:06d}.csv").open("wb") as file:
            file.writelines(csv_chunks(contents.releases, certificate.timestamp))


def csv_chunks(releases: Releases, timestamp: int) -> Iterator[bytes]:
    """Yield the edges of a release as CSV, with its columns, for one file after the other."""
    for number, edges in enumerate(releases.edge_tables(timestamp)):
        sink = pa.BufferOutputStream()
        edges = _named(edges, releases.certificates[timestamp].kind)
        pa.csv.write_csv(edges, sink, pa.csv.WriteOptions(include_header=number == 0))
        yield sink.getvalue().to_pybytes()


def _named(edges: Any, kind: Kind) -> Any:
    """Give the columns of flows the names that they usually have."""
    return edges.rename_columns([*FLOW_COLUMNS]) if kind.flows else edges


def _write_graphml(contents: Contents, folder: Path) -> None:
    """Write ``graphml/NNNNNN.graphml``, with every node, also those without an edge."""
    if any(each.nodes_sha256 is None for each in contents.certificates):
        raise DataError(
            "some releases have no node list, which GraphML needs: psgraph 0.1.0 made them\n"
            "Export as parquet, csv or combined.",
            code="no_node_list",
        )
    (folder / "graphml").mkdir()
    for certificate in contents.certificates:
        graph = contents.releases[certificate.timestamp].graph
        path = folder / "graphml" / f"{certificate.timestamp:06d}.graphml"
        with path.open("wb") as file:
            file.writelines(graphml_chunks(graph))


def _write_combined(contents: Contents, folder: Path) -> None:
    """Write ``edges.parquet``: the edges of all timestamps, columns t, time, u, v[, weight]."""
    writer: pq.ParquetWriter | None = None
    try:
        for certificate in contents.certificates:
            for edges in contents.releases.edge_tables(certificate.timestamp):
                table = _with_times(_named(edges, certificate.kind), certificate)
                if writer is None:
                    writer = pq.ParquetWriter(
                        folder / "edges.parquet", table.schema, compression="zstd"
                    )
                elif table.num_rows and table.schema != writer.schema:
                    raise DataError(
                        "ids are integers at some timestamps and text at others\n"
                        "Such releases can't be combined. Export as parquet, csv or graphml."
                    )
                if table.num_rows:
                    writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _with_times(edges: Any, certificate: Certificate) -> Any:
    """Add the columns t and time in front."""
    rows = edges.num_rows
    timed = edges.add_column(0, "t", pa.array([certificate.timestamp] * rows, pa.int64()))
    return timed.add_column(1, "time", pa.array([certificate.time] * rows, pa.string()))


FORMATS: dict[str, Callable[[Contents, Path], None]] = {
    "parquet": _parquet_only,
    "csv": _write_csv,
    "graphml": _write_graphml,
    "combined": _write_combined,
}
"""The forms of the graphs, and what writes each."""


# ---- the README of the folder ----


_FORMS = {
    "csv": "| `csv/NNNNNN.csv` | the same graphs as CSV, columns {columns} |\n",
    "graphml": "| `graphml/NNNNNN.graphml` | the same graphs as GraphML, with all nodes |\n",
    "combined": "| `edges.parquet` | all graphs in one table: `t`, `time`, {columns} |\n",
}
_FILES = {"csv": "csv/", "graphml": "graphml/", "combined": "edges.parquet"}


def readme(
    certificates: Sequence[Certificate],
    format: str,
    *,
    report: bool,
    listed_from: int | None,
    labelled: bool = False,
) -> str:
    """Describe the folder: what is promised, what the files are, how to check them."""
    last = certificates[-1]
    kind = last.kind
    more = _more_files(format, kind, report=report, listed_from=listed_from, labelled=labelled)
    warning = "" if last.private else "**NOT PRIVATE: nothing is promised to anyone.**\n\n"
    return f"""# Synthetic graphs

{warning}{count(len(certificates), "graph")}, one for each timestamp from 0 to {last.timestamp}.
They are published instead of private ones. Their edges are made up: an edge here says nothing
certain about an edge in the original.

{last.promise}
{_described(last)}
{last.roster} Method: {last.method}. Written by psgraph {__version__}.

## Files

| file | content |
|---|---|
| {_graphs(certificates)} |
| `NNNNNN.json` | its certificate: what was promised and spent, and the digests of its files |
| `index.csv` | number, time, file and number of synthetic edges of every graph |
{more}| `SHA256SUMS` | the checksums of all files |

## Reading

```python
import psgraph as pg

for release in pg.read_releases("."):
    release.graph.to_networkx()
```

## Checking

```sh
sha256sum -c SHA256SUMS     # the files are as they were exported
psgraph verify .            # and the releases as they were published
```

`verify` compares every graph and node list with its certificate, every certificate with the one
before it, and adds up what was spent in every window. It needs no access to the original.
{_canonical(format)}"""


def _graphs(certificates: Sequence[Certificate]) -> str:
    """Where the graphs are: each in a file, or in a directory of parts."""
    columns = _columns(certificates[-1].kind)
    parted = {certificate.graph_parts is not None for certificate in certificates}
    if parted == {False}:
        return f"`NNNNNN.parquet` | the graph of timestamp NNNNNN, columns {columns}"
    graph = f"the graph of timestamp NNNNNN, columns {columns}"
    if parted == {True}:
        return f"`NNNNNN/part-….parquet` | {graph}, in parts: read the directory"
    return (
        f"`NNNNNN.parquet` or `NNNNNN/part-….parquet` | {graph}; in parts where it is a directory"
    )


def _columns(kind: Kind) -> str:
    if kind.flows:
        return ", ".join(f"`{name}`" for name in FLOW_COLUMNS)
    return "`u`, `v`, `weight`" if kind.weighted else "`u`, `v`"


def _described(last: Certificate) -> str:
    """What an edge is, unless the graphs are undirected and without weights; what is left out."""
    kind, ends = last.kind, ""
    if kind != UNDIRECTED:
        ends = {
            "undirected": "The graphs are undirected.",
            "directed": "The graphs are directed: an edge leads from `u` to `v`.",
            "two-sided": "The graphs are two-sided: `u` is a node of the left side, `v` one of the "
            "right side. An id on the left and the same id on the right are two nodes.",
        }[kind.name]
    weights = f"Weights are at most {kind.largest_weight:,}." if kind.weighted else ""
    if kind.flows:
        weights = (
            "They are flows: the count (in the Parquet files of single timestamps the column "
            "`weight`) is how many rows go from one node to the other."
        )
    text = " ".join(filter(None, (ends, weights, last.published_as)))
    return f"\n{text}\n" if text else ""


def _more_files(
    format: str, kind: Kind, *, report: bool, listed_from: int | None, labelled: bool = False
) -> str:
    """The rows of the table for files that are not in every folder."""
    if listed_from is None:
        lines = "| (no node list) | version 0.1.0 published these releases without one |\n"
    else:
        lines = (
            "| `nodes/….parquet` | the node lists, named by their SHA-256 |\n"
            f"| `nodes.csv` | every node{' with its `side`' if kind.two_sided else ''}: listed "
            "`from` a timestamp `until` (exclusive) another; blank: to the end"
            f"{_and_labels(labelled)} |\n"
        )
    if listed_from:
        lines += f"| (no node list) | of timestamps before {listed_from}: version 0.1.0 |\n"
    lines += _FORMS.get(format, "").format(columns=_columns(kind))
    if report:
        lines += "| `report.html` | the public report: open it in a browser |\n"
    return lines


def _and_labels(labelled: bool) -> str:
    return ". Further columns are public labels, as declared by the publisher" if labelled else ""


def _canonical(format: str) -> str:
    """Say how another form of the graphs is tied to the certificates."""
    if format not in _FORMS:
        return ""
    files = _FILES[format]
    return f"""
The certificates state the digests of the Parquet files, which are the canonical form of the
graphs. `{files}` was written from them. Writing it again gives the same bytes, with the same
versions of psgraph and pyarrow:

```sh
psgraph export . --to ../again --format {format}
diff -r {files} ../again/{files}
```
"""
