"""The rules of the kernel, each tried on the real code: what is charged, counted and drawn.

Every check returns None or what it found. They take milliseconds and need no samples.
"""

from __future__ import annotations

import ast
import itertools
import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.engines.threads import LocalEngine
from psgraph.errors import BudgetExceeded, MethodError, PsgraphError
from psgraph.graph import Roster, Snapshot
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.privacy import budget as budget_module
from psgraph.privacy import randomness
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.query import CountQuery
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

__all__ = ["RULES", "broken_rules"]

ONE = Fraction(1)


def broken_rules() -> list[str]:
    """Return what each broken rule found; nothing if all hold.

    >>> broken_rules()
    []
    """
    found = []
    for name, rule in RULES.items():
        try:
            problem = rule()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            found.append(f"{name}: {problem}")
    return found


class _Probe(Mechanism[int]):
    """Records what its budget has spent while it is drawn."""

    name = "probe"
    proof = ""
    shape = (1,)
    sensitivity = 1

    def __init__(self, budget: Any) -> None:
        self.budget, self.seen = budget, Fraction(-1)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> int:
        del sampler, epsilon
        self.seen = self.budget.spent
        return 0


def _budget(epsilon: Fraction = ONE) -> Any:
    return budget_module.Budget(epsilon, Sampler(RandomSource.seeded(1)))


def _charged_before_drawn() -> str | None:
    budget = _budget()
    probe = _Probe(budget)
    budget.run(probe, epsilon=ONE / 4, label="probe")
    if probe.seen != ONE / 4:
        return "a mechanism is drawn before it is charged"
    if budget.spent != ONE / 4 or len(budget.trace) != 1:
        return "a mechanism is drawn that is not charged"
    if budget.trace[0].epsilon != ONE / 4:
        return "the trace states another charge"
    budget.reserve(ONE / 4, label="a later query")
    return None if budget.spent == ONE / 2 else "a reservation is not charged"


def _refuses_overspending() -> str | None:
    whole, divided, larger = _budget(), _budget(), _budget(2 * ONE)
    part, other = (budget.parallel(ONE, "one", "other")[0] for budget in (divided, larger))
    for budget in (whole, part, other):
        budget.run(_Probe(budget), epsilon=ONE, label="all")
    for budget in (whole, part, divided, other):
        try:
            budget.run(_Probe(budget), epsilon=ONE / 10**9, label="a little more")
        except BudgetExceeded:
            continue
        return "a spent budget can be spent again"
    return None


def _given_back_is_gone() -> str | None:
    budget, spent = _budget(), _budget()
    budget.give_back(ONE / 2)
    if budget.booked != ONE / 2 or budget.trace[-1].epsilon != ONE / 2:
        return "what is given back is booked, or not in the trace"
    spent.run(_Probe(spent), epsilon=ONE, label="all")
    uses: tuple[Callable[[], object], ...] = (
        lambda: budget.run(_Probe(budget), epsilon=ONE, label="more than is left"),
        lambda: budget.give_back(ONE),
        lambda: spent.give_back(ONE / 10**9),
    )
    for use in uses:
        try:
            use()
        except BudgetExceeded:
            continue
        return "ε is spent and given back"
    return None


def _weights_are_covered() -> str | None:
    """Another weight of an edge loses no more than the edge charges before it."""

    def weigh(budget: Any, epsilon: Fraction) -> None:
        budget.run(_Probe(budget), epsilon=epsilon, label="weights", weight_sensitivity=2)

    first, later, part = _budget(), _budget(), _budget().parallel(ONE, "one", "other")[0]
    for budget in (later, part):
        budget.run(_Probe(budget), epsilon=ONE / 4, label="edges")
        weigh(budget, ONE / 8)
        weigh(budget, ONE / 8)
    for budget in (first, later, part):
        try:
            weigh(budget, ONE / 8)
        except MethodError:
            continue
        return "another weight of an edge loses more than is charged"
    return None


def _weights_are_reserved_for() -> str | None:
    """What a query of the next timestamp loses for another weight here is reserved here."""
    private = PrivateSnapshot(Snapshot(Roster.range(2), [], []), _budget(), LocalEngine())
    try:
        private.reserve(_Weighing(), epsilon=ONE / 4)
    except MethodError:
        return None
    return "less is reserved than another weight of an edge loses"


@dataclass(frozen=True)
class _Weighing(CountQuery):
    label = "weights before"
    sensitivity = 1
    weight_sensitivity = 2
    proof = ""
    reads_previous = True

    def answer(self, edges: PrivateEdges) -> int:
        return edges.nodes


def _splits_add_up() -> str | None:
    budget = _budget()
    for number in range(2):
        for part in budget.parallel(ONE / 2, f"one {number}", f"other {number}"):
            part.run(_Probe(budget), epsilon=ONE / 2, label="part")
    return None if budget.spent == ONE else "a second split of the edges is not charged"


def _windows_never_exceed() -> str | None:
    """Greedy spends under random windows, added up without the accountant."""
    chance = random.Random(5)
    for window in (1, 2, 3, 7):
        guarantee = WEventPrivacy(1, window=window)
        accountant, spent = Accountant(guarantee), []
        for _ in range(5 * window):
            want = (
                accountant.remaining * chance.choice([0, 1, 1]) * Fraction(chance.randint(0, 7), 7)
            )
            accountant = accountant.record(want)
            spent.append(want)
            if sum(spent[-window:]) > 1:
                return f"{window} consecutive timestamps spend more than ε"
            try:
                accountant.check(
                    1 - sum(spent[len(spent) - window + 1 :] if window > 1 else []) + ONE / 10**30
                )
            except BudgetExceeded:
                continue
            return "more than the window has left is granted"
    return None


def _rates_are_rounded_down() -> str | None:
    for rate in (Fraction(1, 3), Fraction(2, 7), Fraction(1, 10**6 + 3), Fraction(355, 113)):
        if Fraction(*Sampler.rounded_rate(rate)) > rate:
            return "the rate of the noise is rounded up"
    return None


class _RateProbe(Sampler):
    """Records the largest rate of the noise that is drawn: the smaller, the more noise."""

    rate = Fraction(0)

    def discrete_laplace(self, size: int, rate: Fraction) -> Integers:
        self.rate = max(self.rate, rate)
        return super().discrete_laplace(size, rate)


def _noise_is_what_is_charged() -> str | None:
    counts = np.zeros(3, dtype=np.int64)
    for epsilon in (Fraction(1, 10), Fraction(2, 3), Fraction(5, 7), Fraction(3)):
        for sensitivity in (1, 2, 5):
            for mechanism in (
                LaplaceCounts(counts, sensitivity),
                SparseLaplaceCounts(counts, counts, 3, lambda *_: 0.0, sensitivity),
            ):
                probe = _RateProbe(RandomSource.seeded(1))
                mechanism.draw(probe, epsilon)
                if probe.rate > epsilon / sensitivity:
                    return "a mechanism adds less noise than it is charged for"
    return None


def _noise_comes_from_the_source() -> str | None:
    """Equal words give equal noise; different words, and different cells, different noise."""
    counts = LaplaceCounts(np.zeros(64, dtype=np.int64), 1)
    draws = [
        counts.draw(Sampler(RandomSource.seeded(seed)), ONE / 8).tobytes() for seed in (1, 1, 2)
    ]
    if draws[0] != draws[1]:
        return "noise does not come from the source alone"
    if len(set(np.frombuffer(draws[0], dtype=np.int64))) == 1:
        return "all counts of a query share one noise value"
    return "noise does not depend on the source" if draws[0] == draws[2] else None


def _noise_is_integer() -> str | None:
    drawn = LaplaceCounts(np.zeros(8, dtype=np.int64), 1).draw(Sampler(RandomSource.seeded(1)), ONE)
    if drawn.dtype.kind != "i":
        return "noisy counts are not integers"
    try:
        LaplaceCounts(np.zeros(3), 1)  # type: ignore[arg-type]
    except PsgraphError:
        return None
    return "a float can be measured"


def _keys_come_from_the_system() -> str | None:
    asked: list[int] = []
    real = os.urandom

    def counted(size: int) -> bytes:
        asked.append(size)
        return real(size)

    os.urandom = counted
    try:
        sources = [RandomSource.secure() for _ in range(4)]
    finally:
        os.urandom = real
    if asked.count(32) < 4:
        return "a private source is not keyed with 256 bits of the operating system"
    words = {source.bits(64) for source in sources}
    return None if len(words) == 4 else "two private sources share their words"


def _no_words_twice_in_threads() -> str | None:
    source = RandomSource.secure()
    words = [source.bits(64) for _ in range(256)]
    others: list[int] = []
    thread = threading.Thread(
        target=lambda: others.extend(RandomSource.secure().bits(64) for _ in range(256))
    )
    thread.start()
    thread.join()
    everything = words + others
    return None if len(set(everything)) == len(everything) else "words are used twice"


def _no_words_twice_after_a_fork() -> str | None:
    if not hasattr(os, "fork"):
        return None
    source = RandomSource.secure()
    source.bits(64)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - another process
        os.write(write, source.bits(64).to_bytes(8, "little"))
        os._exit(0)
    os.close(write)
    theirs = int.from_bytes(os.read(read, 8), "little")
    os.close(read)
    os.waitpid(child, 0)
    return "a forked process draws the same words" if theirs == source.bits(64) else None


def _no_floats_in_the_kernel() -> str | None:
    """No float literal, `float(…)`, `/` between machine numbers or `math` in code that draws."""
    for module in ("psgraph.privacy.randomness", "psgraph.privacy.samplers"):
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
            literal = isinstance(node, ast.Constant) and isinstance(node.value, float)
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "float"
            if (literal or called) and not _in_opendp(module, node):
                return f"{module} line {getattr(node, 'lineno', 0)} uses a float"
    return None


def _in_opendp(module: str, node: ast.AST) -> bool:
    """OpenDP takes its scale as a float, rounded up: the one float that is allowed."""
    line = getattr(node, "lineno", 0)
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8").splitlines()
    return "nextafter" in source[line - 1]


def _seeded_runs_are_not_private() -> str | None:
    seeded = randomness.RandomSource.seeded(1)
    return "a seeded source says it is private" if seeded.private else None


def _uniform_choices_cover_their_range() -> str | None:
    sampler = Sampler(RandomSource.seeded(3))
    seen = set(itertools.chain.from_iterable(sampler.integers(64, 5).tolist() for _ in range(8)))
    return None if seen == set(range(5)) else "uniform integers miss part of their range"


RULES: dict[str, Callable[[], str | None]] = {
    "charged before drawn": _charged_before_drawn,
    "no overspending": _refuses_overspending,
    "given back is gone": _given_back_is_gone,
    "splits add up": _splits_add_up,
    "weights are covered": _weights_are_covered,
    "weights are reserved for": _weights_are_reserved_for,
    "no window above ε": _windows_never_exceed,
    "rates rounded down": _rates_are_rounded_down,
    "noise as charged": _noise_is_what_is_charged,
    "noise from the source": _noise_comes_from_the_source,
    "integer noise": _noise_is_integer,
    "keys from the system": _keys_come_from_the_system,
    "no words twice, threads": _no_words_twice_in_threads,
    "no words twice, forks": _no_words_twice_after_a_fork,
    "no floats before noise": _no_floats_in_the_kernel,
    "seeds are not private": _seeded_runs_are_not_private,
    "uniform choices": _uniform_choices_cover_their_range,
}
