"""Oversight of streams, tokens and planning; health, readiness and metrics for operators."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from psgraph._version import __version__
from psgraph.methods.registry import build_method
from psgraph.privacy.guarantee import WEventPrivacy, exact_fraction
from psgraph.publication.planning import plan
from psgraph.service.api.access import (
    ActionRoute,
    Caller,
    OpenStream,
    TheService,
    allowed,
    link_next,
)
from psgraph.service.audit_log import Filter, LogName
from psgraph.service.permissions import Identity
from psgraph.service.private_views import comparison, quality_report
from psgraph.service.schemas import (
    AuditPage,
    AuditVerification,
    Budget,
    ComparisonResult,
    Health,
    NewToken,
    PlanRequest,
    TokenCreated,
    TokenView,
    VerificationView,
)
from psgraph.service.service import Service
from psgraph.service.views import budget_of, stream_views, verification_of

__all__ = ["EVERYTHING", "Chosen", "operations", "oversight", "router"]

oversight = APIRouter(route_class=ActionRoute, tags=["oversight"])
router = APIRouter(route_class=ActionRoute, tags=["administration"])
operations = APIRouter(tags=["operations"])
"""Routes for operators, at the root, without the prefix of the interface."""


@oversight.get("/streams/{stream}/budget", **allowed("oversee"))
def get_budget(stream: OpenStream) -> Budget:
    """Return what every timestamp spent, and what is left in the window."""
    return budget_of(stream)


@oversight.get("/streams/{stream}/verify", **allowed("oversee"))
async def get_verification(
    stream: OpenStream, service: TheService, caller: Caller
) -> VerificationView:
    """Check every release, certificate and ledger row of a stream, and add up every window."""
    return await verification_of(service, stream, caller)


@oversight.get("/streams/{stream}/comparison", **allowed("compare", private=True))
async def get_comparison(
    stream: OpenStream, service: TheService, caller: Caller
) -> ComparisonResult:
    """Compare releases with the originals that are still kept. For the curator only."""
    return await comparison(service, stream, caller)


@oversight.get(
    "/streams/{stream}/comparison/report",
    response_class=HTMLResponse,
    **allowed("compare", private=True),
)
async def get_quality_report(
    stream: OpenStream, service: TheService, caller: Caller
) -> HTMLResponse:
    """Return the comparison as an HTML page. For the curator only."""
    return await quality_report(service, stream, caller)


_MOMENT = r"^(\d{4}(-\d\d(-\d\d(T[\d:]{2,8}Z?)?)?)?)?$"


def choose(
    action: Annotated[str | None, Query(max_length=60, pattern=r"^[a-z -]*$")] = None,
    stream: Annotated[str | None, Query(max_length=63, pattern=r"^[a-z0-9_-]*$")] = None,
    token: Annotated[str | None, Query(max_length=12, pattern=r"^[a-z0-9]*$")] = None,
    since: Annotated[
        str | None, Query(pattern=_MOMENT, description="Such as 2026-01-31, in UTC.")
    ] = None,
    until: Annotated[
        str | None, Query(pattern=_MOMENT, description="Entries before this moment.")
    ] = None,
) -> Filter:
    """Return which entries of the audit log are wanted."""
    return Filter(action, stream, token, since, until)


Chosen = Annotated[Filter, Depends(choose)]
EVERYTHING = Filter()


@oversight.get("/audit-log", **allowed("oversee"))
def get_audit_log(
    service: TheService,
    caller: Caller,
    request: Request,
    response: Response,
    before: Annotated[int | None, Query(ge=0)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    log: Annotated[
        LogName,
        Query(description="'curators': the outcome of every post, for curators."),
    ] = "main",
    chosen: Chosen = EVERYTHING,
) -> AuditPage:
    """Return entries of the audit log, newest first."""
    page = service.audit.page(caller, log, before=before, limit=limit, chosen=chosen)
    if len(page.entries) == limit and page.entries[-1].number:
        link_next(response, request, before=page.entries[-1].number)
    return page


@oversight.get(
    "/audit-log/export",
    response_class=Response,
    **allowed("oversee", files=("text/csv",)),
)
def export_audit_log(
    service: TheService,
    caller: Caller,
    log: LogName = "main",
    chosen: Chosen = EVERYTHING,
) -> Response:
    """Download the entries of the audit log as CSV, newest first."""
    rows = service.audit.rows(caller, log, chosen)
    started = chain([next(rows)], rows)  # a refusal comes before the first row
    headers = {"Content-Disposition": f'attachment; filename="audit-{log}.csv"'}
    return StreamingResponse(_as_csv(started), media_type="text/csv", headers=headers)


def _as_csv(rows: Iterable[list[str]]) -> Iterator[str]:
    rows = iter(rows)
    while some := list(islice(rows, 1000)):
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(some)
        yield text.getvalue()


@oversight.get("/audit-log/verify", **allowed("oversee"))
async def verify_audit_log(
    service: TheService,
    caller: Caller,
    known_head: Annotated[
        str | None, Query(pattern="^[0-9a-f]{64}$", description="A head noted earlier.")
    ] = None,
) -> AuditVerification:
    """Check the chain of digests, and that a head noted earlier is still part of it."""
    return await service.checking.run(
        caller,
        ("audit log", caller, known_head),
        lambda: service.audit.verify(caller, known_head=known_head),
    )


# ---- tokens and planning ----


@router.get("/tokens", **allowed("tokens"))
def list_tokens(service: TheService) -> list[TokenView]:
    """List all tokens, without their secrets."""
    return service.tokens.views()


@router.post("/tokens", status_code=201, **allowed("tokens"))
def create_token(new: NewToken, service: TheService, caller: Caller) -> TokenCreated:
    """Create a token. It is shown once; only its hash is stored."""
    return service.tokens.create(new, caller)


@router.delete("/tokens/{token}", **allowed("tokens"))
def revoke_token(
    token: Annotated[str, Path(pattern="^[a-z0-9]{12}$")], service: TheService, caller: Caller
) -> TokenView:
    """Revoke a token by its id. It stops working at once."""
    return service.tokens.revoke(token, caller)


@router.post("/plan", **allowed("plan"))
def post_plan(request: PlanRequest) -> dict[str, Any]:
    """Return how noisy a publication would be. Needs no data and spends nothing."""
    guarantee = WEventPrivacy(request.epsilon, request.window)
    method = build_method(request.method, {}, guarantee)
    return plan(guarantee, nodes=request.nodes, edges=request.edges, method=method).to_dict()


# ---- operations ----


@operations.get("/healthz", openapi_extra={"x-roles": ["public"]})
async def get_health(service: TheService) -> Health:
    """Answer 200 while the process runs; `problems` tells what the operator has to look at."""
    problems = service.problems()
    return Health(status="degraded" if problems else "ok", version=__version__, problems=problems)


@operations.get("/readyz", openapi_extra={"x-roles": ["public"]})
async def get_readiness(service: TheService, response: Response) -> Health:
    """Answer 200 while requests are accepted and the worker runs, otherwise 503."""
    status = service.status
    response.status_code = 200 if status in ("ok", "degraded") else 503
    return Health(status=status, version=__version__, problems=service.problems())


@operations.get("/metrics", response_class=PlainTextResponse, openapi_extra={"x-roles": ["public"]})
async def get_metrics(request: Request, service: TheService) -> PlainTextResponse:
    """Return metrics for Prometheus: public values only.

    Values per stream need a token of a curator or an auditor.
    """
    identity = await service.gate.identify(request)
    return PlainTextResponse(
        _metrics_text(service, identity), media_type="text/plain; version=0.0.4"
    )


def _metrics_text(service: Service, identity: Identity) -> str:
    """Return the metrics that a caller may see, in the text format of Prometheus.

    Privacy: public values only; nothing counts edges, rows or posts.
    """
    lines = list(_general(service))
    if identity.may("oversee"):
        lines += _streams(service, identity)
    return "\n".join(lines) + "\n"


def _general(service: Service) -> Iterator[str]:
    yield "# HELP psgraph_info The version of psgraph."
    yield "# TYPE psgraph_info gauge"
    yield f'psgraph_info{{version="{__version__}"}} 1'
    yield "# HELP psgraph_up Whether requests are accepted and the worker runs."
    yield "# TYPE psgraph_up gauge"
    yield f"psgraph_up {int(service.status in ('ok', 'degraded'))}"
    yield "# HELP psgraph_problems Problems that the operator has to look at; see /healthz."
    yield "# TYPE psgraph_problems gauge"
    yield f"psgraph_problems {len(service.problems())}"
    yield "# HELP psgraph_start_time_seconds When the service was started, since 1970."
    yield "# TYPE psgraph_start_time_seconds gauge"
    yield f"psgraph_start_time_seconds {service.counts.started:.0f}"
    yield "# HELP psgraph_requests_total Requests by route; posts of data are not counted."
    yield "# TYPE psgraph_requests_total counter"
    for (method, route, status), number in service.counts.items():
        labels = f'method="{method}",route="{route}",status="{status}"'
        yield f"psgraph_requests_total{{{labels}}} {number}"


def _streams(service: Service, identity: Identity) -> Iterator[str]:
    views = stream_views(service, service.streams.seen_by(identity))
    for name, words, value in (
        ("released_timestamps", "Released timestamps.", lambda view: view.released),
        ("window_epsilon", "The guarantee: ε of a window.", lambda view: _number(view.epsilon)),
        ("window_spent", "Spent in the current window.", lambda view: _number(view.spent)),
        ("healthy", "1 unless publishing is blocked.", lambda view: int(view.health != "blocked")),
    ):
        yield f"# HELP psgraph_stream_{name} {words}"
        yield f"# TYPE psgraph_stream_{name} gauge"
        for view in views:
            yield f'psgraph_stream_{name}{{stream="{view.name}"}} {value(view)}'


def _number(exact: str) -> float:
    return float(exact_fraction(exact))
