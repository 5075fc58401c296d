"""``make crash``: try hard to break the guarantee, and report the outcome in a table.

Kills a publishing process everywhere and at random, lets processes race for one ledger, fills
the disk, changes bytes, publishes a hundred thousand timestamps, feeds it a hundred thousand
broken inputs and kills a service while 200 clients post. Takes about half an hour; exit code 1 if
anything was found.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table
from tests.crash import campaigns, race, shortage
from tests.crash.scenario import publish, workspace
from tests.publication import fuzz
from tests.publication.longrun import long_run
from tests.publication.tampering import flip
from tests.service.crash_trial import Trial

from psgraph.methods.psgraph import PSGraph
from psgraph.publication.warmup import warm_up


@dataclass(frozen=True)
class Outcome:
    """What one attack came to."""

    claim: str
    tried: str
    found: str
    held: bool


def kills(share: float) -> list[Outcome]:
    outcomes = []
    for name, report in (
        ("kill at every write, fsync, rename, commit", campaigns.kill_points(timestamps=3)),
        ("kill at every system call on files", campaigns.kill_system_calls(timestamps=3)),
    ):
        if report.get("unavailable"):
            outcomes.append(Outcome(name, "not possible here (ptrace)", "-", held=True))
            continue
        tried = f"{report['killed']:,} of {report['points']:,} places"
        held = not report["violations"] and report["killed"] == report["points"]
        outcomes.append(Outcome(name, tried, _violations(report), held))
    report = campaigns.random_kills(kills=int(1000 * share), timestamps=8)
    tried = f"{report['kills']:,} kills over {report['runs']} streams"
    held = not report["violations"]
    outcomes.append(Outcome("kill at random, restart", tried, _violations(report), held))
    return outcomes


def races(share: float) -> list[Outcome]:
    outcomes = []
    for locks, name in ((True, "processes on one ledger"), (False, "the same without file locks")):
        report = race.race(processes=16, timestamps=max(4, int(20 * share)), locks=locks)
        found = _violations(report)
        once = set(report["sealings_per_timestamp"]) == {1} and report["different_releases"] == 1
        held = once and not report["violations"] and not report["failed"]
        tried = f"16 processes, {report['refusals']:,} refused and tried again"
        outcomes.append(Outcome(name, tried, found, held))
    return outcomes


def shortages(_: float) -> list[Outcome]:
    full = shortage.full_disk_at_every_point()
    small = shortage.small_files()
    disk = shortage.small_disk()
    locked = shortage.read_only()
    refused = (locked["publishing"], locked["beginning"], locked["reading"]) == (7, 7, 0)
    return [
        Outcome(
            "no space at every access to the disk",
            f"{full['points']} places",
            _violations(full),
            not full["violations"],
        ),
        Outcome(
            "files that may not grow",
            f"{small['limits']} limits, {small['refused']} refused",
            f"{_violations(small)}, {small['untyped']} untyped errors",
            not small["violations"] and not small["untyped"],
        ),
        Outcome(
            "a small disk that fills up",
            "not possible here" if disk.get("unavailable") else f"{disk['refusals']} refusals",
            "-" if disk.get("unavailable") else _violations(disk),
            not disk.get("violations"),
        ),
        Outcome(
            "a directory that is read-only",
            "publish, begin, verify",
            "refused, refused, read" if refused else str(locked),
            refused and locked["untouched"],
        ),
    ]


def tampering(share: float) -> list[Outcome]:
    with workspace() as base:
        publish(base / "out", 4)
        report = flip(base / "out", int(10_000 * share))
    tried = f"{report['flips']:,} changed bytes in {len(report['places'])} kinds of places"
    missed = f"{len(report['missed'])} not noticed"
    return [Outcome("any changed byte is noticed", tried, missed, not report["missed"])]


def long_runs(share: float) -> list[Outcome]:
    outcomes = []
    disk = Path(tempfile.mkdtemp(prefix="psgraph-long-"))
    try:
        with workspace() as base:
            memory = long_run(base / "ledger.sqlite", int(100_000 * share))
            real = long_run(disk / "ledger.sqlite", int(3_000 * max(share, 0.1)))
    finally:
        shutil.rmtree(disk)
    outcomes.append(
        Outcome(
            "long runs cost the same all the time",
            f"{memory['timestamps']:,} timestamps in {memory['seconds']} s",
            f"memory +{memory['memory_growth'] / 1e6:.1f} MB, "
            f"{memory['overhead_bytes_per_timestamp']} bytes a timestamp beside "
            f"{memory['measurement_bytes_per_timestamp']} of measurement, "
            f"resume {memory['resume_seconds']} s, "
            f"last tenth seals in {memory['seal_slowdown']} times the first",
            memory["memory_growth"] < 16 << 20
            and memory["overhead_bytes_per_timestamp"] <= 1024
            and memory["resume_seconds"] <= 2
            and memory["seal_slowdown"] < 2,
        )
    )
    for name, report in (("in memory", memory), ("on this disk", real)):
        found = f"p50 {report['seal_p50_ms']} ms, p99 {report['seal_p99_ms']} ms"
        tried = f"{report['timestamps']:,} timestamps"
        outcomes.append(Outcome(f"sealing, {name}", tried, found, held=True))
    return outcomes


def bad_input(share: float) -> list[Outcome]:
    tried = 0
    with workspace() as base:
        playground = fuzz.Playground(base)
        for kind, (_, hundredths) in fuzz.KINDS.items():
            try:
                tried += fuzz.check(playground, kind, int(1000 * hundredths * share), start=10**6)
            except Exception as error:
                found = f"{kind}: {type(error).__name__}: {error}"[:500]
                return [Outcome("bad input", f"{tried:,} inputs", found, held=False)]
    return [Outcome("bad input", f"{tried:,} inputs of {len(fuzz.KINDS)} kinds", "0 faults", True)]


def services(share: float) -> list[Outcome]:
    with workspace() as base:
        trial = Trial(base / "service")
        trial.run(clients=200, kills=max(2, int(60 * share)), posts=200)
        report = trial.report()
    tried = (
        f"{report['kills']} kills, 200 clients, {report['posts']:,} posts, "
        f"{report['accepted']:,} timestamps and {report['events']:,} batches of events accepted"
    )
    held = not report["violations"] and report["accepted"] > 0
    return [Outcome("kill the service while clients post", tried, _violations(report), held)]


def _violations(report: dict[str, Any]) -> str:
    violations = report["violations"]
    return "0 violations" if not violations else f"{len(violations)}: {violations[0]}"


ATTACKS: dict[str, Callable[[float], list[Outcome]]] = {
    "kills": kills,
    "races": races,
    "shortages": shortages,
    "tampering": tampering,
    "long runs": long_runs,
    "bad input": bad_input,
    "services": services,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="a part of it, for a first look")
    parser.add_argument("--only", choices=ATTACKS, nargs="*", default=list(ATTACKS))
    chosen = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160)
    warm_up(PSGraph())
    table = Table("claim", "tried", "found", "held", title="What was tried to break the promise")
    held = True
    for name in chosen.only:
        console.print(f"{name} …", end=" ")
        begin = time.perf_counter()
        outcomes = ATTACKS[name](chosen.share)
        console.print(f"{time.perf_counter() - begin:.0f} s")
        for outcome in outcomes:
            held = held and outcome.held
            mark = "[green]yes[/]" if outcome.held else "[bold red]NO[/]"
            table.add_row(outcome.claim, outcome.tried, outcome.found, mark)
    console.print(table)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
