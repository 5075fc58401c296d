"""Seeds for engines: a block or an edge is drawn from a seed and its own number."""

from __future__ import annotations

import numpy as np

__all__ = ["synthesis_seed"]


def synthesis_seed(rng: np.random.Generator) -> int:
    """Return 64 bits for one verb of an engine; the next call gives others.

    >>> rng = np.random.default_rng(1)
    >>> synthesis_seed(rng) == synthesis_seed(rng)
    False
    """
    return int(rng.integers(0, 1 << 64, dtype=np.uint64))
