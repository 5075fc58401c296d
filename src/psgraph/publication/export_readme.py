"""The README of a folder for analysts."""

from __future__ import annotations

from collections.abc import Sequence

from psgraph._runtime.numbers import count
from psgraph._version import __version__
from psgraph.publication.certificate import Certificate

__all__ = ["readme"]

_FORMS = {
    "csv": "| `csv/NNNNNN.csv` | the same graphs as CSV, columns `u`, `v` |\n",
    "graphml": "| `graphml/NNNNNN.graphml` | the same graphs as GraphML, with all nodes |\n",
    "combined": "| `edges.parquet` | all graphs in one table: `t`, `time`, `u`, `v` |\n",
}
_FILES = {"csv": "csv/", "graphml": "graphml/", "combined": "edges.parquet"}


def readme(
    certificates: Sequence[Certificate], format: str, *, report: bool, listed_from: int | None
) -> str:
    """Describe the folder: what is promised, what the files are, how to check them."""
    last = certificates[-1]
    more = _more_files(format, report=report, listed_from=listed_from)
    warning = "" if last.private else "**NOT PRIVATE: nothing is promised to anyone.**\n\n"
    return f"""# Synthetic graphs

{warning}{count(len(certificates), "graph")}, one for each timestamp from 0 to {last.timestamp}.
They are published instead of private ones. Their edges are made up: an edge here says nothing
certain about an edge in the original.

{last.promise.text}

{last.roster} Method: {last.method}. Written by psgraph {__version__}.

## Files

| file | content |
|---|---|
| {_graphs(certificates)} |
| `NNNNNN.json` | its certificate: what was promised and spent, and the digests of its files |
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
    parted = {certificate.graph_parts is not None for certificate in certificates}
    if parted == {False}:
        return "`NNNNNN.parquet` | the graph of timestamp NNNNNN, columns `u`, `v`"
    graph = "the graph of timestamp NNNNNN, columns `u`, `v`"
    if parted == {True}:
        return f"`NNNNNN/part-….parquet` | {graph}, in parts: read the directory"
    return (
        f"`NNNNNN.parquet` or `NNNNNN/part-….parquet` | {graph}; in parts where it is a directory"
    )


def _more_files(format: str, *, report: bool, listed_from: int | None) -> str:
    """The rows of the table for files that are not in every folder."""
    if listed_from is None:
        lines = "| (no node list) | version 0.1.0 published these releases without one |\n"
    else:
        lines = (
            "| `nodes/….parquet` | the node lists, named by their SHA-256 |\n"
            "| `nodes.csv` | every node: listed `from` a timestamp `until` (exclusive) another; "
            "blank: to the end |\n"
        )
    if listed_from:
        lines += f"| (no node list) | of timestamps before {listed_from}: version 0.1.0 |\n"
    lines += _FORMS.get(format, "")
    if report:
        lines += "| `report.html` | the public report: open it in a browser |\n"
    return lines


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
