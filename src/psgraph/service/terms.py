"""The terms of a stream: checked when it is created, read from its ledger when it is adopted."""

from __future__ import annotations

from pydantic import ValidationError

from psgraph.errors import InvalidArgument, LedgerError, PsgraphError, exact_decimal
from psgraph.graph import Roster
from psgraph.graph.kind import UNDIRECTED, find_kind
from psgraph.methods.base import Caveat
from psgraph.methods.registry import build_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.unit import Owner
from psgraph.publication.ledger import Ledger
from psgraph.publication.terms import Promise
from psgraph.service.problems import Refusal
from psgraph.service.schedule import Schedule
from psgraph.service.schemas import NewStream

__all__ = ["guarantee_of", "latest_roster", "promise_of", "resolved", "terms_of_ledger"]

_PERIODS_AHEAD = 100  # the calendar must reach this far


def resolved(new: NewStream) -> NewStream:
    """Check the terms that depend on each other, and fix the first period."""
    if new.period is None:
        unused = [
            name
            for name, given in (
                ("first_period", new.first_period is not None),
                ("timezone", new.timezone is not None),
                ("delay_seconds", new.delay_seconds > 0),
                ("missing", new.missing != "wait"),
            )
            if given
        ]
        if unused or new.source == "events":
            what = unused[0] if unused else "source 'events'"
            raise Refusal(422, "invalid", f"{what} needs a period.", "Give a period such as 1d.")
        return new
    try:
        schedule = Schedule.starting(new.period, new.timezone, new.first_period)
        schedule.due(_PERIODS_AHEAD)
    except PsgraphError as error:
        message, _, remedy = str(error).partition("\n")
        raise Refusal(422, "invalid", message, remedy) from None
    if (new.source == "events" or new.missing == "empty") and schedule.current() > 0:
        raise Refusal(
            422,
            "invalid",
            "The first period is already over, so nothing could be posted for it.",
            "Give a moment in the current period, or leave first_period out.",
        )
    return new.model_copy(update={"first_period": schedule.time(0)})


def guarantee_of(terms: NewStream) -> WEventPrivacy:
    """The guarantee of a stream, in the words for its kind of graphs."""
    kind = find_kind(terms.kind, terms.weights)
    guarantee = WEventPrivacy(terms.epsilon, terms.window)
    return guarantee.on(directed=kind.directed, weighted=kind.weighted, flows=kind.flows)


def promise_of(terms: NewStream) -> Promise:
    """Return what the releases of a stream promise; nothing, of a method that is not installed."""
    guarantee = guarantee_of(terms)
    try:
        caveat = build_method(terms.method, terms.parameters, guarantee).caveat
    except PsgraphError:
        caveat = Caveat(None, f"method {terms.method!r} is not installed here.")
    return Promise(guarantee, caveat, seeded=terms.seed is not None)


def terms_of_ledger(name: str, ledger: Ledger) -> NewStream:
    """Return the terms of a stream to adopt."""
    terms, nodes = ledger.terms, ledger.declared_nodes()
    kind = terms.kind or UNDIRECTED
    if isinstance(terms.guarantee.unit, Owner) or kind.flows:
        raise InvalidArgument(
            "the service does not take rows with owners or flows yet\n"
            "Publish this stream with psgraph publish or psgraph watch.",
            code="owner",
        )
    try:
        return NewStream(
            name=name,
            epsilon=exact_decimal(terms.guarantee.epsilon),
            window=terms.guarantee.window,
            method=terms.method,
            parameters={key: str(value) for key, value in terms.parameters.items()},
            roster="edges" if nodes is not None and nodes.declared == "edges" else "list",
            labels=",".join(nodes.labels) if nodes is not None and nodes.labels else None,
            kind=kind.name,  # type: ignore[arg-type]
            weights=kind.largest_weight,
            seed=terms.seed,
        )
    except ValidationError:
        raise InvalidArgument(
            f"{name!r} is not a valid name for a stream\n"
            "Use lower-case letters, digits, - and _, at most 63 in all."
        ) from None


def latest_roster(ledger: Ledger) -> Roster | None:
    """Return the roster of the last timestamp; None if none is sealed."""
    if not ledger.sealed:
        return None
    roster = ledger.roster(ledger.seal_of(ledger.sealed - 1).roster)
    if roster is None:
        raise LedgerError(f"a roster is missing in {ledger.path}")
    return roster
