"""What an audit found: checks with figures and verdicts, and the deliberate bugs."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field
from typing import Any

from psgraph._version import __version__

__all__ = ["Audit", "Check", "Hunt"]


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
    passed
        Whether the promise withstood it.
    effort
        How hard it was tried: pairs, draws or runs.
    """

    kind: str
    name: str
    method: str
    figure: str
    passed: bool
    effort: int = 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": self.name,
            "method": self.method or None,
            "figure": self.figure,
            "effort": self.effort,
            "passed": self.passed,
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
    seconds: float = 0.0
    workers: int = 1
    missing: str = ""

    @property
    def survivors(self) -> list[str]:
        return [hunt.mutant for hunt in self.hunts if not hunt.caught]

    @property
    def passed(self) -> bool:
        """Whether everything held and every deliberate bug was found."""
        return all(check.passed for check in self.checks) and not self.survivors

    @property
    def failures(self) -> list[Check]:
        return [check for check in self.checks if not check.passed]

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
            "checks": [check.to_dict() for check in self.checks],
            "seconds": round(self.seconds, 1),
            "workers": self.workers,
            "psgraph": __version__,
            "machine": (
                f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
            ),
        }
