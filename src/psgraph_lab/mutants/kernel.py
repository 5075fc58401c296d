"""Mutants of the kernel: charges, windows, noise, randomness."""

from __future__ import annotations

import os
import time
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.privacy.budget import Budget, Charge
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler
from psgraph_lab.mutants.mutant import Edit, Mutant, Swap

__all__ = ["KERNEL"]

ACCOUNTANT = "psgraph.privacy.accountant:Accountant"
BUDGET = "psgraph.privacy.budget:Budget"
CHOICE = "psgraph.privacy.mechanisms.exponential:_choose"
LAPLACE = "psgraph.privacy.mechanisms.laplace:LaplaceCounts"
SAMPLER = "psgraph.privacy.samplers:Sampler"
SOURCE = "psgraph.privacy.randomness:RandomSource"
SPARSE = "psgraph.privacy.mechanisms.sparse"


def _draw_then_charge(
    self: Budget,
    mechanism: Mechanism[Any],
    *,
    epsilon: Fraction,
    label: str,
    sensitivity: int | None = None,
    weight_sensitivity: int = 0,
) -> Any:
    del sensitivity, weight_sensitivity
    drawn = mechanism.draw(self._sampler, epsilon)
    self._take(epsilon, label)
    self._record(
        Charge(mechanism.name, label, epsilon, mechanism.sensitivity, tuple(mechanism.shape))
    )
    return drawn


def _float_laplace(self: LaplaceCounts, _sampler: Sampler, epsilon: Fraction) -> Any:
    scale = self.sensitivity / float(epsilon)
    return np.rint(self.values + np.random.default_rng().laplace(0, scale, self.values.shape))


def _clock_source() -> RandomSource:
    return RandomSource(int(time.time()).to_bytes(32, "little"), private=True)


def _free_parts(self: Budget, epsilon: Fraction, *parts: str) -> tuple[Budget, ...]:
    return tuple(Budget(epsilon, self._sampler, spending=self.spending) for _ in parts)


def _parallel_everything(self: Budget, epsilon: Fraction, label: str) -> None:
    """Sequential charges counted as if they were parallel: only the largest."""
    del label
    self.spent = max(self.spent, epsilon)


def _modulo(self: Sampler, size: int, bound: int) -> Any:
    width = max(bound - 1, 1).bit_length()
    drawn = [self.source.bits(width) % bound for _ in range(size)]
    return np.array(drawn, dtype=np.int64)


def _round_up(value: Fraction, *, denominator: int, largest: int) -> tuple[int, int]:
    del largest
    return -(-value.numerator * denominator // value.denominator), denominator


_DOUBLED = ("epsilon / self.sensitivity", "2 * epsilon / self.sensitivity")
_FORGOTTEN = ("epsilon / self.sensitivity", "epsilon")

KERNEL = (
    Mutant(
        "the noise is halved",
        "psgraph",
        (Edit(f"{LAPLACE}.draw", *_DOUBLED),),
        ("enumeration", "bounds"),
    ),
    Mutant(
        "the noise forgets the sensitivity",
        "psgraph",
        (Edit(f"{LAPLACE}.draw", *_FORGOTTEN),),
        ("enumeration", "bounds"),
    ),
    Mutant(
        "the noise on sparse counts is halved",
        "psgraph",
        (Edit(f"{SPARSE}:SparseLaplaceCounts.draw", *_DOUBLED),),
        ("enumeration", "samplers"),
    ),
    Mutant(
        "sparse noise leaves empty cells alone",
        "psgraph",
        (
            Edit(
                f"{SPARSE}:sparse_noise",
                "values = sampler.discrete_laplace(size, rate)",
                "values = sampler.discrete_laplace(size, rate)\n"
                "        values[np.setdiff1d(np.arange(size), cells)] = 0",
            ),
        ),
        ("samplers", "bounds"),
    ),
    Mutant(
        "counts of zero get no noise",
        "psgraph",
        (
            Edit(
                f"{LAPLACE}.draw",
                "noise.reshape(self.values.shape)",
                "noise.reshape(self.values.shape) * (self.values != 0)",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "all counts of a query share one noise value",
        "psgraph",
        (
            Edit(
                f"{LAPLACE}.draw",
                "sampler.discrete_laplace(self.values.size,",
                "np.ones(self.values.size, int) * sampler.discrete_laplace(1,",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "the scale of the noise is rounded to an integer",
        "psgraph",
        (
            Edit(
                f"{LAPLACE}.draw",
                "epsilon / self.sensitivity",
                "1 / Fraction(max(round(self.sensitivity / epsilon), 1))",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "the level of sparse counts comes from the exact ones",
        "psgraph",
        (
            Edit(
                f"{SPARSE}:sparse_noise",
                "level = threshold(*histogram(values))",
                "level = threshold(*histogram(np.append(counts, 0)))",
            ),
        ),
        ("samplers",),
    ),
    Mutant(
        "the largest cells: only edges get noise",
        "tmf",
        (
            Edit(
                "psgraph.privacy.mechanisms.top:largest_cells",
                "_noises(sampler, size - ones.size, rate)",
                "(np.zeros(1, int), np.array([size - ones.size]))",
            ),
        ),
        ("samplers",),
    ),
    Mutant(
        "the largest cells: ties go to edges",
        "tmf",
        (
            Edit(
                "psgraph.privacy.mechanisms.top:largest_cells",
                "chosen_ones = int((random_subset(sampler, tied_zeros + tied_ones, room) "
                "< tied_ones).sum())",
                "chosen_ones = min(tied_ones, room)",
            ),
        ),
        ("samplers",),
    ),
    Mutant(
        "a charge is skipped",
        "psgraph",
        (Swap(f"{BUDGET}._take", lambda _real: lambda _self, _epsilon, _label: None),),
        ("rules",),
    ),
    Mutant(
        "a charge comes after the draw",
        "psgraph",
        (Swap(f"{BUDGET}.run", lambda _real: _draw_then_charge),),
        ("rules",),
    ),
    Mutant(
        "a budget can be overdrawn",
        "psgraph",
        (
            Edit(
                f"{BUDGET}.check", "if epsilon > self.remaining:", "if epsilon > 2 * self.epsilon:"
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "a certificate states half of what was drawn",
        "psgraph",
        (Edit(f"{BUDGET}.run", "epsilon=epsilon,", "epsilon=epsilon / 2,"),),
        ("rules",),
    ),
    Mutant(
        "a reservation costs nothing",
        "psgraph-plus",
        (Edit(f"{BUDGET}.reserve", "self._take(epsilon, label)", "self.check(epsilon, label)"),),
        ("rules",),
    ),
    Mutant(
        "what was spent can be given back",
        "psgraph-plus",
        (Edit(f"{BUDGET}.give_back", "self.check(epsilon, GIVEN_BACK)", "pass"),),
        ("rules",),
    ),
    Mutant(
        "what was given back can be spent",
        "psgraph-plus",
        (
            Swap(
                f"{BUDGET}.remaining",
                lambda _real: property(lambda self: self.epsilon - self.spent),
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "a part of the edges may spend what the whole has",
        "psgraph",
        (Edit(f"{BUDGET}.parallel", "PartBudget(epsilon,", "PartBudget(self.epsilon,"),),
        ("rules",),
    ),
    Mutant(
        "parallel parts are free",
        "psgraph",
        (Swap(f"{BUDGET}.parallel", lambda _real: _free_parts),),
        ("rules", "replay"),
    ),
    Mutant(
        "a second split is free",
        "psgraph",
        (
            Edit(
                f"{BUDGET}.parallel",
                'self._take(epsilon, " ∥ ".join(parts))',
                'self._splits or self._take(epsilon, " ∥ ".join(parts))',
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "sequential charges count as parallel",
        "psgraph",
        (Swap(f"{BUDGET}._take", lambda _real: _parallel_everything),),
        ("rules", "replay"),
    ),
    Mutant(
        "the window is one timestamp too short",
        "psgraph-plus",
        (
            Swap(
                f"{ACCOUNTANT}.remaining",
                lambda _real: property(
                    lambda self: (
                        self.guarantee.epsilon
                        - sum(
                            self.recent[-(self.guarantee.window - 2) :]
                            if self.guarantee.window > 2
                            else ()
                        )
                    )
                ),
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "the accountant forgets spends",
        "psgraph-plus",
        (
            Edit(
                f"{ACCOUNTANT}.record",
                "recent = (*self.recent, epsilon)[-self.guarantee.window :]",
                "recent = (*self.recent, epsilon)[-1:]",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "the accountant adds up floats",
        "psgraph-plus",
        (
            Edit(
                f"{ACCOUNTANT}.record",
                "(*self.recent, epsilon)",
                "(*self.recent, Fraction(float(epsilon)))",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "noise from floating-point Laplace",
        "psgraph",
        (Swap(f"{LAPLACE}.draw", lambda _real: _float_laplace),),
        ("rules",),
    ),
    Mutant(
        "the key comes from the clock",
        "psgraph",
        (Swap(f"{SOURCE}.secure", lambda _real: staticmethod(_clock_source)),),
        ("rules",),
    ),
    Mutant(
        "a forked process reuses the keystream",
        "psgraph",
        (
            Edit(
                f"{SOURCE}.peek",
                "if self.private and self._keyed_by != _process():",
                "if False:",
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "every source has the same key",
        "psgraph",
        (
            Swap(
                f"{SOURCE}.secure",
                lambda _real: staticmethod(
                    lambda: (os.urandom(32), RandomSource(bytes(32), private=True))[1]
                ),
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "a seeded source says it is private",
        "psgraph",
        (
            Swap(
                f"{SOURCE}.seeded",
                lambda _real: staticmethod(
                    lambda seed, *, timestamp=0: RandomSource(
                        bytes([seed % 256, timestamp % 256]) * 16, private=True
                    )
                ),
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "the rate of the noise is rounded up",
        "psgraph",
        (
            Swap("psgraph.privacy.samplers:round_down", lambda _real: _round_up),
            Swap("psgraph.privacy.guarantee:round_down", lambda _real: _round_up),
        ),
        ("rules",),
    ),
    Mutant(
        "uniform integers have a modulo bias",
        "psgraph",
        (Swap(f"{SAMPLER}.integers", lambda _real: _modulo),),
        ("samplers",),
    ),
    Mutant(
        "the shuffle is biased",
        "psgraph",
        (
            Swap(
                f"{SAMPLER}.permutation",
                lambda _real: (
                    lambda self, size: np.argsort(
                        self.integers(size, max(size // 2, 1)), kind="stable"
                    )
                ),
            ),
        ),
        ("samplers",),
    ),
    Mutant(
        "the scores of the community choice count twice",
        "psgraph",
        (
            Edit(
                CHOICE,
                "score[communities[at]] = counts[at]\n            best = max(best, counts[at])",
                "score[communities[at]] = 2 * counts[at]\n"
                "            best = max(best, 2 * counts[at])",
            ),
        ),
        ("enumeration",),
    ),
    Mutant(
        "only neighbouring communities are candidates",
        "psgraph",
        (
            Edit(
                CHOICE,
                "if kept or ran_out(words, after):",
                "if kept and (score[choice] > 0 or best == 0):",
            ),
        ),
        ("enumeration",),
    ),
    Mutant(
        "nodes without edges are left out of the choice",
        "psgraph",
        (
            Edit(
                CHOICE,
                "        best = 0\n",
                "        best = 0\n"
                "        if begin == end:\n"
                "            chosen[done] = 0\n"
                "            done += 1\n"
                "            continue\n",
            ),
        ),
        ("enumeration",),
    ),
    Mutant(
        "the strength of the community choice is doubled",
        "psgraph",
        (
            Swap(
                "psgraph.privacy.mechanisms.exponential:round_down",
                lambda real: lambda value, **limits: real(2 * value, **limits),
            ),
        ),
        ("enumeration",),
    ),
)
