"""Every exact sampler against its exact probabilities, on domains small enough to list.

Chi-square at the level 10⁻⁶ per sampler, with thin tails merged. The discrete Laplace distribution
is drawn at ten scales, and the same draws are tested against rates that are 2 % wrong, which must
be rejected: a test that can't fail shows nothing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy import stats

from psgraph.methods.audit_cases import (
    Probabilities,
    SamplerCase,
    laplace_noise,
    noisy_counts,
)
from psgraph.methods.base import Method
from psgraph.privacy.mechanisms.exponential import CommunityChoice, Scores
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts, noise_histogram
from psgraph.privacy.mechanisms.top import LargestCells
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler, random_free_cells, random_subset

__all__ = ["SCALES", "SamplerCheck", "check_samplers"]

# ---- goodness of fit ----


def laplace_pmf(k: np.ndarray, rate: float) -> np.ndarray:
    """P(k) of the discrete Laplace distribution with P(k) proportional to exp(−rate·|k|)."""
    q = np.exp(-rate)
    return (1 - q) / (1 + q) * np.exp(-rate * np.abs(k))


def laplace_distribution(rate: Fraction | float, draws: int) -> dict[Hashable, float]:
    """The probabilities of all values that `draws` draws can be expected to show."""
    reach = int(np.ceil(np.log(draws) / float(rate))) + 2
    values = np.arange(-reach, reach + 1)
    return dict(zip(values.tolist(), laplace_pmf(values, float(rate)).tolist(), strict=True))


def p_value(
    draws: Iterable[Hashable], distribution: Mapping[Hashable, float], *, least: float = 10
) -> float:
    """Chi-square of draws against a distribution; what it leaves out counts as one more value."""
    observed = Counter(draws)
    total = sum(observed.values())
    expected = {
        value: chance * total for value, chance in distribution.items() if chance * total >= least
    }
    seen = [observed[value] for value in expected]
    wanted = list(expected.values())
    rest = total - sum(wanted)
    if rest >= least:
        seen.append(total - sum(seen))
        wanted.append(rest)
    elif rest < 1e-6 * total and sum(seen) < total:
        return 0.0  # something came out that can't
    elif rest > 0:
        wanted[-1] += rest
        seen[-1] += total - sum(seen)
    if len(wanted) < 2:
        return 1.0
    return float(stats.chisquare(seen, wanted, sum_check=False).pvalue)


def power(
    distribution: Mapping[Hashable, float], wrong: Mapping[Hashable, float], *, draws: int
) -> float:
    """The chance that `draws` draws from `wrong` are rejected at the level 10⁻⁶."""
    bins = [value for value, chance in distribution.items() if chance * draws >= 10]
    distance = sum(
        (wrong.get(value, 0.0) - distribution[value]) ** 2 / distribution[value] for value in bins
    )
    limit = stats.chi2.isf(1e-6, len(bins))
    return float(stats.ncx2.sf(limit, len(bins), draws * distance))


def two_sample_p_value(one: Iterable[Hashable], other: Iterable[Hashable]) -> float:
    """Chi-square homogeneity of two samples, values with fewer than 20 draws merged."""
    a, b = Counter(one), Counter(other)
    common = [value for value in a.keys() | b.keys() if a[value] + b[value] >= 20]
    table = [[sample[value] for value in common] for sample in (a, b)]
    rests = [sum(sample.values()) - sum(row) for sample, row in zip((a, b), table, strict=True)]
    if sum(rests) >= 20:
        for row, rest in zip(table, rests, strict=True):
            row.append(rest)
    if len(table[0]) < 2:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


# ---- the battery ----


LEVEL = 1e-6
SCALES = (*(Fraction(1, 1 << k) for k in range(7)), Fraction(2), Fraction(10, 3), Fraction(4))


@dataclass(frozen=True)
class SamplerCheck:
    """One sampler: its p-value, and the largest p-value of the wrong alternatives, if any."""

    name: str
    p: float
    draws: int
    wrong_p: float = 0.0
    method: str = ""

    @property
    def holds(self) -> bool:
        return self.p >= LEVEL

    @property
    def sees(self) -> bool:
        """Whether a rate that is 2 % wrong was rejected."""
        return self.wrong_p < LEVEL


def check_samplers(
    methods: Sequence[Method[Any, Any]] = (), *, draws: int, few: int, seed: int = 0
) -> list[SamplerCheck]:
    """Check the samplers of the kernel and of methods.

    Parameters
    ----------
    draws
        For discrete Laplace noise, at each scale.
    few
        For the others, which are drawn one by one.
    """
    checks = [_laplace(rate, draws, seed) for rate in SCALES]
    cases = [("", name, case) for name, case in _cases().items()]
    for method in methods:
        cases += [(method.name, *case) for case in method.audit_cases().samplers.items()]
    for method_name, name, case in cases:
        sampler = Sampler(RandomSource.seeded(seed))
        drawn = [case.draw(sampler) for _ in range(few)]
        p = p_value(drawn, case.probabilities())
        checks.append(SamplerCheck(name, p, few, method=method_name))
    return checks


def _laplace(rate: Fraction, draws: int, seed: int) -> SamplerCheck:
    drawn = Sampler(RandomSource.seeded(seed)).discrete_laplace(draws, rate).tolist()
    wrong = [
        p_value(drawn, laplace_distribution(rate * factor, draws))
        for factor in (Fraction(98, 100), Fraction(102, 100))
    ]
    return SamplerCheck(
        f"discrete Laplace, scale {float(1 / rate):g}",
        p_value(drawn, laplace_distribution(rate, draws)),
        draws,
        max(wrong) if draws >= 10**6 else 0.0,
    )


def _uniform(outcomes: Iterable[Hashable]) -> Probabilities:
    every = list(outcomes)
    return dict.fromkeys(every, 1 / len(every))


def _cells(*cells: int) -> np.ndarray:
    return np.array(cells, dtype=np.int64)


def _cases() -> Mapping[str, SamplerCase]:
    # A path 1 – 0 – 2 with the communities 0 and 1.
    scores = Scores(0, _cells(0, 1, 2, 3), *np.array([[1, 0, 0], [2, 1, 1]], np.int32))
    choice = CommunityChoice([scores], np.array([0, 1, 1], np.int32))
    # Cells at the level, here the lowest noisy value, are left out: the key is the whole vector.
    sparse = SparseLaplaceCounts(
        _cells(1), _cells(2), size=3, threshold=lambda values, _: int(values[0]), sensitivity=1
    )
    return {
        "uniform order": SamplerCase(
            lambda s: tuple(s.permutation(4).tolist()),
            lambda: _uniform(itertools.permutations(range(4))),
        ),
        "uniform integers": SamplerCase(
            lambda s: int(s.integers(1, 5)[0]), lambda: _uniform(range(5))
        ),
        "uniform subsets": SamplerCase(
            lambda s: tuple(sorted(random_subset(s, 6, 3).tolist())),
            lambda: _uniform(itertools.combinations(range(6), 3)),
        ),
        "uniform free cells": SamplerCase(
            lambda s: tuple(sorted(random_free_cells(s, _cells(1, 4), size=6, count=2).tolist())),
            lambda: _uniform(itertools.combinations((0, 2, 3, 5), 2)),
        ),
        "histogram of noise": SamplerCase(_histogram_key, _pairs_of_noise),
        "sparse counts": SamplerCase(
            lambda s: _sparse_key(sparse.draw(s, Fraction(1))),
            lambda: noisy_counts([0, 2, 0], 1.0, low=-math.inf),
        ),
        "largest cells": SamplerCase(
            lambda s: tuple(LargestCells(_cells(0), 4, 1).draw(s, Fraction(1)).tolist()),
            lambda: _largest((1, 0, 0, 0), 1, 1.0),
        ),
        "community choice": SamplerCase(
            lambda s: tuple(choice.draw(s, Fraction(1)).tolist()),
            lambda: _choices([(0, 2), (1, 0), (1, 0)], 0.5),
        ),
    }


def _histogram_key(sampler: Sampler) -> Hashable:
    values, often = noise_histogram(sampler, 2, Fraction(1))
    return tuple(sorted(np.repeat(values, often).tolist()))


def _pairs_of_noise() -> Probabilities:
    found: Counter[Hashable] = Counter()
    noise = laplace_noise(1.0)
    for (a, p), (b, q) in itertools.product(noise.items(), repeat=2):
        found[tuple(sorted((a, b)))] += p * q  # type: ignore[assignment]
    return found


def _sparse_key(output: Any) -> Hashable:
    kept = dict(zip(output.cells.tolist(), output.values.tolist(), strict=True))
    return tuple(kept.get(cell, output.threshold) for cell in range(3))


@cache  # a million combinations
def _largest(cells: tuple[int, ...], keep: int, rate: float) -> Probabilities:
    """The textbook form: noise on every cell, the largest kept, ties broken uniformly."""
    noise = {k: p for k, p in laplace_noise(rate).items() if p > 1e-7}
    found: Counter[Hashable] = Counter()
    for combination in itertools.product(noise.items(), repeat=len(cells)):
        chance = math.prod(p for _, p in combination)
        if chance < 1e-9:
            continue
        values = [cell + k for cell, (k, _) in zip(cells, combination, strict=True)]
        level = sorted(values, reverse=True)[keep - 1]
        above = [i for i, value in enumerate(values) if value > level]
        tied = [i for i, value in enumerate(values) if value == level]
        choices = list(itertools.combinations(tied, keep - len(above)))
        for chosen in choices:
            found[tuple(sorted([*above, *chosen]))] += chance / len(choices)  # type: ignore[assignment]
    return found


def _choices(scores: list[tuple[int, ...]], strength: float) -> Probabilities:
    """Independent choices: a node's scores in each community give the weights."""
    weights = [[math.exp(strength * score) for score in row] for row in scores]
    return {
        chosen: math.prod(
            row[label] / math.fsum(row) for row, label in zip(weights, chosen, strict=True)
        )
        for chosen in itertools.product(*(range(len(row)) for row in scores))
    }
