"""Methods by their installed names, as requests give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psgraph.methods.base import Method, find_method
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.samplers import Sampler

__all__ = ["build_method"]


def build_method(
    name: str, parameters: Mapping[str, str], guarantee: WEventPrivacy
) -> Method[Any, Any]:
    """Build a method; refuse an ε too small to draw noise for.

    Only installed methods are found: a request can't have code imported.

    >>> build_method("psgraph", {}, WEventPrivacy("1", window=5)).name
    'psgraph'
    """
    method = find_method(name).from_settings(dict(parameters))
    for row in method.plan(guarantee, nodes=1):
        Sampler.rounded_rate(row.epsilon / (row.sensitivity or 1))
    return method
