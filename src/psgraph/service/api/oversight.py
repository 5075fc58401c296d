"""Oversight: budget, verification, comparison with originals, and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from psgraph.service.api.access import ActionRoute, Caller, OpenStream, TheService, allowed
from psgraph.service.audit_log import LogName
from psgraph.service.private_views import comparison, quality_report
from psgraph.service.schemas import (
    AuditPage,
    AuditVerification,
    Budget,
    ComparisonResult,
    VerificationView,
)
from psgraph.service.views import budget_of, verification_of

__all__ = ["router"]

router = APIRouter(route_class=ActionRoute, tags=["oversight"])


@router.get("/streams/{stream}/budget", **allowed("oversee"))
def get_budget(stream: OpenStream) -> Budget:
    """Return what every timestamp spent, and what is left in the window."""
    return budget_of(stream)


@router.get("/streams/{stream}/verify", **allowed("oversee"))
def get_verification(stream: OpenStream, service: TheService, caller: Caller) -> VerificationView:
    """Check every release, certificate and ledger row of a stream, and add up every window."""
    return verification_of(service, stream, caller)


@router.get("/streams/{stream}/comparison", **allowed("compare", private=True))
def get_comparison(stream: OpenStream, service: TheService, caller: Caller) -> ComparisonResult:
    """Compare releases with the originals that are still kept. For the curator only."""
    return comparison(service, stream, caller)


@router.get(
    "/streams/{stream}/comparison/report",
    response_class=HTMLResponse,
    **allowed("compare", private=True),
)
def get_quality_report(stream: OpenStream, service: TheService, caller: Caller) -> HTMLResponse:
    """Return the comparison as an HTML page. For the curator only."""
    return quality_report(service, stream, caller)


@router.get("/audit-log", **allowed("oversee"))
def get_audit_log(
    service: TheService,
    caller: Caller,
    before: Annotated[int | None, Query(ge=0)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    log: Annotated[
        LogName,
        Query(description="'events': every post of events, for curators."),
    ] = "main",
) -> AuditPage:
    """Return entries of the audit log, newest first."""
    return service.audit.page(caller, log, before=before, limit=limit)


@router.get("/audit-log/verify", **allowed("oversee"))
def verify_audit_log(
    service: TheService,
    known_head: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="A head noted earlier.")
    ] = None,
) -> AuditVerification:
    """Check the chain of digests, and that a head noted earlier is still part of it."""
    return service.audit.verify("main", known_head=known_head)
