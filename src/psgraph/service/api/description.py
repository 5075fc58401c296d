"""The OpenAPI description: what FastAPI derives, and how callers identify themselves."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from psgraph.service.problems import PROBLEM

__all__ = ["describe", "operation_id"]

_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token, as POST /tokens returns it: psg_…",
}
_PROBLEM = "#/components/schemas/Problem"
_EXAMPLE = {
    "status": 409,
    "title": "Conflict",
    "error": "other_data",
    "message": "This timestamp already has different data.",
    "remedy": "Post new data as a later timestamp.",
}


def operation_id(route: APIRoute) -> str:
    """Return the name of an operation; it is the name of its function, and stays."""
    return route.name


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the description of an application; it is made once."""
    if app.openapi_schema:
        return app.openapi_schema
    found = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    found["components"]["securitySchemes"] = {"token": _BEARER}
    found["components"]["schemas"]["Problem"]["example"] = _EXAMPLE
    for operations in found["paths"].values():
        for operation in operations.values():
            public = "public" in operation.get("x-roles", ())
            operation["security"] = [{"token": []}, *([{}] if public else [])]
            for response in operation["responses"].values():
                content = response.get("content", {})
                if content.get("application/json", {}).get("schema", {}).get("$ref") == _PROBLEM:
                    content[PROBLEM] = content.pop("application/json")
    app.openapi_schema = found
    return found
