"""Deliberate bugs, and the detectors that have to find them.

psgraph ships no deliberate bug: a production install has no code that changes its own source.
Packages offer them through the entry point group ``psgraph.mutants``; psgraph's own come with
psgraph_lab.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.metadata import entry_points
from typing import Any, Protocol

from psgraph.audit.black_box import bound_mechanism, bound_phases, claimed_mechanisms
from psgraph.audit.disk import FAILED, broken_durability, differing_output
from psgraph.audit.enumeration import broken_phases
from psgraph.audit.findings import Hunt
from psgraph.audit.kernel_rules import broken_rules
from psgraph.audit.neighbours import SIZES, neighbouring_streams
from psgraph.audit.replay import pairs_for, replay_all
from psgraph.audit.sampler_battery import check_samplers
from psgraph.methods.base import Method
from psgraph.methods.registry import find_method

__all__ = ["DETECTORS", "DeliberateBug", "hunt", "installed_bugs"]

GROUP = "psgraph.mutants"
PAIRS = 22
ALPHA = 1e-6  # nothing must be found by chance


class DeliberateBug(Protocol):
    """A privacy bug to plant in the running code.

    Attributes
    ----------
    name
        A few words.
    method
        The name of the method it is in, or that shows it.
    detectors
        Those that should find it, cheapest first.
    parameters
        Parameters of the method that bring it out.
    first
        The pairs that a replay starts with, as in `psgraph.audit.replay.pairs_for`: finds the same,
        sooner.
    """

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def detectors(self) -> Sequence[str]: ...
    @property
    def parameters(self) -> Sequence[tuple[str, Any]]: ...
    @property
    def first(self) -> str: ...

    def applied(self) -> AbstractContextManager[None]:
        """Plant the bug, and take it out again at the end."""


def installed_bugs() -> list[DeliberateBug]:
    """Return the deliberate bugs of all installed packages, in a deterministic order.

    A package whose entry point is declared but which is not installed counts as missing: a wheel of
    psgraph has none of its own deliberate bugs, a checkout has.
    """
    found: list[DeliberateBug] = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value)):
        try:
            found += point.load()
        except ModuleNotFoundError as error:
            if not f"{point.module}.".startswith(f"{error.name}."):
                raise
    return found


def hunt(bug: DeliberateBug, *, thorough: bool = False) -> Hunt:
    """Plant a bug and try its detectors until one finds it.

    If `thorough`, try all others too. They were not meant for this bug: one that can't run, since
    changed kernels are plain Python and can't always be called by compiled ones, is left out
    rather than counted.
    """
    found: dict[str, str] = {}
    with bug.applied():
        for name in bug.detectors:
            found[name] = DETECTORS[name](bug)
            if found[name] and not thorough:
                return Hunt(bug.name, bug.method, found)
        for name in DETECTORS.keys() - found.keys() if thorough else ():
            with suppress(Exception):
                found[name] = DETECTORS[name](bug)
    return Hunt(bug.name, bug.method, found)


def _method(bug: DeliberateBug) -> Method[Any, Any]:
    return find_method(bug.method)(**dict(bug.parameters))


def _replay(bug: DeliberateBug) -> str:
    method = _method(bug)
    pairs = pairs_for(method, PAIRS, thorough=False, first=bug.first)
    return "; ".join(replay_all(method, pairs, most=1, traced=False).divergences)


def _rules(_: DeliberateBug) -> str:
    return "; ".join(broken_rules())


def _phases(bug: DeliberateBug) -> str:
    return "; ".join(broken_phases([_method(bug)]))


def _samplers(bug: DeliberateBug) -> str:
    checks = check_samplers([_method(bug)], draws=10_000, few=500)
    return "; ".join(f"{check.name}: p = {check.p:.1e}" for check in checks if not check.holds)


def _durability(bug: DeliberateBug) -> str:
    return "; ".join(broken_durability(lambda: _method(bug)))


def _directories(bug: DeliberateBug) -> str:
    pair = list(neighbouring_streams(6, sizes=SIZES[:2]))[5]
    differing = differing_output(bug.method, pair)
    if differing == [FAILED]:
        raise RuntimeError(FAILED)  # it can't run with this bug, which is not a finding
    return "; ".join(differing)


def _bounds(bug: DeliberateBug) -> str:
    method = _method(bug)
    for owner in (method, None):
        for name in claimed_mechanisms(owner):
            bound = bound_mechanism(name, owner, draws=4_000, seconds=2, alpha=ALPHA)
            if not bound.holds:
                return f"{name}: ε ≥ {bound.lower:.2f}"
    for label, bound in bound_phases(method, runs=500, seconds=5, alpha=ALPHA).items():
        if not bound.holds:
            return f"{label}: ε ≥ {bound.lower:.2f}, charged {bound.claimed:.2f}"
    return ""


DETECTORS: dict[str, Callable[[DeliberateBug], str]] = {
    "rules": _rules,
    "replay": _replay,
    "enumeration": _phases,
    "samplers": _samplers,
    "durability": _durability,
    "directories": _directories,
    "bounds": _bounds,
}
