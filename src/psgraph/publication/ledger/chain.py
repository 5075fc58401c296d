"""The rows of a ledger: their bytes, and the chain of digests that shows any later change."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from psgraph.errors import DataError, LedgerError
from psgraph.graph import Roster, TwoSidedRoster
from psgraph.graph.labels import NodeLabels
from psgraph.graph.roster import Declared
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import exact_fraction
from psgraph.publication.legacy import covered_columns
from psgraph.publication.terms import Terms

__all__ = [
    "COLUMNS",
    "SEALED",
    "Facts",
    "Link",
    "chain_problems",
    "pack_charges",
    "pack_roster",
    "row_digest",
    "unpack_charges",
    "unpack_roster",
]

SEALED = (
    "timestamp",
    "time",
    "spent",
    "charges",
    "seed",
    "snapshot",
    "roster",
    "measurement",
    "state",
    "version",
    "previous",
    "noise",
    "times",
)
"""The columns that a row's digest covers, in order."""
COLUMNS = ", ".join((*SEALED, "digest", "certificate", "certificate_mark"))

_SPENT, _ROSTER, _STATE, _PREVIOUS, _NOISE = (
    SEALED.index(name) for name in ("spent", "roster", "state", "previous", "noise")
)


def row_digest(before: bytes, columns: Sequence[Any]) -> bytes:
    """The digest of a row (the columns of `SEALED`) and of everything before it."""
    return chain_digest(before, covered_columns(columns, _NOISE))


class Link(NamedTuple):
    """The end of a chain, to which the next row is attached."""

    timestamp: int
    digest: bytes
    certificate: bytes | None
    accountant: Accountant


def chain_problems(
    rows: Iterable[tuple[Any, ...]],
    link: Link,
    *,
    has_roster: Callable[[object], bool],
    mark: Callable[[int, bytes], bytes],
    current_state: bytes | None,
) -> Iterator[str]:
    """Describe what is wrong with rows (of `COLUMNS`, in order) that follow a link.

    Parameters
    ----------
    has_roster
        Whether a roster of this digest is stored.
    mark
        The keyed digest of a certificate's digest.
    current_state
        Digest of the stored state, which belongs to the last row.
    """
    expected, before, previous, accountant = link
    state: object = None
    for *columns, digest, certificate, certificate_mark in rows:
        timestamp = columns[0]
        name = f"timestamp {timestamp}"
        if timestamp != expected:
            yield f"timestamp {expected} is missing"
        if digest != row_digest(before, columns):
            yield f"{name}: the sealed row was changed"
            if not isinstance(digest, bytes):
                return
        if columns[_PREVIOUS] != previous:
            yield f"{name}: the previous certificate's digest does not match"
        if not has_roster(columns[_ROSTER]):
            yield f"{name}: its roster is missing"
        try:
            spent = exact_fraction(columns[_SPENT])
            if not 0 <= spent <= accountant.remaining:
                yield f"{name}: the window is overspent"
        except (ValueError, ZeroDivisionError):
            yield f"{name}: the spend can't be read"
            spent = Fraction(0)
        window = accountant.guarantee.window
        recent = (*accountant.recent, spent)[-window:]
        accountant = Accountant(accountant.guarantee, recent, timestamp + 1)
        if certificate is not None or certificate_mark is not None:
            known = isinstance(certificate, bytes)
            if not known or certificate_mark != mark(timestamp, certificate):
                yield f"{name}: the digest of the certificate was changed"
        before, previous, state, expected = digest, certificate, columns[_STATE], timestamp + 1
    if state is not None and state != current_state:
        yield "the state was changed"


_KEY_BYTES = 32


@dataclass(frozen=True)
class Facts:
    """The key of a ledger and its terms, as stored: those of version 0.1.0 keep their bytes."""

    key: bytes
    content: bytes

    @classmethod
    def begin(cls, terms: Terms) -> Facts:
        """Facts of a new ledger, with a fresh key."""
        return cls(os.urandom(_KEY_BYTES), terms.to_bytes())

    @classmethod
    def read(cls, rows: Mapping[str, bytes]) -> Facts:
        """Read the stored rows; a `ValueError` if they are not what `rows` writes."""
        facts = cls(rows.get("key", b""), rows.get("terms", b""))
        if not isinstance(facts.key, bytes) or not isinstance(facts.content, bytes):
            raise ValueError("not facts")
        if rows != facts.rows():
            raise ValueError("not facts")
        return facts

    def restated(self, terms: Terms) -> Facts:
        """The same key with other terms, before anything is sealed."""
        return Facts(self.key, terms.to_bytes())

    def rows(self) -> dict[str, bytes]:
        """The rows of the table `facts`."""
        mark = hmac.digest(self.key, b"terms " + self.content, "sha256")
        return {"key": self.key, "terms": self.content, "mark": mark}

    @property
    def terms(self) -> Terms:
        return Terms.from_bytes(self.content)

    @property
    def genesis(self) -> bytes:
        """The digest that the chain of rows starts from."""
        key = hashlib.sha256(b"psgraph key\0" + self.key).digest()
        return hashlib.sha256(b"psgraph ledger\0" + key + self.content).digest()

    def certificate_mark(self, timestamp: int, certificate: bytes) -> bytes:
        """The keyed digest of a certificate's digest."""
        return hmac.digest(self.key, b"certificate %d " % timestamp + certificate, "sha256")


def chain_digest(before: bytes, columns: Sequence[Any]) -> bytes:
    """The digest of a row and of everything before it."""
    digest = hashlib.sha256(before)
    for value in columns:
        data = value if isinstance(value, bytes) else repr(value).encode()
        digest.update(b"%s %d " % (type(value).__name__.encode(), len(data)))
        digest.update(data)
    return digest.digest()


_CHARGE = ("mechanism", "label", "epsilon", "sensitivity", "shape", "part", "proven", "split")


def pack_charges(charges: tuple[Charge, ...]) -> str:
    """Charges as short JSON: a list of values each, the last two only where they say something."""
    rows = []
    for charge in charges:
        content = {"part": "", **({"proven": True} if charge.split else {}), **charge.to_dict()}
        rows.append([content[name] for name in _CHARGE if name in content])
    return json.dumps(rows, separators=(",", ":"), ensure_ascii=False)


def unpack_charges(text: str) -> tuple[Charge, ...]:
    """The inverse of `pack_charges`."""
    return tuple(
        Charge.from_dict(dict(zip(_CHARGE, row, strict=False))) for row in json.loads(text)
    )


# ---- rosters ----

_DECLARED: dict[Declared, bytes] = {"given": b"g", "nodes": b"n", "edges": b"e"}


def pack_roster(roster: Roster) -> bytes:
    """A roster as bytes: how it was obtained, the kind of ids, the ids.

    Labels, if there are any, come first: ``L``, their length in 8 bytes, and their content.
    """
    if isinstance(roster, TwoSidedRoster):
        left, right = map(pack_roster, roster.sides)
        return _DECLARED[roster.declared] + b"t" + len(left).to_bytes(8, "little") + left + right
    head = _DECLARED[roster.declared] + (b"s" if roster.strings else b"i")
    if roster.labels is not None:
        labels = roster.labels.content
        head = b"L" + len(labels).to_bytes(8, "little") + labels + head
    if roster.strings:
        return head + json.dumps(roster.ids.tolist(), ensure_ascii=False).encode()
    return head + roster.ids.astype("<i8").tobytes()


def unpack_roster(content: object) -> Roster:
    """The inverse of `pack_roster`; refuses what that would have written differently."""
    try:
        if not isinstance(content, bytes):
            raise ValueError
        if content[1:2] == b"t":
            cut = 10 + int.from_bytes(content[2:10], "little")
            sides = unpack_roster(content[10:cut]), unpack_roster(content[cut:])
            both = TwoSidedRoster(*sides)
            if pack_roster(both) != content:
                raise ValueError
            return both
        ids: Any
        labels, whole = None, content
        if content[:1] == b"L":
            end = 9 + int.from_bytes(content[1:9], "little")
            labels, content = NodeLabels.from_content(content[9:end]), content[end:]
        if content[1:2] == b"s":
            names = json.loads(content[2:])
            ids = np.array(names, dtype=object if names else str)  # no names are still names
        else:
            ids = np.frombuffer(content[2:], dtype="<i8").astype(np.int64)
        declared = {letter: name for name, letter in _DECLARED.items()}.get(content[:1])
        if declared is None:
            raise ValueError
        roster = Roster(ids, declared=declared, labels=labels)
        if pack_roster(roster) != whole:
            raise ValueError
        return roster
    except (DataError, IndexError, RecursionError, TypeError, ValueError):
        raise LedgerError("a stored roster is damaged") from None
