"""``make crash``: try hard to break the guarantee, and report the outcome.

Kills a publishing process everywhere and at random, lets processes race for one ledger, fills
the disk, changes bytes, publishes a hundred thousand timestamps, feeds it a hundred thousand
broken inputs and kills a service while 200 clients post. Exit code 1 if anything was found.

Prints a table. With ``--out DIR`` it also writes a page, DIR/README.md, and DIR/crash.json, after
every attack.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
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

from psgraph._version import __version__
from psgraph.methods.psgraph import PSGraph
from psgraph.publication.warmup import warm_up


@dataclass(frozen=True)
class Outcome:
    """The result of one attack.

    Attributes
    ----------
    held
        Whether nothing was found; None if there was nothing to find, or it was not possible.
    """

    attack: str
    tried: str
    found: str
    held: bool | None


def kills(share: float) -> list[Outcome]:
    outcomes = []
    for name, report in (
        ("kill at every write, fsync, rename and commit", campaigns.kill_points(timestamps=3)),
        ("kill at every system call on files", campaigns.kill_system_calls(timestamps=3)),
    ):
        if report.get("unavailable"):
            outcomes.append(Outcome(name, "not possible here (ptrace)", "–", held=None))
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
            "–" if disk.get("unavailable") else _violations(disk),
            None if disk.get("unavailable") else not disk["violations"],
        ),
        Outcome(
            "a directory that is read-only",
            "publish, start, verify",
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
        outcomes.append(Outcome(f"sealing, {name}", tried, found, held=None))
    return outcomes


def bad_input(share: float) -> list[Outcome]:
    tried = 0
    with workspace() as base:
        playground = fuzz.Playground(base)
        for kind, (_, hundredths) in fuzz.KINDS.items():
            try:
                tried += fuzz.check(playground, kind, int(1000 * hundredths * share), start=10**6)
            except Exception as error:
                inside = error.exceptions[0] if isinstance(error, ExceptionGroup) else error
                found = f"{kind}: {type(inside).__name__}: {inside}"[:500]
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


@dataclass
class Campaign:
    """The attacks so far, with all that is needed to judge them."""

    share: float
    only: list[str]
    version: str = __version__
    date: str = field(default_factory=lambda: f"{datetime.now(UTC):%Y-%m-%d}")
    machine: str = field(
        default_factory=lambda: (
            f"{os.cpu_count()} cores of {platform.machine()}, "
            f"{platform.system()}, Python {platform.python_version()}"
        )
    )
    seconds: dict[str, float] = field(default_factory=dict)
    outcomes: dict[str, list[Outcome]] = field(default_factory=dict)

    def run(self, name: str) -> list[Outcome]:
        """Run an attack; one that fails is a result too."""
        begin = time.perf_counter()
        try:
            outcomes = ATTACKS[name](self.share)
        except Exception as error:
            found = f"stopped: {type(error).__name__}: {error}"[:500]
            outcomes = [Outcome(name, "not finished", found, held=False)]
        self.seconds[name] = round(time.perf_counter() - begin, 1)
        self.outcomes[name] = outcomes
        return outcomes

    @property
    def held(self) -> bool:
        return all(
            each.held is not False for outcomes in self.outcomes.values() for each in outcomes
        )

    @property
    def command(self) -> str:
        """What reproduces it."""
        if self.share == 1 and self.only == list(ATTACKS):
            return "make crash"
        only = "" if self.only == list(ATTACKS) else f" --only {' '.join(map(repr, self.only))}"
        return f"python benchmarks/crash.py --share {self.share:g}{only}"

    def write(self, directory: Path) -> None:
        """Write the page and the figures."""
        directory.mkdir(parents=True, exist_ok=True)
        figures = {**asdict(self), "held": self.held}
        (directory / "crash.json").write_text(json.dumps(figures, indent=1) + "\n")
        (directory / "README.md").write_text(self.page())

    def page(self) -> str:
        """Return the page as Markdown."""
        outcomes = [each for outcomes in self.outcomes.values() for each in outcomes]
        held = [each.held for each in outcomes if each.held is not None]
        missing = [name for name in ATTACKS if name not in self.outcomes]
        part = [] if self.share == 1 else [f"A trial of {100 * self.share:g} % of the campaign."]
        part += [f"Not run: {', '.join(missing)}."] if missing else []
        lines = [
            *(PAGE.strip().splitlines()),
            "",
            "## The last campaign",
            "",
            *([f"**{' '.join(part)}**", ""] if part else []),
            f"{sum(held)} of {len(held)} claims held. `{self.command}`, "
            f"{_duration(sum(self.seconds.values()))} on {self.machine}; psgraph {self.version}, "
            f"{self.date}. All figures are in [crash.json](crash.json).",
        ]
        for name, each in self.outcomes.items():
            lines += [
                "",
                f"### {name.capitalize()}",
                "",
                f"{ABOUT[name]} It took {_duration(self.seconds[name])}.",
                "",
                "| attack | tried | found | held |",
                "|---|---|---|---|",
                *(f"| {' | '.join(_cells(outcome))} |" for outcome in each),
            ]
        return "\n".join(lines) + "\n"


PAGE = """
# The crash campaign

`make crash` kills, starves and confuses publishing processes and a service, and then checks what is
on the disk: no window may have spent more than ε, no timestamp may have been measured and shown
twice, nothing that was accepted may be lost, and only typed errors that name no node may come out.
What fails is a bug; what holds is evidence, not a proof. The proofs are in
[proofs/](../../proofs/README.md).

```sh
make crash                                            # in full, into docs/crash
python benchmarks/crash.py --share 0.02               # a short trial, on the terminal
python benchmarks/crash.py --only services kills      # some of the attacks
```

Would it notice? Publishers with deliberate faults, such as a release shown before its seal, have to
be found by the same kills (`tests/crash/test_crashes.py`).
"""

ABOUT = {
    "kills": "A publishing process is killed and started again, and every file is checked after "
    "the kill, after the restart and after one more run.",
    "races": "Several processes publish the same stream into one ledger at the same time.",
    "shortages": "The disk is full, files can't grow, or the directory is read-only.",
    "tampering": "Single bytes of the ledger, certificates and releases are changed, and "
    "`psgraph verify` has to notice.",
    "long runs": "A stream of very many small timestamps must not get slower or larger than its "
    "measurements.",
    "bad input": "Broken files, rosters, ledgers, records, certificates and arguments.",
    "services": "A service is killed while clients post snapshots and events.",
}


def _cells(outcome: Outcome) -> list[str]:
    """Return the cells of a row of a Markdown table."""
    mark = {True: "yes", False: "**NO**", None: "–"}[outcome.held]
    values = (outcome.attack, outcome.tried, outcome.found, mark)
    return [" ".join(value.split()).replace("|", "\\|") for value in values]


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="a part of it, for a trial")
    parser.add_argument("--only", choices=ATTACKS, nargs="*", default=list(ATTACKS))
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write the page")
    chosen = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 160)
    warnings.simplefilter("ignore", UserWarning)  # about broken input
    warm_up(PSGraph())
    table = Table("attack", "tried", "found", "held", title="What was tried to break the promise")
    campaign = Campaign(chosen.share, chosen.only)
    for name in chosen.only:
        console.print(f"{name} …", end=" ")
        outcomes = campaign.run(name)
        console.print(_duration(campaign.seconds[name]))
        for outcome in outcomes:
            mark = {True: "[green]yes[/]", False: "[bold red]NO[/]", None: "–"}[outcome.held]
            table.add_row(outcome.attack, outcome.tried, outcome.found, mark)
        if chosen.out is not None:
            campaign.write(chosen.out)
    console.print(table)
    return 0 if campaign.held else 1


if __name__ == "__main__":
    sys.exit(main())
