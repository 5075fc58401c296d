"""How much ε was really spent: a lower bound from samples, with confidence.

If an event has probability p on one stream and q on a neighbour, then ε ≥ ln(p/q). The event is
chosen on one half of the runs and its probabilities are bounded on the other half (Clopper and
Pearson), so choosing it costs no confidence.

A small bound means little by itself: the attack may be blind. So each attack is made a second time
with sharpened noise, where every mechanism draws as if it had been charged several times as much.
If that does not exceed the charge, nothing was tested.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from psgraph._runtime.arrays import Floats, Integers
from psgraph.audit.findings import Verdict

__all__ = ["Bound", "Cuts", "best_cuts", "epsilon_bound", "probability_bounds"]

MOST_CUTS = 4


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
    leak
        How many times sharper the noise was when the attack was tested.
    leaking
        What it spends at least with that noise.
    wanted
        The share of `claimed` that `lower` has to reach, where the worst event is known.
    """

    claimed: float
    lower: float
    runs: int
    leak: int
    leaking: float
    wanted: float = 0.0

    @property
    def holds(self) -> bool:
        return self.lower <= self.claimed

    @property
    def verdict(self) -> Verdict:
        if not self.holds:
            return "failed"
        return "held" if not self.blind else "not tested"

    @property
    def blind(self) -> str:
        """Why the attack could have missed a violation; "" if it would have seen one."""
        if self.leaking <= self.claimed:
            return f"a {self.leak}-fold leak would not show in {self.runs:,} runs"
        if self.lower < self.wanted * self.claimed:
            return f"{100 * self.wanted:.0f} % of the charge did not show in {self.runs:,} runs"
        return ""

    @property
    def figure(self) -> str:
        """The bound and what it is worth, in words."""
        found = f"ε ≥ {self.lower:.3f}, charged {self.claimed:.3f}"
        if self.verdict == "failed":
            return found
        return f"{found}; {self.blind or f'a {self.leak}-fold leak would show'}"


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


# ---- where to look ----


@dataclass(frozen=True)
class Cuts:
    """A few coordinates of an output, each cut in two.

    Attributes
    ----------
    columns
        The coordinates.
    limits
        Where each is cut: which side of its limit a value is on is one bit of the outcome.
    """

    columns: Integers
    limits: Floats

    def outcomes(self, rows: Floats) -> Integers:
        """Return one small number for each row."""
        bits = rows[:, self.columns] > self.limits
        return np.asarray(bits @ (1 << np.arange(self.columns.size)))


def best_cuts(one: Floats, other: Floats) -> Cuts:
    """Choose the coordinates, and a cut of each, at which two samples differ most.

    Two counts that differ by noise alone are told apart best by a cut between them, whatever the
    scale of the noise.

    Examples
    --------
    >>> rows = np.array([[7.0, 0.0], [7.0, 1.0], [7.0, 0.0], [7.0, 1.0]])
    >>> cuts = best_cuts(rows, rows + [0, 4])
    >>> cuts.columns, cuts.limits, cuts.outcomes(rows + [0, 4])
    (array([1]), array([1.]), array([1, 1, 1, 1]))
    """
    found = []
    for column in np.flatnonzero((one != one[0]).any(axis=0) | (other != one[0]).any(axis=0)):
        sides = [np.sort(side[:, column]) for side in (one, other)]
        limits = np.unique(np.concatenate(sides))
        below = [np.searchsorted(side, limits, "right") / side.size for side in sides]
        apart = np.abs(below[0] - below[1])
        at = int(np.argmax(apart))
        found.append((-float(apart[at]), int(column), float(limits[at])))
    found.sort()
    kept = [cut for cut in found[:MOST_CUTS] if cut[0] <= found[0][0] / 2]
    columns = np.array([column for _, column, _ in kept], dtype=np.int64)
    return Cuts(columns, np.array([limit for *_, limit in kept]))
