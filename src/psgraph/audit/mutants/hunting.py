"""Looking for a mutant with every detector, from cheap to dear."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from psgraph.audit.black_box import bound_mechanism, bound_phases, claimed_mechanisms
from psgraph.audit.directories import FAILED, differing_output
from psgraph.audit.durability import broken_durability
from psgraph.audit.kernel_rules import broken_rules
from psgraph.audit.mutants.mutant import Mutant
from psgraph.audit.neighbours import neighbouring_streams
from psgraph.audit.phases import broken_phases
from psgraph.audit.replay import replay_all
from psgraph.audit.sampler_battery import check_samplers
from psgraph.methods.base import find_method

__all__ = ["DETECTORS", "Hunt", "hunt"]

PAIRS = 90
ALPHA = 1e-6  # a mutant that is not one must not be caught by chance


@dataclass(frozen=True)
class Hunt:
    """What the detectors said about a mutant: what each found; "" where it found nothing."""

    mutant: str
    method: str
    found: dict[str, str]

    @property
    def caught(self) -> bool:
        return any(self.found.values())


def hunt(mutant: Mutant, *, thorough: bool = False) -> Hunt:
    """Apply a mutant and ask its detectors up to the first catch.

    If `thorough`, ask all others too. They were not meant for this mutant: what they can't run,
    since changed kernels are plain Python and can't always be called by compiled ones, is left
    out rather than counted.
    """
    found: dict[str, str] = {}
    with mutant.applied():
        for name in mutant.looks:
            found[name] = DETECTORS[name](mutant)
            if found[name] and not thorough:
                return Hunt(mutant.name, mutant.method, found)
        for name in DETECTORS.keys() - found.keys() if thorough else ():
            with suppress(Exception):
                found[name] = DETECTORS[name](mutant)
    return Hunt(mutant.name, mutant.method, found)


def _replay(mutant: Mutant) -> str:
    method = find_method(mutant.method)(**dict(mutant.parameters))
    replayed = replay_all(method, neighbouring_streams(PAIRS), epsilon=Fraction(6), most=1)
    return "; ".join(replayed.divergences)


def _rules(_: Mutant) -> str:
    return "; ".join(broken_rules())


def _phases(_: Mutant) -> str:
    return "; ".join(broken_phases())


def _samplers(_: Mutant) -> str:
    wrong = [check for check in check_samplers(draws=20_000, few=1_000) if not check.holds]
    return "; ".join(f"{check.name}: p = {check.p:.1e}" for check in wrong)


def _durability(mutant: Mutant) -> str:
    kind = find_method(mutant.method)
    return "; ".join(broken_durability(lambda: kind(**dict(mutant.parameters))))


def _directories(mutant: Mutant) -> str:
    differing = differing_output(mutant.method, list(neighbouring_streams(9))[5])
    if differing == [FAILED]:
        raise RuntimeError(FAILED)  # it can't run on this mutant, which is no finding
    return "; ".join(differing)


def _bounds(mutant: Mutant) -> str:
    for name in claimed_mechanisms():
        bound = bound_mechanism(name, draws=4_000, seconds=2, alpha=ALPHA)
        if not bound.holds:
            return f"{name}: ε ≥ {bound.lower:.2f}"
    method = find_method(mutant.method)(**dict(mutant.parameters))
    for label, bound in bound_phases(method, runs=500, seconds=5, alpha=ALPHA).items():
        if not bound.holds:
            return f"{label}: ε ≥ {bound.lower:.2f}, charged {bound.claimed:.2f}"
    return ""


DETECTORS: dict[str, Callable[[Mutant], str]] = {
    "rules": _rules,
    "replay": _replay,
    "enumeration": _phases,
    "samplers": _samplers,
    "durability": _durability,
    "directories": _directories,
    "bounds": _bounds,
}
