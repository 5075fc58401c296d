"""Node ids: integers throughout or strings throughout, and nothing else.

Everything that enters psgraph passes through `as_ids`: int64, or an object array of `str`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from psgraph.errors import DataError

__all__ = ["ID_TYPES", "IdType", "Ids", "as_ids", "distinct_ids", "is_dense"]

_SMALL = 1 << 18  # integers; clearing that many takes less than hashing a thousand ids

Ids = NDArray[Any]

IdType = Literal["auto", "integer", "text"]
ID_TYPES: tuple[IdType, ...] = ("auto", "integer", "text")


def as_ids(ids: ArrayLike) -> Ids:
    """Convert ids to int64, or to an object array of `str`; refuse mixtures and missing values."""
    if isinstance(ids, np.ndarray):
        array = ids
    elif type(ids).__module__.startswith("pyarrow."):
        from psgraph.graph.formats.arrays import as_numpy

        array = as_numpy(ids)
    elif hasattr(ids, "__array__"):  # a column of pandas or polars
        array = np.asarray(ids)
    else:
        try:
            array = np.asarray(list(ids), dtype=object)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise DataError("node ids must be a flat sequence") from None
    if array.ndim != 1:
        raise DataError("node ids must be a flat sequence")
    if array.size == 0:
        return np.empty(0, dtype=np.int64) if array.dtype == object else _empty_like(array)
    if array.dtype.kind in "iu":
        if array.dtype.kind == "u" and array.dtype.itemsize == 8 and array.max() > 2**63 - 1:
            raise DataError("integer node ids must fit in 64 signed bits")
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError("node ids have missing values (NaN)\nDrop or repair those rows.")
        if (np.abs(array) > 2**53).any():  # beyond it neighbouring integers are one float
            raise DataError("node ids are floats too large to be exact\nStore them as integers.")
        whole = array.astype(np.int64)
        if not (whole == array).all():
            raise DataError("node ids must be integers or strings, not fractions")
        return whole
    if array.dtype.kind in "UT":
        return array.astype(object)
    if array.dtype.kind != "O":
        raise DataError(f"node ids must be integers or strings, not {array.dtype.type.__name__}")
    kinds = {type(item) for item in array}
    if all(issubclass(kind, str) for kind in kinds):
        return array
    if all(issubclass(kind, (int, np.integer)) and kind is not bool for kind in kinds):
        try:
            return array.astype(np.int64)
        except OverflowError:
            raise DataError("integer node ids must fit in 64 signed bits") from None
    if any(_missing(item) for item in array):
        raise DataError("node ids have missing values\nDrop or repair those rows.")
    raise DataError("node ids mix types\nUse integers throughout or strings throughout.")


def _missing(item: object) -> bool:
    """Whether an item is None, NaN, or the missing value of pandas."""
    if isinstance(item, float | np.floating):
        return bool(item != item)
    return item is None or type(item).__name__ in ("NAType", "NaTType")


def distinct_ids(a: Ids, b: Ids) -> Ids:
    """Return the ids that occur in either array, sorted. O(m) if integers lie close together."""
    if a.dtype == object:
        return np.array(sorted({*a.tolist(), *b.tolist()}), dtype=object)
    if not a.size:
        return a
    low, high = int(min(a.min(), b.min())), int(max(a.max(), b.max()))
    if is_dense(low, high, count=a.size):
        seen = np.zeros(high - low + 1, dtype=bool)
        seen[a - low] = True
        seen[b - low] = True
        return np.flatnonzero(seen) + low
    merged = np.sort(np.concatenate([a, b]))  # np.unique hashes, which is many times slower
    return merged[np.append(True, merged[1:] != merged[:-1])]


def is_dense(low: int, high: int, *, count: int) -> bool:
    """Whether an array over all integers from `low` to `high` is small, or small beside `count`.

    >>> is_dense(0, 65_535, count=1), is_dense(0, 10**9, count=1000)
    (True, False)
    """
    return high - low < max(8 * count, _SMALL)


def _empty_like(array: Ids) -> Ids:
    return np.empty(0, dtype=np.int64 if array.dtype.kind in "iuf" else object)
