"""Small HTML for notebooks: cards of facts, tables and bars, without scripts or style sheets.

Colours are inherited or half transparent, so that a card is readable on a light and on a dark
page. All text is escaped: a certificate may come from anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bar", "card", "facts", "grid", "note", "paragraph"]

_LINE = "1px solid rgba(128,128,128,.35)"
_CARD = (
    f"border:{_LINE};border-radius:6px;padding:10px 14px;margin:4px 0;width:fit-content;"
    "max-width:100%;box-sizing:border-box;line-height:1.45;overflow-wrap:anywhere"
)
_TABLE = "border-collapse:collapse;border:none;margin:6px 0 0;font-size:inherit"
_CELL = "border:none;padding:2px 16px 2px 0;vertical-align:top;background:none"
_QUIET = "opacity:.72"
_WARNING = "border-left:4px solid #d55e00;padding-left:8px;margin-top:6px;max-width:52em"


def card(title: str, *parts: str) -> str:
    """Put parts, which are HTML already, under a title.

    >>> "A &lt; B" in card("A < B", paragraph("text"))
    True
    """
    heading = f'<div style="font-weight:600">{escape(title)}</div>'
    return f'<div style="{_CARD}">{heading}{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """Plain text."""
    return f'<div style="margin-top:6px;max-width:52em">{escape(text)}</div>'


def note(text: str) -> str:
    """Text that must not be missed: a limit or a warning."""
    return f'<div style="{_WARNING}">{escape(text)}</div>'


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and values, one pair per row; pairs without a value are left out."""
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{_CELL};{_QUIET};font-weight:400;'
        f'text-align:left;white-space:nowrap">{escape(name)}</th>'
        f'<td style="{_CELL};text-align:left">{escape(value)}</td></tr>'
        for name, value in pairs
        if value
    )
    return f'<table style="{_TABLE}">{rows}</table>'


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """A table that scrolls sideways on a narrow screen; the first `left` columns are words."""

    def cell(tag: str, text: str, index: int, style: str) -> str:
        side = "left" if index < left else "right"
        return f'<{tag} style="{_CELL};text-align:{side};{style}">{escape(text)}</{tag}>'

    def wrapping(index: int) -> str:
        return "min-width:6.5em" if index < left else "white-space:nowrap"

    heading = "".join(
        cell("th", name, index, f"{_QUIET};font-weight:400;border-bottom:{_LINE}")
        for index, name in enumerate(columns)
    )
    body = "".join(
        '<tr style="background:none">'
        + "".join(cell("td", text, index, wrapping(index)) for index, text in enumerate(row))
        + "</tr>"
        for row in rows
    )
    table = (
        f'<table style="{_TABLE}"><thead><tr>{heading}</tr></thead><tbody>{body}</tbody></table>'
    )
    return f'<div style="overflow-x:auto;max-width:100%;overflow-wrap:normal">{table}</div>'


def bar(share: float, label: str) -> str:
    """A bar that is filled to a share between 0 and 1, with its meaning in words."""
    filled = 100 * min(max(share, 0.0), 1.0)
    return (
        f'<div role="img" aria-label="{escape(label, quote=True)}" style="margin-top:8px;'
        'height:8px;max-width:24em;border-radius:4px;background:rgba(128,128,128,.25)">'
        f'<div style="width:{filled:.4g}%;height:8px;border-radius:4px;background:#0072b2"></div>'
        "</div>"
    )
