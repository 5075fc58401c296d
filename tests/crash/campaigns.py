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
from psgraph.publication.ledger import Ledger
from psgraph.publication.measurement import Measured, Seal
from psgraph.publication.warmup import warm_up
from tests.crash import race, shortage, syscalls
from tests.crash.faults import Faults, installed
from tests.crash.mutants import MUTANTS
from tests.crash.scenario import STOPPED, Observer, ended, forked, publish_parts, workspace
from tests.crash.scenario import publish as publish_files
from tests.publication.in_parts import tree

KILLED = -signal.SIGKILL
RUNS = 3


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
    """Kill the process as it enters each system call that changes a file, SQLite's own too.

    Noise has different sizes, so a run may write one page less than another. The shortest of some
    runs is counted, and a run that ends before its call is repeated.
    """
    with workspace() as base:
        traces = [
            syscalls.trace(partial(publish_files, base / f"count {run}", timestamps))
            for run in range(RUNS)
        ]
        known = [trace for trace in traces if trace is not None]
        if not known:
            return {"points": 0, "killed": 0, "violations": [], "unavailable": True}
        calls = min(known, key=len)
        violations: list[str] = []
        killed = tried = 0
        for number in range(0, len(calls), every):
            tried += 1
            for run in range(RUNS):
                out = base / f"call {number} {run}"
                reached = syscalls.killed_at(number, partial(publish_files, out, timestamps))
                found = _after_a_kill(out, timestamps, publish_files)
                violations += [f"killed at {calls[number]} ({number}): {text}" for text in found]
                if reached:
                    killed += 1
                    break
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
    """Kill runs of several timestamps at random moments, restarting until they are through.

    A timestamp that was killed too often waits for a person, who knows that chance did it.
    """
    chance = random.Random(seed)
    violations: list[str] = []
    done = runs = starts = words = 0
    with workspace() as base:
        duration = float("inf")
        while done < kills:
            out = base / f"run {runs}"
            observer = Observer(out)
            finished = allowed = False
            while not finished:
                starts += 1
                begin = time.perf_counter()
                publish = partial(publish_files, out, timestamps, measure_again=allowed)
                process = forked(publish)
                if done < kills and duration < float("inf"):
                    time.sleep(chance.uniform(0, 0.9 * duration))
                    os.kill(process, signal.SIGKILL)
                code = ended(process)
                if code == KILLED:
                    done += 1
                    observer.look()
                    # Whether the word was written before the kill is known by asking again.
                    allowed = False
                elif code == STOPPED:
                    words += 1
                    allowed = True
                elif code:
                    violations.append("a restart failed")
                    finished = True
                else:
                    duration = min(duration, time.perf_counter() - begin)
                    observer.look_at_end(timestamps)
                    finished = True
            violations += observer.violations
            runs += 1
    return {
        "kills": done,
        "runs": runs,
        "starts": starts,
        "words": words,
        "violations": violations,
    }


def killed_before_sealing(*, timestamps: int = 2) -> dict[str, Any]:
    """Kill every process between measuring and sealing: after a few draws a person is needed."""
    with workspace() as base:
        out, draws = base / "out", base / "draws"

        def dying(*, measure_again: bool = False) -> None:
            def seal(_: Ledger, measured: Measured) -> Seal:
                with draws.open("a") as file:
                    file.write(f"{measured.seed}\n")
                os.kill(os.getpid(), signal.SIGKILL)
                raise AssertionError

            Ledger.seal = seal  # type: ignore[assignment, method-assign]
            publish_files(out, timestamps, measure_again=measure_again)

        def drawn() -> int:
            return len(set(draws.read_text().split()))

        codes = [ended(forked(dying)) for _ in range(6)]
        first = drawn()
        codes.append(ended(forked(partial(dying, measure_again=True))))
        codes.append(ended(forked(partial(dying, measure_again=True))))  # it was not stopped
        codes += [ended(forked(dying)) for _ in range(3)]
        second = drawn()
        codes.append(ended(forked(partial(publish_files, out, timestamps, measure_again=True))))
        observer = Observer(out)
        observer.look_at_end(timestamps)
    return {"codes": codes, "draws": [first, second], "violations": observer.violations}


CAMPAIGNS: dict[str, Callable[..., dict[str, Any]]] = {
    "kill-points": kill_points,
    "kill-system-calls": kill_system_calls,
    "random-kills": random_kills,
    "killed-before-sealing": killed_before_sealing,
    "race": race.race,
    "verify-meanwhile": race.verify_meanwhile,
    "full-disk-at-every-point": shortage.full_disk_at_every_point,
    "small-files": shortage.small_files,
    "small-disk": shortage.small_disk,
    "full-while-sealing": shortage.full_while_sealing,
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
