"""The attacks of an audit, which can run in any order and in any process, and their effort."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from psgraph.audit.black_box import (
    bound_mechanism,
    bound_phases,
    bound_stream,
    claimed_mechanisms,
)
from psgraph.audit.bounds import Bound
from psgraph.audit.detectors import hunt, installed_bugs
from psgraph.audit.disk import broken_durability, differing_output
from psgraph.audit.enumeration import KERNEL, phase_losses
from psgraph.audit.findings import Check, Hunt, held_or_failed
from psgraph.audit.kernel_rules import RULES, broken_rules
from psgraph.audit.neighbours import SIZES, neighbouring_streams
from psgraph.audit.reach import Reach
from psgraph.audit.replay import pairs_for, replay_all
from psgraph.audit.sampler_battery import check_samplers
from psgraph.graph import UNDIRECTED
from psgraph.methods.base import Method
from psgraph.methods.registry import method_names
from psgraph.testing.cases import kinds_of

__all__ = ["FULL", "QUICK", "Attack", "Effort", "Result", "attacks", "deliberate_bugs"]

CONFIDENCE = 0.05  # shared by all bounds of an audit (Bonferroni)


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Attributes
    ----------
    pairs
        Neighbouring streams that each method is replayed on; a quarter as many unrelated ones.
    draws
        Draws of each mechanism, and of the noise at each scale.
    few
        Draws of samplers that are drawn one by one.
    runs
        Draws of each phase of a method on one small graph and its neighbour.
    streams
        Runs of each method on two streams of 2w timestamps. None in a quick audit: a few hundred
        would not show a large leak.
    seconds
        The most processor time that the runs of one bound may take, so that a busy machine tries
        equally hard.
    longest
        No attack starts after this many seconds; those left out count as failed.
    thorough
        Whether every detector is tried on every deliberate bug, or only until one finds it, and
        how many boundaries of decisions are searched for.
    """

    mode: str
    pairs: int
    draws: int
    few: int
    runs: int
    streams: int
    seconds: float
    longest: float
    thorough: bool = False


QUICK = Effort(
    "quick",
    pairs=22,
    draws=1_000_000,
    few=2_000,
    runs=500,
    streams=0,
    seconds=0.5,
    longest=600,
)
FULL = Effort(
    "full",
    pairs=3_000,
    draws=1_000_000,
    few=50_000,
    runs=100_000,
    streams=5_000,
    seconds=40,
    longest=3_600,
    thorough=True,
)


Result = Sequence[Check | Reach] | Hunt


@dataclass(frozen=True)
class Attack:
    """One piece of an audit.

    Attributes
    ----------
    kind
        As in `Check.kind`.
    name
        What is attacked.
    method
        The method; "" for the kernel.
    run
        Carries it out, and returns checks and what was reached, or what was found of a bug. Can be
        sent to another process if the method can.
    """

    kind: str
    name: str
    method: str
    run: Callable[[], Result]


def attacks(methods: Sequence[Method[Any, Any]], effort: Effort) -> list[Attack]:
    """Every attack on every method, the longest first."""
    owners: list[Method[Any, Any] | None] = [None, *methods]
    mechanisms = [(owner, name) for owner in owners for name in claimed_mechanisms(owner)]
    alpha = CONFIDENCE / (len(mechanisms) + 2 * len(methods))
    planned = [
        Attack(kind, name, method.name, partial(attack, method, effort, *more))
        for kind, name, attack, more in (
            ("bounds", "phases", _phase_bounds, (alpha,)),
            ("bounds", "2w releases", _stream_bound, (alpha,)),
            ("replay", "neighbouring streams", _replay, ()),
            ("durability", "on disk", _on_disk, ()),
        )
        for method in methods
    ]
    planned += [
        Attack("bounds", name, _name(owner), partial(_mechanism, name, owner, effort, alpha))
        for owner, name in mechanisms
    ]
    planned.append(Attack("samplers", "all", "", partial(_samplers, methods, effort)))
    planned.append(Attack("enumeration", "all", "", partial(_enumeration, methods)))
    planned.append(Attack("rules", "all", "", _rules))
    return planned


def deliberate_bugs(effort: Effort) -> list[Attack]:
    """Every installed deliberate bug, which tests the auditor and not the method."""
    return [
        Attack("mutant", bug.name, "", partial(_hunt, number, thorough=effort.thorough))
        for number, bug in enumerate(installed_bugs())
    ]


def _hunt(number: int, *, thorough: bool) -> Hunt:
    bug = installed_bugs()[number]
    try:
        return hunt(bug, thorough=thorough)
    except Exception:  # a bug that no detector can run with was not found
        return Hunt(bug.name, bug.method, {})


def _name(method: Method[Any, Any] | None) -> str:
    return "" if method is None else method.name


def _rules() -> list[Check]:
    broken = broken_rules()
    return [
        Check(
            "rules",
            name,
            "",
            next((text for text in broken if text.startswith(f"{name}:")), "held"),
            held_or_failed(not any(text.startswith(f"{name}:") for text in broken)),
        )
        for name in RULES
    ]


def _enumeration(methods: Sequence[Method[Any, Any]]) -> list[Check]:
    checks = []
    for owner in (None, *methods):
        for name, phase in (KERNEL if owner is None else owner.audit_cases().phases).items():
            for kind, (loss, excess) in phase_losses(phase).items():
                figure = f"exact loss {loss:.3f}, charged {loss - excess:.3f}"
                verdict = held_or_failed(excess <= 1e-9)
                shown = name if kind == UNDIRECTED.name else f"{name}, {kind} graphs"
                checks.append(Check("enumeration", shown, _name(owner), figure, verdict))
    return checks


def _samplers(methods: Sequence[Method[Any, Any]], effort: Effort) -> list[Check]:
    checks = []
    for check in check_samplers(methods, draws=effort.draws, few=effort.few):
        figure = f"p = {check.p:.2g}"
        if check.wrong_p:
            figure += f"; 2 % off: p ≤ {check.wrong_p:.1g}"
        checks.append(
            Check(
                "samplers",
                check.name,
                check.method,
                figure,
                held_or_failed(check.holds and check.sees),
                check.draws,
            )
        )
    return checks


def _bound_check(name: str, method: str, bound: Bound) -> Check:
    return Check("bounds", name, method, bound.figure, bound.verdict, bound.runs)


def _mechanism(
    name: str, method: Method[Any, Any] | None, effort: Effort, alpha: float
) -> list[Check]:
    bound = bound_mechanism(name, method, draws=effort.draws, seconds=effort.seconds, alpha=alpha)
    return [_bound_check(name, _name(method), bound)]


def _replay(method: Method[Any, Any], effort: Effort) -> list[Check | Reach]:
    replayed = replay_all(method, pairs_for(method, effort.pairs, thorough=effort.thorough))
    figure = (
        f"{len(replayed.divergences)} divergences, largest loss {replayed.largest_loss:.3f} ε"
        if replayed.holds
        else f"{len(replayed.divergences)} divergences, first: {replayed.divergences[0]}"
    )
    return [
        Check(
            "replay",
            "neighbouring streams",
            method.name,
            figure,
            held_or_failed(replayed.holds),
            replayed.pairs,
        ),
        replayed.reach,
    ]


def _on_disk(method: Method[Any, Any], effort: Effort) -> list[Check | Reach]:
    if method.name not in method_names() or method.caveat is not None:
        return []  # not installed, or refused by the command without --not-private
    broken = broken_durability(lambda: type(method)(**method.parameters()))
    pairs = list(neighbouring_streams(66, sizes=SIZES[:2]))[5 :: 3 if effort.thorough else 66]
    for kind in kinds_of(method)[1:]:
        few = neighbouring_streams(14, kind=kind, sizes=SIZES[:1])
        pairs += list(few)[:: 2 if effort.thorough else 14]
    reach = Reach(method.name)
    differing = [name for pair in pairs for name in differing_output(method.name, pair, reach)]
    return [
        Check(
            "durability",
            "interrupted and repeated",
            method.name,
            broken[0] if broken else "held",
            held_or_failed(not broken),
            4,
        ),
        Check(
            "directories",
            "published files and output",
            method.name,
            f"differ: {differing[0]}" if differing else "byte for byte the same",
            held_or_failed(not differing),
            len(pairs),
        ),
        reach,
    ]


def _phase_bounds(
    method: Method[Any, Any], effort: Effort, alpha: float
) -> Sequence[Check | Reach]:
    reach = Reach(method.name)
    phases = bound_phases(method, reach, runs=effort.runs, seconds=effort.seconds, alpha=alpha)
    if not phases:
        figure = "neighbours make different calls: nothing to compare"
        return [Check("bounds", "phases", method.name, figure, "not tested")]
    checks = [_bound_check(f"phase: {name}", method.name, bound) for name, bound in phases.items()]
    return [*checks, reach]


def _stream_bound(method: Method[Any, Any], effort: Effort, alpha: float) -> list[Check]:
    if not effort.streams:
        return [Check("bounds", "2w releases", method.name, "only in a full audit", "not tested")]
    bound = bound_stream(
        method, window=2, epsilon=1, runs=effort.streams, seconds=effort.seconds, alpha=alpha
    )
    return [_bound_check("2w releases", method.name, bound)]
