"""Arrow arrays as NumPy arrays and back, without pandas.

Arrow's own conversions import pandas wherever it is installed, which takes longer than publishing
a small stream. Plain numbers don't need it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["as_arrow", "as_numpy"]


def as_numpy(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Convert an Arrow array; numbers without missing values are not copied if in one chunk.

    >>> as_numpy(pa.chunked_array([[1, 2], [3]])), as_numpy(pa.array(["a"]))
    (array([1, 2, 3]), array(['a'], dtype=object))
    """
    kinds = pa.types
    plain = kinds.is_integer(array.type) or kinds.is_floating(array.type)
    if array.null_count or not plain:
        if isinstance(array, pa.ChunkedArray):
            return array.to_numpy()
        return array.to_numpy(zero_copy_only=False)
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    dtype = np.dtype(array.type.to_pandas_dtype())
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype, len(chunk), chunk.offset * dtype.itemsize)
        for chunk in chunks
        if len(chunk)
    ]
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def as_arrow(array: NDArray[Any]) -> pa.Array:
    """Convert a NumPy array of numbers, without copying it.

    >>> as_arrow(np.array([1, 2])).to_pylist()
    [1, 2]
    """
    plain = np.ascontiguousarray(array)
    kind = pa.from_numpy_dtype(plain.dtype)
    return pa.Array.from_buffers(kind, plain.size, [None, pa.py_buffer(plain)])
