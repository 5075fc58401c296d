"""MkDocs hook: set subscripts and superscripts of the formulas, which are written as plain text.

Proofs and methods are written so that they can be read in an editor: e^(−ε/2), I_{j−1}, q^|k|. In
the site these become real sub- and superscripts. No script is needed in the browser.
"""

from __future__ import annotations

import re
from typing import Any

FOLDERS = ("proofs/", "explanation/")
PAGES = ("index.md", "PRIVACY.md", "how-to/choose-epsilon-and-window.md", "how-to/sign-off.md")
PAGES += ("reference/methods.md", "reference/metrics.md", "reference/notation.md")

SKIPPED = re.compile(r"(^```.*?^```$|`[^`\n]+`|\]\([^)\s]+\)|<[^>\n]+>)", re.MULTILINE | re.DOTALL)
BASE = r"(?<![\w`])(?P<base>[^\W\d_][\u0300-\u036f]?|[)\]])"
RAISED = r"\((?P<round>[^()]*(?:\([^()]*\)[^()]*)*)\)|\{(?P<curly>[^{}]+)\}"
RAISED += r"|(?P<bars>\|[^|\s]+\|)|(?P<word>[−+-]?\w+(?:\.\d+)?[′*]?)"
SUPERSCRIPT = re.compile(rf"\^(?:{RAISED})")
SUBSCRIPT = re.compile(rf"{BASE}_(?:\{{(?P<curly>[^{{}}]+)\}}|(?P<word>\w+))")


def typeset(text: str) -> str:
    """Set the formulas of a text without code and links."""

    def lower(found: re.Match[str]) -> str:
        return f"{found['base']}<sub>{found['curly'] or found['word']}</sub>"

    def raised(found: re.Match[str]) -> str:
        inner = found["round"] or found["curly"] or found["bars"] or found["word"]
        return f"<sup>{inner}</sup>"

    return SUPERSCRIPT.sub(raised, SUBSCRIPT.sub(lower, text))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Set the formulas of pages that have them."""
    uri = page.file.src_uri
    if not uri.startswith(FOLDERS) and uri not in PAGES:
        return markdown
    parts = SKIPPED.split(markdown)
    return "".join(part if i % 2 else typeset(part) for i, part in enumerate(parts))
