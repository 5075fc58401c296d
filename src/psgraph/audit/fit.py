"""Goodness of fit: chi-square with thin tails merged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction

import numpy as np
from scipy import stats


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
