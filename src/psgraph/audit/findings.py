"""What an audit found: checks with their verdicts, what was reached, and the deliberate bugs."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from psgraph._version import __version__
from psgraph.audit.reach import Reached

__all__ = ["KINDS", "VERDICTS", "Audit", "Check", "Hunt", "Verdict", "held_or_failed"]

Verdict = Literal["held", "not tested", "failed"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


#: The kinds of things that attacks reach, in the plural.
KINDS = {"query": "queries", "branch": "branches", "setting": "settings", "code": "functions"}


def _missed(row: Reached) -> str:
    if row.attained is None or not row.times.get("replay"):
        return row.name
    return f"{row.name} moved by {100 * row.attained:.0f} % of its stated sensitivity at most"


def held_or_failed(held: bool) -> Verdict:
    """The verdict of a check that would have shown a violation."""
    return "held" if held else "failed"


@dataclass(frozen=True)
class Check:
    """One thing that was tried.

    Attributes
    ----------
    kind
        The attack: "replay", "bounds", "enumeration", "samplers", "rules", "durability" or
        "directories".
    name
        What was attacked.
    method
        The method; "" for the kernel, which all share.
    figure
        What was measured, in words.
    verdict
        "held": a violation of the kind that was looked for would have shown. "not tested": it
        would not have, so the figure says nothing either way. "failed": the promise is broken, or
        the check could not be carried out.
    effort
        How hard it was tried: pairs, draws or runs.
    """

    kind: str
    name: str
    method: str
    figure: str
    verdict: Verdict
    effort: int = 0

    @property
    def where(self) -> str:
        return f"{self.method}, {self.name}" if self.method else self.name

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "method": self.method or None,
            "figure": self.figure,
            "effort": self.effort,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Hunt:
    """What each detector found of a deliberate bug; "" where it found nothing."""

    mutant: str
    method: str
    found: dict[str, str]

    @property
    def caught(self) -> bool:
        return any(self.found.values())


@dataclass
class Audit:
    """The result of `psgraph.audit.auditor.audit`.

    Attributes
    ----------
    mode
        "quick" or "full".
    methods
        The methods that were audited.
    checks
        Everything that was tried.
    hunts
        What the detectors found of each deliberate bug.
    reached
        What the attacks reached of each method.
    missing
        Why no deliberate bug was planted, although that was wanted; "" otherwise.
    seconds
        How long it took.
    workers
        On how many processes.
    """

    mode: str
    methods: tuple[str, ...]
    checks: list[Check] = field(default_factory=list)
    hunts: list[Hunt] = field(default_factory=list)
    reached: list[Reached] = field(default_factory=list)
    seconds: float = 0.0
    workers: int = 1
    missing: str = ""

    @property
    def survivors(self) -> list[str]:
        return [hunt.mutant for hunt in self.hunts if not hunt.caught]

    @property
    def unreached(self) -> list[Reached]:
        """What the replay had to reach and never did."""
        return [row for row in self.reached if not row.held]

    @property
    def passed(self) -> bool:
        """Whether nothing failed, everything needed was reached and every deliberate bug found."""
        return not (self.failures or self.unreached or self.survivors)

    @property
    def shortcomings(self) -> list[str]:
        """Why it has not passed, in words: one line for each reason."""
        return [
            *(f"FAILED {check.where}: {check.figure}" for check in self.failures),
            *(f"NOT REACHED {row.method}, {row.kind}: {_missed(row)}" for row in self.unreached),
            *(f"NOT FOUND: {name}" for name in self.survivors),
        ]

    def reach_of(self, method: str) -> str:
        """How much of what has to be reached of a method was reached, in words."""
        found = []
        for kind, many in KINDS.items():
            rows = [
                row.held
                for row in self.reached
                if row.needed and (row.method, row.kind) == (method, kind)
            ]
            if rows:
                found.append(f"{sum(rows)} of {len(rows)} {many}")
        return ", ".join(found)

    @property
    def failures(self) -> list[Check]:
        return self.with_verdict("failed")

    def with_verdict(self, verdict: Verdict) -> list[Check]:
        return [check for check in self.checks if check.verdict == verdict]

    def to_dict(self) -> dict[str, Any]:
        """The whole audit as one JSON object."""
        return {
            "passed": self.passed,
            "mode": self.mode,
            "methods": list(self.methods),
            "mutants": {
                "caught": len(self.hunts) - len(self.survivors),
                "total": len(self.hunts),
                "survivors": self.survivors,
                **({"missing": self.missing} if self.missing else {}),
                "table": [
                    {"mutant": hunt.mutant, "method": hunt.method, "found": hunt.found}
                    for hunt in self.hunts
                ],
            },
            "verdicts": {verdict: len(self.with_verdict(verdict)) for verdict in get_args(Verdict)},
            "reached": [row.to_dict() for row in self.reached],
            "checks": [check.to_dict() for check in self.checks],
            "seconds": round(self.seconds, 1),
            "workers": self.workers,
            "psgraph": __version__,
            "machine": (
                f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
            ),
        }
