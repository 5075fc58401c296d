"""Events in the order of their periods, whatever order the table has, in bounded memory.

Rows are gathered into runs, sorted by period and written to a temporary file, one piece per run
and period; the pieces are then read period by period. The file holds private edges. It is created
in a directory of its own that only the owner can enter (in `$TMPDIR`), and is removed afterwards.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from psgraph.errors import OutputError

__all__ = ["Events", "in_order"]

RUN_ROWS = 1 << 20


class Events(NamedTuple):
    """Events of one period."""

    period: int
    heads: pa.Array
    tails: pa.Array
    place: str = ""
    """Where in the table the first of them is."""


def in_order(events: Iterable[Events]) -> Iterator[Events]:
    """Sort events by period; only a run, or the events of one period, are in memory.

    >>> a, b = pa.array([1]), pa.array([2])
    >>> [each.period for each in in_order([Events(5, a, b), Events(3, a, b)])]
    [3, 5]
    """
    with tempfile.TemporaryDirectory(prefix="psgraph-") as directory:
        path = Path(directory) / "events.arrow"
        try:
            pieces = _spool(events, path)
        except OSError as error:
            raise OutputError(
                f"the events can't be sorted: {error.strerror or 'I/O error'}\n"
                "Sorting needs as much temporary space as the table. Set TMPDIR to a directory "
                "with enough, or sort the table by time."
            ) from None
        if not pieces:
            return
        with pa.memory_map(str(path)) as source, pa.ipc.open_file(source) as file:
            for period in sorted(pieces):
                for number in pieces[period]:
                    piece = file.get_batch(number)
                    yield Events(period, piece["u"], piece["v"])


def _spool(events: Iterable[Events], path: Path) -> dict[int, list[int]]:
    """Write runs to a file; return the numbers of the pieces of every period."""
    pieces: dict[int, list[int]] = {}
    run: list[Events] = []
    writer: pa.ipc.RecordBatchFileWriter | None = None
    size = written = 0

    def flush() -> None:
        nonlocal writer, written, size
        for period, batch in _sorted_run(run):
            if writer is None:
                writer = pa.ipc.new_file(str(path), batch.schema)
            writer.write_batch(batch)
            pieces.setdefault(period, []).append(written)
            written += 1
        run.clear()
        size = 0

    try:
        for each in events:
            run.append(each)
            size += len(each.heads)
            if size >= RUN_ROWS:
                flush()
        flush()
    finally:
        if writer is not None:
            writer.close()
    return pieces


def _sorted_run(run: list[Events]) -> Iterator[tuple[int, pa.RecordBatch]]:
    if not run:
        return
    periods: NDArray[np.int64] = np.repeat(
        np.array([each.period for each in run]), [len(each.heads) for each in run]
    )
    order = np.argsort(periods, kind="stable")
    periods = periods[order]
    rows = pa.RecordBatch.from_arrays(
        [
            pa.concat_arrays([each.heads for each in run]).take(pa.array(order)),
            pa.concat_arrays([each.tails for each in run]).take(pa.array(order)),
        ],
        names=["u", "v"],
    )
    starts = [0, *(np.flatnonzero(np.diff(periods)) + 1).tolist()]
    for start, stop in zip(starts, [*starts[1:], len(periods)], strict=True):
        yield int(periods[start]), rows.slice(start, stop - start)
