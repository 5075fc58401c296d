"""The floor: the work no method can avoid.

That is reading the Parquet input, drawing the same number of noise values with the same scales,
and writing the same Parquet output durably. Output is read back file by file off the clock, so
that the floor needs memory for one file.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from time import process_time
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.durable import write_all_whole
from psgraph._runtime.timing import phase, stopwatch
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.release_directory import ReleaseDirectory

__all__ = ["Draws", "recorded_draws", "time_floor", "written_files"]

Draws = list[tuple[int, Fraction]]

_AT_ONCE = 1 << 22  # noise values


@contextmanager
def recorded_draws() -> Iterator[Draws]:
    """Record how many noise values are drawn inside the block, and at which rates."""
    draws: Draws = []
    draw = Sampler.discrete_laplace

    def recording(sampler: Sampler, size: int, rate: Fraction) -> NDArray[np.int64]:
        draws.append((size, rate))
        return draw(sampler, size, rate)

    with patch.object(Sampler, "discrete_laplace", recording):
        yield draws


def written_files(out: Path, timestamps: Iterable[int]) -> list[list[Path]]:
    """Return the Parquet files of some timestamps, as they were written together.

    That is the node list, if it is new, with the graph or its first part; or a further part.
    """
    directory, known = ReleaseDirectory(out), set[str]()
    written: list[list[Path]] = []
    for timestamp in timestamps:
        certificate = directory.certificate(timestamp)
        nodes = certificate.nodes_sha256
        assert nodes is not None
        new = [] if nodes in known else [directory.nodes_path(nodes)]
        first, *more = [file.path for file in directory.graph(certificate)]
        written += [[*new, first], *([part] for part in more)]
        known.add(nodes)
    return written


def time_floor(
    inputs: Sequence[Path], draws: Draws, outputs: Sequence[Sequence[Path]], scratch: Path
) -> dict[str, float]:
    """Read `inputs`, draw noise, write copies of `outputs`; returns seconds by phase.

    ``total`` is their sum, ``cpu`` the processor time of all threads.
    """
    sampler = Sampler(RandomSource.secure())
    target = scratch / "floor"
    target.mkdir()
    cpu = 0.0
    with stopwatch() as seconds:
        begin = process_time()
        with phase("read"):
            for path in inputs:
                pq.read_table(path, columns=["u", "v"])
        with phase("noise"):
            for size, rate in draws:
                for done in range(0, size, _AT_ONCE):
                    sampler.discrete_laplace(min(_AT_ONCE, size - done), rate)
        cpu += process_time() - begin
        for together in outputs:
            tables = [(path.name, pq.read_table(path)) for path in together]
            begin = process_time()
            with phase("write"):
                write_all_whole([(target / name, _encoded(table)) for name, table in tables])
            cpu += process_time() - begin
    shutil.rmtree(target)
    return {"total": sum(seconds.values()), **seconds, "cpu": cpu}


def _encoded(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())
