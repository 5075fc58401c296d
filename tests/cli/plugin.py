"""A plug-in method that misbehaves as the environment variable ODD says."""

from __future__ import annotations

from pathlib import Path

from .commands import before_others

SECRET = "SECRET-4711"

_MODULE = f'''
import os, signal
from psgraph.methods.psgraph import PSGraph


class Odd(PSGraph):
    """PSGraph under another name."""

    name = "odd"
    calls = 0

    def __init__(self):
        super().__init__()

    def parameters(self):
        return {{}}

    def request(self, state, accountant):
        if os.environ.get("ODD") == "uneven":  # all of a window's budget at its first timestamp
            first = accountant.timestamps % accountant.guarantee.window == 0
            return accountant.guarantee.epsilon * first
        if os.environ.get("ODD") == "hunger":
            return accountant.guarantee.epsilon
        return super().request(state, accountant)

    def update(self, state, measurement):
        if type(measurement) is type(state):
            return measurement
        return super().update(state, measurement)

    def measure(self, private, state):
        Odd.calls += 1
        mood = os.environ.get("ODD", "")
        if mood == "uneven" and not private.remaining:
            return state  # nothing to spend: what was learned before stays
        if mood == "crash":
            raise RuntimeError("{SECRET}")
        if mood == "greed":
            private.parallel(2 * private.remaining, "all of it")
        if mood == "interrupt" and Odd.calls == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return super().measure(private, state)
'''


def install(directory: Path) -> dict[str, str]:
    """Write the plug-in as an installed distribution; return the environment that finds it."""
    (directory / "odd_method.py").write_text(_MODULE)
    info = directory / "odd_method-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd-method\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[psgraph.methods]\nodd = odd_method:Odd\n")
    return before_others(directory)
