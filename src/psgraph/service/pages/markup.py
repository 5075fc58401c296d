"""Report sections inside a page with a strict content security policy.

The policy forbids style attributes, which the charts of the reports use. All of their properties
exist as SVG attributes too, so they are rewritten.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from psgraph.reports.page import Page

__all__ = ["embedded"]

_STYLE = re.compile(r' style="([^"]*)"')


def embedded(page: Page) -> Markup:
    """The sections of a report without style attributes, to place in a template.

    >>> page = Page("A")
    >>> page.paragraph("a < b")
    >>> embedded(page)
    Markup('<p>a &lt; b</p>')
    """
    return Markup(_STYLE.sub(_as_attributes, page.body()))  # a Page escapes all text


def _as_attributes(style: re.Match[str]) -> str:
    """Rewrite a style attribute as SVG attributes.

    >>> _STYLE.sub(_as_attributes, '<g style="fill: none; stroke: var(--ink, #000)">')
    '<g fill="none" stroke="var(--ink, #000)">'
    """
    properties = (each.partition(":") for each in style[1].split(";") if each.strip())
    return "".join(f' {name.strip()}="{value.strip()}"' for name, _, value in properties)
