"""Who visits a page: the session behind a cookie, what it may open, and forms it sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from psgraph.errors import PsgraphError
from psgraph.service.api.access import service_of
from psgraph.service.logs import log
from psgraph.service.pages.rendering import error_page
from psgraph.service.permissions import ANYONE, PERMISSIONS, Action, Identity
from psgraph.service.problems import Refusal, as_refusal
from psgraph.service.sessions import Session

__all__ = [
    "PageRoute",
    "Visit",
    "check_csrf",
    "checked_form",
    "forget_cookie",
    "identify_visit",
    "not_found",
    "open_to",
    "refuse_cross_site",
]


@dataclass(frozen=True)
class Visit:
    """A request for a page.

    Attributes
    ----------
    ended
        Whether the request has the cookie of a session that is over.
    """

    identity: Identity
    session: Session | None = None
    ended: bool = False


class _SignInNeeded(Exception):
    """Nothing is wrong, but the page needs a session."""


async def identify_visit(request: Request) -> Visit:
    """Return who opens a page, signed in or not."""
    service = service_of(request)
    session = service.gate.session(request)
    identity = None if session is None else service.tokens.identity(session.token)
    if identity is None:
        visit = Visit(ANYONE, ended=service.gate.cookie_name in request.cookies)
    else:
        visit = Visit(identity, session)
    service.gate.limit(visit.identity, request)
    request.state.visit, request.state.identity = visit, visit.identity
    return visit


def open_to(action: Action, *, private: bool = False) -> dict[str, Any]:
    """Return the options of a page that only some roles may open; `private` as for the API."""
    return {
        "dependencies": [Depends(_admit(action))],
        "include_in_schema": False,
        "openapi_extra": {"x-action": action, "x-private": private},
    }


def _admit(action: Action) -> Callable[[Request], Awaitable[None]]:
    async def check(request: Request) -> None:
        visit = await identify_visit(request)
        if visit.ended:
            raise _SignInNeeded
        if visit.identity.may(action):
            return
        if visit.session is None:
            raise _SignInNeeded
        roles = " or ".join(sorted(PERMISSIONS[action] - {"public"}))
        raise Refusal(
            403,
            "forbidden",
            f"This page is for the role {roles}. You signed in as {visit.identity.role}.",
            "Sign out and use another token, or ask a curator for one.",
        )

    return check


async def checked_form(request: Request) -> FormData:
    """Read a form without files, and refuse one that no page of this session sent."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=40)
    csrf = form.get("csrf")
    check_csrf(request, csrf if isinstance(csrf, str) else None)
    return form


def check_csrf(request: Request, csrf: str | None) -> None:
    """Refuse a form that lacks what only a page of this session knows."""
    visit: Visit = request.state.visit
    if visit.session is None or not visit.session.owns(csrf):
        raise Refusal(
            403,
            "csrf",
            "The form does not belong to your session, and nothing was done.",
            "Open the page again and repeat what you did.",
        )


def refuse_cross_site(request: Request) -> None:
    """Refuse a form that another site sent, as far as the browser says so."""
    fetched, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if fetched is not None:
        own = fetched in ("same-origin", "none")
    else:
        own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not own:
        raise Refusal(
            403,
            "cross_site",
            "The form was sent by another site, and nothing was done.",
            "Open the dashboard itself and repeat what you did.",
        )


def not_found() -> Refusal:
    """The refusal of an address without a page."""
    return Refusal(404, "not_found", "There is no page at this address.", "Check the address.")


class PageRoute(APIRoute):
    """A route whose errors are pages: a designed one, or the way to sign in."""

    def get_route_handler(self) -> Callable[[Request], Any]:
        handle = super().get_route_handler()

        async def with_pages(request: Request) -> Response:
            try:
                response: Response = await handle(request)
            except _SignInNeeded:
                return _to_sign_in(request)
            except Refusal as refusal:
                if refusal.status == 401:
                    return _to_sign_in(request)
                return error_page(request, refusal)
            except PsgraphError as error:
                return error_page(request, as_refusal(error))
            except RequestValidationError:
                return error_page(request, not_found())
            except HTTPException as error:
                return error_page(request, _unusual(error))
            except Exception as error:  # its text may hold anything
                log("page_failed", error=type(error).__name__)
                return error_page(request, _BROKEN)
            return response

        return with_pages


_BROKEN = Refusal(
    500,
    "internal",
    "The service failed; this is a fault of psgraph.",
    "Try again. If it stays, ask the operator to look at the log.",
)


def _to_sign_in(request: Request) -> Response:
    visit: Visit = getattr(request.state, "visit", Visit(ANYONE))
    back = request.url.path if request.method == "GET" else "/"
    ended = "&ended=1" if visit.ended else ""
    response = RedirectResponse(f"/sign-in?next={quote(back)}{ended}", 303)
    if visit.ended:
        forget_cookie(request, response)
    return response


def forget_cookie(request: Request, response: Response) -> None:
    """Have a browser drop the cookie of its session."""
    gate = service_of(request).gate
    response.delete_cookie(
        gate.cookie_name, path="/", secure=gate.secure, httponly=True, samesite="strict"
    )


def _unusual(error: HTTPException) -> Refusal:
    if error.status_code == 413:
        return Refusal(413, "too_large", "The upload is too large.", "Send a smaller file.")
    return Refusal(
        error.status_code, "bad_request", "The request can't be read.", "Open the page again."
    )
