"""Health, readiness and metrics, for operators. At the root, without the prefix."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from psgraph._version import __version__
from psgraph.service.api.access import TheService
from psgraph.service.monitoring import metrics_text
from psgraph.service.schemas import Health

__all__ = ["router"]

router = APIRouter(tags=["operations"])


@router.get("/healthz", openapi_extra={"x-roles": ["public"]})
async def get_health() -> Health:
    """Answer while the process runs."""
    return Health(status="ok", version=__version__)


@router.get("/readyz", openapi_extra={"x-roles": ["public"]})
async def get_readiness(service: TheService, response: Response) -> Health:
    """Answer 200 while requests are accepted and the worker runs, otherwise 503."""
    status = service.status
    response.status_code = 200 if status == "ok" else 503
    return Health(status=status, version=__version__)


@router.get("/metrics", response_class=PlainTextResponse, openapi_extra={"x-roles": ["public"]})
async def get_metrics(request: Request, service: TheService) -> PlainTextResponse:
    """Return metrics for Prometheus: public values only.

    Values per stream need a token of a curator or an auditor.
    """
    identity = await service.gate.identify(request)
    return PlainTextResponse(
        metrics_text(service, identity), media_type="text/plain; version=0.0.4"
    )
