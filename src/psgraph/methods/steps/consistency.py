"""NormSub: noisy counts made non-negative without moving their sum.

Wang et al., "Locally differentially private frequency estimation with consistency" (2020). Find δ
with Σ max(x − δ, 0) = Σ x and replace x by max(x − δ, 0). Works on noisy values only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Integers
from psgraph.privacy.mechanisms.sparse import histogram

__all__ = ["norm_sub", "norm_sub_threshold", "norm_sub_within"]


def norm_sub_threshold(values: Integers, how_often: Integers) -> float:
    """Return δ from the distinct values of a vector (ascending) and how often each occurs.

    Infinite if the sum is not positive: then everything becomes zero.

    >>> norm_sub_threshold(np.array([-2, 1, 4]), np.array([1, 1, 2]))
    0.6666666666666666
    """
    values, how_often = values[::-1], how_often[::-1]
    mass = values * how_often
    total = int(mass.sum())
    if total <= 0:
        return float("inf")
    # Keeping the k largest, δ = (their sum − total) / k; the right k is the last for which all
    # of them stay above δ. Equal values stay or go together, so groups of them are enough.
    thresholds = (mass.cumsum() - total) / how_often.cumsum()
    kept = np.flatnonzero(values > thresholds)
    return float(thresholds[kept[-1]])


def norm_sub(noisy: Integers) -> NDArray[np.float64]:
    """Return non-negative values with the same sum as `noisy`, or zeros if that is not positive.

    >>> norm_sub(np.array([4, -2, 1, 4]))
    array([3.33333333, 0.        , 0.33333333, 3.33333333])
    """
    return np.maximum(noisy - norm_sub_threshold(*histogram(noisy)), 0.0)


def norm_sub_within(noisy: Integers, labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Apply `norm_sub` to the values of each label separately. O(n log n).

    >>> norm_sub_within(np.array([4, 3, -2, 1]), np.array([0, 1, 0, 1], dtype=np.int32))
    array([2., 3., 0., 1.])
    """
    if not noisy.size:
        return np.zeros(0)
    order = np.lexsort((-noisy, labels))
    values, groups = noisy[order], labels[order]
    begins = np.searchsorted(groups, np.arange(groups[-1] + 1))
    sums = values.cumsum()
    before = (sums - values)[begins.clip(max=values.size - 1)]
    totals = sums[np.append(begins[1:], values.size) - 1] - before
    # As in `norm_sub_threshold`: with the k largest δ = (their sum − total) / k, and the right k
    # is the last for which all of them stay above δ.
    surplus = sums - before[groups] - totals[groups]
    ranks = np.arange(1, values.size + 1) - begins[groups]
    above = (values * ranks > surplus) & (totals[groups] > 0)
    delta = np.full(begins.size, np.inf)
    # Of several values assigned to one index the last one stays: that of the largest k.
    delta[groups[above]] = surplus[above] / ranks[above]
    return np.maximum(noisy - delta[labels], 0.0)
