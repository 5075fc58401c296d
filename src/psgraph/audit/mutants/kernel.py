"""Mutants of the kernel: charges, windows, noise, randomness."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from psgraph.audit.mutants.mutant import Mutant
from psgraph.audit.mutation import Patch, mutated
from psgraph.methods.plus import ladder
from psgraph.privacy import guarantee, randomness, samplers
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Budget, Charge
from psgraph.privacy.mechanism import Mechanism
from psgraph.privacy.mechanisms import exponential, sparse, top
from psgraph.privacy.mechanisms.laplace import LaplaceCounts
from psgraph.privacy.mechanisms.sparse import SparseLaplaceCounts
from psgraph.privacy.randomness import RandomSource
from psgraph.privacy.samplers import Sampler

__all__ = ["KERNEL"]


def _edit(where: Any, name: str, old: str, new: str) -> Callable[[], tuple[Patch, ...]]:
    """One line of the real code changed."""
    return lambda: (Patch(where, name, mutated(vars(where)[name], old, new)),)


def _instead(where: Any, name: str, replacement: Any) -> Callable[[], tuple[Patch, ...]]:
    return lambda: (Patch(where, name, replacement),)


def _draw_then_charge(
    self: Budget,
    mechanism: Mechanism[Any],
    *,
    epsilon: Fraction,
    label: str,
    sensitivity: int | None = None,
) -> Any:
    del sensitivity
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
        _edit(LaplaceCounts, "draw", *_DOUBLED),
        ("enumeration", "bounds"),
    ),
    Mutant(
        "the noise forgets the sensitivity",
        "psgraph",
        _edit(LaplaceCounts, "draw", *_FORGOTTEN),
        ("enumeration", "bounds"),
    ),
    Mutant(
        "the noise on sparse counts is halved",
        "psgraph",
        _edit(SparseLaplaceCounts, "draw", *_DOUBLED),
        ("enumeration", "samplers"),
    ),
    Mutant(
        "sparse noise leaves empty cells alone",
        "psgraph",
        _edit(
            sparse,
            "sparse_noise",
            "values = sampler.discrete_laplace(size, rate)",
            "values = sampler.discrete_laplace(size, rate)\n"
            "        values[np.setdiff1d(np.arange(size), cells)] = 0",
        ),
        ("samplers", "bounds"),
    ),
    Mutant(
        "the largest cells: ties go to edges",
        "tmf",
        _edit(
            top,
            "largest_cells",
            "chosen_ones = int((random_subset(sampler, tied_zeros + tied_ones, room) "
            "< tied_ones).sum())",
            "chosen_ones = min(tied_ones, room)",
        ),
        ("samplers",),
    ),
    Mutant(
        "a charge is skipped",
        "psgraph",
        _instead(Budget, "_take", lambda _self, _epsilon, _label: None),
        ("rules",),
    ),
    Mutant(
        "a charge comes after the draw",
        "psgraph",
        _instead(Budget, "run", _draw_then_charge),
        ("rules",),
    ),
    Mutant(
        "a budget can be overdrawn",
        "psgraph",
        _edit(Budget, "check", "if epsilon > self.remaining:", "if epsilon > 2 * self.epsilon:"),
        ("rules",),
    ),
    Mutant(
        "parallel parts are free",
        "psgraph",
        _instead(Budget, "parallel", _free_parts),
        ("rules", "replay"),
    ),
    Mutant(
        "sequential charges count as parallel",
        "psgraph",
        _instead(Budget, "_take", _parallel_everything),
        ("rules", "replay"),
    ),
    Mutant(
        "the window is one timestamp too short",
        "psgraph-plus",
        lambda: (
            Patch(
                Accountant,
                "remaining",
                property(
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
        _edit(
            Accountant,
            "record",
            "recent = (*self.recent, epsilon)[-self.guarantee.window :]",
            "recent = (*self.recent, epsilon)[-1:]",
        ),
        ("rules",),
    ),
    Mutant(
        "noise from floating-point Laplace",
        "psgraph",
        _instead(LaplaceCounts, "draw", _float_laplace),
        ("rules",),
    ),
    Mutant(
        "the key comes from the clock",
        "psgraph",
        _instead(randomness.RandomSource, "secure", staticmethod(_clock_source)),
        ("rules",),
    ),
    Mutant(
        "a forked process reuses the keystream",
        "psgraph",
        _edit(
            randomness.RandomSource,
            "peek",
            "if self.private and self._keyed_by != _process():",
            "if False:",
        ),
        ("rules",),
    ),
    Mutant(
        "every source has the same key",
        "psgraph",
        _instead(
            randomness.RandomSource,
            "secure",
            staticmethod(lambda: (os.urandom(32), RandomSource(bytes(32), private=True))[1]),
        ),
        ("rules",),
    ),
    Mutant(
        "a seeded source says it is private",
        "psgraph",
        _instead(
            randomness.RandomSource,
            "seeded",
            staticmethod(
                lambda seed, *, timestamp=0: RandomSource(
                    bytes([seed % 256, timestamp % 256]) * 16, private=True
                )
            ),
        ),
        ("rules",),
    ),
    Mutant(
        "the rate of the noise is rounded up",
        "psgraph",
        lambda: (
            Patch(samplers, "round_down", _round_up),
            Patch(guarantee, "round_down", _round_up),
        ),
        ("rules",),
    ),
    Mutant(
        "uniform integers have a modulo bias",
        "psgraph",
        _instead(Sampler, "integers", _modulo),
        ("samplers",),
    ),
    Mutant(
        "the shuffle is biased",
        "psgraph",
        _instead(
            Sampler,
            "permutation",
            lambda self, size: np.argsort(self.integers(size, max(size // 2, 1)), kind="stable"),
        ),
        ("samplers",),
    ),
    Mutant(
        "the scores of the community choice count twice",
        "psgraph",
        _edit(
            exponential,
            "_choose",
            "score[communities[at]] = counts[at]\n            best = max(best, counts[at])",
            "score[communities[at]] = 2 * counts[at]\n            best = max(best, 2 * counts[at])",
        ),
        ("enumeration",),
    ),
    Mutant(
        "only neighbouring communities are candidates",
        "psgraph",
        _edit(
            exponential,
            "_choose",
            "if kept or ran_out(words, after):",
            "if kept and (score[choice] > 0 or best == 0):",
        ),
        ("enumeration",),
    ),
    Mutant(
        "nodes without edges are left out of the choice",
        "psgraph",
        _edit(
            exponential,
            "_choose",
            "        best = 0\n",
            "        best = 0\n"
            "        if begin == end:\n"
            "            chosen[done] = 0\n"
            "            done += 1\n"
            "            continue\n",
        ),
        ("enumeration",),
    ),
    Mutant(
        "the strength of the community choice is doubled",
        "psgraph",
        lambda: (
            Patch(
                exponential,
                "round_down",
                lambda value, **limits: guarantee.round_down(2 * value, **limits),
            ),
        ),
        ("enumeration",),
    ),
    Mutant(
        "the ladder decays twice as fast",
        "psgraph-plus",
        _edit(ladder.Ladder, "draw", "epsilon / 2", "epsilon"),
        ("samplers",),
    ),
    Mutant(
        "the rungs of the ladder don't widen",
        "psgraph-plus",
        lambda: (
            Patch(ladder.Rungs, "width", lambda self, _rung: max(self.reach, 1)),
            Patch(ladder.Rungs, "inside", lambda self, rung: max(self.reach, 1) * (rung - 1)),
        ),
        ("enumeration", "samplers"),
    ),
)
