"""Oversight: the budget, verification and the audit log, for auditors and curators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph.errors import PsgraphError, VerificationFailed, exact_decimal
from psgraph.privacy.accountant import Accountant
from psgraph.publication.spending import Spending
from psgraph.publication.verification import verify
from psgraph.service.audit_log import LogName
from psgraph.service.permissions import Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import AuditPage, Budget, SpendRow, VerificationView
from psgraph.streams.statements import window_in_time

if TYPE_CHECKING:
    from psgraph.service.service import Service
    from psgraph.service.streams import Stream

__all__ = ["audit_page", "budget_of", "verification_of"]


def budget_of(stream: Stream) -> Budget:
    """Return what every released timestamp spent, from the certificates."""
    certificates = stream.shelf.certificates()
    accountant = Accountant(stream.guarantee)
    for certificate in certificates:
        accountant = accountant.record(certificate.spent)
    spending = Spending.of(accountant)
    times = [each.time for each in certificates]
    return Budget(
        **stream.guarantee.to_dict(),
        window_in_time=window_in_time(stream.guarantee.window, stream.statement, times),
        timestamps=len(certificates),
        spent=exact_decimal(spending.spent),
        left=exact_decimal(stream.guarantee.epsilon - spending.spent),
        next_timestamp=exact_decimal(spending.remaining),
        promise=stream.promise.text,
        private=stream.promise.private,
        rows=[
            SpendRow(
                timestamp=each.timestamp,
                time=each.time,
                spent=exact_decimal(each.spent),
                window_spent=exact_decimal(each.window_spent),
            )
            for each in certificates
        ],
    )


def verification_of(service: Service, stream: Stream, by: Identity) -> VerificationView:
    """Check every release and the ledger of a stream."""
    try:
        found = verify(stream.out)
    except VerificationFailed as error:
        problems = [_without_paths(problem, stream) for problem in error.problems[:20]]
        result = VerificationView(ok=False, problems=problems or ["The check failed."])
    except PsgraphError:
        result = VerificationView(ok=False, problems=["The files of the stream can't be read."])
    else:
        result = VerificationView(
            ok=True,
            problems=[],
            timestamps=found.timestamps,
            releases=found.releases,
            pending=found.pending,
            largest_window_spent=found.largest_window_spent,
        )
    outcome = "in order" if result.ok else "problems found"
    service.audit.add(by, "verify", stream=stream.name, outcome=outcome)
    return result


def _without_paths(problem: str, stream: Stream) -> str:
    return problem.replace(f"{stream.out}/", "").replace(str(stream.out), "the releases")


def audit_page(
    service: Service, caller: Identity, log: LogName, *, before: int | None, limit: int
) -> AuditPage:
    """Return a page of the audit log that a caller may see.

    A token that is limited to some streams sees the entries of those only.
    """
    if log == "events" and caller.role != "curator":
        raise Refusal(
            403,
            "forbidden",
            "How often events were posted may depend on private data.",
            "Use a token of a curator.",
        )
    streams = None if caller.streams is None else sorted(caller.streams)
    return AuditPage(
        entries=service.audit.entries(log, before=before, limit=limit, streams=streams),
        total=service.audit.count(log, streams=streams),
        head=service.audit.head(log),
    )
