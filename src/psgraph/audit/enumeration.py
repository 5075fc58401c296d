"""The exact distribution of everything a method sees of the edges, by running the real code.

The true privacy loss of a phase is the largest log-ratio of the probabilities of anything it can
show, over all pairs of neighbouring graphs of a few nodes. It must not exceed what it charges.

A `Script` replaces the sampler. It draws nothing: it lets the real mechanisms check,
charge and compute their noise rate, takes the private value they would have hidden, and hands
out a *scripted* output instead, adding up the exact log-probability of that output. Running the
code once for every script (`explore`) gives the distribution of the whole transcript for one
graph, and comparing the distributions of two neighbouring graphs (`compare`) gives the true privacy
loss, to be compared with the epsilon charged.

* Discrete Laplace: the rate is the one the real `Budget` passes to its sampler, rounded as the
  sampler rounds it. Where nothing later depends on an output (`terminal` labels), the worst case
  over *all* outputs is taken in closed form; elsewhere outputs come from a window that reaches
  beyond all possible values on both sides, where the ratio of each cell is at its extremes.
* Exponential choice: the compiled kernel is run by the interpreter with its two random primitives
  replaced, so that each step shows all its candidates and their acceptance probabilities before
  the scripted one is let through. Nothing about the distribution is assumed except that a
  rejection sampler chooses in proportion to acceptance.
* Draws that depend on no data (orders, random labels, seeds) are fixed; the comparison includes
  that neighbouring graphs make the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from psgraph.engines.threads import LocalEngine
from psgraph.graph import Kind, Snapshot
from psgraph.graph.kind import find_kind
from psgraph.methods.audit_cases import Phase
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges, PrivateSnapshot
from psgraph.methods.queries import EVERY_KIND, CommunityChoices, EdgeCount
from psgraph.privacy.budget import Budget, Charge, PartBudget
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms import exponential
from psgraph.privacy.mechanisms.exponential import CommunityChoice
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import NoisyCounts, SparseLaplaceCounts
from psgraph.privacy.query import Query
from psgraph.privacy.samplers import Sampler
from psgraph.testing.cases import all_graphs, neighbouring_pairs

__all__ = ["KERNEL", "broken_phases", "phase_losses"]

Window = Callable[[str, int], Sequence[tuple[int, ...]]]


def extremes(low: int, high: int) -> Window:
    """Outputs that lie, cell by cell, below or above every value a small graph can have."""
    return lambda _label, size: list(product((low, high), repeat=size))


class ImpossibleOutput(Exception):
    """The scripted output has probability zero."""


class _FixedSource:
    """Replaces the random words of draws that depend on no data."""

    private = True

    def bits(self, _count: int) -> int:
        return 0

    def peek(self, words: int) -> np.ndarray:
        return np.zeros(words, dtype=np.uint64)

    def consume(self, words: int) -> None:
        pass


class Script(Sampler):
    """One path through the outputs of all mechanisms, extended by first options as it runs."""

    def __init__(
        self,
        path: list[int],
        *,
        window: Window,
        terminal: frozenset[str] = frozenset(),
        order: Sequence[int] | None = None,
    ) -> None:
        super().__init__(_FixedSource())  # type: ignore[arg-type]
        self.path, self.branches = path, []  # type: tuple[list[int], list[int]]
        self.window, self.terminal, self.order = window, terminal, order
        self.events: list[Any] = []
        self.distributions: list[tuple[np.ndarray, Fraction]] = []
        self.log_probability = 0.0
        self._rates: list[Fraction] = []

    def decide(self, options: int) -> int:
        depth = len(self.branches)
        if depth == len(self.path):
            self.path.append(0)
        self.branches.append(options)
        return self.path[depth]

    # ---- what the real code draws ----

    def discrete_laplace(self, size: int, rate: Fraction) -> np.ndarray:
        self._rates.append(Fraction(*self.rounded_rate(rate)))
        return np.zeros(size, dtype=np.int64)

    def permutation(self, size: int) -> np.ndarray:
        self.events.append(("order", size))
        return np.array(range(size) if self.order is None else self.order, dtype=np.int64)

    def integers(self, size: int, bound: int) -> np.ndarray:
        self.events.append(("labels", size, bound))
        return np.arange(size, dtype=np.int64) % bound

    def run(self, size: int, step: Any, *, words: int = 2) -> None:
        del size, words
        # Only the community choice gets here: everything else is overridden above.
        step(0, np.zeros(0, dtype=np.uint64), (0, np.uint64(0), 0))

    # ---- what comes out instead ----

    def reveal(self, label: str, values: np.ndarray) -> np.ndarray:
        """The scripted output of a noisy vector whose noise-free values are `values`."""
        (rate,) = self._rates  # a mechanism that drew no noise, or drew twice, fails here
        self._rates.clear()
        if label in self.terminal:
            self.events.append((label, values.shape))
            self.distributions.append((values.copy(), rate))
            return np.zeros_like(values)
        options = self.window(label, values.size)
        output = np.array(options[self.decide(len(options))], dtype=np.int64).reshape(values.shape)
        self.events.append((label, output.tobytes()))
        q = math.exp(-rate)
        normaliser = values.size * (math.log1p(-q) - math.log1p(q))
        self.log_probability += normaliser - float(rate) * float(np.abs(output - values).sum())
        return output


class _Choice:
    """The choice kernel, run node by node by the interpreter.

    In every step it first collects all candidates' acceptance probabilities, rejecting each, and
    then accepts the scripted candidate.
    """

    def __init__(self, script: Script, kernel: Callable[..., Any]) -> None:
        self.script, self.kernel = script, kernel

    def __call__(self, first: int, starts: np.ndarray, *rest: Any) -> Any:
        *private, chosen, score, done, a, b, words, cursor = rest
        for node in range(done, first + starts.size - 1):
            self.exponents: list[Fraction] = []
            self.chosen: int | None = None
            own = starts[node - first : node - first + 2]
            self.kernel(node, own, *private, chosen, score, node, a, b, words, cursor)
            self.script.events.append(("community choice", int(chosen[node])))
            self.script.log_probability += self._log_probability()
        return first + starts.size - 1, cursor

    def _log_probability(self) -> float:
        if self.chosen is None:  # nothing was drawn: what happened was certain
            return 0.0
        weights = [math.exp(-exponent) for exponent in self.exponents]
        return math.log(weights[self.chosen] / math.fsum(weights))

    def below(self, bound: int, _width: int, _words: Any, place: Any) -> tuple[int, Any]:
        if self.chosen is not None:  # it was accepted, and the kernel still draws another
            raise ImpossibleOutput
        if len(self.exponents) < bound:
            return len(self.exponents), place
        self.chosen = self.script.decide(int(bound))
        return self.chosen, place

    def bernoulli(self, numerator: int, denominator: int, *rest: Any) -> tuple[bool, Any]:
        if self.chosen is None:
            self.exponents.append(Fraction(int(numerator), int(denominator)))
        return self.chosen is not None, rest[-1]


@contextmanager
def _interpreted_choice(script: Script) -> Iterator[None]:
    compiled = vars(exponential)["_choose"]
    choice = _Choice(script, getattr(compiled, "py_func", compiled))
    replaced = {
        "_choose": choice,
        "uniform_below": choice.below,
        "bernoulli_exp": choice.bernoulli,
        "ran_out": lambda _words, _cursor: False,
    }
    before = {name: getattr(exponential, name) for name in replaced}
    vars(exponential).update(replaced)
    try:
        yield
    finally:
        vars(exponential).update(before)


class _Scripted(Budget):
    """The real mechanisms with scripted outputs. The script is in the sampler's place."""

    def run(
        self,
        mechanism: Mechanism[Any],
        *,
        epsilon: Fraction,
        label: str,
        sensitivity: int | None = None,
        weight_sensitivity: int = 0,
    ) -> Any:
        script = self._sampler
        real = partial(super().run, sensitivity=sensitivity, weight_sensitivity=weight_sensitivity)
        assert isinstance(script, Script)
        if isinstance(mechanism, CommunityChoice):
            with _interpreted_choice(script):
                return real(mechanism, epsilon=epsilon, label=label)
        if isinstance(mechanism, SparseLaplaceCounts):
            everything = replace(mechanism, threshold=lambda _values, _how_often: -math.inf)
            values = real(everything, epsilon=epsilon, label=label).values
            output = script.reveal(label, values)
            level = mechanism.threshold(*np.unique(output, return_counts=True))
            above = np.flatnonzero(output > level)
            return NoisyCounts(output.size, level, above, output[above])
        values = np.atleast_1d(real(mechanism, epsilon=epsilon, label=label))
        output = script.reveal(label, values)
        return output if isinstance(mechanism, LaplaceCounts) else int(output[0])

    def parallel(self, epsilon: Fraction, *parts: str) -> tuple[Budget, ...]:
        budgets = super().parallel(epsilon, *parts)
        for budget in budgets:
            budget.__class__ = _ScriptedPart
        return budgets


class _ScriptedPart(_Scripted, PartBudget):
    pass


class ScriptedBudget(_Scripted):
    """A budget to hand to the code under test."""

    def __init__(self, epsilon: Fraction, script: Script) -> None:
        super().__init__(epsilon, script)


@dataclass(frozen=True)
class Outcome:
    """One transcript: its probability, its terminal outputs' distributions, and the charges."""

    log_probability: float
    distributions: tuple[tuple[np.ndarray, Fraction], ...]
    trace: tuple[Charge, ...]
    spent: Fraction


Distribution = dict[tuple[Any, ...], Outcome]


def explore(
    run: Callable[[ScriptedBudget], Any], *, epsilon: Fraction, **options: Any
) -> Distribution:
    """The distribution of all transcripts of ``run(budget)``."""
    distribution: Distribution = {}
    path: list[int] = []
    while True:
        script = Script(path, **options)
        budget = ScriptedBudget(epsilon, script)
        try:
            run(budget)
        except ImpossibleOutput:
            pass
        else:
            key = tuple(script.events)
            assert key not in distribution, "two scripts gave one transcript"
            distribution[key] = Outcome(
                script.log_probability, tuple(script.distributions), budget.trace, budget.spent
            )
        branches = script.branches
        del path[len(branches) :]
        while path and path[-1] + 1 == branches[len(path) - 1]:
            path.pop()
        if not path:
            return distribution
        path[-1] += 1


@dataclass(frozen=True)
class Verdict:
    """The largest privacy loss of a pair of neighbours, and by how much it exceeds the charge."""

    loss: float
    excess: float

    @property
    def holds(self) -> bool:
        return self.excess <= 1e-9


def compare(one: Distribution, other: Distribution) -> Verdict:
    """The worst log-ratio over all transcripts, in both directions."""
    loss, excess = 0.0, -math.inf
    for key in one.keys() | other.keys():
        a, b = one.get(key), other.get(key)
        if a is None or b is None:  # possible on one side only
            return Verdict(math.inf, math.inf)
        here = abs(a.log_probability - b.log_probability)
        for (values, rate), (values_there, rate_there) in zip(
            a.distributions, b.distributions, strict=True
        ):
            same_noise = rate == rate_there and values.shape == values_there.shape
            distance = float(np.abs(values - values_there).sum()) if same_noise else math.inf
            here += float(rate) * distance
        # What is charged must not depend on the edges either.
        charged = float(a.spent) if (a.spent, a.trace) == (b.spent, b.trace) else -math.inf
        loss, excess = max(loss, here), max(excess, here - charged)
    return Verdict(loss, excess)


# ---- the phases of the kernel and of methods ----


ENGINE = LocalEngine()


def broken_phases(methods: Sequence[Method[Any, Any]] = ()) -> list[str]:
    """Return the phases that lose more than they charge, of the kernel and of methods.

    >>> broken_phases()
    []
    """
    found = []
    for cases in (KERNEL, *(method.audit_cases().phases for method in methods)):
        for name, phase in cases.items():
            try:
                losses = phase_losses(phase)
            except Exception as error:
                found.append(f"{name}: {type(error).__name__}: {error}")
                continue
            for kind, (loss, excess) in losses.items():
                if excess > 1e-9:
                    text = f"loses {loss:.3g}, {excess:.3g} more than it charges"
                    found.append(f"{name}, {kind} graphs: {text}")
    return found


def phase_losses(phase: Phase | Query[Any]) -> dict[str, tuple[float, float]]:
    """Return the exact loss of a phase on each kind, and by how much it exceeds the charge."""
    of_kind = _query_loss if isinstance(phase, Query) else _phase_loss
    return {name: of_kind(phase, find_kind(name)) for name in sorted(phase.kinds, reverse=True)}


def _phase_loss(phase: Any, kind: Kind) -> tuple[float, float]:
    def run(graph: Snapshot, budget: Budget) -> None:
        phase.run(PrivateSnapshot(graph, budget, ENGINE))

    sizes = (1, 2) if kind.two_sided else (3,)
    distributions = [
        explore(
            partial(run, graph),
            epsilon=phase.epsilon,
            window=extremes(-1, 6),
            terminal=phase.terminal,
        )
        for graph in all_graphs(*sizes, kind=kind)
    ]
    verdicts = [
        compare(distributions[one], distributions[other])
        for one, other in neighbouring_pairs(*sizes, kind=kind)
    ]
    worst = max(verdicts, key=lambda verdict: verdict.excess)
    return worst.loss, worst.excess


def _query_loss(query: Any, kind: Kind) -> tuple[float, float]:
    """The loss at ε = 1: the largest distance between answers, in stated sensitivities."""
    sizes = (2, 2) if kind.two_sided else (4,)
    drawn = [
        query.mechanism(query.answer(PrivateEdges(graph, ENGINE)))
        for graph in all_graphs(*sizes, kind=kind)
    ]
    distance = max(
        drawn[one].distance(drawn[other]) for one, other in neighbouring_pairs(*sizes, kind=kind)
    )
    loss = distance / query.sensitivity
    return loss, loss - 1.0


def _ask(query: Query[Any], private: PrivateSnapshot) -> None:
    private.ask(query, epsilon=private.epsilon)


def _choice(*labels: int) -> Phase:
    before = np.array(labels, dtype=np.int32)
    return Phase(partial(_ask, CommunityChoices(before)), Fraction(4), kinds=EVERY_KIND)


KERNEL: Mapping[str, Phase] = {
    "edge count": Phase(partial(_ask, EdgeCount()), Fraction(2), kinds=EVERY_KIND),
    "community choice from singletons": _choice(0, 1, 2),
    "community choice from two communities": _choice(0, 1, 1),
}
