"""Who visits a page: the session behind a cookie, what it may open, and the forms it sends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from psgraph.errors import PsgraphError
from psgraph.service.api.access import read_only, service_of
from psgraph.service.authentication import Session
from psgraph.service.pages.templates import error_page
from psgraph.service.permissions import ANYONE, PERMISSIONS, READING, Action, Identity
from psgraph.service.problems import Refusal, as_refusal, internal, log

__all__ = [
    "PageRoute",
    "Visit",
    "check_csrf",
    "checked_form",
    "filled",
    "forget_cookie",
    "identify_visit",
    "not_found",
    "open_to",
    "read",
    "refuse_cross_site",
    "text_of",
]


@dataclass(frozen=True)
class Visit:
    """A request for a page.

    Attributes
    ----------
    ended
        Whether the request carries the cookie of a session that has ended.
    """

    identity: Identity
    session: Session | None = None
    ended: bool = False


class _SignInNeeded(Exception):
    """The page needs a session; not an error."""


async def identify_visit(request: Request) -> Visit:
    """Return who opens a page, signed in or not."""
    service = service_of(request)
    session = await service.gate.session(request)
    identity = None if session is None else service.tokens.identity(session.token)
    if identity is None:
        visit = Visit(ANYONE, ended=service.gate.cookie_name in request.cookies)
    else:
        visit = Visit(identity, session)
    service.gate.limit(visit.identity, request)
    request.state.visit, request.state.identity = visit, visit.identity
    return visit


def open_to(action: Action, *, private: bool = False) -> dict[str, Any]:
    """Return the options of a page that only some roles may open; `private` as in `allowed`."""
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
        if visit.identity.reads_only and action not in READING:
            raise read_only()
        roles = " or ".join(sorted(PERMISSIONS[action] - {"public"}))
        raise Refusal(
            403,
            "forbidden",
            f"This page is for the role {roles}. You are signed in as {visit.identity.role}.",
            "Sign out and use another token, or ask a curator for one.",
        )

    return check


async def checked_form(request: Request) -> FormData:
    """Read a form without files; refuse one that no page of this session sent."""
    refuse_cross_site(request)
    form = await request.form(max_files=0, max_fields=40)
    csrf = form.get("csrf")
    check_csrf(request, csrf if isinstance(csrf, str) else None)
    return form


def check_csrf(request: Request, csrf: str | None) -> None:
    """Refuse a form without the CSRF token of this session."""
    visit: Visit = request.state.visit
    if visit.session is None or not visit.session.owns(csrf):
        raise Refusal(
            403,
            "csrf",
            "The form does not belong to your session, so nothing was done.",
            "Reload the page and try again.",
        )


def refuse_cross_site(request: Request) -> None:
    """Refuse a form that another site sent, as far as the browser tells."""
    fetched, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if fetched is not None:
        own = fetched in ("same-origin", "none")
    else:
        own = origin is None or urlsplit(origin).netloc == request.headers.get("host")
    if not own:
        raise Refusal(
            403,
            "cross_site",
            "The form was sent by another site, so nothing was done.",
            "Open the dashboard itself and try again.",
        )


def not_found() -> Refusal:
    """Return the refusal of an address without a page."""
    return Refusal(404, "not_found", "There is no page at this address.", "Check the address.")


class PageRoute(APIRoute):
    """A route whose errors are pages: an error page, or the sign-in page."""

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
            except Exception as error:  # its text may be private
                log("page_failed", error=type(error).__name__)
                return error_page(request, internal())
            return response

        return with_pages


def _to_sign_in(request: Request) -> Response:
    visit: Visit = getattr(request.state, "visit", Visit(ANYONE))
    back = request.url.path if request.method == "GET" else "/"
    ended = "&ended=1" if visit.ended else ""
    response = RedirectResponse(f"/sign-in?next={quote(back)}{ended}", 303)
    if visit.ended:
        forget_cookie(request, response)
    return response


def forget_cookie(request: Request, response: Response) -> None:
    """Delete the session cookie in the browser."""
    gate = service_of(request).gate
    response.delete_cookie(
        gate.cookie_name, path="/", secure=gate.secure, httponly=True, samesite="strict"
    )


def _unusual(error: HTTPException) -> Refusal:
    if error.status_code == 413:
        return Refusal(413, "too_large", "The upload is too large.", "Send a smaller file.")
    return Refusal(
        error.status_code, "bad_request", "The request can't be read.", "Reload the page."
    )


Model = TypeVar("Model", bound=BaseModel)

_NAMES = {
    "epsilon": "The privacy budget ε",
    "window": "The window w",
    "nodes": "The number of nodes",
    "edges": "The number of edges",
    "expires_days": "The number of days a token is valid",
    "keep_originals_days": "The number of days originals are kept",
    "streams": "The list of streams",
}


def text_of(form: FormData, name: str, default: str = "") -> str:
    """Return the text of a field without surrounding blanks, or its default if it is missing."""
    value = form.get(name, default)
    return value.strip() if isinstance(value, str) else default


def filled(form: FormData, *names: str) -> dict[str, Any]:
    """Return the fields that are not empty, by name; an empty field means the schema's default."""
    return {name: text for name in names if (text := text_of(form, name))}


def read(model: type[Model], values: dict[str, Any]) -> Model:
    """Build an API request from the fields of a form; a refusal names the invalid field."""
    try:
        return model(**values)
    except ValidationError as error:
        fields = dict.fromkeys(str(each["loc"][0]) for each in error.errors() if each["loc"])
        names = [_NAMES.get(field, f"The field {field}") for field in fields]
        raise Refusal(
            422,
            "invalid",
            f"{names[0] if names else 'A field'} is not valid.",
            "Correct it; the help below each field describes what it takes.",
        ) from None
