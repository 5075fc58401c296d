"""Releases read back from the directory they were published to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from psgraph.errors import DataError, OutsideRoster
from psgraph.graph import Roster, SyntheticGraph

if TYPE_CHECKING:
    from psgraph.graph import Snapshot

__all__ = ["read_releases"]

_NAME = re.compile(r"[0-9]{6,}\.parquet")


def read_releases(
    directory: str | PathLike[str], rosters: Iterable[Snapshot | Roster]
) -> Iterator[SyntheticGraph]:
    """The synthetic graphs of a published directory, in order, one in memory at a time.

    A file lists edges only, so which nodes there are has to come from elsewhere.

    Parameters
    ----------
    directory
        Holds ``000000.parquet``, ``000001.parquet``, … with columns ``u`` and ``v`` of ids.
    rosters
        For each timestamp its roster, or the snapshot that has it. To read the original only once
        split it: ``originals, rosters = itertools.tee(stream)``.

    Raises
    ------
    DataError
        At once if the directory has no releases or one is missing in between; while reading if a
        file is no such table, has an edge outside its roster, or if the releases and the rosters
        are not equally many.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     pq.write_table(pa.table({"u": [10, 20], "v": [20, 30]}), f"{directory}/000000.parquet")
    ...     list(read_releases(directory, [Roster([10, 20, 30, 40])]))
    [SyntheticGraph(4 nodes, 2 edges)]
    """
    return _read_all(_release_files(Path(directory)), rosters)


def _release_files(directory: Path) -> list[Path]:
    if not directory.is_dir():
        raise DataError(f"{directory} is not a directory\nGive the directory of the releases.")
    files = [path for path in directory.iterdir() if _NAME.fullmatch(path.name)]
    if not files:
        raise DataError(f"{directory} holds no releases (000000.parquet, 000001.parquet, …)")
    files.sort(key=lambda path: int(path.stem))
    for ordinal, path in enumerate(files):
        if path.name != f"{ordinal:06d}.parquet":
            raise DataError(
                f"{directory}: {ordinal:06d}.parquet is missing, the next release is {path.name}\n"
                "Releases are numbered without gaps; restore the file or publish again."
            )
    return files


def _read_all(files: list[Path], rosters: Iterable[Snapshot | Roster]) -> Iterator[SyntheticGraph]:
    supply = iter(rosters)
    for ordinal, path in enumerate(files):
        item = next(supply, None)
        if item is None:
            raise DataError(
                f"there are more releases than snapshots: {len(files)} against {ordinal}\n"
                "Read the releases with the stream they were made from."
            )
        roster = item if isinstance(item, Roster) else item.roster
        yield _read(path, roster, cast("str | None", getattr(item, "time", None)))
    if next(supply, None) is not None:
        raise DataError(
            f"there are fewer releases than snapshots: the releases end after {len(files)}\n"
            "Read the releases with the stream they were made from."
        )


def _read(path: Path, roster: Roster, time: str | None) -> SyntheticGraph:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path} can't be read as Parquet ({type(error).__name__})") from None
    if not {"u", "v"} <= set(table.column_names):
        raise DataError(f"{path} has no columns u and v\nA release lists its edges in them.")
    try:
        heads, tails = (table.column(name).to_numpy() for name in "uv")
        return SyntheticGraph.from_ids(heads, tails, roster=roster, time=time)
    except OutsideRoster:
        raise DataError(
            f"{path} has an edge outside the roster of its snapshot\n"
            "Read the releases with the stream they were made from."
        ) from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
