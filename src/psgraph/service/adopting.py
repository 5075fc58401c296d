"""Adopting a stream that the command published, and leaving one to it.

The releases and the ledger stay where they are. Once the service is stopped, `psgraph publish`,
`resume`, `verify`, `budget` and `export` work on them as before.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from psgraph.errors import InvalidArgument, LedgerError, exact_decimal
from psgraph.graph import Roster
from psgraph.publication.ledger import Ledger
from psgraph.publication.locations import ledger_at, releases_of
from psgraph.publication.publisher import Publisher
from psgraph.service.audit_log import SERVICE
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewStream
from psgraph.service.service import Service
from psgraph.service.streams import Stream

__all__ = ["adopt"]


def adopt(service: Service, name: str, out: Path) -> Stream:
    """Register the stream in a release directory under a name; its terms are in its ledger.

    One that is registered already is returned, so that every start can name it.

    Raises
    ------
    InvalidArgument
        The name is taken or not usable, or the directory has no releases.
    """
    for known in service.streams:
        if known.name == name and known.adopted and known.out.resolve() == out.resolve():
            return known
    path = ledger_at(out)
    Publisher.resume(path).close()  # finishes a release that was interrupted
    with Ledger(path, writing=False) as ledger:
        terms, kind = ledger.terms, ledger.roster_kind()
        directory = releases_of(path, terms.out)
        roster = _latest_roster(ledger)
    if directory is None:
        raise InvalidArgument(
            f"the stream of {path} is not written to a directory\nOnly one that is can be served."
        )
    try:
        new = NewStream(
            name=name,
            epsilon=exact_decimal(terms.guarantee.epsilon),
            window=terms.guarantee.window,
            method=terms.method,
            parameters={key: str(value) for key, value in terms.parameters.items()},
            roster="edges" if kind == "edges" else "list",
            seed=terms.seed,
        )
    except ValidationError:
        raise InvalidArgument(
            f"{name!r} can't be the name of a stream\n"
            "Use lower-case letters, digits, - and _, at most 63."
        ) from None
    try:
        stream = service.streams.adopt(new, directory, SERVICE)
    except Refusal as refusal:
        raise InvalidArgument(f"{refusal.message}\n{refusal.remedy}") from None
    if roster is not None and kind != "edges":
        stream.roster.grow(roster)
    return stream


def _latest_roster(ledger: Ledger) -> Roster | None:
    if not ledger.sealed:
        return None
    roster = ledger.roster(ledger.seal_of(ledger.sealed - 1).roster)
    if roster is None:
        raise LedgerError(f"a roster is missing in {ledger.path}")
    return roster
