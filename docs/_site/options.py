"""MkDocs hook: lines don't break after the hyphens of an option.

A browser may break `--token-file` behind any of its hyphens. In code between words each option is
kept together; listings scroll anyway.
"""

from __future__ import annotations

import re
from typing import Any

#: Code in a sentence or a table. That of listings follows `<pre>` or the anchor in it.
INLINE = re.compile(r"(?<!<pre>)(?<!</span>)<code>([^<]*-[^<]*)</code>")
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def on_page_content(html: str, **_: Any) -> str:
    """Mark the options in inline code."""
    return INLINE.sub(
        lambda code: f"<code>{OPTION.sub(_kept_together, code[1])}</code>",
        html,
    )


def _kept_together(option: re.Match[str]) -> str:
    return f'<span class="option">{option[0]}</span>'
