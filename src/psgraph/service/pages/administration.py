"""Pages to sign in and out; tokens for curators; budgets, the audit log and the quality report."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import RedirectResponse

from psgraph.service.api.access import Caller, OpenStream, TheService, service_of
from psgraph.service.api.administration import EVERYTHING, Chosen
from psgraph.service.audit_log import LogName
from psgraph.service.pages.templates import render, render_stream
from psgraph.service.pages.visits import (
    PageRoute,
    Visit,
    checked_form,
    filled,
    forget_cookie,
    identify_visit,
    not_found,
    open_to,
    read,
    refuse_cross_site,
    text_of,
)
from psgraph.service.private_views import quality_report
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NewToken, StreamChange, TokenCreated, VerificationView
from psgraph.service.service import Service
from psgraph.service.streams import Stream
from psgraph.service.views import budget_of, stream_view, verification_of

__all__ = ["oversight", "router"]

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
        await service.in_thread(sessions.end, request.cookies[gate.cookie_name])
    cookie, _ = await service.in_thread(sessions.start, identity.token)
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
        cookie = request.cookies[service.gate.cookie_name]
        await service.in_thread(service.sessions.end, cookie)
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


@router.get("/tokens/{token}/revoke", **open_to("tokens"))
def confirm_revocation(
    request: Request,
    token: Annotated[str, Path(pattern="^[a-z0-9]{12}$")],
    service: TheService,
) -> Response:
    """Ask before a token is revoked."""
    found = [each for each in service.tokens.views() if each.id == token]
    if not found or found[0].revoked:
        raise not_found()
    return render(request, "revoke.html", f"Revoke token {token}?", token=found[0])


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


# ---- oversight, for auditors and curators ----


oversight = APIRouter(route_class=PageRoute)

_ROWS = 200
_ENTRIES = 50


@oversight.get("/streams/{stream}/records", **open_to("oversee"))
def show_records(request: Request, stream: OpenStream, service: TheService) -> Response:
    """Show what every timestamp spent."""
    return _records(request, service, stream)


@oversight.post("/streams/{stream}/records", **open_to("oversee"))
async def verify_records(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Verify everything and show the outcome."""
    await checked_form(request)
    outcome = await verification_of(service, stream, caller)
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


@oversight.get("/audit", **open_to("oversee"))
def show_audit_log(
    request: Request,
    service: TheService,
    caller: Caller,
    before: Annotated[int | None, Query(ge=0)] = None,
    known: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
    log: LogName = "main",
    chosen: Chosen = EVERYTHING,
) -> Response:
    """Show the entries of a log, and whether it is intact, also since a digest noted earlier."""
    page = service.audit.page(caller, log, before=before, limit=_ENTRIES, chosen=chosen)
    last = page.entries[-1].number if len(page.entries) == _ENTRIES else 0
    return render(
        request,
        "audit.html",
        "Audit log",
        subtitle="Every access to private data, every stream and token. Append-only; no entry "
        "holds private data."
        if log == "main"
        else "The outcome of every post, and every post of events. They may depend on private "
        "data: for curators only.",
        log=log,
        known=known,
        chain=service.audit.verify(caller, log, known_head=known, whole=False),
        entries=page.entries,
        total=page.total,
        chosen=chosen,
        query=urlencode({"log": log, **{k: v for k, v in vars(chosen).items() if v}}),
        streams=[each.name for each in service.streams.seen_by(caller)],
        older=last or None,
    )


# ---- what changes after a stream is created ----


@oversight.get("/streams/{stream}/settings", **open_to("manage"))
def show_settings(request: Request, stream: OpenStream, service: TheService) -> Response:
    """Show the title of a stream, and whether it is published."""
    return render_stream(request, "settings.html", stream_view(service, stream))


@oversight.post("/streams/{stream}/settings", **open_to("manage"))
async def change_settings(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Change the title of a stream; pause, archive or continue it."""
    form = await checked_form(request)
    values = {**filled(form, "activity"), "title": text_of(form, "title")}
    try:
        change = read(StreamChange, values)
    except Refusal as refusal:
        view = stream_view(service, stream)
        return render_stream(request, "settings.html", view, status=refusal.status, error=refusal)
    await service.in_thread(service.streams.change, stream, change, caller)
    service.worker.wake()
    return RedirectResponse(f"/streams/{stream.name}/settings?done=changed", 303)


@oversight.get("/streams/{stream}/quality", **open_to("compare"))
def show_quality(request: Request, stream: OpenStream, service: TheService) -> Response:
    """Show whether there is a quality report, and what it contains."""
    view = stream_view(service, stream)
    return render_stream(request, "quality.html", view)


@oversight.post("/streams/{stream}/quality", **open_to("compare", private=True))
async def open_quality_report(
    request: Request, stream: OpenStream, service: TheService, caller: Caller
) -> Response:
    """Return the quality report. Contains private data: for the curator only."""
    await checked_form(request)
    return await quality_report(service, stream, caller)
