"""Signing in with a token, and out."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from psgraph.service.api.access import service_of
from psgraph.service.pages.rendering import render
from psgraph.service.pages.visits import (
    PageRoute,
    Visit,
    checked_form,
    forget_cookie,
    identify_visit,
    refuse_cross_site,
)
from psgraph.service.problems import Refusal

__all__ = ["router"]

router = APIRouter(route_class=PageRoute, include_in_schema=False)

#: Longer than any session, so that a browser can tell that its session ended.
_COOKIE_SECONDS = 30 * 24 * 3600

Visitor = Annotated[Visit, Depends(identify_visit)]


@router.get("/sign-in")
async def show_form(request: Request, visit: Visitor, next: str = "/", ended: str = "") -> Response:
    """Show the form, with the reason if a session ended."""
    if visit.session is not None:
        return RedirectResponse(_own_path(next), 303)
    return _form(request, next, ended=bool(ended))


@router.post("/sign-in")
async def sign_in(request: Request, visit: Visitor) -> Response:
    """Check a token and begin a session."""
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
    if visit.session is not None:  # a new sign-in never continues an old session
        sessions.end(request.cookies[gate.cookie_name])
    cookie, _ = sessions.begin(identity.token)
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
    """A path of this site to continue with; the first page instead of anything else.

    >>> _own_path("/streams/calls"), _own_path("//evil.example"), _own_path("https://evil.example")
    ('/streams/calls', '/', '/')
    """
    own = path.startswith("/") and not path.startswith(("//", "/\\")) and path.isprintable()
    return path if own and "\\" not in path else "/"
