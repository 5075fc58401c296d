"""The audit: every attack on every method, in order, within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from psgraph.audit.black_box import (
    bound_mechanism,
    bound_phases,
    bound_stream,
    claimed_mechanisms,
)
from psgraph.audit.bounds import Bound
from psgraph.audit.directories import differing_output
from psgraph.audit.durability import broken_durability
from psgraph.audit.findings import Audit, Check
from psgraph.audit.kernel_rules import RULES, broken_rules
from psgraph.audit.mutants import MUTANTS, hunt
from psgraph.audit.neighbours import neighbouring_streams
from psgraph.audit.phases import PHASES, phase_loss
from psgraph.audit.replay import replay_all
from psgraph.audit.sampler_battery import check_samplers
from psgraph.methods.base import Method, find_method, method_names

__all__ = ["FULL", "QUICK", "Effort", "audit"]

CONFIDENCE = 0.05  # shared by all bounds of an audit (Bonferroni)


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Attributes
    ----------
    pairs
        Neighbouring streams that each method is replayed on.
    draws
        Draws of each mechanism, and of the noise at each scale.
    few
        Draws of samplers that are drawn one by one.
    runs
        Runs of each method on small graphs.
    seconds
        The longest that the runs of one check may take.
    thorough
        Whether every detector looks at every mutant, or only up to the first that finds it.
    """

    mode: str
    pairs: int
    draws: int
    few: int
    runs: int
    seconds: float
    thorough: bool = False


QUICK = Effort("quick", pairs=63, draws=1_000_000, few=2_000, runs=300, seconds=1.5)
FULL = Effort("full", pairs=10_000, draws=1_000_000, few=50_000, runs=100_000, seconds=45)


def audit(
    methods: Sequence[str | Method[Any, Any]] = (),
    *,
    effort: Effort = QUICK,
    mutants: bool = True,
    progress: Callable[[str], object] = lambda _: None,
) -> Audit:
    """Try to break the promise.

    Parameters
    ----------
    methods
        Names of installed methods, or methods; all installed ones by default.
    effort
        `QUICK` or `FULL`.
    mutants
        Whether to check that deliberate bugs are found; they test the auditor, not the method.
    progress
        Called with a few words before each check.
    """
    begin = time.monotonic()
    chosen = [
        find_method(method)() if isinstance(method, str) else method
        for method in (methods or method_names())
    ]
    found = Audit(effort.mode, tuple(method.name for method in chosen))
    for title, checks in _plan(chosen, effort):
        progress(title)
        found.checks += checks()
    for mutant in MUTANTS if mutants else ():
        progress(f"mutant: {mutant.name}")
        found.hunts.append(hunt(mutant, thorough=effort.thorough))
    found.seconds = time.monotonic() - begin
    return found


def _plan(
    methods: list[Method[Any, Any]], effort: Effort
) -> Iterator[tuple[str, Callable[[], list[Check]]]]:
    alpha = CONFIDENCE / (len(claimed_mechanisms()) + 2 * len(methods))
    yield "the rules of the kernel", _rules
    yield "exact enumeration", _enumeration
    yield "samplers", lambda: _samplers(effort)
    for name in claimed_mechanisms():
        yield f"bounds: {name}", lambda name=name: [_mechanism(name, effort, alpha)]  # type: ignore[misc]
    for method in methods:
        yield f"{method.name}: replay", lambda method=method: [_replay(method, effort)]  # type: ignore[misc]
        yield f"{method.name}: on disk", lambda method=method: _on_disk(method, effort)  # type: ignore[misc]
        yield f"{method.name}: bounds", lambda method=method: _bounds(method, effort, alpha)  # type: ignore[misc]


def _rules() -> list[Check]:
    broken = broken_rules()
    return [
        Check(
            "rules",
            name,
            "",
            next((text for text in broken if text.startswith(f"{name}:")), "held"),
            not any(text.startswith(f"{name}:") for text in broken),
        )
        for name in RULES
    ]


def _enumeration() -> list[Check]:
    checks = []
    for name in PHASES:
        loss, excess = phase_loss(name)
        figure = f"exact loss {loss:.3f}, charged {loss - excess:.3f}"
        checks.append(Check("enumeration", name, "", figure, excess <= 1e-9))
    return checks


def _samplers(effort: Effort) -> list[Check]:
    checks = []
    for check in check_samplers(draws=effort.draws, few=effort.few):
        figure = f"p = {check.p:.2g}"
        if check.wrong_p:
            figure += f"; 2 % off: p ≤ {check.wrong_p:.1g}"
        checks.append(
            Check("samplers", check.name, "", figure, check.holds and check.sees, check.draws)
        )
    return checks


def _figure(bound: Bound) -> str:
    return f"ε ≥ {bound.lower:.3f}, charged {bound.claimed:.3f}"


def _mechanism(name: str, effort: Effort, alpha: float) -> Check:
    bound = bound_mechanism(name, draws=effort.draws, seconds=effort.seconds, alpha=alpha)
    return Check("bounds", name, "", _figure(bound), bound.holds and bound.sees, bound.runs)


def _replay(method: Method[Any, Any], effort: Effort) -> Check:
    replayed = replay_all(method, neighbouring_streams(effort.pairs), epsilon=Fraction(6))
    figure = (
        f"{len(replayed.divergences)} divergences, largest loss {replayed.largest_loss:.3f} ε"
        if replayed.holds
        else f"{len(replayed.divergences)} divergences, first: {replayed.divergences[0]}"
    )
    return Check(
        "replay", "neighbouring streams", method.name, figure, replayed.holds, replayed.pairs
    )


def _on_disk(method: Method[Any, Any], effort: Effort) -> list[Check]:
    if method.name not in method_names() or method.caveat is not None:
        return []  # not installed, or refused by the command without --not-private
    broken = broken_durability(lambda: type(method)(**method.parameters()))
    pairs = list(neighbouring_streams(9 if effort.mode == "quick" else 63))
    pairs = pairs[5:6] if effort.mode == "quick" else pairs[::3]
    differing = [name for pair in pairs for name in differing_output(method.name, pair)]
    return [
        Check(
            "durability",
            "interrupted and repeated",
            method.name,
            broken[0] if broken else "held",
            not broken,
            4,
        ),
        Check(
            "directories",
            "published files and output",
            method.name,
            f"differ: {differing[0]}" if differing else "byte for byte the same",
            not differing,
            len(pairs),
        ),
    ]


def _bounds(method: Method[Any, Any], effort: Effort, alpha: float) -> list[Check]:
    phases = bound_phases(method, runs=effort.runs, seconds=effort.seconds, alpha=alpha)
    whole = bound_stream(
        method, window=2, epsilon=4, runs=effort.runs, seconds=effort.seconds, alpha=alpha
    )
    named = {**{f"phase: {label}": bound for label, bound in phases.items()}, "2w releases": whole}
    return [
        Check("bounds", name, method.name, _figure(bound), bound.holds, bound.runs)
        for name, bound in named.items()
    ]
