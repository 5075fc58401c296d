"""What a snapshot knows about the owners of its edges."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from psgraph._runtime.arrays import Integers
from psgraph.errors import DataError

__all__ = ["Bound", "ascending_sizes"]


class Bound(NamedTuple):
    """How many edges of an owner are in use, as a snapshot states it.

    Attributes
    ----------
    column, at_most
        The column of the owners, and the bound on their distinct edges (of flows: rows): public.
    rows
        A digest of all rows with their owners, also of those not in use: private.
    """

    column: str
    at_most: int
    rows: str = ""


def ascending_sizes(sizes: ArrayLike | None) -> Integers | None:
    """Return the sizes of owners in ascending order, so that nothing depends on who they are."""
    if sizes is None:
        return None
    given = np.asarray(sizes)
    if given.ndim != 1 or (given.size and (given.dtype.kind not in "iu" or given.min() < 1)):
        raise DataError("the sizes of owners are integers of at least 1")
    return np.sort(given).astype(np.int64)
