"""Every exact sampler against its exact probabilities, on domains small enough to list.

Chi-square at the level 10⁻⁶ per sampler. The discrete Laplace distribution is drawn at ten scales,
and the same draws are tested against rates that are 2 % wrong, which must be rejected: a test that
can't fail shows nothing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.fit import laplace_distribution, p_value
from psgraph.methods.der.arrangement import EdgeArrangement
from psgraph.methods.der.rectangles import Regions
from psgraph.methods.der.splits import SplitChoice
from psgraph.methods.plus.growth import GrowthPass
from psgraph.methods.plus.labelling import Plan
from psgraph.methods.plus.ladder import Ladder
from psgraph.privacy.mechanisms.exponential import CommunityChoice, Scores
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts, noise_histogram
from psgraph.privacy.mechanisms.top import LargestCells
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph.privacy.subsets import random_free_cells, random_subset

__all__ = ["SCALES", "SamplerCheck", "check_samplers"]

LEVEL = 1e-6
SCALES = (*(Fraction(1, 1 << k) for k in range(7)), Fraction(2), Fraction(10, 3), Fraction(4))
Distribution = Mapping[Hashable, float]


@dataclass(frozen=True)
class SamplerCheck:
    """One sampler: its p-value, and the largest p-value of the wrong alternatives, if any."""

    name: str
    p: float
    draws: int
    wrong_p: float = 0.0

    @property
    def holds(self) -> bool:
        return self.p >= LEVEL

    @property
    def sees(self) -> bool:
        """Whether a rate that is 2 % wrong was rejected."""
        return self.wrong_p < LEVEL


def check_samplers(*, draws: int, few: int, seed: int = 0) -> list[SamplerCheck]:
    """Check all samplers.

    Parameters
    ----------
    draws
        For discrete Laplace noise, at each scale.
    few
        For the others, which are drawn one by one.
    """
    checks = [_laplace(rate, draws, seed) for rate in SCALES]
    for name, (draw, distribution) in _cases().items():
        sampler = Sampler(RandomSource.seeded(seed))
        drawn = [draw(sampler) for _ in range(few)]
        checks.append(SamplerCheck(name, p_value(drawn, distribution()), few))
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


def _uniform(outcomes: Iterable[Hashable]) -> Distribution:
    every = list(outcomes)
    return dict.fromkeys(every, 1 / len(every))


def _weighted(weights: Mapping[Hashable, float]) -> Distribution:
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def _cells(*cells: int) -> np.ndarray:
    return np.array(cells, dtype=np.int64)


def _cases() -> dict[str, tuple[Callable[[Sampler], Hashable], Callable[[], Distribution]]]:
    regions = Regions(
        np.array([[0, 4, 0, 4]]),
        _cells(0, 2),
        np.array([0, 1], np.int32),
        np.array([1, 3], np.int32),
    )
    # A path 1 – 0 – 2 with the communities 0 and 1.
    scores = Scores(0, _cells(0, 1, 2, 3), *np.array([[1, 0, 0], [2, 1, 1]], np.int32))
    choice = CommunityChoice([scores], np.array([0, 1, 1], np.int32))
    ladder = Ladder(3, 1, 5)
    # A path of three nodes and one label: rows count edges to the nodes before.
    growth = GrowthPass(
        _cells(0, 1, 3, 4),
        np.array([1, 0, 2, 1], np.int32),
        Plan(np.arange(3), np.ones(3), np.zeros((3, 1), np.float32), 0),
    )
    sparse = SparseLaplaceCounts(
        _cells(1), _cells(2), size=3, threshold=lambda _v, _o: 0.0, sensitivity=1
    )
    return {
        "uniform order": (
            lambda s: tuple(s.permutation(4).tolist()),
            lambda: _uniform(itertools.permutations(range(4))),
        ),
        "uniform integers": (lambda s: int(s.integers(1, 5)[0]), lambda: _uniform(range(5))),
        "uniform subsets": (
            lambda s: tuple(sorted(random_subset(s, 6, 3).tolist())),
            lambda: _uniform(itertools.combinations(range(6), 3)),
        ),
        "uniform free cells": (
            lambda s: tuple(sorted(random_free_cells(s, _cells(1, 4), size=6, count=2).tolist())),
            lambda: _uniform(itertools.combinations((0, 2, 3, 5), 2)),
        ),
        "histogram of noise": (
            lambda s: _histogram_key(s),
            lambda: _pairs_of_noise(Fraction(1)),
        ),
        "sparse counts": (
            lambda s: _sparse_key(sparse.draw(s, Fraction(1))),
            lambda: _positive_parts([0, 2, 0], 1.0),
        ),
        "largest cells": (
            lambda s: tuple(LargestCells(_cells(0), 4, 2).draw(s, Fraction(1)).tolist()),
            lambda: _largest([1, 0, 0, 0], 2, 1.0),
        ),
        "community choice": (
            lambda s: tuple(choice.draw(s, Fraction(1)).tolist()),
            lambda: _choices([(0, 2), (1, 0), (1, 0)], 0.5),
        ),
        "arrangement of edges": (
            lambda s: _arrangement_key(EdgeArrangement(regions, _cells(2)).draw(s, Fraction(1))),
            lambda: _arrangements(),
        ),
        "split choice": (
            lambda s: tuple(SplitChoice(regions, 1, 8).draw(s, Fraction(4))[0].tolist()),
            lambda: _splits(4.0),
        ),
        "growth pass": (
            lambda s: tuple(np.clip(growth.draw(s, Fraction(1)), -3, 4)[:, 0].tolist()),
            lambda: _clipped_noise([0, 1, 1], 1.0, -3, 4),
        ),
        "ladder": (lambda s: ladder.draw(s, Fraction(1)), lambda: _ladder(3, 1, 3, 0.5)),
    }


def _histogram_key(sampler: Sampler) -> Hashable:
    values, often = noise_histogram(sampler, 2, Fraction(1))
    return tuple(sorted(np.repeat(values, often).tolist()))


def _noise(rate: float) -> dict[int, float]:
    q = math.exp(-rate)
    reach = int(25 / rate)
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in range(-reach, reach + 1)}


def _pairs_of_noise(rate: Fraction) -> Distribution:
    found: Counter[Hashable] = Counter()
    noise = _noise(float(rate))
    for (a, p), (b, q) in itertools.product(noise.items(), repeat=2):
        found[tuple(sorted((a, b)))] += p * q  # type: ignore[assignment]
    return found


def _sparse_key(output: Any) -> Hashable:
    kept = dict(zip(output.cells.tolist(), output.values.tolist(), strict=True))
    return tuple(kept.get(cell, 0) for cell in range(3))


def _positive_parts(counts: list[int], rate: float) -> Distribution:
    """Independent noisy counts, of which only those above zero are shown."""
    cells = []
    for count in counts:
        shown: Counter[int] = Counter()
        for noise, chance in _noise(rate).items():
            shown[max(count + noise, 0)] += chance  # type: ignore[assignment]
        cells.append({value: chance for value, chance in shown.items() if chance > 1e-5})
    return {
        tuple(value for value, _ in combination): math.prod(chance for _, chance in combination)
        for combination in itertools.product(*(cell.items() for cell in cells))
    }


def _clipped_noise(counts: list[int], rate: float, low: int, high: int) -> Distribution:
    """Independent noisy counts, with everything beyond `low` and `high` in one value each."""
    cells = []
    for count in counts:
        shown: Counter[int] = Counter()
        for noise, chance in _noise(rate).items():
            shown[min(max(count + noise, low), high)] += chance  # type: ignore[assignment]
        cells.append(shown)
    return {
        tuple(value for value, _ in combination): math.prod(chance for _, chance in combination)
        for combination in itertools.product(*(cell.items() for cell in cells))
    }


def _largest(cells: list[int], keep: int, rate: float) -> Distribution:
    """The textbook form: noise on every cell, the largest kept, ties broken uniformly."""
    noise = {k: p for k, p in _noise(rate).items() if p > 1e-7}
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


def _choices(scores: list[tuple[int, ...]], strength: float) -> Distribution:
    """Independent choices: a node's scores in each community give the weights."""
    weights = [[math.exp(strength * score) for score in row] for row in scores]
    return {
        chosen: math.prod(
            row[label] / math.fsum(row) for row, label in zip(weights, chosen, strict=True)
        )
        for chosen in itertools.product(*(range(len(row)) for row in scores))
    }


def _arrangement_key(output: tuple[np.ndarray, np.ndarray]) -> Hashable:
    return tuple(sorted(zip(output[0].tolist(), output[1].tolist(), strict=True)))


def _arrangements() -> Distribution:
    cells = [(row, column) for row in range(4) for column in range(row + 1, 4)]
    edges = {(0, 1), (1, 3)}
    return _weighted(
        {chosen: math.exp(len(edges & set(chosen))) for chosen in itertools.combinations(cells, 2)}
    )


def _splits(epsilon: float) -> Distribution:
    """Split points of the 4 × 4 triangle with edges {0, 1} and {1, 3}; each part a valid cell."""
    edges = {(0, 1), (1, 3)}
    weights: dict[Hashable, float] = {}
    for row, column in itertools.product(range(1, 4), repeat=2):
        densities = []
        for rows in (range(row), range(row, 4)):
            for columns in (range(column), range(column, 4)):
                valid = {(r, c) for r in rows for c in columns if r < c}
                if valid:
                    densities.append(256 * len(valid & edges) // len(valid) / 256)
        if len(densities) > 1:
            weights[row, column] = math.exp(epsilon / 2 * (max(densities) - min(densities)))
    return _weighted(weights)


def _ladder(value: int, reach: int, widest: int, rate: float) -> Distribution:
    weights: dict[Hashable, float] = {value: 1.0}
    offset, rung = 0, 1
    while rung * rate < 30:
        for _ in range(min(reach + rung - 1, widest)):
            offset += 1
            weights[value + offset] = weights[value - offset] = math.exp(-rate * rung)
        rung += 1
    return _weighted(weights)
