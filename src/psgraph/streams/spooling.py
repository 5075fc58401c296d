"""Events in the order of their periods, whatever order the table has, in bounded memory.

Rows are gathered into runs and sorted by period. If there is more than one run, they are written
to a temporary file, one piece per run and period; the pieces are then read period by period. The
file holds private edges. It is created in a scratch directory and removed afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph._runtime.scratch import check_space, scratch_directory, scratch_place
from psgraph.errors import OutputError

__all__ = ["Events", "Rows", "in_order"]

RUN_ROWS = 1 << 20


class Rows(NamedTuple):
    """Some rows of a table of events."""

    periods: NDArray[np.int64]
    heads: pa.Array
    tails: pa.Array
    locate: Callable[[int], str] = lambda _: ""

    def pieces(self) -> Iterator[Events]:
        """Split the rows where the period changes."""
        starts = [0, *(np.flatnonzero(np.diff(self.periods)) + 1).tolist()]
        for start, stop in zip(starts, [*starts[1:], len(self.periods)], strict=True):
            yield Events(
                int(self.periods[start]),
                self.heads[start:stop],
                self.tails[start:stop],
                partial(self.locate, start),
            )


class Events(NamedTuple):
    """Events of one period."""

    period: int
    heads: pa.Array
    tails: pa.Array
    place: Callable[[], str] = lambda: ""
    """Returns where in the table the first of them is."""


def in_order(table: Iterable[Rows]) -> Iterator[Events]:
    """Sort events by period; only a run, or the events of one period, are in memory.

    >>> rows = Rows(np.array([5, 3, 5]), pa.array([1, 2, 3]), pa.array([4, 5, 6]))
    >>> [(each.period, each.heads.to_pylist()) for each in in_order([rows])]
    [(3, [2]), (5, [1, 3])]
    """
    runs = _runs(table)
    first, second = next(runs, None), next(runs, None)
    if first is None:
        return
    if second is None:
        yield from first.pieces()
        return
    with scratch_directory() as directory:
        path = directory / "events.arrow"
        try:
            pieces = _spool(chain((first, second), runs), path)
        except OSError as error:
            if isinstance(error, OutputError):
                raise
            raise OutputError(
                f"the events can't be sorted: {error.strerror or 'I/O error'}\n"
                f"Sorting needs as much space in {scratch_place()} as the table has. Set TMPDIR to "
                "a directory on a disk with enough."
            ) from None
        del first, second
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            for period in sorted(pieces):
                for number in pieces[period]:
                    piece = file.get_batch(number)
                    yield Events(period, piece["u"], piece["v"])


def _spool(runs: Iterable[Rows], path: Path) -> dict[int, list[int]]:
    """Write sorted runs to a file; return the numbers of the pieces of every period."""
    pieces: dict[int, list[int]] = {}
    writer: pa.ipc.RecordBatchFileWriter | None = None
    written = 0
    try:
        for run in runs:
            check_space(path.parent, run.heads.nbytes + run.tails.nbytes)
            for each in run.pieces():
                batch = pa.RecordBatch.from_arrays([each.heads, each.tails], names=["u", "v"])
                if writer is None:
                    writer = pa.ipc.new_file(str(path), batch.schema)
                writer.write_batch(batch)
                pieces.setdefault(each.period, []).append(written)
                written += 1
    finally:
        if writer is not None:
            writer.close()
    return pieces


def _runs(table: Iterable[Rows]) -> Iterator[Rows]:
    """Gather rows into runs of about `RUN_ROWS`, each sorted by period."""
    gathered: list[Rows] = []
    size = 0
    for rows in table:
        gathered.append(rows)
        size += len(rows.periods)
        if size >= RUN_ROWS:
            yield _sorted(gathered)
            gathered, size = [], 0
    if gathered:
        yield _sorted(gathered)


def _sorted(gathered: list[Rows]) -> Rows:
    if len(gathered) == 1 and (np.diff(gathered[0].periods) >= 0).all():
        return gathered[0]
    periods = np.concatenate([rows.periods for rows in gathered])
    order = np.argsort(periods, kind="stable")
    heads, tails = (
        pa.concat_arrays([getattr(rows, side) for rows in gathered]).take(pa.array(order))
        for side in ("heads", "tails")
    )
    return Rows(periods[order], heads, tails)
