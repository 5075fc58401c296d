"""Data sets as lists of snapshots, loaded from original files or from Parquet.

As Parquet, a data set has a row (t, label, u, v) for every edge of every timestamp, without
directions, duplicates or self-loops; u < v. The file's metadata keeps what the edges don't show:
the number of self-loops and remarks about the original files. Those of other kinds are read by
`psgraph_lab.datasets.kinds`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from psgraph._runtime.durable import make_directory, write_whole
from psgraph.errors import DataError
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table
from psgraph.streams import read_stream
from psgraph_lab.datasets.catalogue import UNDIRECTED, find_dataset, own_dataset
from psgraph_lab.datasets.counts import Counter
from psgraph_lab.datasets.further import Counts, Dataset
from psgraph_lab.datasets.jumps import find_jump, jumped
from psgraph_lab.datasets.kinds import base_name, is_undirected, read_kind, unweighted
from psgraph_lab.datasets.labelled import made_stream
from psgraph_lab.datasets.locations import Located, directories, locate, originals_of, unpack
from psgraph_lab.datasets.originals import Rows, graph_rows
from psgraph_lab.datasets.owned import OWNED, find_people, owned_stream, simulated_rows

__all__ = [
    "Loaded",
    "Origin",
    "find_files",
    "is_available",
    "load_dataset",
    "load_located",
    "read_dataset",
    "read_origin",
    "write_parquet",
]

_KEY = b"psgraph.origin"


@dataclass(frozen=True)
class Origin:
    """What a Parquet file records about the original files.

    Attributes
    ----------
    self_loops
        Distinct self-loops over all timestamps; None if they were dropped before.
    remarks
        Remarks about the original files.
    """

    self_loops: int | None = None
    remarks: tuple[str, ...] = ()


def write_parquet(path: Path, snapshots: Sequence[Snapshot], origin: Origin) -> None:
    """Write a data set, completely or not at all."""
    tables = []
    for number, snapshot in enumerate(snapshots):
        edges = snapshot.to_arrow()
        label = pa.DictionaryArray.from_arrays(
            pa.array([0] * len(edges), pa.int32()), pa.array([snapshot.time or str(number)])
        )
        t = pa.array([number] * len(edges), pa.int32())
        columns = {name: edges[name] for name in ("u", "v", "weight") if name in edges.column_names}
        tables.append(pa.table({"t": t, "label": label, **columns}))
    table = pa.concat_tables(tables).unify_dictionaries()
    table = table.replace_schema_metadata({_KEY: json.dumps(asdict(origin)).encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    make_directory(path.parent)
    write_whole(path, sink.getvalue())


def read_origin(path: Path) -> Origin:
    """Read the recorded origin; empty if the file was not written by `write_parquet`."""
    try:
        found = (pq.read_schema(path).metadata or {}).get(_KEY)
        if found is None:
            return Origin()
        fields = json.loads(found)
        return Origin(fields["self_loops"], tuple(fields["remarks"]))
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError):
        raise DataError(
            f"{path.name}: the Parquet data is damaged or truncated\nCopy or fetch it again."
        ) from None


@dataclass(frozen=True)
class Loaded:
    """The snapshots of a data set, their counts, and where they came from."""

    snapshots: list[Snapshot]
    counts: Counts
    remarks: tuple[str, ...]
    located: Located | None

    @property
    def origin(self) -> Origin:
        return Origin(self.counts.self_loops, self.remarks)


def load_dataset(name: str, *, directory: Path | None = None) -> list[Snapshot]:
    """Load the snapshots of a data set; as in the paper, their nodes are those with an edge.

    Parameters
    ----------
    name
        One of `dataset_names`, one with a jump (see `jumps`), as undirected (see `kinds`) or by
        person (see `owned`).
    directory
        Where its files are: the Parquet file, the original files, or an archive of them. By
        default ``PSGRAPH_DATA``, then the directory that ``psgraph datasets fetch`` writes to.

    Raises
    ------
    InvalidArgument
        There is no data set of this name.
    DataError
        It is not available, or its files are incomplete or damaged.

    Examples
    --------
    >>> len(load_dataset("demo"))
    12
    """
    own = own_dataset(name)
    if own is not None:
        return own.load()
    if is_undirected(name):
        return list(map(unweighted, load_dataset(base_name(name), directory=directory)))
    people = find_people(name)
    if people is not None:
        located = find_files(find_dataset(people.base), directory)
        return owned_stream(people, None if located is None else located.path)
    base, jump = find_jump(name)
    if jump is not None:
        return jumped(name, load_dataset(base, directory=directory))
    dataset = find_dataset(name)
    located = find_files(dataset, directory)
    # No counting here: the experiments wait for this.
    if located is None or located.form == "parquet":
        return _ready_snapshots(dataset, located)
    with _opened(dataset, located) as files:
        return [rows.snapshot() for rows in _rows(dataset, files, [])]


def is_available(name: str, *, directory: Path | None = None) -> bool:
    """Whether a data set can be loaded without fetching it. Looks at file names only.

    >>> is_available("demo")
    True
    """
    dataset = find_dataset(name)
    if not dataset.files:
        return True
    located = locate(dataset, directories(directory))
    return located is not None and not located.missing


def read_dataset(
    name: str,
    *,
    directory: Path | None = None,
    advance: Callable[[], None] = lambda: None,
) -> Loaded:
    """Load a data set and count it; `advance` is called after every timestamp."""
    dataset = find_dataset(name)
    return load_located(dataset, find_files(dataset, directory), advance=advance)


def load_located(
    dataset: Dataset, located: Located | None, *, advance: Callable[[], None] = lambda: None
) -> Loaded:
    """Load and count a data set that was located; None for one that needs no files."""
    snapshots: list[Snapshot] = []
    if located is None or located.form == "parquet":
        origin = Origin() if located is None else read_origin(located.path)
        counter = Counter(loops_known=False)
        for snapshot in _ready_snapshots(dataset, located):
            counter.add(snapshot)
            snapshots.append(snapshot)
            advance()
        counts = counter.counts()
        counts = Counts(counts.nodes, counts.edges, counts.timestamps, origin.self_loops)
        return Loaded(snapshots, counts, origin.remarks, located)
    remarks: list[str] = []
    counter = Counter()
    with _opened(dataset, located) as files:
        for rows in _rows(dataset, files, remarks):
            snapshots.append(rows.snapshot())
            counter.add(snapshots[-1], loops=rows.self_loops())
            advance()
    return Loaded(snapshots, counter.counts(), tuple(remarks), located)


def find_files(dataset: Dataset, directory: Path | None) -> Located | None:
    """Locate a data set; None for one that needs no files. Raises if no complete copy exists."""
    if not dataset.files:
        return None
    searched = directories(directory)
    located = locate(dataset, searched)
    if located is None:
        raise DataError(
            f"{dataset.title} is not available: searched {', '.join(map(str, searched))}\n"
            f"Get it with `psgraph datasets fetch {dataset.name}`, or say where its files are: "
            "PSGRAPH_DATA=DIR or --from DIR."
        )
    _require_all(dataset, located.path, located.missing)
    return located


def _require_all(dataset: Dataset, where: Path, missing: Sequence[str]) -> None:
    if missing:
        originals = originals_of(dataset)
        assert originals is not None
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        raise DataError(
            f"{where} lacks {len(missing)} of the {len(originals.files)} files of "
            f"{dataset.title}: {shown}\nAdd them, plain or gzipped."
        )


def _ready_snapshots(dataset: Dataset, located: Located | None) -> list[Snapshot]:
    if located is None:
        made = simulated_rows if dataset.name in OWNED else made_stream
        return made(dataset.name)
    if dataset.kind != UNDIRECTED:
        return read_kind(dataset, located.path)
    nodes = located.path.with_name(f"{located.path.stem}_nodes.csv")
    if nodes.exists():
        return list(read_stream(located.path, roster=nodes, labels="class"))
    label = "label" if "label" in (open_table(located.path).names or []) else None
    return list(read_stream(located.path, roster_from_edges=True, time_label=label))


@contextmanager
def _opened(dataset: Dataset, located: Located) -> Iterator[Mapping[str, Path]]:
    """The original files, extracted from their archive while they are needed."""
    originals = originals_of(dataset)
    assert originals is not None
    if located.form == "files":
        yield {file: located.files[file] for file in originals.files if file in located.files}
        return
    with TemporaryDirectory(prefix="psgraph-") as directory:
        found = unpack(located.path, originals.files, Path(directory))
        _require_all(dataset, located.path, originals.missing(found))
        yield {file: found[file] for file in originals.files if file in found}


def _rows(dataset: Dataset, files: Mapping[str, Path], remarks: list[str]) -> Iterator[Rows]:
    """Read original files; remarks about them are appended to `remarks`."""
    if dataset.name == "cit-hepph":
        from psgraph_lab.datasets.originals import citation_rows

        return citation_rows(files["cit-HepPh.txt"], files["cit-HepPh-dates.txt"], remarks)
    if dataset.name == "reddit":
        from psgraph_lab.datasets.originals import hyperlink_rows

        return hyperlink_rows(files, remarks)
    return graph_rows(files.values())
