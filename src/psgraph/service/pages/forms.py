"""Values of forms, as the schemas of the API take them, and what is wrong with them in words."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData

from psgraph.service.problems import Refusal

__all__ = ["filled", "read", "text_of"]

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
    """The text of a field without surrounding blanks; a missing field has its default."""
    value = form.get(name, default)
    return value.strip() if isinstance(value, str) else default


def filled(form: FormData, *names: str) -> dict[str, Any]:
    """The fields that are not empty, by name: an empty field means the default of the schema."""
    return {name: text for name in names if (text := text_of(form, name))}


def read(model: type[Model], values: dict[str, Any]) -> Model:
    """Build a request of the API from the fields of a form, or refuse with the field's name."""
    try:
        return model(**values)
    except ValidationError as error:
        fields = dict.fromkeys(str(each["loc"][0]) for each in error.errors() if each["loc"])
        names = [_NAMES.get(field, f"The field {field}") for field in fields]
        raise Refusal(
            422,
            "invalid",
            f"{names[0] if names else 'A field'} can't be used as it is.",
            "Correct it; the help below each field says what it takes.",
        ) from None
