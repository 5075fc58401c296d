"""How hard an audit tries."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FULL", "QUICK", "Effort"]


@dataclass(frozen=True)
class Effort:
    """How hard to try.

    Attributes
    ----------
    pairs
        Neighbouring streams that each method is replayed on.
    draws
        Draws of each mechanism, and of the noise at each scale.
    few
        Draws of samplers that are drawn one by one.
    runs
        Runs of each method on one small graph and its neighbour.
    streams
        Runs of each method on two streams of 2w timestamps.
    seconds
        The longest that the runs of one bound may take.
    longest
        No attack begins after this many seconds; those left out count as failed.
    thorough
        Whether every detector looks at every mutant, or only up to the first that finds it.
    """

    mode: str
    pairs: int
    draws: int
    few: int
    runs: int
    streams: int
    seconds: float
    longest: float
    thorough: bool = False


QUICK = Effort(
    "quick",
    pairs=63,
    draws=1_000_000,
    few=2_000,
    runs=300,
    streams=300,
    seconds=1.5,
    longest=600,
)
FULL = Effort(
    "full",
    pairs=10_000,
    draws=1_000_000,
    few=50_000,
    runs=100_000,
    streams=5_000,
    seconds=600,
    longest=3_600,
    thorough=True,
)
