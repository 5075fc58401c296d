"""The array types of the code base, named once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Integers", "Labels", "Positions", "Singles", "Words"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Positions = NDArray[np.int32]  # of nodes in a roster
Labels = NDArray[np.int32]  # a class, community or group for every node
Words = NDArray[np.uint64]
