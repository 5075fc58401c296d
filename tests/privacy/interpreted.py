"""Run the compiled kernels of the privacy code by the interpreter: for coverage and for scripts."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from psgraph import privacy
from psgraph.privacy.randomness import RandomSource


def interpret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every kernel of the privacy code by the Python function it was compiled from."""
    for found in pkgutil.walk_packages(privacy.__path__, "psgraph.privacy."):
        module = import_module(found.name)
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
