"""How rows of a ledger are written: digests, charges and rosters as bytes and text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from psgraph.errors import LedgerError
from psgraph.graph import Roster
from psgraph.graph.roster import Declared
from psgraph.privacy.budget import Charge

__all__ = ["chain_digest", "pack_charges", "pack_roster", "unpack_charges", "unpack_roster"]


def chain_digest(before: bytes, columns: Sequence[Any]) -> bytes:
    """The digest of a row and of everything before it."""
    digest = hashlib.sha256(before)
    for value in columns:
        data = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%s %d " % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return digest.digest()


_CHARGE = ("mechanism", "label", "epsilon", "sensitivity", "shape", "part", "proven")


def pack_charges(charges: tuple[Charge, ...]) -> str:
    """Charges as short JSON: a list of values each, `proven` only where it is false."""
    rows = []
    for charge in charges:
        content = {"part": "", **charge.to_dict()}
        rows.append([content[name] for name in _CHARGE if name in content])
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)


def unpack_charges(text: str) -> tuple[Charge, ...]:
    """The inverse of `pack_charges`."""
    return tuple(
        Charge.from_dict(dict(zip(_CHARGE, row, strict=False))) for row in json.loads(text)
    )


_DECLARED: dict[Declared, bytes] = {"given": b"g", "nodes": b"n", "edges": b"e"}


def pack_roster(roster: Roster) -> bytes:
    """A roster as bytes: how it was obtained, the kind of ids, the ids."""
    head = _DECLARED[roster.declared] + (b"s" if roster.strings else b"i")
    if roster.strings:
        return head + json.dumps(roster.ids.tolist(), ensure_ascii=False).encode()
    return head + roster.ids.astype("<i8").tobytes()


def unpack_roster(content: object) -> Roster:
    """The inverse of `pack_roster`; refuses what that would have written differently."""
    try:
        if not isinstance(content, bytes):
            raise ValueError
        ids: Any
        if content[1:2] == b"s":
            names = json.loads(content[2:])
            ids = np.array(names, dtype=object if names else str)  # no names are still names
        else:
            ids = np.frombuffer(content[2:], dtype="<i8").astype(np.int64)
        declared = {letter: name for name, letter in _DECLARED.items()}.get(content[:1])
        if declared is None:
            raise ValueError
        roster = Roster(ids, declared=declared)
        if pack_roster(roster) != content:
            raise ValueError
        return roster
    except (RecursionError, TypeError, ValueError):
        raise LedgerError("a stored roster is damaged") from None
