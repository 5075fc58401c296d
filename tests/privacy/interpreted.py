"""Run the compiled kernels of all mechanisms by the interpreter: for coverage and for scripts."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from psgraph import privacy
from psgraph._runtime import kernels
from psgraph.methods import der, privhrg
from psgraph.privacy.randomness import RandomSource


def modules() -> list[Any]:
    """The trusted kernel, the mechanisms beside methods, and the set they share."""
    return [kernels] + [
        import_module(found.name)
        for package in (privacy, der, privhrg)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    ]


def interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every kernel of the mechanisms by the Python function it was compiled from."""
    for module in modules():
        for name, value in list(vars(module).items()):
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, value.py_func)


class Rationed(RandomSource):
    """A seeded source that shows only one in `ration` of the words asked for."""

    ration = 1

    @classmethod
    def of(cls, seed: int, ration: int) -> Rationed:
        source = cls.seeded(seed)
        assert isinstance(source, cls)
        source.ration = ration
        return source

    def peek(self, words: int) -> Any:
        few = max(1, words // self.ration)
        return super().peek(few)[:few].astype(np.uint64)
