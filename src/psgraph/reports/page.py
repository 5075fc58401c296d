"""A self-contained HTML page: one file, no network, no scripts, for any screen or printer."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Literal

from psgraph._runtime.durable import write_whole
from psgraph.errors import InvalidArgument, OutputError
from psgraph.reports.drawing import Drawing

__all__ = ["Page", "Tone", "check_writable"]

Tone = Literal["good", "fair", "poor"]

_SECTIONS_FOR_CONTENTS = 4
_LONGEST_UNFOLDED = 24
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|nats\b|steps\b)|(?<=\w) (?=[↑↓])")


class Page:
    """A sequence of blocks. All text is escaped; nothing is ever interpreted as markup.

    Parameters
    ----------
    title
        The heading, and the title of the browser tab.
    subtitle
        A line below the heading.
    banner
        A warning at the top.

    Examples
    --------
    >>> page = Page("Results <1>", subtitle="All of them")
    >>> page.heading("Numbers")
    >>> page.table(("method", "error"), [("tmf", "0.25")], numeric=(1,), caption="Errors")
    >>> text = page.html()
    >>> "<h1>Results &lt;1&gt;</h1>" in text, "<script" in text
    (True, False)
    """

    def __init__(self, title: str, *, subtitle: str = "", banner: str = "") -> None:
        self.title, self.subtitle, self.banner = title, subtitle, banner
        self._parts: list[list[str]] = [[]]  # before the first heading, then one for each section
        self._sections: list[tuple[str, str]] = []
        self._ids: set[str] = set()
        self._drawings = 0

    def heading(self, text: str, *, level: Literal[2, 3] = 2) -> None:
        """Start a section, or a subsection with ``level=3``."""
        if level == 3:
            self._add(f"<h3>{escape(text)}</h3>")
            return
        name = self._name(text)
        self._sections.append((name, text))
        self._parts.append([])

    def paragraph(
        self,
        text: str,
        *,
        kind: Literal["plain", "lead", "note"] = "plain",
        verdict: str = "",
        tone: Tone = "good",
    ) -> None:
        """Text: plain, larger (`lead`) or smaller (`note`), optionally after a coloured verdict."""
        mark = "" if kind == "plain" else f' class="{kind}"'
        before = f'<span class="verdict {tone}">{escape(verdict)}.</span> ' if verdict else ""
        self._add(f"<p{mark}>{before}{_prose(text)}</p>")

    def bullets(self, items: Sequence[str]) -> None:
        """A list of points."""
        self._add("<ul>" + "".join(f"<li>{_prose(item)}</li>" for item in items) + "</ul>")

    def text(self, content: str) -> None:
        """Preformatted text, for commands and listings; long lines wrap."""
        self._add(f"<pre>{escape(content)}</pre>")

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names with their values."""
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
        self._add(f'<dl class="facts">{rows}</dl>')

    def tiles(self, tiles: Sequence[tuple[str, str, str, Tone | None]]) -> None:
        """A few key numbers: name, value, verdict (may be empty) and its tone."""
        made = []
        for name, value, verdict, tone in tiles:
            kind = f"verdict {tone}" if tone else "name"
            below = f'<span class="{kind}">{escape(verdict)}</span>' if verdict else ""
            made.append(
                f'<li><span class="name">{_prose(name)}</span> '
                f'<span class="value">{_prose(value)}</span> {below}</li>'
            )
        self._add(f'<ul class="tiles">{"".join(made)}</ul>')

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        numeric: Collection[int] = (),
        caption: str = "",
        total: bool = False,
    ) -> None:
        """A table; the first cell of a row is its heading. A wide table scrolls in its own box.

        Parameters
        ----------
        numeric
            Indices of the columns to align to the right.
        total
            Whether the last row summarises the others.
        """
        if any(len(row) != len(columns) for row in rows):
            raise InvalidArgument("every row of a table needs one cell per column")
        kind = [
            'class="number"' if index in numeric else f'class="{_text_kind(rows, index)}"'
            for index in range(len(columns))
        ]
        head = "".join(
            _element("th", name, f'scope="col" {mark}')
            for name, mark in zip(columns, kind, strict=True)
        )
        body = []
        for number, row in enumerate(rows, start=1):
            first, *others = (
                _element("td" if index else "th", cell, mark if index else f'scope="row" {mark}')
                for index, (cell, mark) in enumerate(zip(row, kind, strict=True))
            )
            last = ' class="total"' if total and number == len(rows) else ""
            body.append(f"<tr{last}>{first}{''.join(others)}</tr>")
        title = f"<caption><span>{escape(caption)}</span></caption>" if caption else ""
        label = escape(caption or f"Table of {columns[0]}")
        # A scrolling box has to be reachable by keyboard and needs a label.
        self._add(
            f'<div class="scroll" role="region" tabindex="0" aria-label="{label}"><table>{title}'
            f"<thead><tr>{head}</tr></thead>\n<tbody>{chr(10).join(body)}</tbody></table></div>"
        )

    def figure(
        self, picture: Drawing | bytes, *, alt: str, caption: str = "", least_width: int = 0
    ) -> None:
        """A drawing or a PNG on a card as wide as the page, described by `alt`.

        A figure that is illegible below `least_width` pixels scrolls in its card.
        """
        self._figure(self._card(picture, alt, least_width=least_width), caption)

    def figures(self, pictures: Sequence[tuple[Drawing | bytes, str]], *, caption: str) -> None:
        """Small pictures with their `alt` texts, side by side where there is room."""
        cards = "".join(self._card(picture, alt) for picture, alt in pictures)
        self._figure(f'<div class="multiples">{cards}</div>', caption)

    def links(self, entries: Sequence[tuple[str, str, str, bytes | None]]) -> None:
        """Cards with links: relative address, title, a sentence, and optionally a PNG."""
        cards = []
        for address, title, about, picture in entries:
            link = f'<a href="{escape(address)}">{escape(title)}</a>'
            shown = self._image(picture, "") if picture else ""
            cards.append(f'<div class="card link">{shown}<p>{link}</p><p>{escape(about)}</p></div>')
        self._add(f'<div class="multiples">{"".join(cards)}</div>')

    @contextmanager
    def details(self, summary: str) -> Iterator[None]:
        """Collapse what is added inside the context."""
        self._add(f"<details><summary>{escape(summary)}</summary>")
        yield
        self._add("</details>")

    def html(self) -> str:
        """The whole page."""
        banner = f'<div class="banner" role="note">{escape(self.banner)}</div>'
        subtitle = f'<p class="subtitle">{escape(self.subtitle)}</p>'
        return "\n".join(
            [
                '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
                '<meta name="viewport" content="width=device-width, initial-scale=1">',
                '<meta name="generator" content="psgraph">',
                # Defence in depth: a browser neither runs scripts nor fetches anything.
                '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
                "img-src data:; style-src 'unsafe-inline'\">",
                '<meta name="referrer" content="no-referrer">',
                f"<title>{escape(self.title)}</title>",
                f"<style>\n{_css()}</style>\n</head>\n<body>",
                banner if self.banner else "",
                f'<header class="title">\n<h1>{escape(self.title)}</h1>',
                subtitle if self.subtitle else "",
                self._contents(),
                "</header>\n<main>",
                self.body(),
                "</main>\n</body>\n</html>\n",
            ]
        )

    def body(self) -> str:
        """The blocks and sections without heading and style sheet, to embed in another page."""
        return "\n".join([*self._parts[0], *map(_section, self._sections, self._parts[1:])])

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page atomically, replacing an earlier one; `OutputError` if that fails."""
        target = Path(path)
        check_writable(target)
        # A name that can't be encoded as UTF-8 (a lone surrogate) must not prevent the page.
        write_whole(target, self.html().encode(errors="replace"))
        return target

    def _add(self, block: str) -> None:
        self._parts[-1].append(block)

    def _name(self, text: str) -> str:
        """A unique id for a heading."""
        plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
        name, number = plain, 1
        while name in self._ids:
            number += 1
            name = f"{plain}-{number}"
        self._ids.add(name)
        return name

    def _contents(self) -> str:
        if len(self._sections) < _SECTIONS_FOR_CONTENTS:
            return ""
        links = (f'<li><a href="#{name}">{escape(text)}</a></li>' for name, text in self._sections)
        return f'<nav aria-label="Contents"><ul>{"".join(links)}</ul></nav>'

    def _card(self, picture: Drawing | bytes, alt: str, *, least_width: int = 0) -> str:
        if isinstance(picture, Drawing):
            self._drawings += 1
            inner = picture.markup(f"drawing{self._drawings}-", label=alt)
        else:
            inner = self._image(picture, alt)
        if not least_width:
            return f'<div class="card">{inner}</div>'
        return (
            f'<div class="card wide" role="region" tabindex="0" aria-label="{escape(alt)}">'
            f'<div style="min-width: {least_width}px">{inner}</div></div>'
        )

    def _image(self, picture: bytes, alt: str) -> str:
        data = base64.b64encode(picture).decode()
        return f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}">'

    def _figure(self, inner: str, caption: str) -> None:
        below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
        self._add(f"<figure>{inner}{below}</figure>")


def check_writable(path: str | PathLike[str]) -> None:
    """Raise if no page can be written to a path, before any work is done.

    >>> check_writable("no/such/place/page.html")
    Traceback (most recent call last):
    psgraph.errors.OutputError: no/such/place is not a directory
    Create it first, or choose another path for the report.
    """
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):  # never overwrite an input by mistake
        raise InvalidArgument(f"a report is written as .html, not {target.suffix!r}")
    try:
        if "\0" in str(target):
            raise ValueError
        if target.is_dir():
            raise OutputError(f"{target} is a directory\nName a file for the report.")
        if not target.parent.is_dir():
            raise OutputError(
                f"{target.parent} is not a directory\n"
                "Create it first, or choose another path for the report."
            )
        if not os.access(target.parent, os.W_OK):
            raise OutputError(
                f"{target.parent} is not writable\nChoose another path for the report."
            )
    except (OSError, ValueError) as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError("the path of the report can't be used\nCheck it.") from None


def _section(named: tuple[str, str], blocks: Sequence[str]) -> str:
    """A section: its heading stands above its content, or beside it on a wide screen."""
    name, text = named
    inner = "\n".join(blocks)
    return f'<section>\n<h2 id="{name}">{escape(text)}</h2>\n<div>\n{inner}\n</div>\n</section>'


def _prose(text: str) -> str:
    """Escaped text in which a unit or an arrow stays on the line of what it belongs to."""
    return escape(_BEFORE_UNIT.sub("\u00a0", text))


def _css() -> str:
    return (files("psgraph.reports") / "page.css").read_text(encoding="utf-8")


def _text_kind(rows: Sequence[Sequence[str]], column: int) -> str:
    """The CSS class of a text column: whether it wraps."""
    return "words" if any(len(row[column]) > _LONGEST_UNFOLDED for row in rows) else "word"


def _element(tag: str, text: str, attributes: str) -> str:
    attributes = attributes.strip()
    return f"<{tag}{' ' if attributes else ''}{attributes}>{escape(text)}</{tag}>"
