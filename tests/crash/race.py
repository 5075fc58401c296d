"""Many processes on one ledger at the same time."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from psgraph.errors import InvalidArgument, LedgerBusy, LedgerError, MeasuringStopped, PsgraphError
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.ledger import Ledger
from psgraph.publication.ledger.database import Database
from psgraph.publication.locations import ledger_of
from psgraph.publication.measurement import Measured, Seal
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from tests.crash.scenario import GUARANTEE, Observer, ended, forked, publish, snapshot, workspace


def race(*, processes: int = 16, timestamps: int = 4, locks: bool = True) -> dict[str, Any]:
    """All processes publish the same stream with the same ledger.

    With the file lock nobody ever waits for another: the lock refuses at once, and SQLite is told
    not to wait at all, so that a wait would be a failure, however busy the machine is.

    Parameters
    ----------
    locks
        Without the file lock (as on a file system that has none) the transactions of the
        database alone must keep the order.
    """
    with workspace() as base:
        out = base / "out"
        start = time.time() + 0.2
        children = [
            forked(partial(_run, out, base, number, start, timestamps, locks))
            for number in range(processes)
        ]
        codes = [ended(child) for child in children]
        reports = [json.loads(path.read_text()) for path in base.glob("report *.json")]
        seals = Counter(timestamp for report in reports for timestamp in report["sealed"])
        digests = {
            timestamp: {report["digests"][timestamp] for report in reports}
            for timestamp in range(timestamps)
        }
        observer = Observer(out)
        observer.look_at_end(timestamps)
    return {
        "processes": processes,
        "failed": sum(code != 0 for code in codes),
        "sealings_per_timestamp": [seals[timestamp] for timestamp in range(timestamps)],
        "different_releases": max(len(found) for found in digests.values()),
        "refusals": sum(report["refusals"] for report in reports),
        "violations": observer.violations,
    }


def _run(out: Path, base: Path, number: int, start: float, timestamps: int, locks: bool) -> None:
    sealed: list[int] = []
    seal = Ledger.seal

    def counted(self: Ledger, measured: Measured) -> Seal:
        done = seal(self, measured)
        sealed.append(measured.timestamp)
        return done

    Ledger.seal = counted  # type: ignore[method-assign]
    if locks:
        connect = sqlite3.connect
        sqlite3.connect = lambda *place, **how: connect(*place, **{**how, "timeout": 0})
    else:
        Database._take_lock = (  # type: ignore[method-assign]
            lambda _: ledger_of(out).parent.mkdir(exist_ok=True)  # type: ignore[assignment]
        )
    chance = random.Random(number)
    time.sleep(max(0.0, start - time.time()))
    digests, refusals, again = [], 0, False
    for timestamp in range(timestamps):
        while True:
            try:
                with Publisher(PSGraph(), GUARANTEE, out=out, measure_again=again) as publisher:
                    again = False
                    release = publisher.publish(snapshot(timestamp), timestamp=timestamp)
                digests.append(release.certificate.digest)
                break
            except MeasuringStopped:  # without locks several may lose the draws of a timestamp
                if locks:
                    raise
                again = True
            except InvalidArgument:  # another process was allowed to already
                again = False
            except LedgerBusy:
                refusals += 1
            except (LedgerError, OSError):
                if locks:
                    raise
                refusals += 1
            time.sleep(chance.uniform(0.005, 0.1))
    report = {"sealed": sealed, "digests": digests, "refusals": refusals}
    (base / f"report {number}.json").write_text(json.dumps(report))


def verify_meanwhile(*, timestamps: int = 60) -> dict[str, Any]:
    """Verify again and again while another process publishes: there is nothing to complain of."""
    with workspace() as base:
        out = base / "out"
        child = forked(partial(publish, out, timestamps))
        complaints: list[str] = []
        verified = 0
        largest = -1
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            if not ledger_of(out).exists():
                continue
            try:
                largest = max(largest, verify(out).timestamps)
                verified += 1
            except PsgraphError as error:
                complaints.append(str(error))
        return {"verified": verified, "largest": largest, "complaints": complaints}
