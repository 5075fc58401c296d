"""The chain of rows: whether every sealed row is as it was written, and no window overspent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import exact_fraction
from psgraph.publication.ledger.packing import chain_digest

__all__ = ["COLUMNS", "SEALED", "Link", "chain_problems", "row_digest"]

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
    """The digest of a row (the columns of `SEALED`) and of everything before it.

    A row sealed by version 0.1.0 has no sampler, and its digest does not cover the last two.
    """
    return chain_digest(before, columns if columns[_NOISE] is not None else columns[:_NOISE])


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
            yield f"{name}: the certificate before it is another one"
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
