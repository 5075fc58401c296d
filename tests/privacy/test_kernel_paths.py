"""Paths through the kernels that common sizes don't take: few words, wide noise, huge numbers.

If words run out in the middle of a draw, that draw begins again on the same words, so rationed
words must give the same draws as plentiful ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from psgraph._runtime.kernels import adjacency
from psgraph.audit.fit import p_value
from psgraph.graph import Roster, Snapshot
from psgraph.methods.der import arrangement, splits
from psgraph.methods.der.arrangement import arrange, noncentral_hypergeometric
from psgraph.methods.der.rectangles import Regions
from psgraph.methods.der.splits import choose_splits
from psgraph.methods.privhrg.dendrogram import Layout, random_dendrogram
from psgraph.methods.privhrg.dendrogram_walk import walk_dendrogram
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

from .interpreted import Rationed, interpret

RATIONS = (100, 10_000)  # a few words at a time; one, and then two only if one is not enough


def random_regions(sides: list[int], *, share: float) -> Regions:
    """Triangles of these sides along the diagonal, with random edges."""
    rng = np.random.default_rng(6)
    ends = np.cumsum(sides)
    starts, rows, columns = [0], [], []
    for begin, end in zip(ends - sides, ends, strict=True):
        for row in range(begin, end):
            hit = np.flatnonzero(rng.random(end - row - 1) < share) + row + 1
            rows += [row] * hit.size
            columns += hit.tolist()
        starts.append(len(rows))
    return Regions(
        np.stack([ends - sides, ends, ends - sides, ends], axis=1),
        np.array(starts),
        np.array(rows, dtype=np.int32),
        np.array(columns, dtype=np.int32),
    )


def arranged(sampler: Sampler) -> object:
    """Both ways of finding cells without an edge: by guessing, and from a list."""
    regions = random_regions([3, 12, 25, 8, 30], share=0.1)
    drawn = np.minimum(regions.cells, [3, 20, 40, 25, 60])
    rows, columns = arrange(sampler, regions, drawn=drawn, rate=Fraction(2))
    return rows.tolist(), columns.tolist()


def split_points(sampler: Sampler) -> object:
    regions = random_regions([2, 9, 20, 9, 1, 14], share=0.3)
    return choose_splits(sampler, regions, least=2, grid=16, epsilon=Fraction(3)).tolist()


def hits(sampler: Sampler) -> object:
    size = [np.full(20, value) for value in (60, 20, 30)]
    return noncentral_hypergeometric(sampler, *size, rate=Fraction(1, 3)).tolist()


def walk(sampler: Sampler) -> object:
    rng = np.random.default_rng(3)
    snapshot = Snapshot(Roster.range(19), *rng.integers(0, 19, size=(2, 40)))
    lists = adjacency(snapshot.u, snapshot.v, 19)
    tree = random_dendrogram(sampler.permutation(19), sampler.permutation(18))
    after = walk_dendrogram(sampler, tree, *lists, steps=150, rate=0.8)
    return after.left.tolist(), after.right.tolist()


@pytest.mark.parametrize("draw", [arranged, split_points, hits, walk])
def test_words_handed_out_sparingly_change_nothing(draw, monkeypatch):
    """Nor does it change anything whether the kernels are compiled."""
    expected = draw(Sampler(RandomSource.seeded(9)))
    assert draw(Sampler(RandomSource.seeded(10))) != expected  # so the draws are random at all
    for ration in RATIONS:
        assert draw(Sampler(Rationed.of(9, ration))) == expected
    interpret(monkeypatch)
    with np.errstate(over="ignore"):  # hashes wrap around
        for ration in (1, *RATIONS):
            assert draw(Sampler(Rationed.of(9, ration))) == expected


# ---- Fisher's distribution ----


def fishers_distribution(cells: int, ones: int, drawn: int, rate: Fraction) -> dict[int, Decimal]:
    """By definition, in integers but for the exponentials."""
    odds = (Decimal(rate.numerator) / rate.denominator).exp()
    weights = {
        x: math.comb(ones, x) * math.comb(cells - ones, drawn - x) * odds**x
        for x in range(max(0, drawn - cells + ones), min(ones, drawn) + 1)
    }
    total = sum(weights.values())
    return {x: weight / total for x, weight in weights.items()}


def fit(draws: list[int], distribution: dict[int, Decimal]) -> float:
    return p_value(draws, {x: float(chance) for x, chance in distribution.items()})


def many(cells: int, ones: int, drawn: int, rate: Fraction, *, draws: int) -> list[int]:
    size = [np.full(draws, value) for value in (cells, ones, drawn)]
    sampler = Sampler(RandomSource.seeded(11))
    return noncentral_hypergeometric(sampler, *size, rate=rate).tolist()


WIDE = (4000, 2000, 1500, Fraction(1, 3))  # the far ends on both sides weigh nothing


def test_a_distribution_whose_ends_are_left_out(monkeypatch):
    compiled = many(*WIDE, draws=4000)
    assert fit(compiled, fishers_distribution(*WIDE)) > 1e-3
    assert fit(compiled, fishers_distribution(*WIDE[:3], Fraction(3, 10))) < 1e-3  # it can tell
    interpret(monkeypatch)
    assert many(*WIDE, draws=100) == compiled[:100]


@pytest.mark.parametrize("case", [(30, 12, 9, Fraction(3, 2)), WIDE], ids=["narrow", "wide"])
def test_where_everything_is_in_doubt_decimals_give_the_same_numbers(case, monkeypatch):
    draws = 1500 if case != WIDE else 40
    expected = many(*case, draws=draws)
    interpret(monkeypatch)
    asked: list[int] = []
    settle: Callable[..., int] = arrangement._settle

    def counted(*arguments: object, **options: object) -> int:
        asked.append(1)
        return settle(*arguments, **options)

    monkeypatch.setattr(arrangement, "_ERROR", 1.0)
    monkeypatch.setattr(arrangement, "_settle", counted)
    settled = many(*case, draws=draws)
    assert len(asked) == draws
    assert settled == expected
    assert fit(settled, fishers_distribution(*case)) > 1e-3


@pytest.mark.parametrize("case", [(30, 12, 9, Fraction(3, 2)), WIDE], ids=["narrow", "wide"])
def test_the_first_and_the_last_number(case, monkeypatch):
    """The first falls on the mode; the last is in doubt until more bits settle it; a number beyond
    all weights, which only an error in the sums could lead to, is given no place."""
    *sizes, rate = case
    distribution = fishers_distribution(*case)
    odds = math.exp(rate)
    mode = max(distribution, key=distribution.__getitem__)
    interpret(monkeypatch)

    def locate(uniform: int) -> int:
        return arrangement._locate(*sizes, odds, uniform, arrangement._ERROR)

    assert locate(0) == mode
    assert arrangement._mode(*sizes, odds) == mode
    assert arrangement._locate_in_decimals(*sizes, mode, rate, 0, bits=62, digits=60) == mode
    last = (1 << 62) - 1
    assert locate(last) == arrangement._DOUBTFUL
    assert arrangement._locate_in_decimals(*sizes, mode, rate, last, bits=62, digits=60) is None
    sampler = Sampler(RandomSource.seeded(2))
    settled = {arrangement._settle(sampler, last, *sizes, mode, rate=rate) for _ in range(20)}
    # All that is laid down after a value must weigh less than the last 2⁻⁶² of the whole.
    beyond = {
        x: sum(chance for y, chance in distribution.items() if y < x)
        for x in distribution
        if x < mode
    }
    assert settled <= {x for x, weight in beyond.items() if weight < Decimal(2) ** -62}
    assert locate((1 << 63) - 1) == arrangement._DOUBTFUL


# ---- numbers beyond a machine word, trees without leaves ----


@pytest.mark.parametrize(
    ("count", "scale", "cells"),
    [
        (1 << 40, 1 << 40, 1 << 41),
        (3**38, 3**38 - 1, 3**38),
        (10**18, 10**17 + 1, 10**18 + 9),
        ((1 << 61) - 1, (1 << 61) - 1, 1 << 61),
        (5, 1 << 61, 5),
    ],
)
def test_scaling_beyond_a_machine_word(count, scale, cells, monkeypatch):
    assert splits._scaled(count, scale, cells) == count * scale // cells
    interpret(monkeypatch)
    assert splits._scaled(count, scale, cells) == count * scale // cells


@pytest.mark.parametrize("leaves", [0, 1, 2])
def test_the_smallest_trees(leaves, monkeypatch):
    def smallest() -> tuple[int, int, list[int], list[int]]:
        order, ranks = np.arange(leaves), np.arange(max(leaves - 1, 0))
        tree = random_dendrogram(order, ranks)
        assert Layout.of(tree).tree().root == tree.root
        return tree.leaves, tree.root, tree.left.tolist(), tree.right.tolist()

    expected = {0: (0, -1, [], []), 1: (1, 0, [], []), 2: (2, 2, [0], [1])}[leaves]
    assert smallest() == expected
    interpret(monkeypatch)
    assert smallest() == expected
