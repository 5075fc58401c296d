"""Pages for auditors and curators: budget, verification and the audit log."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from psgraph.service.api.access import Caller, OpenStream, TheService
from psgraph.service.audit_log import LogName
from psgraph.service.oversight import audit_page, budget_of, verification_of
from psgraph.service.pages.rendering import render, render_stream
from psgraph.service.pages.visits import PageRoute, checked_form, open_to
from psgraph.service.schemas import VerificationView
from psgraph.service.service import Service
from psgraph.service.streams import Stream
from psgraph.service.views import stream_view

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
    """Show whether a log is intact, also since a digest that was noted earlier, and its entries."""
    page = audit_page(service, caller, log, before=before, limit=_ENTRIES)
    last = page.entries[-1].number if page.entries else 0
    return render(
        request,
        "audit.html",
        "Audit log",
        subtitle="Every access to private data, every stream and token. Append-only; no entry "
        "holds private data."
        if log == "main"
        else "Posts of events. How many there are may depend on private data: curators only.",
        log=log,
        known=known,
        chain=service.audit.verify(log, known_head=known),
        entries=page.entries,
        total=page.total,
        older=last or None,
    )
