"""How much ε was really spent: a lower bound from samples, with confidence.

If an event has probability p on one stream and q on a neighbour, then ε ≥ ln(p/q). The event is
chosen on one half of the runs and its probabilities are bounded on the other half (Clopper and
Pearson), so choosing it costs no confidence.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

__all__ = ["Bound", "epsilon_bound", "probability_bounds"]


@dataclass(frozen=True)
class Bound:
    """A lower bound of the ε that a mechanism, a phase or a whole publication spends.

    Attributes
    ----------
    claimed
        What it is charged.
    lower
        What it spends at least, with confidence 1 − α.
    runs
        Runs on each of the two neighbours.
    wanted
        The share of `claimed` that the bound has to reach, to show that the audit sees; 0 where
        the worst event is not known.
    """

    claimed: float
    lower: float
    runs: int
    wanted: float = 0.0

    @property
    def holds(self) -> bool:
        return self.lower <= self.claimed

    @property
    def sees(self) -> bool:
        return self.lower >= self.wanted * self.claimed


def probability_bounds(hits: int, runs: int, *, alpha: float) -> tuple[float, float]:
    """Bounds of a probability, each wrong with probability α at most (Clopper and Pearson).

    >>> low, high = probability_bounds(50, 100, alpha=0.025)
    >>> round(low, 3), round(high, 3)
    (0.398, 0.602)
    """
    low = 0.0 if hits == 0 else float(stats.beta.ppf(alpha, hits, runs - hits + 1))
    high = 1.0 if hits == runs else float(stats.beta.ppf(1 - alpha, hits + 1, runs - hits))
    return low, high


def epsilon_bound(
    one: Sequence[Hashable] | np.ndarray, other: Sequence[Hashable] | np.ndarray, *, alpha: float
) -> float:
    """A lower bound of ε from outcomes on two neighbours; wrong with probability α at most.

    Examples
    --------
    >>> rng = np.random.default_rng(5)
    >>> one, other = rng.random((2, 20000)) < [[0.6], [0.3]]
    >>> round(epsilon_bound(one, other, alpha=0.05), 1)       # ln 2 = 0.69
    0.6
    """
    halves = [(_counts(side[0::2]), _counts(side[1::2])) for side in (one, other)]
    best = 0.0
    for (choose, test), (choose_other, test_other) in (tuple(halves), tuple(reversed(halves))):
        event = _event(choose, choose_other, alpha=alpha / 4)
        best = max(best, _log_ratio(event, test, test_other, alpha=alpha / 4))
    return best


def _counts(outcomes: Iterable[Hashable] | np.ndarray) -> Mapping[Hashable, int]:
    if isinstance(outcomes, np.ndarray) and outcomes.ndim == 1:
        values, often = np.unique(outcomes, return_counts=True)
        return dict(zip(values.tolist(), often.tolist(), strict=True))
    return Counter(outcomes)


def _event(
    ones: Mapping[Hashable, int], others: Mapping[Hashable, int], *, alpha: float
) -> frozenset[Hashable]:
    """The event that tells the two sides apart best: the outcomes with the largest ratios."""

    def score(outcome: Hashable) -> float:
        return math.log((ones.get(outcome, 0) + 0.5) / (others.get(outcome, 0) + 0.5))

    ordered = sorted(
        ones.keys() | others.keys(), key=lambda outcome: (-score(outcome), repr(outcome))
    )
    hits = np.cumsum([ones.get(outcome, 0) for outcome in ordered])
    hits_other = np.cumsum([others.get(outcome, 0) for outcome in ordered])
    runs, runs_other = int(hits[-1]), int(hits_other[-1])
    low = stats.beta.ppf(alpha, np.maximum(hits, 1), runs - hits + 1)
    high = stats.beta.ppf(1 - alpha, hits_other + 1, np.maximum(runs_other - hits_other, 1))
    best = int(np.argmax(np.where(hits > 0, low, 0.0) / high))
    return frozenset(ordered[: best + 1])


def _log_ratio(
    event: frozenset[Hashable],
    ones: Mapping[Hashable, int],
    others: Mapping[Hashable, int],
    *,
    alpha: float,
) -> float:
    low, _ = probability_bounds(
        sum(ones.get(outcome, 0) for outcome in event), sum(ones.values()), alpha=alpha
    )
    _, high = probability_bounds(
        sum(others.get(outcome, 0) for outcome in event), sum(others.values()), alpha=alpha
    )
    return math.log(low / high) if low > high else 0.0
