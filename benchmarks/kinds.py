"""Processor time and memory of PSGraph+ on each kind of graph, as docs/how-to/kinds.md shows.

    python benchmarks/kinds.py --nodes 20000 --edges 200000

publishes three snapshots of as many edges, half of them kept, at ε = 1 and w = 3: undirected,
directed, two-sided, and directed with weights. Each kind runs in a process of its own, and kernels
are compiled before the clock starts. Processor time is that of the process, so that other work on
the machine hardly matters; memory is the peak of the process beyond that before publishing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np

import psgraph as pg
from psgraph._runtime.resources import peak_bytes, restart_peak, return_freed_memory
from psgraph.graph.kind import DIRECTED, TWO_SIDED, UNDIRECTED, Kind

KINDS = {
    "undirected": UNDIRECTED,
    "directed": DIRECTED,
    "two-sided": TWO_SIDED,
    "directed, with weights": DIRECTED.with_weights(64),
}
TIMESTAMPS, WARM = 3, (2_000, 10_000)


def snapshots(kind: Kind, nodes: int, edges: int) -> list[pg.Snapshot]:
    """Graphs of exactly as many edges, of which a few nodes have most; a third is answered."""
    rng = np.random.default_rng(1)
    roster = pg.Roster.range(nodes)
    shift = nodes // 2 if kind.two_sided else 0
    if kind.two_sided:
        roster = pg.TwoSidedRoster(pg.Roster.range(shift), pg.Roster.range(nodes - shift))
    size = shift or nodes
    pool = np.zeros((0, 2), dtype=np.int64)
    while len(pool) < 2 * edges:
        ends = (size * rng.random((2 * edges, 2)) ** 2.5).astype(np.int64)
        if kind.directed:
            ends = np.concatenate([ends, ends[: edges // 3, ::-1]])
        if not kind.two_sided:
            ends = ends[ends[:, 0] != ends[:, 1]]
        if kind.sides == 1:
            ends = np.sort(ends, axis=1)
        pool = np.unique(np.concatenate([pool, ends]), axis=0)
    pool = rng.permutation(pool)
    made = []
    for time_ in range(TIMESTAMPS):
        start = time_ * edges // (2 * TIMESTAMPS)
        u, v = pool[start : start + edges].T
        weight = rng.zipf(2.0, edges).clip(1, 64) if kind.weighted else None
        made.append(pg.Snapshot(roster, u, v + shift, kind=kind, weight=weight, time=str(time_)))
    return made


def published(kind: Kind, nodes: int, edges: int) -> dict[str, float]:
    """Publish in this process; seconds at the first timestamp and later, and megabytes."""
    guarantee = pg.WEventPrivacy("1", window=3)
    with pg.Publisher(pg.PSGraphPlus(), guarantee, seed=1) as publisher:
        for snapshot in snapshots(kind, *WARM):
            publisher.publish(snapshot)
    stream = snapshots(kind, nodes, edges)
    before, seconds = _trimmed_peak(), []
    with pg.Publisher(pg.PSGraphPlus(), guarantee, seed=1) as publisher:
        for snapshot in stream:
            start = time.process_time()
            publisher.publish(snapshot)
            seconds.append(time.process_time() - start)
    return {
        "first": seconds[0],
        "later": sum(seconds[1:]) / (TIMESTAMPS - 1),
        "megabytes": (peak_bytes() - before) / 2**20,
    }


def _trimmed_peak() -> int:
    return_freed_memory()
    return restart_peak()


def main() -> None:
    """Print one line for each kind."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--nodes", type=int, default=20_000)
    asked.add_argument("--edges", type=int, default=200_000)
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    chosen = asked.parse_args()
    if chosen.kind is not None:
        print(json.dumps(published(KINDS[chosen.kind], chosen.nodes, chosen.edges)))
        return
    print("kind                     first s  later s  × undirected    MB  × undirected")
    size = ["--nodes", str(chosen.nodes), "--edges", str(chosen.edges)]
    plain: dict[str, float] = {}
    for name in KINDS:
        command = [sys.executable, __file__, *size, "--kind", name]
        runs = [
            json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            for _ in range(chosen.repeats)
        ]
        least = {each: min(run[each] for run in runs) for each in runs[0]}
        plain = plain or least
        whole, of_plain = (each["first"] + 2 * each["later"] for each in (least, plain))
        print(
            f"{name:<25}{least['first']:7.2f}{least['later']:9.2f}{whole / of_plain:14.2f}"
            f"{least['megabytes']:6.0f}{least['megabytes'] / plain['megabytes']:14.2f}",
            flush=True,
        )


if __name__ == "__main__":
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")
    main()
