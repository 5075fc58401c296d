"""Access to routes: who asks, whether the action is allowed, and which stream it is about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, cast

from fastapi import Depends, Path, Request

from psgraph.service.permissions import PERMISSIONS, Action, Identity
from psgraph.service.problems import Refusal
from psgraph.service.schemas import NAME_PATTERN, Problem
from psgraph.service.service import Service
from psgraph.service.streams import Stream

__all__ = ["Caller", "OpenStream", "TheService", "Timestamp", "allowed", "service_of"]


def service_of(request: Request) -> Service:
    """Return the service behind a request."""
    return cast(Service, request.app.state.service)


def allowed(action: Action, *, private: bool = False) -> dict[str, Any]:
    """Return the options of a route that only some roles may use.

    Parameters
    ----------
    private
        Whether the size, number or duration of requests could say something about private edges.
        Such requests are neither logged one by one nor counted.
    """
    return {
        "dependencies": [Depends(_authorise(action))],
        "openapi_extra": {
            "x-roles": sorted(PERMISSIONS[action]),
            "x-action": action,
            "x-private": private,
        },
        "responses": {
            status: {"model": Problem} for status in (400, 401, 403, 404, 409, 422, 429, 503)
        },
    }


def _authorise(action: Action) -> Callable[[Request], Awaitable[None]]:
    async def check(request: Request) -> None:
        identity = await service_of(request).gate.identify(request)
        request.state.identity = identity
        if identity.may(action):
            return
        if identity.role == "public":
            raise Refusal(
                401,
                "unauthorised",
                "This needs a token.",
                "Send the header Authorization: Bearer TOKEN.",
                {"WWW-Authenticate": "Bearer"},
            )
        raise Refusal(
            403,
            "forbidden",
            f"A token of the role {identity.role} can't do this.",
            f"Use a token of: {', '.join(sorted(PERMISSIONS[action] - {'public'}))}.",
        )

    return check


def _identity(request: Request) -> Identity:
    return cast(Identity, request.state.identity)


def _find_stream(
    request: Request,
    stream: Annotated[str, Path(pattern=NAME_PATTERN)],
) -> Stream:
    return service_of(request).streams.visible(stream, _identity(request))


TheService = Annotated[Service, Depends(service_of)]
Caller = Annotated[Identity, Depends(_identity)]
OpenStream = Annotated[Stream, Depends(_find_stream)]
Timestamp = Annotated[int, Path(ge=0, le=999_999_999, description="From 0.")]
