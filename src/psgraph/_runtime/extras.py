"""Optional libraries, checked for before any work is done that would need them."""

from __future__ import annotations

from importlib.util import find_spec

from psgraph.errors import MissingExtra

__all__ = ["require_drawing"]

_DRAWING = {"matplotlib": "matplotlib", "PIL": "Pillow"}


def require_drawing(extra: str = "report") -> None:
    """Raise `MissingExtra`, with the install line, unless pictures can be drawn. Imports nothing.

    >>> require_drawing()
    """
    for module, library in _DRAWING.items():
        if find_spec(module) is None:
            raise MissingExtra(library, extra)
