"""Measurements and states as bytes, without executable content.

The stored form, version 1: four bytes ``PSR1``, the length of a JSON text (8 bytes, little
endian), the text, then the raw arrays in the order the text names them, little endian. In the
text a plain number, string, boolean or null stands for itself, and an object with one key for
everything else::

    {"fraction": "1/3"}   {"float": "0x1.8p+1"}   {"tuple": [...]}   {"roster": "<digest>"}
    {"array": {"type": "<i8", "as": "|i1", "shape": [3]}}      {"record": "Name", "fields": {...}}
    {"kind": ["directed", 64]}

An array of type ``type`` is written as the smaller type ``as`` where that holds all its values, and
compressed (zstd) from 1 MiB on: then ``"zstd"`` states how many bytes are written. Noisy degrees of
ten million nodes take a fifth of the space, and half of the time to commit.

A kind is its name and its largest weight. A field that holds the kind of undirected graphs without
weights is left out: its default is that kind, and records of earlier versions have no such field.

Rosters are public and shared by many timestamps, so they are stored once, apart, and referred to
by their digest. A field that a later version added is left out at its default
(`psgraph._runtime.records`), so that records without it keep their bytes. Only record classes the
reader names are built; nothing else is ever called.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from psgraph._runtime.records import UNSTORED_DEFAULT
from psgraph.errors import DataError
from psgraph.graph import UNDIRECTED, Kind, Roster
from psgraph.graph.kind import find_kind
from psgraph.privacy.guarantee import exact_fraction

__all__ = ["decode", "encode"]

_MAGIC = b"PSR1"
_COMPRESSED_FROM = 1 << 20  # bytes
_MOST_EXPANSION = 1 << 15  # zstd writes at least 4 bytes for every 128 KiB
_STORED = object()  # no value of a field is this one
_ARRAY_TYPES = {"<i4", "<i8", "<f8", "|b1", "|i1", "|u1", "<u4", "<u8", "<i2", "<f4"}


def encode(record: Any) -> tuple[bytes, dict[str, Roster]]:
    """The stored form of a frozen dataclass, and the rosters it refers to.

    >>> from psgraph.privacy.mechanisms.sparse import NoisyCounts
    >>> counts = NoisyCounts(9, 0.5, np.array([2, 7]), np.array([1, 3]))
    >>> data, _ = encode(counts)
    >>> decode(data, classes=[NoisyCounts], rosters={}.get).values
    array([1, 3])
    """
    arrays: list[bytes] = []
    rosters: dict[str, Roster] = {}
    text = json.dumps(_pack(record, arrays, rosters), separators=(",", ":")).encode()
    return b"".join([_MAGIC, len(text).to_bytes(8, "little"), text, *arrays]), rosters


def _pack(value: Any, arrays: list[bytes], rosters: dict[str, Roster]) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Fraction):
        return {"fraction": f"{value.numerator}/{value.denominator}"}
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, tuple):
        return {"tuple": [_pack(item, arrays, rosters) for item in value]}
    if isinstance(value, Roster):
        rosters[value.digest] = value
        return {"roster": value.digest}
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
        if little.dtype.str not in _ARRAY_TYPES:
            raise DataError(f"arrays of {value.dtype} can't be stored", code="unstorable")
        compact = _compact(little)
        kind = {"type": little.dtype.str, "as": compact.dtype.str, "shape": list(value.shape)}
        content = compact.tobytes()
        if len(content) >= _COMPRESSED_FROM:
            content = pa.Codec("zstd", compression_level=1).compress(content, asbytes=True)
            kind["zstd"] = len(content)
        arrays.append(content)
        return {"array": kind}
    if isinstance(value, Kind):
        return {"kind": [value.name, value.largest_weight, *([True] if value.flows else [])]}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {
            name: _pack(field, arrays, rosters)
            for name, default in _field_names(type(value))
            if not _is_undirected(field := getattr(value, name))
            and (default is _STORED or field != default)
        }
        return {"record": type(value).__name__, "fields": fields}
    raise DataError(f"a {type(value).__name__} can't be stored", code="unstorable")


def _is_undirected(value: Any) -> bool:
    return isinstance(value, Kind) and value == UNDIRECTED


@lru_cache(maxsize=256)
def _field_names(kind: type) -> tuple[tuple[str, Any], ...]:
    """The fields of a record, each with the default at which it is not stored."""
    return tuple(
        (
            field.name,
            field.default if UNSTORED_DEFAULT.items() <= field.metadata.items() else _STORED,
        )
        for field in dataclasses.fields(kind)
    )


def _compact(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Signed integers in the fewest bytes that hold them all."""
    if array.dtype.kind != "i" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    for kind in ("|i1", "<i2", "<i4"):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return array.astype(kind, copy=False)
    return array


def decode(data: bytes, *, classes: Iterable[type], rosters: Callable[[str], Roster | None]) -> Any:
    """Read a record back. `rosters` finds a roster by its digest."""
    known = {kind.__name__: kind for kind in classes}
    try:
        if data[:4] != _MAGIC:
            raise ValueError
        end = 12 + int.from_bytes(data[4:12], "little")
        reader = _Reader(memoryview(data)[end:], known, rosters)
        record = reader.unpack(json.loads(data[12:end]))
        if reader.left:
            raise ValueError
        return record
    except (
        AttributeError,
        KeyError,
        OSError,  # what can't be decompressed
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
        ZeroDivisionError,
    ):
        raise DataError(
            "a stored record is damaged or of another version", code="damaged"
        ) from None


class _Reader:
    def __init__(
        self,
        arrays: memoryview,
        known: dict[str, type],
        rosters: Callable[[str], Roster | None],
    ) -> None:
        self._arrays, self._known, self._rosters = arrays, known, rosters

    @property
    def left(self) -> int:
        return len(self._arrays)

    def unpack(self, packed: Any) -> Any:
        if packed is None or isinstance(packed, (bool, int, str)):
            return packed
        if "record" in packed:
            fields = {name: self.unpack(value) for name, value in packed["fields"].items()}
            return self._known[packed["record"]](**fields)
        ((tag, value),) = packed.items()
        if tag == "fraction":
            return exact_fraction(value)
        if tag == "float":
            return float.fromhex(value)
        if tag == "kind":
            return find_kind(*value)
        if tag == "tuple":
            return tuple(self.unpack(item) for item in value)
        if tag == "roster":
            roster = self._rosters(value)
            if roster is None:
                raise ValueError
            return roster
        if tag == "array" and {value["type"], value["as"]} <= _ARRAY_TYPES:
            stored = self._array(np.dtype(value["as"]), tuple(value["shape"]), value.get("zstd"))
            return stored.astype(value["type"], copy=False)
        raise ValueError

    def _array(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], compressed: int | None
    ) -> np.ndarray[Any, Any]:
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError
        length = dtype.itemsize
        for size in shape:
            length *= size
        content = self._bytes(length if compressed is None else compressed)
        if compressed is not None:
            if length > len(content) * _MOST_EXPANSION:
                raise ValueError
            content = memoryview(pa.decompress(content, length, codec="zstd"))
        return np.frombuffer(content, dtype=dtype).reshape(shape)

    def _bytes(self, length: int) -> memoryview:
        if not isinstance(length, int) or not 0 <= length <= len(self._arrays):
            raise ValueError
        content, self._arrays = self._arrays[:length], self._arrays[length:]
        return content
