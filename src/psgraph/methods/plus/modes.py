"""How often node degrees are measured: once per window, or at every timestamp.

Post-processing: a function of released degrees and of what is known of their changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph.methods.plus.nodes import Drift
from psgraph.methods.plus.schedule import ENOUGH_FOR_HUBS
from psgraph.methods.plus.shares import Mode

__all__ = ["Largest", "next_mode", "top_count"]

# Degrees are measured at every timestamp if measuring once per window has this multiple of the
# error and, where hub rows would be lost, this relative squared error. The second pair ends it.
SWITCH, STAY = (3.0, 0.05), (1.8, 0.03)
KNOWN_SHARE = 0.0225  # the variance below which the share of edges that stay is known
# It is enough for one measurement per window from the second on, and ends it below the first.
MOSTLY_STAY, STAY_TO_SWITCH = 0.75, 0.8


@dataclass(frozen=True)
class Largest:
    """The largest nodes of a side, and how they change.

    Attributes
    ----------
    degrees
        Their filtered degrees.
    drift
        How degrees change.
    new_share
        The share of squared degrees among them that is new in each step.
    """

    degrees: Floats
    drift: Drift
    new_share: float


def next_mode(
    mode: Mode,
    sides: Sequence[Largest],
    *,
    node_window: Fraction,
    window: int,
    kept: tuple[float, float],
    moved: int = 2,
) -> Mode:
    """Choose between one good measurement per window and a poor one at every timestamp.

    Where it is known how many edges stay, and measuring at every timestamp would tell the largest
    nodes from noise, that decides. Otherwise both are compared by the expected relative squared
    error of the largest nodes.

    Parameters
    ----------
    sides
        The largest nodes of each side of the edges.
    kept
        The share of edges that stay, and the variance of that estimate.
    moved
        How many of the degrees that are measured together one edge moves by 1.
    """
    sides = [side for side in sides if side.degrees.size]
    if not sides or not all(side.drift.known for side in sides) or window == 1:
        return mode
    total = float(node_window)
    noise = 2 * moved**2
    steady_noise, periodic_noise = noise * window**2 / total**2, noise / total**2
    share, doubt = kept
    squares = sum(float((side.degrees**2).mean()) for side in sides) / len(sides)
    if doubt < KNOWN_SHARE and steady_noise < squares:
        return (
            "periodic"
            if share > (MOSTLY_STAY if mode == "periodic" else STAY_TO_SWITCH)
            else "steady"
        )
    errors = [_errors(side, steady_noise, periodic_noise, window) for side in sides]
    steady, periodic = (sum(each) / len(sides) for each in zip(*errors, strict=True))
    ratio, error = STAY if mode == "steady" else SWITCH
    if node_window < ENOUGH_FOR_HUBS or node_window >= ENOUGH_FOR_HUBS * window:
        error = 0.0  # both have hub rows, or neither has
    return "steady" if periodic > max(ratio * steady, error) else "periodic"


def _errors(
    side: Largest, steady_noise: float, periodic_noise: float, window: int
) -> tuple[float, float]:
    """The relative squared errors of measuring at every timestamp, and once per window."""
    level = np.maximum(side.degrees, 1e-6)
    rows = np.stack([level, level**2])
    spread = np.sqrt((rows * np.linalg.solve(side.drift.information, rows)).sum(axis=0))
    moved = np.maximum(side.drift.rates @ rows - spread, 0.02)
    square = level**2
    steady = float((_settled(moved, steady_noise) / square).mean())
    steady += side.new_share * steady_noise / (steady_noise + float(square.mean()))
    between = moved * (window - 1) / 2
    periodic = float(((_settled(window * moved, periodic_noise) + between) / square).mean())
    periodic += side.new_share * (window - 1) / 2
    return steady, periodic


def _settled(drift: Floats, noise: float) -> Floats:
    """Return the variance at which a random-walk filter settles."""
    return (np.sqrt(drift**2 + 4 * drift * noise) - drift) / 2


def top_count(nodes: int) -> int:
    """Return how many nodes count as the largest: 1 %, and at least 5."""
    return min(nodes, max(5, math.ceil(nodes / 100)))
