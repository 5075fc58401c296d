"""The array types of the code base, named once, and immutable objects that hold arrays."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Floats",
    "Frozen",
    "Integers",
    "Labels",
    "Positions",
    "Singles",
    "Words",
    "read_only",
    "summed",
]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Positions = NDArray[np.int32]  # of nodes in a roster
Labels = NDArray[np.int32]  # a class, community or group for every node
Words = NDArray[np.uint64]


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Make an array read-only, in place."""
    array.flags.writeable = False
    return array


class Frozen:
    """Base of the immutable classes. `_fields` are set once and survive pickling.

    >>> class Point(Frozen):
    ...     _fields = ("x",)
    >>> point = Point()
    >>> point._fill(x=1)
    >>> point.x = 2
    Traceback (most recent call last):
    AttributeError: a Point is immutable
    """

    __slots__ = ()

    _fields: tuple[str, ...] = ()

    def _fill(self, **fields: Any) -> None:
        """Set the fields. Arrays become read-only."""
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                read_only(value)
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a {type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), {name: getattr(self, name) for name in self._fields})


def _restore(kind: type[Frozen], fields: dict[str, Any]) -> Frozen:
    """Unpickle: fields were validated before, so they are only frozen again."""
    restored = object.__new__(kind)
    restored._fill(**fields)
    return restored


def summed(keys: Integers, weight: Integers, largest: int) -> tuple[Integers, Integers]:
    """Return distinct keys in ascending order, each with its sum of weights up to `largest`.

    >>> [each.tolist() for each in summed(np.array([7, 3, 7]), np.array([2, 1, 2]), 3)]
    [[3, 7], [1, 3]]
    """
    order = np.argsort(keys, kind="stable")
    keys, weight = keys[order], weight[order].astype(np.int64, copy=False)
    if not keys.size:
        return keys, weight
    begins = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    # Weights are at most 2³¹, so that sums of all rows that fit into memory fit into 64 bits.
    return keys[begins], np.minimum(np.add.reduceat(weight, begins), largest)
