"""Choosing a method: by an object, a class, an installed name, or ``module:Class``."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from psgraph.errors import InvalidArgument
from psgraph.methods.base import Method, find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.samplers import Sampler

__all__ = ["MethodLike", "build_method", "choose_method", "method_class"]

MethodLike = str | type[Method[Any, Any]] | Method[Any, Any]


def choose_method(method: MethodLike) -> Method[Any, Any]:
    """Return a method object; a name or a class gives one with default parameters.

    >>> choose_method("tmf").name, choose_method("psgraph.methods.tmf:TmF").name
    ('tmf', 'tmf')
    """
    if isinstance(method, Method):
        return method
    if isinstance(method, str):
        return method_class(method)()
    if isinstance(method, type) and issubclass(method, Method):
        return method()
    raise InvalidArgument(
        f"a method is an object, a class or a name, not {type(method).__name__}\n"
        "Give for example psgraph.PSGraph(), or 'psgraph'."
    )


def method_class(name: str) -> type[Method[Any, Any]]:
    """Return a class by the name it is installed under, or import it as ``module:Class``.

    Importing runs the module's code. So only names that the user wrote are read here, never one
    out of a ledger or a certificate; those go through `find_method`.
    """
    if ":" not in name:
        return find_method(name)
    module, _, attribute = name.partition(":")
    try:
        found: Any = import_module(module)
    except (ImportError, ValueError) as error:
        raise InvalidArgument(
            f"the module of method {name!r} can't be imported: {error}\n"
            "Install it, or run from the directory it is in."
        ) from None
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, Method):
        raise InvalidArgument(
            f"{name!r} is not a method\nName a subclass of psgraph.Method as module:Class."
        )
    return found


def build_method(
    name: str, settings: Mapping[str, str], guarantee: WEventPrivacy
) -> Method[Any, Any]:
    """Build an installed method from settings in text; refuse an ε too small to draw noise for.

    Only installed methods are found, so a request can't cause an import of other code.

    >>> build_method("tmf", {"filter": "linear"}, WEventPrivacy("1", window=5)).name
    'tmf'
    """
    method = find_method(name).from_settings(settings)
    for row in method.plan(guarantee, nodes=1):
        Sampler.rounded_rate(row.epsilon / (row.sensitivity or 1))
    return method
