"""Pages to sign in with a token and out again, and the curators' page of tokens."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.responses import RedirectResponse

from psgraph.service.api.access import Caller, TheService, service_of
from psgraph.service.pages.templates import render
from psgraph.service.pages.visits import (
    PageRoute,
    Visit,
    checked_form,
    filled,
    forget_cookie,
    identify_visit,
    open_to,
    read,
    refuse_cross_site,
    text_of,
)
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewToken, TokenCreated
from psgraph.service.service import Service

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)

#: Longer than any session, so that the service can tell a browser that its session ended.
_COOKIE_SECONDS = 30 * 24 * 3600

Visitor = Annotated[Visit, Depends(identify_visit)]


@router.get("/sign-in")
async def show_form(request: Request, visit: Visitor, next: str = "/", ended: str = "") -> Response:
    """Show the sign-in form, with a note if a session has ended."""
    if visit.session is not None:
        return RedirectResponse(_own_path(next), 303)
    return _form(request, next, ended=bool(ended))


@router.post("/sign-in")
async def sign_in(request: Request, visit: Visitor) -> Response:
    """Check a token and start a session."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=10)
    secret, back = str(form.get("token", "")).strip(), str(form.get("next", "/"))
    service = service_of(request)
    gate, sessions = service.gate, service.sessions
    try:
        identity = await gate.check_token(request, secret)
    except Refusal as refusal:
        return _form(request, back, error=refusal)
    assert identity.token is not None
    if visit.session is not None:  # never continue an old session
        sessions.end(request.cookies[gate.cookie_name])
    cookie, _ = sessions.start(identity.token)
    response = RedirectResponse(_own_path(back), 303)
    response.set_cookie(
        gate.cookie_name,
        cookie,
        max_age=_COOKIE_SECONDS,
        path="/",
        secure=gate.secure,
        httponly=True,
        samesite="strict",
    )
    return response


@router.post("/sign-out")
async def sign_out(request: Request, visit: Visitor) -> Response:
    """End a session."""
    if visit.session is not None:
        await checked_form(request)
        service = service_of(request)
        service.sessions.end(request.cookies[service.gate.cookie_name])
    response = RedirectResponse("/sign-in?done=signed-out", 303)
    forget_cookie(request, response)
    return response


def _form(
    request: Request, back: str, *, ended: bool = False, error: Refusal | None = None
) -> Response:
    return render(
        request,
        "sign_in.html",
        "Sign in",
        status=200 if error is None else error.status,
        next=_own_path(back),
        ended=ended,
        error=error,
        minutes=f"{service_of(request).settings.session_minutes:g}",
    )


def _own_path(path: str) -> str:
    """Return a path of this site to continue with; the first page for any other address.

    >>> _own_path("/streams/calls"), _own_path("//evil.example"), _own_path("https://evil.example")
    ('/streams/calls', '/', '/')
    """
    own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if own and "\\" not in path else "/"


# ---- tokens, for curators ----


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
