"""A plug-in method that misbehaves as its environment asks, installed by a folder on the path."""

from __future__ import annotations

import os
from pathlib import Path

SECRET = "SECRET-4711"

_MODULE = f'''
import os, signal
from psgraph.methods.psgraph import PSGraph


class Odd(PSGraph):
    """PSGraph in other clothes."""

    name = "odd"
    calls = 0

    def __init__(self):
        super().__init__()

    def parameters(self):
        return {{}}

    def measure(self, snapshot, state, budget, engine):
        Odd.calls += 1
        mood = os.environ.get("ODD", "")
        if mood == "crash":
            raise RuntimeError("{SECRET}")
        if mood == "greed":
            budget.parallel(2 * budget.remaining, "all of it")
        if mood == "interrupt" and Odd.calls == 4:  # two were for compiling
            os.kill(os.getpid(), signal.SIGINT)
        return super().measure(snapshot, state, budget, engine)
'''


def install(directory: Path) -> dict[str, str]:
    """Lay the plug-in out as an installed distribution; the environment that finds it."""
    (directory / "odd_method.py").write_text(_MODULE)
    info = directory / "odd_method-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-method\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[psgraph.methods]\nodd = odd_method:Odd\n")
    before = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(directory), before]))}
