"""How many edges stay from one timestamp to the next, and which of the last graph do."""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Labels
from psgraph._runtime.jit import kernel, lean_kernel
from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.plus.state import PlusState, SizeReadings
from psgraph.methods.plus.swap_choices import State, below
from psgraph.methods.plus.tracking import Track, laplace_variance

__all__ = ["kept_share", "kept_share_track", "old_edges", "steadiness"]


MOSTLY_NEW = 0.5  # where no more edges than this stay, nothing is done to keep them


def kept_share_track(state: PlusState | None, sizes: SizeReadings) -> Track:
    """Return the filtered share κ of edges that stay; it starts at 0, as nothing is known."""
    if state is None:
        return Track.start(0.0, variance=0.08, drift=0.0025)
    if sizes.noisy_kept_edges is None or state.edge_count == 0:
        return state.persistence
    noise = laplace_variance(float(1 / sizes.shares.persistence)) / state.edge_count**2
    observed = np.array([sizes.noisy_kept_edges / state.edge_count])
    return state.persistence.observe(observed, noise, np.ones(1)).clipped(0.0, 1.0)


def kept_share(track: Track) -> float:
    """Return κ."""
    return float(track.level[0])


def steadiness(share: float) -> float:
    """Return how much to do to let edges stay: 0 where most are new, 1 where all of them stay.

    >>> steadiness(0.4), steadiness(0.75), steadiness(1.0)
    (0.0, 0.5, 1.0)
    """
    return max(0.0, (share - MOSTLY_NEW) / (1 - MOSTLY_NEW))


def old_edges(
    previous: SyntheticGraph | None, roster: Roster, share: float, rng: np.random.Generator
) -> tuple[Labels, Labels]:
    """Return edges of the release before in random order, at most the share of it."""
    if previous is None or share == 0:
        return np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    u, v = previous.u.copy(), previous.v.copy()
    count = round(share * u.size)
    if previous.roster is not roster and previous.roster != roster:
        u, v = _moved(u, v, roster.positions(previous.roster.ids))
        count = min(count, u.size)
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    _draw(u, v, count, random)
    return u[:count], v[:count]


@kernel
def _moved(u: Labels, v: Labels, where: Labels) -> tuple[Labels, Labels]:
    """Edges with other numbers for their nodes, without those that have lost an end (−1)."""
    new_u, new_v = np.empty(u.size, dtype=np.int32), np.empty(u.size, dtype=np.int32)
    found = 0
    for edge in range(u.size):
        x, y = where[u[edge]], where[v[edge]]
        new_u[found], new_v[found] = x, y
        found += x >= 0 and y >= 0
    return new_u[:found], new_v[:found]


@lean_kernel
def _draw(u: Labels, v: Labels, count: int, state: State) -> None:
    """Draw edges without replacement: shuffle until the first `count` are random."""
    for index in range(count):
        other = index + below(state, u.size - index)
        u[index], u[other] = u[other], u[index]
        v[index], v[other] = v[other], v[index]
