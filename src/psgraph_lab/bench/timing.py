"""Time publishing a case, and its floor: the work no method can avoid.

The floor is reading the Parquet input, drawing the same number of noise values with the same
scales, and writing the same Parquet output durably. Output is read back file by file off the
clock, so that the floor needs memory for one file. Passes of publishing and of the floor alternate
in one process and the fastest of each counts, so that a machine that is busy for a moment slows
down neither alone.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from time import perf_counter, process_time
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.durable import write_all_whole
from psgraph._runtime.resources import peak_bytes, phase, restart_peak, stopwatch
from psgraph.engines.runner import Runner
from psgraph.graph import Roster
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher
from psgraph.publication.release_directory import ReleaseDirectory
from psgraph.publication.warmup import warm_up
from psgraph.stores import is_store, open_store
from psgraph.streams import Stream, read_stream
from psgraph_lab.bench.cases import Case

__all__ = [
    "GUARANTEE",
    "Draws",
    "recorded_draws",
    "time_case",
    "time_floor",
    "time_method",
    "written_files",
]

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


GUARANTEE = WEventPrivacy("1", window=5)
_MOST_SECONDS = 15.0  # of passes of one method before the last begins


def time_case(
    case: Case, source: Path, scratch: Path, *, engine: Runner | None = None
) -> dict[str, Any]:
    """Time publishing and its floor, alternately; returns the fastest pass of each.

    Parameters
    ----------
    source
        A Parquet file (real data, nodes from the edges), a directory of them (synthetic), or a
        store.
    scratch
        An empty directory to write to.
    engine
        Where edge-sized work runs; the local machine unless given.

    Returns
    -------
    dict
        ``seconds`` and ``floor_seconds`` of the fastest passes, by phase, with the processor time
        of all threads as ``cpu``; ``ratio`` of their totals; ``passes`` and ``floor_passes``, the
        totals of all passes in order; ``peak_bytes`` of publishing.
    """
    method = find_method("psgraph")()
    warm_up(method)
    runs, floors, peaks = [], [], []
    for number in range(case.repeats):
        restart_peak()
        run = _publish(method, case, source, scratch / f"run{number}", engine)
        peaks.append(peak_bytes())
        floors.append(_floor(case, source, run.pop("draws"), run.pop("files"), scratch))
        runs.append(run)
    best = min(runs, key=lambda run: float(run["seconds"]["total"]))
    floor = min(floors, key=lambda seconds: seconds["total"])
    return {
        **best,
        "peak_bytes": max(peaks),
        "floor_seconds": floor,
        "ratio": best["seconds"]["total"] / floor["total"],
        "passes": [run["seconds"]["total"] for run in runs],
        "floor_passes": [seconds["total"] for seconds in floors],
    }


def time_method(name: str, case: Case, source: Path, scratch: Path) -> dict[str, Any]:
    """Time a method over a case; returns the seconds of its fastest pass and its peak memory.

    A slow method gets one pass, others as many as the case has while they took below 15 s.
    """
    method = find_method(name)()
    warm_up(method)
    passes: list[dict[str, float]] = []
    while len(passes) < case.repeats and sum(run["total"] for run in passes) < _MOST_SECONDS:
        run = _publish(method, case, source, scratch / f"run-{name}-{len(passes)}")
        passes.append(run["seconds"])
    return {
        "seconds": min(passes, key=lambda seconds: seconds["total"]),
        "passes": [seconds["total"] for seconds in passes],
        "peak_bytes": peak_bytes(),
    }


def _open(case: Case, source: Path) -> Stream:
    if is_store(source):
        return read_stream(source)
    if source.is_dir():
        return read_stream(source, roster=Roster.range(case.nodes))
    return read_stream(source, roster_from_edges=True)


def _publish(
    method: Method[Any, Any],
    case: Case,
    source: Path,
    out: Path,
    engine: Runner | None = None,
) -> dict[str, Any]:
    """Publish once; the clock starts after the untimed timestamps."""
    done = edges = nodes = 0
    summary: dict[str, Any] = {}
    with (
        stopwatch() as seconds,
        recorded_draws() as draws,
        Publisher(method, GUARANTEE, out=out, not_private=True, engine=engine) as publisher,
    ):
        begin, cpu = perf_counter(), process_time()
        with phase("read"):
            releases = publisher.publish_all(_open(case, source))
        while True:
            if done == case.untimed > 0:
                seconds.clear()
                draws.clear()
                begin, cpu = perf_counter(), process_time()
            release = next(releases, None)
            if release is None:
                break
            nodes = max(nodes, release.certificate.nodes)
            edges = max(edges, release.certificate.edges)
            summary = dict(release.certificate.summary)
            done += 1
            del release
        total, cpu = perf_counter() - begin, process_time() - cpu
    return {
        "timestamps": done - case.untimed,
        "nodes": nodes,
        "edges": edges,
        "communities": summary.get("communities"),
        "seconds": {"total": total, **seconds, "cpu": cpu},
        "draws": draws,
        "files": written_files(out, range(case.untimed, done)),
    }


def _floor(
    case: Case, source: Path, draws: Draws, files: list[list[Path]], scratch: Path
) -> dict[str, float]:
    return time_floor(_inputs(case, source), draws, files, scratch)


def _inputs(case: Case, source: Path) -> list[Path]:
    """Return the Parquet files with the edges of the timed snapshots."""
    if is_store(source):
        entries = open_store(source).manifest.snapshots[case.untimed :]
        return [source / file.name for entry in entries for file in entry.edges]
    return sorted(source.iterdir())[case.untimed :] if source.is_dir() else [source]
