"""Time publishing a case, and its floor.

Passes of publishing and of the floor alternate in one process and the fastest of each counts, so
that a machine that is busy for a moment slows down neither alone.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from psgraph._runtime.memory import peak_bytes, restart_peak
from psgraph._runtime.timing import phase, stopwatch
from psgraph.engines.base import Engine
from psgraph.graph import Roster
from psgraph.methods.base import Method, find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.warmup import warm_up
from psgraph.stores import is_store, open_store
from psgraph.streams import Stream, read_stream
from psgraph_lab.bench.cases import Case
from psgraph_lab.bench.floor import Draws, recorded_draws, time_floor, written_files

__all__ = ["GUARANTEE", "time_case", "time_method"]

GUARANTEE = WEventPrivacy("1", window=5)
_MOST_SECONDS = 15.0  # of passes of one method before the last begins


def time_case(
    case: Case, source: Path, scratch: Path, *, engine: Engine | None = None
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
    engine: Engine | None = None,
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
