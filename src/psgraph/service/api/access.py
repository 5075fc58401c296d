"""Access to routes: who calls, whether the action is allowed, and which stream it is about."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute

from psgraph.service.permissions import PERMISSIONS, READING, Action, Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NAME_PATTERN, Problem
from psgraph.service.service import Service
from psgraph.service.streams import Stream

__all__ = [
    "ActionRoute",
    "Caller",
    "OpenStream",
    "TheService",
    "Timestamp",
    "allowed",
    "link_next",
    "read_only",
    "service_of",
]


def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    return cast(Service, request.app.state.service)


_STATUSES = (400, 401, 403, 404, 405, 408, 409, 413, 421, 422, 429, 500, 503)
_UPLOAD_STATUSES = (415,)
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FILE = {
    "required": True,
    "content": {
        "text/csv": {"schema": {"type": "string"}, "example": "u,v\nann,bob\nbob,eve\n"},
        "application/vnd.apache.parquet": _BINARY,
    },
}


def allowed(
    action: Action, *, private: bool = False, upload: bool = False, files: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the options of a route that only some roles may use.

    Parameters
    ----------
    private
        Whether the size, number or duration of requests could reveal something about private
        edges. Such requests are neither logged nor counted.
    upload
        Whether the body is a file.
    files
        The media types of the response, if it is a file.
    """
    statuses = _STATUSES + (_UPLOAD_STATUSES if upload else ())
    return {
        "openapi_extra": {
            "x-roles": sorted(PERMISSIONS[action]),
            "x-action": action,
            "x-private": private,
            **({"requestBody": _FILE} if upload else {}),
        },
        "responses": {
            **({200: {"content": dict.fromkeys(files, _BINARY)}} if files else {}),
            **{status: {"model": Problem} for status in statuses},
        },
    }


class ActionRoute(APIRoute):
    """A route that checks who calls before it reads the rest of a request."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()
        action: Action = (self.openapi_extra or {})["x-action"]

        async def authorised(request: Request) -> Response:
            request.state.identity = await service_of(request).gate.identify(request)
            _refuse_others(request.state.identity, action)
            return await handle(request)

        return authorised


def _refuse_others(identity: Identity, action: Action) -> None:
    if identity.may(action):
        return
    if identity.role == "public":
        raise Refusal(
            401,
            "unauthorised",
            "This request needs a token.",
            "Send the header Authorization: Bearer TOKEN.",
            {"WWW-Authenticate": "Bearer"},
        )
    if identity.reads_only and action not in READING:
        raise read_only()
    if identity.role in PERMISSIONS[action]:
        raise Refusal(
            403,
            "forbidden",
            "A token that is limited to some streams can't do this.",
            f"Use a {identity.role} token for all streams.",
        )
    raise Refusal(
        403,
        "forbidden",
        f"A token with the role {identity.role} can't do this.",
        f"Use a token with the role {' or '.join(sorted(PERMISSIONS[action] - {'public'}))}.",
    )


def read_only() -> Refusal:
    """Return the refusal of a process that only shows releases."""
    return Refusal(
        403,
        "read_only",
        "This part of the service only shows releases.",
        "Use the address of the service itself.",
    )


def _identity(request: Request) -> Identity:
    return cast(Identity, request.state.identity)


def _find_stream(
    request: Request,
    stream: Annotated[str, Path(pattern=NAME_PATTERN)],
) -> Stream:
    return service_of(request).streams.visible(stream, _identity(request))


def link_next(response: Response, request: Request, **values: object) -> None:
    """State the address of the next page, as all lists do: a header ``Link`` with rel "next"."""
    address = request.url.include_query_params(**values)
    response.headers["Link"] = f'<{address.path}?{address.query}>; rel="next"'


TheService = Annotated[Service, Depends(service_of)]
Caller = Annotated[Identity, Depends(_identity)]
OpenStream = Annotated[Stream, Depends(_find_stream)]
Timestamp = Annotated[int, Path(ge=0, le=999_999_999, description="From 0.")]
