"""The page of tokens, for curators."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import RedirectResponse

from psgraph.service.api.access import Caller, TheService
from psgraph.service.pages.forms import filled, read, text_of
from psgraph.service.pages.rendering import render
from psgraph.service.pages.visits import PageRoute, checked_form, open_to
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewToken, TokenCreated
from psgraph.service.service import Service

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)


@router.get("/tokens", **open_to("tokens"))
def show_tokens(request: Request, service: TheService) -> Response:
    """Show all tokens, without their secrets."""
    return _page(request, service)


@router.post("/tokens", **open_to("tokens"))
async def create_token(request: Request, service: TheService, caller: Caller) -> Response:
    """Create a token and show it once."""
    form = await checked_form(request)
    names = [name.strip() for name in text_of(form, "streams").split(",") if name.strip()]
    days = text_of(form, "expires_days") or None
    values = {**filled(form, "role", "label"), "streams": names or None, "expires_days": days}
    try:
        created = await service.in_thread(service.tokens.create, read(NewToken, values), caller)
    except Refusal as refusal:
        return _page(request, service, error=refusal)
    return _page(request, service, created=created)


@router.post("/tokens/{token}/revoke", **open_to("tokens"))
async def revoke_token(
    request: Request,
    token: Annotated[str, Path(pattern="^[a-z0-9]{12}$")],
    service: TheService,
    caller: Caller,
) -> Response:
    """Revoke a token."""
    await checked_form(request)
    try:
        await service.in_thread(service.tokens.revoke, token, caller)
    except Refusal as refusal:
        return _page(request, service, error=refusal)
    return RedirectResponse("/tokens?done=revoked", 303)


def _page(
    request: Request,
    service: Service,
    *,
    created: TokenCreated | None = None,
    error: Refusal | None = None,
) -> Response:
    return render(
        request,
        "tokens.html",
        "Tokens",
        subtitle="Who may do what. Only a hash of each token is stored.",
        status=200 if error is None else error.status,
        error=error,
        created=created,
        tokens=service.tokens.views(),
    )
