"""A stream of very many, very small timestamps: what it costs, and whether that stays the same."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np

from psgraph._runtime.resources import stopwatch
from psgraph.graph import Roster, Snapshot
from psgraph.methods.psgraph import PSGraph
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.publisher import Publisher
from psgraph.publication.warmup import warm_up

ROSTER = Roster.range(4)


def tiny(timestamp: int) -> Snapshot:
    """A graph of four nodes."""
    bits = timestamp * 2654435761 >> 7
    pairs = [(u, v) for u in range(4) for v in range(u)]
    edges = [pair for place, pair in enumerate(pairs) if bits >> place & 1]
    return Snapshot(ROSTER, [u for u, _ in edges], [v for _, v in edges], time=str(timestamp))


def memory() -> int:
    """Bytes of this process that are in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def long_run(ledger: Path, timestamps: int) -> dict[str, Any]:
    """Publish, then look at the ledger and take it up again.

    The slowdown compares sealing at the last tenth of the timestamps with the first.
    """
    method = PSGraph(threshold=1000)  # communities are kept, which is the quicker half
    warm_up(method)
    seals = np.empty(timestamps)
    looks: list[int] = []
    begin = time.perf_counter()
    with Publisher(method, WEventPrivacy("1", window=5), ledger=ledger) as publisher:
        for timestamp in range(timestamps):
            with stopwatch() as seconds:
                publisher.publish(tiny(timestamp))
            seals[timestamp] = seconds["seal"]
            if timestamp >= timestamps // 10 and timestamp % max(1, timestamps // 20) == 0:
                looks.append(memory())
    looks.append(memory())
    duration = time.perf_counter() - begin
    size = ledger.stat().st_size
    connection = sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True)
    (measured,) = connection.execute("SELECT sum(length(measurement)) FROM seals").fetchone()
    connection.close()
    begin = time.process_time()
    with Publisher.resume(ledger) as publisher:
        assert publisher.spending.timestamps == timestamps
    resumed = time.process_time() - begin
    p50, p99 = np.percentile(seals, [50, 99]) * 1000
    tenth = timestamps // 10
    slowdown = np.median(seals[-tenth:]) / np.median(seals[:tenth])
    return {
        "timestamps": timestamps,
        "seconds": round(duration, 1),
        "memory_growth": max(looks) - looks[0],
        "ledger_bytes_per_timestamp": round(size / timestamps, 1),
        "measurement_bytes_per_timestamp": round(measured / timestamps, 1),
        "overhead_bytes_per_timestamp": round((size - measured) / timestamps, 1),
        "resume_seconds": round(resumed, 3),
        "seal_p50_ms": round(float(p50), 2),
        "seal_p99_ms": round(float(p99), 2),
        "seal_slowdown": round(float(slowdown), 2),
    }
