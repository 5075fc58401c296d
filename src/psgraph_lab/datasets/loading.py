"""Data sets as lists of snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from psgraph.errors import DataError
from psgraph.graph import Snapshot
from psgraph.graph.formats.files import open_table
from psgraph.streams import read_stream
from psgraph_lab.datasets.archives import unpack
from psgraph_lab.datasets.catalogue import Counts, Dataset, find_dataset
from psgraph_lab.datasets.counting import Counter
from psgraph_lab.datasets.places import Located, directories, locate, originals_of
from psgraph_lab.datasets.rows import Rows, graph_rows
from psgraph_lab.datasets.storage import Origin, read_origin

__all__ = ["Loaded", "find_files", "is_at_hand", "load_dataset", "load_located", "read_dataset"]


@dataclass(frozen=True)
class Loaded:
    """The snapshots of a data set, how many nodes and edges they have, and where they came from."""

    snapshots: list[Snapshot]
    counts: Counts
    remarks: tuple[str, ...]
    located: Located | None

    @property
    def origin(self) -> Origin:
        return Origin(self.counts.self_loops, self.remarks)


def load_dataset(name: str, *, directory: Path | None = None) -> list[Snapshot]:
    """The snapshots of a data set; the nodes of each are those that have an edge, as in the paper.

    Parameters
    ----------
    name
        One of `dataset_names`.
    directory
        Where its files are: the Parquet form, the original files, or an archive of them. Without
        it, the directory that ``PSGRAPH_DATA`` names is looked into, then the one that
        ``psgraph datasets fetch`` writes to.

    Raises
    ------
    InvalidArgument
        There is no data set of this name.
    DataError
        It is not at hand, or its files are incomplete or damaged.

    Examples
    --------
    >>> len(load_dataset("demo"))
    12
    """
    dataset = find_dataset(name)
    located = find_files(dataset, directory)
    # Counting is left out: this is what the experiments wait for.
    if located is None or located.form == "parquet":
        return _ready_snapshots(located)
    with _opened(dataset, located) as files:
        return [rows.snapshot() for rows in _rows(dataset, files, [])]


def is_at_hand(name: str, *, directory: Path | None = None) -> bool:
    """Whether a data set can be loaded without fetching it. Looks at names of files only.

    >>> is_at_hand("demo")
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
    """Load and count what was found; nothing has to be found for a data set without files."""
    snapshots: list[Snapshot] = []
    if located is None or located.form == "parquet":
        origin = Origin() if located is None else read_origin(located.path)
        counter = Counter(loops_known=False)
        for snapshot in _ready_snapshots(located):
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
    """Where a data set is; None for the one that has no files. Refuses if it is nowhere whole."""
    if not dataset.files:
        return None
    places = directories(directory)
    located = locate(dataset, places)
    if located is None:
        raise DataError(
            f"{dataset.title} is not at hand: looked in {', '.join(map(str, places))}\n"
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


def _ready_snapshots(located: Located | None) -> list[Snapshot]:
    if located is None:
        from psgraph.streams.demo import demo_stream

        return demo_stream()
    label = "label" if "label" in (open_table(located.path).names or []) else None
    return list(read_stream(located.path, roster_from_edges=True, time_label=label))


@contextmanager
def _opened(dataset: Dataset, located: Located) -> Iterator[Mapping[str, Path]]:
    """The original files, out of their archive for as long as they are needed."""
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
    """Read original files; what is to be known about them is added to `remarks`."""
    if dataset.name == "cit-hepph":
        from psgraph_lab.datasets.citations import citation_rows

        return citation_rows(files["cit-HepPh.txt"], files["cit-HepPh-dates.txt"], remarks)
    if dataset.name == "reddit":
        from psgraph_lab.datasets.hyperlinks import hyperlink_rows

        return hyperlink_rows(files, remarks)
    return graph_rows(files.values())
