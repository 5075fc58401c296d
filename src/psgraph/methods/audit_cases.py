"""What a method hands its auditor: small cases of its own mechanisms, with their exact answers.

Replay, bounds and durability need nothing from a method. A method that brings a mechanism of its
own, or divides its budget in a way of its own, can return more from `Method.audit_cases`.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from psgraph.methods.private import PrivateSnapshot
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.query import Query
from psgraph.privacy.samplers import Sampler

__all__ = [
    "AuditCases",
    "MechanismCase",
    "Phase",
    "Probabilities",
    "SamplerCase",
    "laplace_noise",
    "noisy_counts",
    "normalised",
]

Probabilities = Mapping[Hashable, float]


@dataclass(frozen=True)
class Phase:
    """A step whose outputs are enumerated exactly, on all graphs of three nodes of each kind.

    Attributes
    ----------
    run
        Asks the queries of the step.
    epsilon
        What it costs, and what the budget holds.
    terminal
        Labels of outputs that no later output depends on: their worst case has a closed form.
    kinds
        Names of the kinds of graphs.
    """

    run: Callable[[PrivateSnapshot], Any]
    epsilon: Fraction
    terminal: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset({"undirected"})


@dataclass(frozen=True)
class SamplerCase:
    """A sampler on a domain small enough to list.

    Attributes
    ----------
    draw
        Draws one outcome.
    probabilities
        Computes those of all outcomes, in a different way than the sampler does.
    """

    draw: Callable[[Sampler], Hashable]
    probabilities: Callable[[], Probabilities]


@dataclass(frozen=True)
class MechanismCase:
    """A mechanism on its worst neighbours, at ε = 1.

    Attributes
    ----------
    pair
        The mechanism on both.
    outcome
        The part of an output that is looked at.
    copies
        How many independent draws one call makes.
    wanted
        The share of ε that a lower bound from many draws has to reach.
    """

    pair: tuple[Mechanism[Any], ...]
    outcome: Callable[[Any], Any]
    copies: int = 1
    wanted: float = 0.0


@dataclass(frozen=True)
class AuditCases:
    """All cases of a method, by the name that an audit shows.

    Attributes
    ----------
    phases
        Enumerated exactly: the loss must not exceed the charge. Of a query, the distance between
        its answers on all graphs of four nodes must not exceed its stated sensitivity.
    samplers
        Tested for goodness of fit.
    mechanisms
        Bounded from many draws; called with the number of draws wanted.
    variants
        Parameters with which the method is replayed too, because they take other paths.
    branches
        Paths that depend on released values, each with whether a timestamp took it, given its
        measurement and the state after it. An audit that never takes one fails.
    """

    phases: Mapping[str, Phase | Query[Any]] = field(default_factory=dict)
    samplers: Mapping[str, SamplerCase] = field(default_factory=dict)
    mechanisms: Mapping[str, Callable[[int], MechanismCase]] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    branches: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)


# ---- probabilities, computed the slow way ----


def normalised(weights: Mapping[Hashable, float]) -> Probabilities:
    """Return weights divided by their sum."""
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def laplace_noise(rate: float) -> dict[int, float]:
    """Return the probabilities of discrete Laplace noise, up to e⁻²⁵."""
    q = math.exp(-rate)
    reach = int(25 / rate)
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)}


def noisy_counts(
    counts: Sequence[int], rate: float, *, low: float, high: float = math.inf
) -> Probabilities:
    """Return the probabilities of independent noisy counts, each clipped to `low` and `high`."""
    cells = []
    for count in counts:
        shown: Counter[int] = Counter()
        for noise, chance in laplace_noise(rate).items():
            shown[int(min(max(count + noise, low), high))] += chance  # type: ignore[assignment]
        cells.append({value: chance for value, chance in shown.items() if chance > 1e-5})
    return {
        tuple(value for value, _ in combination): math.prod(chance for _, chance in combination)
        for combination in itertools.product(*(cell.items() for cell in cells))
    }
