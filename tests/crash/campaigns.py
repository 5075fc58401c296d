"""Kill a publishing process everywhere, restart it, and count what went wrong (nothing may).

Run as a program it prints one JSON object: ``python campaigns.py kill-points``.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # started as a program, which must not have threads of pytest
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from psgraph.methods.psgraph import PSGraph
from psgraph.publication.warmup import warm_up
from tests.crash import race, shortage, syscalls
from tests.crash.faults import Faults, installed
from tests.crash.mutants import MUTANTS
from tests.crash.scenario import Observer, ended, forked, publish_parts, workspace
from tests.crash.scenario import publish as publish_files
from tests.publication.in_parts import tree

KILLED = -signal.SIGKILL


def kill_points(
    *, timestamps: int = 2, mutant: str | None = None, parts: bool = False
) -> dict[str, Any]:
    """Kill the process at every place where a run touches the disk, then let it finish.

    A `mutant` has a fault built in, which must be found out. With `parts` every graph is a
    directory, the first place is the first part, and what was killed and continued must be the
    same as what was not.
    """
    if mutant is not None:
        MUTANTS[mutant]()
    publish = publish_parts if parts else publish_files
    with workspace() as base:
        with installed(Faults()) as faults:
            publish(base / "count", timestamps)
        expected = tree(base / "count") if parts else None
        places = faults.places
        violations: list[str] = []
        killed = 0
        first = places.index("before write") if parts else 0
        for number, place in enumerate(places[first:], first):
            out = base / f"point {number}"

            def work(out: Path = out, number: int = number) -> None:
                with installed(Faults(number)):
                    publish(out, timestamps)

            killed += ended(forked(work)) == KILLED
            found = _after_a_kill(out, timestamps, publish)
            if parts and tree(out) != expected:
                found.append("other bytes than without the kill")
            violations += [f"killed {place} (place {number}): {problem}" for problem in found]
            if mutant is not None and violations:
                break
    return {
        "points": len(places) - first,
        "killed": killed,
        "kinds": dict(Counter(places)),
        "violations": violations,
    }


def kill_system_calls(*, timestamps: int = 2, every: int = 1) -> dict[str, Any]:
    """Kill the process as it enters each system call that changes a file, SQLite's own too."""
    with workspace() as base:
        calls = syscalls.trace(partial(publish_files, base / "count", timestamps))
        if calls is None:
            return {"points": 0, "killed": 0, "violations": [], "unavailable": True}
        violations: list[str] = []
        killed = tried = 0
        for number in range(0, len(calls), every):
            out = base / f"call {number}"
            tried += 1
            killed += syscalls.killed_at(number, partial(publish_files, out, timestamps))
            found = _after_a_kill(out, timestamps, publish_files)
            violations += [f"killed at {calls[number]} ({number}): {problem}" for problem in found]
    return {
        "points": tried,
        "calls": len(calls),
        "killed": killed,
        "kinds": dict(Counter(calls)),
        "violations": violations,
    }


def _after_a_kill(out: Path, timestamps: int, publish: Callable[[Path, int], None]) -> list[str]:
    """What is wrong right after a kill, after the restart, and after one more run."""
    observer = Observer(out)
    observer.look()
    for _ in range(2):  # the second run finds everything done and changes nothing
        try:
            publish(out, timestamps)
        except Exception as error:
            observer.violations.append(f"the restart failed: {type(error).__name__}: {error}")
        observer.look_at_end(timestamps)
    return observer.violations


def random_kills(*, kills: int = 200, timestamps: int = 6, seed: int = 0) -> dict[str, Any]:
    """Kill runs of several timestamps at random moments, restarting until they are through."""
    chance = random.Random(seed)
    violations: list[str] = []
    done = runs = starts = 0
    with workspace() as base:
        duration = float("inf")
        while done < kills:
            out = base / f"run {runs}"
            observer = Observer(out)
            finished = False
            while not finished:
                starts += 1
                begin = time.perf_counter()
                process = forked(partial(publish_files, out, timestamps))
                if done < kills and duration < float("inf"):
                    time.sleep(chance.uniform(0, 0.9 * duration))
                    os.kill(process, signal.SIGKILL)
                code = ended(process)
                if code == KILLED:
                    done += 1
                    observer.look()
                elif code:
                    violations.append("a restart failed")
                    finished = True
                else:
                    duration = min(duration, time.perf_counter() - begin)
                    observer.look_at_end(timestamps)
                    finished = True
            violations += observer.violations
            runs += 1
    return {"kills": done, "runs": runs, "starts": starts, "violations": violations}


CAMPAIGNS: dict[str, Callable[..., dict[str, Any]]] = {
    "kill-points": kill_points,
    "kill-system-calls": kill_system_calls,
    "random-kills": random_kills,
    "race": race.race,
    "verify-meanwhile": race.verify_meanwhile,
    "full-disk-at-every-point": shortage.full_disk_at_every_point,
    "small-files": shortage.small_files,
    "small-disk": shortage.small_disk,
    "read-only": shortage.read_only,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("options", type=json.loads, nargs="?", default={})
    chosen = parser.parse_args()
    warm_up(PSGraph())
    print(json.dumps(CAMPAIGNS[chosen.campaign](**chosen.options)))


if __name__ == "__main__":
    main()
