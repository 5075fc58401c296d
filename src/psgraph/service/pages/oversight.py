"""Pages for auditors and curators: budget, verification, the audit log and the quality report."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from psgraph.service.api.access import Caller, OpenStream, TheService
from psgraph.service.audit_log import LogName
from psgraph.service.pages.templates import render, render_stream
from psgraph.service.pages.visits import PageRoute, checked_form, open_to
from psgraph.service.private_views import quality_report
from psgraph.service.schemas import VerificationView
from psgraph.service.service import Service
from psgraph.service.streams import Stream
from psgraph.service.views import budget_of, stream_view, verification_of

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)

_ROWS = 200
_ENTRIES = 50


@router.get("/streams/{stream}/records", **open_to("oversee"))
def show_records(request: Request, stream: OpenStream, service: TheService) -> Response:
    """Show what every timestamp spent."""
    return _records(request, service, stream)


@router.post("/streams/{stream}/records", **open_to("oversee"))
async def verify_records(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Verify everything and show the outcome."""
    await checked_form(request)
    outcome = await service.in_thread(verification_of, service, stream, caller)
    return await service.in_thread(_records, request, service, stream, outcome)


def _records(
    request: Request, service: Service, stream: Stream, outcome: VerificationView | None = None
) -> Response:
    view, budget = stream_view(service, stream), budget_of(stream)
    return render_stream(
        request,
        "records.html",
        view,
        budget=budget,
        rows=budget.rows[: -_ROWS - 1 : -1],
        outcome=outcome,
    )


@router.get("/audit", **open_to("oversee"))
def show_audit_log(
    request: Request,
    service: TheService,
    caller: Caller,
    before: Annotated[int | None, Query(ge=0)] = None,
    known: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
    log: LogName = "main",
) -> Response:
    """Show the entries of a log, and whether it is intact, also since a digest noted earlier."""
    page = service.audit.page(caller, log, before=before, limit=_ENTRIES)
    last = page.entries[-1].number if page.entries else 0
    return render(
        request,
        "audit.html",
        "Audit log",
        subtitle="Every access to private data, every stream and token. Append-only; no entry "
        "holds private data."
        if log == "main"
        else "Posts of events. Their number may depend on private data: for curators only.",
        log=log,
        known=known,
        chain=service.audit.verify(log, known_head=known),
        entries=page.entries,
        total=page.total,
        older=last or None,
    )


@router.get("/streams/{stream}/quality", **open_to("compare"))
def show_quality(request: Request, stream: OpenStream, service: TheService) -> Response:
    """Show whether there is a quality report, and what it contains."""
    view = stream_view(service, stream)
    return render_stream(request, "quality.html", view)


@router.post("/streams/{stream}/quality", **open_to("compare", private=True))
async def open_quality_report(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Return the quality report. Contains private data: for the curator only."""
    await checked_form(request)
    report: Response = await service.in_thread(quality_report, service, stream, caller)
    return report
