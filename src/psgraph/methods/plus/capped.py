"""Which triangles to count: all of them, or those among the first edges of every node.

The ladder mechanism counts all triangles, with noise that grows with the largest number of common
neighbours and with 1/ε². Where most nodes have few neighbours and ε is small, a count over part of
the edges says more; see `capped_triangles`. The choice is made from released degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from psgraph._runtime.arrays import Integers

__all__ = ["Cap", "best_cap"]


LEAST, MOST = 3, 256  # caps tried; a triangle needs two edges at each node


@dataclass(frozen=True)
class Cap:
    """How many edges a node keeps.

    Attributes
    ----------
    edges
        The cap itself, at least 2.
    share
        The expected share of triangles whose edges are all kept.
    """

    edges: int
    share: float

    @property
    def sensitivity(self) -> int:
        """How far one edge moves the number of triangles among kept edges."""
        return 2 * (self.edges - 1)


def best_cap(degrees: Integers, epsilon: float) -> Cap | None:
    """Return the cap with the best ratio of triangles to noise, None if the ladder has a better.

    On average the noise of the ladder mechanism is 2·LS/ε + 4/ε², where LS is the largest number
    of common neighbours: about half of the cap on the streams looked at.

    Parameters
    ----------
    degrees
        Released degrees of all nodes.
    epsilon
        What the count may spend.

    Examples
    --------
    >>> best_cap(np.full(100, 6), 0.1)
    Cap(edges=6, share=1.0)
    >>> best_cap(np.full(100, 6), 4.0) is None
    True
    """
    if epsilon == 0:
        return None
    degree, counts = np.unique(degrees, return_counts=True)
    stubs = float((degree * counts).sum())
    wedges = float((degree * (degree - 1) * counts).sum())
    if wedges == 0:
        return None
    caps = np.arange(LEAST, min(int(degree[-1]), MOST) + 1)
    if not caps.size:
        return None
    kept = np.minimum(degree, caps[:, None])
    # Two edges of a node survive its own cap, and then those of their other ends.
    shares = (kept * (kept - 1)) @ counts / wedges * ((kept @ counts) / stubs) ** 2
    best = int(np.argmax(shares / (caps - 1)))
    cap = Cap(int(caps[best]), round(float(shares[best]), 9))
    return cap if cap.share * (cap.edges + 4 / epsilon) > cap.sensitivity else None
