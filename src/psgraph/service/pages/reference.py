"""The page that describes the interface: what the OpenAPI description says, without scripts."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response

from psgraph.service.pages.templates import render
from psgraph.service.pages.visits import PageRoute, open_to

__all__ = ["router"]

router = APIRouter(route_class=PageRoute)

_TITLES = {
    "streams": "Streams",
    "posting": "Posting data",
    "releases": "Releases",
    "oversight": "Oversight",
    "administration": "Tokens and planning",
    "operations": "Operations",
}
_REFERENCE = "#/components/schemas/"
_JSON = "application/json"


@router.get("/api", **open_to("list"))
def show_reference(request: Request) -> Response:
    """Show every operation of the interface, and what is sent and returned."""
    operations, models = _contents(request.app)
    return render(
        request,
        "reference.html",
        "The interface",
        subtitle="Every operation over HTTP: who may call it, what it takes and returns.",
        groups=[(title, operations.get(tag, [])) for tag, title in _TITLES.items()],
        models=models,
    )


def _contents(app: FastAPI) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    """Return the operations by topic, and the models that they take and return."""
    described = app.openapi()
    operations: dict[str, list[dict[str, Any]]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            tag = operation["tags"][0]
            operations.setdefault(tag, []).append(_operation(method, path, operation))
    schemas = described["components"]["schemas"].items()
    models = [_model(name, schema) for name, schema in schemas if "properties" in schema]
    return operations, [each for each in models if not each["name"].startswith("HTTP")]


def _operation(method: str, path: str, operation: dict[str, Any]) -> dict[str, Any]:
    sent = operation.get("requestBody", {}).get("content", {})
    returned = [
        (status, kind, content.get("schema", {}))
        for status, response in sorted(operation["responses"].items())
        if status < "300"
        for kind, content in response.get("content", {}).items()
    ]
    return {
        "id": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "summary": operation["summary"],
        "text": operation["description"].replace("`", ""),
        "roles": ["anyone" if each == "public" else each for each in operation.get("x-roles", ())],
        "parameters": [
            (each["name"], each["in"], *_typed(each["schema"]), each.get("required", False))
            for each in operation.get("parameters", ())
        ],
        "sent": [(kind, *_kind(content["schema"])) for kind, content in sent.items()],
        "returned": [(status, kind, *_kind(schema)) for status, kind, schema in returned],
    }


def _model(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", ())
    example = next(iter(schema.get("examples", ())), schema.get("example"))
    return {
        "name": name,
        "text": schema.get("description", ""),
        "fields": [
            (field, *_typed(each), field in required)
            for field, each in schema["properties"].items()
        ],
        "example": None if example is None else json.dumps(example, indent=2, ensure_ascii=False),
    }


def _typed(schema: dict[str, Any]) -> tuple[str, str | None, str]:
    """Return the type of a value, the model it links to, and what it means."""
    words, model = _kind(schema)
    text = schema.get("description", "")
    if "default" in schema and schema["default"] not in (None, "", [], {}):
        text = f"{text} Default: {json.dumps(schema['default'], ensure_ascii=False)}.".strip()
    return words, model, text.replace("`", "")


def _kind(schema: dict[str, Any]) -> tuple[str, str | None]:
    """Return the type of a value in words, and the model it links to.

    >>> _kind({"anyOf": [{"type": "integer"}, {"type": "null"}]})
    ('integer or null', None)
    >>> _kind({"type": "array", "items": {"$ref": "#/components/schemas/TokenView"}})
    ('list of TokenView', 'TokenView')
    >>> _kind({"enum": ["active", "paused"], "type": "string"})
    ('active | paused', None)
    """
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REFERENCE)
        return name, name
    if "anyOf" in schema:
        kinds = [_kind(each) for each in schema["anyOf"]]
        return " or ".join(words for words, _ in kinds), next(
            filter(None, (m for _, m in kinds)), None
        )
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"])), None
    if schema.get("type") == "array":
        words, model = _kind(schema["items"])
        return f"list of {words}", model
    kind = schema.get("type", "any value")
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return ("file" if schema.get("format") == "binary" else words), None
