"""The exact distribution of a small randomised function, by running it once for every outcome."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

Draw = Callable[[Sequence[float]], int]


class GivesUp(Exception):
    """Raised by the function under test where a path is to be left out."""


class _Path:
    """One run's choices: those prescribed, then always the first."""

    def __init__(self, choices: list[int], smallest: float) -> None:
        self.choices, self.smallest = choices, smallest
        self.limits: list[int] = []
        self.chance = 1.0

    def draw(self, chances: Sequence[float]) -> int:
        depth = len(self.limits)
        if depth == len(self.choices):
            self.choices.append(0)
        self.limits.append(len(chances))
        self.chance *= chances[self.choices[depth]]
        if self.chance < self.smallest:
            raise GivesUp
        return self.choices[depth]


def exact_distribution(
    run: Callable[[Draw], Hashable], *, smallest: float = 1e-13
) -> dict[Any, float]:
    """P(result) of ``run(draw)``, where ``draw(chances)`` gives an index.

    Paths less likely than `smallest` are cut off; those that give up are left out.
    """
    distribution: dict[Any, float] = defaultdict(float)
    choices: list[int] = []
    while True:
        path = _Path(choices, smallest)
        try:
            result = run(path.draw)
        except GivesUp:
            pass
        else:
            distribution[result] += path.chance
        del choices[len(path.limits) :]
        while choices and choices[-1] + 1 == path.limits[len(choices) - 1]:
            choices.pop()
        if not choices:
            return dict(distribution)
        choices[-1] += 1
