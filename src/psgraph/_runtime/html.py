"""Templates, and the small cards that notebooks show.

A card has no scripts and no style sheet. Colours are inherited or half transparent, so that it is
readable on a light and on a dark page. Templates escape all text: a certificate may come from
anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from psgraph.errors import MissingExtra

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Block", "bar", "card", "facts", "grid", "note", "paragraph", "templates"]


@cache
def templates(package: str) -> Environment:
    """Return the templates in a package's directory ``templates``; all values are escaped.

    Raises
    ------
    MissingExtra
        If Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtra("Jinja2", "report") from None
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True)
class Block:
    """One block of a card: the name of its template macro, and the values it shows."""

    kind: str
    values: dict[str, Any]


def card(title: str, *blocks: Block | None) -> str | None:
    """Put blocks under a title; None without Jinja2, and a notebook then shows the plain text.

    >>> "A &lt; B" in card("A < B", paragraph("text"))
    True
    """
    try:
        template = templates("psgraph._runtime").get_template("card.html")
    except MissingExtra:
        return None
    return template.render(title=title, blocks=[block for block in blocks if block is not None])


def paragraph(text: str) -> Block:
    """Plain text."""
    return Block("paragraph", {"text": text})


def note(text: str) -> Block:
    """Text that must not be missed: a limit or a warning."""
    return Block("note", {"text": text})


def facts(pairs: Iterable[tuple[str, str]]) -> Block:
    """Names and values, one pair per row; pairs without a value are left out."""
    return Block("facts", {"pairs": [(name, value) for name, value in pairs if value]})


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> Block:
    """A table that scrolls sideways on a narrow screen; the first `left` columns are words."""
    return Block("grid", {"columns": columns, "rows": list(rows), "left": left})


def bar(share: float, label: str) -> Block:
    """A bar that is filled to a share between 0 and 1, with its meaning in words."""
    filled = 100 * min(max(share, 0.0), 1.0)
    return Block("bar", {"filled": f"{filled:.4g}", "label": label})
