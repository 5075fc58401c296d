"""Addresses below the prefix of the interface that nothing answers: errors, never pages."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.exceptions import HTTPException
from starlette.routing import Match

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.api_route("/{path:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"])
async def refuse(request: Request, path: str) -> None:
    """Refuse with 405 an address that takes other methods, and with 404 any other."""
    del path
    known = any(route.matches(request.scope)[0] == Match.PARTIAL for route in request.app.routes)
    raise HTTPException(405 if known else 404)
