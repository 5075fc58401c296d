"""Jumps of the released edge count: where reruns say too little about the errors of releases.

A method combines what it measures with what it knows from up to w timestamps. After a jump of the
true graph that is out of date, but reruns do not see it: they start from releases that the stale
values went into already. And next to a part-period a mean over time is that of two different
streams. So one rule holds for every method, on released values alone: **if the released edge count
changes more than threefold from one timestamp to the next, and by more than its noise explains,
nothing is predicted for the window of w timestamps (at least two) that opens just before the
jump.** Changes up to threefold occur on most streams of the calibration, and it covers them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from psgraph._runtime.arrays import Floats
from psgraph._runtime.numbers import count, joined

__all__ = ["FACTOR", "Jump", "find_jumps", "jump_note", "predicted_timestamps", "shown_timestamps"]

FACTOR = 3.0
_MOST_NAMED = 3  # jumps in a note


@dataclass(frozen=True)
class Jump:
    """A jump of the released edge count.

    Attributes
    ----------
    timestamp
        The first timestamp after it.
    edges_before, edges_after
        The released edge counts of the timestamp before, and of this one.
    hidden
        The timestamps for which nothing is predicted.
    """

    timestamp: int
    edges_before: int
    edges_after: int
    hidden: range

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {
            "timestamp": self.timestamp,
            "edges_before": self.edges_before,
            "edges_after": self.edges_after,
            "not_predicted": list(self.hidden),
        }


def find_jumps(edges: Floats, margin: Floats, window: int) -> tuple[Jump, ...]:
    """Find the jumps of released edge counts.

    Parameters
    ----------
    edges
        The released edge counts.
    margin
        Half the width of the 90 % interval that the noise leaves, at every timestamp; NaN where
        that is not known.
    window
        w, the timestamps that estimates may remember.

    Examples
    --------
    >>> (jump,) = find_jumps(np.array([120.0, 3100, 3200, 3300]), np.full(4, 30.0), window=3)
    >>> jump.timestamp, jump.hidden
    (1, range(0, 3))
    >>> find_jumps(np.array([3.0, 40, 20]), np.full(3, 30.0), window=3)
    ()
    """
    noise = np.nan_to_num(margin)
    found = []
    for at in range(1, edges.size):
        before, after = float(edges[at - 1]), float(edges[at])
        apart = max(before, after) > FACTOR * max(min(before, after), 1.0)
        if apart and abs(after - before) > noise[at - 1] + noise[at]:
            last = min(at - 1 + max(window, 2), edges.size)
            found.append(Jump(at, int(before), int(after), range(at - 1, last)))
    return tuple(found)


def predicted_timestamps(jumps: Iterable[Jump], timestamps: int) -> tuple[int, ...]:
    """The timestamps for which something is predicted."""
    hidden = {at for jump in jumps for at in jump.hidden}
    return tuple(at for at in range(timestamps) if at not in hidden)


def shown_timestamps(timestamps: Sequence[int]) -> str:
    """Ascending timestamps in words, consecutive ones as a range.

    >>> shown_timestamps([0, 1, 2, 7]), shown_timestamps([4])
    ('timestamps 0–2 and 7', 'timestamp 4')
    """
    runs: list[list[int]] = []
    for at in timestamps:
        if runs and at == runs[-1][-1] + 1:
            runs[-1].append(at)
        else:
            runs.append([at])
    words = [f"{run[0]}" if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs]
    return f"{'timestamp' if len(timestamps) == 1 else 'timestamps'} {joined(words)}"


def jump_note(jumps: Sequence[Jump], timestamps: int) -> str:
    """Say what jumped, and what is therefore not predicted.

    >>> jump_note(find_jumps(np.array([120.0, 3100, 3200]), np.zeros(3), window=2), 3)
    'The released edge count changed from 120 to 3,100 at timestamp 1. Predictions for timestamps \
0–1, around this jump, are not made.'
    """
    predicted = set(predicted_timestamps(jumps, timestamps))
    changes = [
        f"from {each.edges_before:,} to {each.edges_after:,} at timestamp {each.timestamp}"
        for each in jumps[:_MOST_NAMED]
    ]
    if len(jumps) > _MOST_NAMED:
        changes.append(f"{count(len(jumps) - _MOST_NAMED, 'more time')}")
    hidden = shown_timestamps([at for at in range(timestamps) if at not in predicted])
    these = "this jump" if len(jumps) == 1 else "these jumps"
    return (
        f"The released edge count changed {joined(changes)}. Predictions for {hidden}, around "
        f"{these}, are not made."
    )
