"""Time publishing a case, and its floor.

The floor is the work no method can avoid: reading the Parquet input, drawing the same number of
noise values with the same scales, and writing the same Parquet output durably. Passes of publishing
and of the floor alternate in one process and the fastest of each counts, so that a machine that is
busy for a moment slows down neither alone.
"""

from __future__ import annotations

import shutil
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from psgraph._runtime.durable import write_all_whole
from psgraph._runtime.memory import peak_bytes, restart_peak
from psgraph._runtime.timing import phase, stopwatch
from psgraph.graph import Roster
from psgraph.methods.base import Method, find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.publication.publisher import Publisher
from psgraph.publication.releases import ReleaseDirectory
from psgraph.publication.warmup import warm_up
from psgraph.streams import Stream, read_stream
from psgraph_lab.bench.cases import Case

__all__ = ["GUARANTEE", "time_case", "time_method"]

GUARANTEE = WEventPrivacy("1", window=5)
_MOST_SECONDS = 15.0  # of passes of one method before the last begins

Draws = list[tuple[int, Fraction]]


def time_case(case: Case, source: Path, scratch: Path) -> dict[str, Any]:
    """Time publishing and its floor, alternately; returns the fastest pass of each.

    Parameters
    ----------
    source
        A Parquet file (real data, nodes from the edges) or a directory of them (synthetic).
    scratch
        An empty directory to write to.

    Returns
    -------
    dict
        ``seconds`` and ``floor_seconds`` of the fastest passes, by phase; ``ratio`` of their
        totals; ``passes`` and ``floor_passes``, the totals of all passes in order; ``peak_bytes``
        of publishing.
    """
    method = find_method("psgraph")()
    warm_up(method)
    runs, floors, peaks = [], [], []
    for number in range(case.repeats):
        restart_peak()
        run = _publish(method, case, source, scratch / f"run{number}")
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
    if source.is_dir():
        return read_stream(source, roster=Roster.range(case.nodes))
    return read_stream(source, roster_from_edges=True)


def _publish(method: Method[Any, Any], case: Case, source: Path, out: Path) -> dict[str, Any]:
    """Publish once; the clock starts after the untimed timestamps."""
    done = edges = nodes = 0
    draws: Draws = []
    with (
        stopwatch() as seconds,
        _recording(draws),
        Publisher(method, GUARANTEE, out=out, not_private=True) as publisher,
    ):
        begin = perf_counter()
        with phase("read"):
            releases = publisher.publish_all(_open(case, source))
        while True:
            if done == case.untimed > 0:
                seconds.clear()
                draws.clear()
                begin = perf_counter()
            release = next(releases, None)
            if release is None:
                break
            nodes = max(nodes, release.certificate.nodes)
            edges = max(edges, release.certificate.edges)
            done += 1
            del release
        total = perf_counter() - begin
    return {
        "timestamps": done - case.untimed,
        "nodes": nodes,
        "edges": edges,
        "seconds": {"total": total, **seconds},
        "draws": list(draws),
        "files": _written(out, range(case.untimed, done)),
    }


def _written(out: Path, timestamps: range) -> list[list[Path]]:
    """The Parquet files of each timestamp: its graph, and its node list if that is new."""
    directory, known = ReleaseDirectory(out), set[str]()
    written = []
    for timestamp in timestamps:
        nodes = directory.certificate(timestamp).nodes_sha256
        assert nodes is not None
        new = [] if nodes in known else [directory.nodes_path(nodes)]
        written.append([*new, directory.graph_path(timestamp)])
        known.add(nodes)
    return written


def _recording(draws: Draws) -> AbstractContextManager[Any]:
    """Record how many noise values are drawn, and at which rates."""
    draw = Sampler.discrete_laplace

    def recording(sampler: Sampler, size: int, rate: Fraction) -> NDArray[np.int64]:
        draws.append((size, rate))
        return draw(sampler, size, rate)

    return patch.object(Sampler, "discrete_laplace", recording)


def _floor(
    case: Case, source: Path, draws: Draws, files: list[list[Path]], scratch: Path
) -> dict[str, float]:
    inputs = sorted(source.iterdir())[case.untimed :] if source.is_dir() else [source]
    outputs = [[(path.name, pq.read_table(path)) for path in together] for together in files]
    target = scratch / "floor"
    target.mkdir()
    sampler = Sampler(RandomSource.secure())
    with stopwatch() as seconds, phase("total"):
        with phase("read"):
            for path in inputs:
                pq.read_table(path, columns=["u", "v"])
        with phase("noise"):
            for size, rate in draws:
                sampler.discrete_laplace(size, rate)
        with phase("write"):
            for together in outputs:
                write_all_whole([(target / name, _encoded(table)) for name, table in together])
    shutil.rmtree(target)
    return seconds


def _encoded(table: pa.Table) -> memoryview:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", use_dictionary=False)
    return memoryview(sink.getvalue())
