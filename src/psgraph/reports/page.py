"""A self-contained HTML page: one file, no network, no scripts, for any screen or printer."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from psgraph._runtime.durable import write_whole
from psgraph._runtime.html import templates
from psgraph.errors import InvalidArgument, OutputError
from psgraph.reports.charts import Drawing

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

__all__ = ["TONES", "Page", "Tone", "check_writable"]

Tone = Literal["good", "fair", "poor"]
#: The tones of the verdicts of `psgraph.metrics.metric.VERDICTS`.
TONES: dict[str, Tone] = {"close": "good", "some error": "fair", "poor": "poor"}

_SECTIONS_FOR_CONTENTS = 4
_LONGEST_UNFOLDED = 24
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|nats\b|steps\b)|(?<=\w) (?=[↑↓])")


@dataclass(frozen=True)
class _Section:
    """A heading, its unique id, and what is below it."""

    name: str
    title: str
    blocks: list[Markup] = field(default_factory=list)


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
    pointed
        Whether drawings state their points, for a script that answers a pointer.

    Examples
    --------
    >>> page = Page("Results <1>", subtitle="All of them")
    >>> page.heading("Numbers")
    >>> page.table(("method", "error"), [("tmf", "0.25")], numeric=(1,), caption="Errors")
    >>> text = page.html()
    >>> "<h1>Results &lt;1&gt;</h1>" in text, "<script" in text
    (True, False)
    """

    def __init__(
        self, title: str, *, subtitle: str = "", banner: str = "", pointed: bool = False
    ) -> None:
        self._pointed = pointed
        self.title, self.subtitle, self.banner = title, subtitle, banner
        self._first: list[Markup] = []  # before the first heading
        self._sections: list[_Section] = []
        self._blocks = self._first  # where the next block goes
        self._macros: Any = _templates().get_template("blocks.html").module
        self._drawings = 0

    def heading(self, text: str, *, level: Literal[2, 3] = 2) -> None:
        """Start a section, or a subsection with ``level=3``."""
        if level == 3:
            self._add(self._macros.heading(text))
            return
        self._sections.append(_Section(self._name(text), text))
        self._blocks = self._sections[-1].blocks

    def paragraph(
        self,
        text: str,
        *,
        kind: Literal["plain", "lead", "note"] = "plain",
        verdict: str = "",
        tone: Tone = "good",
    ) -> None:
        """Text: plain, larger (`lead`) or smaller (`note`), optionally after a coloured verdict."""
        self._add(self._macros.paragraph(text, kind, verdict, tone))

    def bullets(self, items: Sequence[str]) -> None:
        """A list of points."""
        self._add(self._macros.bullets(items))

    def text(self, content: str) -> None:
        """Preformatted text, for commands and listings; long lines wrap."""
        self._add(self._macros.text(content))

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names with their values."""
        self._add(self._macros.facts(pairs))

    def tiles(self, tiles: Sequence[tuple[str, str, str, Tone | None]]) -> None:
        """A few key numbers: name, value, verdict (may be empty) and its tone."""
        self._add(self._macros.tiles(tiles))

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
        kinds = [
            "number" if index in numeric else _text_kind(rows, index)
            for index in range(len(columns))
        ]
        label = caption or f"Table of {columns[0]}"
        self._add(self._macros.table(columns, kinds, rows, caption, label, total))

    def figure(
        self, picture: Drawing | bytes, *, alt: str, caption: str = "", least_width: int = 0
    ) -> None:
        """A drawing or a PNG on a card as wide as the page, described by `alt`.

        A figure that is illegible below `least_width` pixels scrolls in its card.
        """
        card = self._macros.card(self._picture(picture, alt), alt, least_width)
        self._add(self._macros.figure([card], False, caption))

    def figures(self, pictures: Sequence[tuple[Drawing | bytes, str]], *, caption: str) -> None:
        """Small pictures with their `alt` texts, side by side where there is room."""
        cards = [self._macros.card(self._picture(each, alt), alt, 0) for each, alt in pictures]
        self._add(self._macros.figure(cards, True, caption))

    def links(self, entries: Sequence[tuple[str, str, str, bytes | None]]) -> None:
        """Cards with links: relative address, title, a sentence, and optionally a PNG."""
        self._add(
            self._macros.links(
                [
                    (address, title, about, self._picture(picture, "") if picture else "")
                    for address, title, about, picture in entries
                ]
            )
        )

    @contextmanager
    def details(self, summary: str) -> Iterator[None]:
        """Collapse what is added inside the context; no section can start there."""
        around, self._blocks = self._blocks, []
        yield
        inside, self._blocks = self._blocks, around
        self._add(self._macros.details(summary, inside))

    def html(self) -> str:
        """The whole page."""
        enough = len(self._sections) >= _SECTIONS_FOR_CONTENTS
        return (
            _templates()
            .get_template("page.html")
            .render(
                title=self.title,
                subtitle=self.subtitle,
                banner=self.banner,
                contents=self._sections if enough else [],
                body=self.body(),
                css=_css(),
            )
            + "\n"
        )

    def body(self) -> str:
        """The blocks and sections without heading and style sheet, to embed in another page."""
        body: Markup = self._macros.body(self._first, self._sections)
        return body.rstrip("\n")

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page atomically, replacing an earlier one; `OutputError` if that fails."""
        target = Path(path)
        check_writable(target)
        # A name that cannot be encoded as UTF-8 (a lone surrogate) must not prevent the page.
        write_whole(target, self.html().encode(errors="replace"))
        return target

    def _add(self, block: Markup) -> None:
        self._blocks.append(block)

    def _name(self, text: str) -> str:
        """A unique id for a heading."""
        taken = {section.name for section in self._sections}
        plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "section"
        name, number = plain, 1
        while name in taken:
            number += 1
            name = f"{plain}-{number}"
        return name

    def _picture(self, picture: Drawing | bytes, alt: str) -> Markup:
        from markupsafe import Markup

        if isinstance(picture, Drawing):
            self._drawings += 1
            # A drawing escapes its texts itself.
            prefix = f"drawing{self._drawings}-"
            return Markup(picture.markup(prefix, label=alt, pointed=self._pointed))
        image: Markup = self._macros.image(base64.b64encode(picture).decode(), alt)
        return image


@cache
def _templates() -> Environment:
    environment = templates("psgraph.reports")
    environment.filters["prose"] = _prose
    return environment


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
        raise OutputError("the path of the report cannot be used\nCheck it.") from None


def _prose(text: str) -> str:
    """Text in which a unit or an arrow stays on the line of what it belongs to."""
    return _BEFORE_UNIT.sub("\u00a0", text)


@cache
def _css() -> Markup:
    from markupsafe import Markup

    return Markup((files("psgraph.reports") / "page.css").read_text(encoding="utf-8"))


def _text_kind(rows: Sequence[Sequence[str]], column: int) -> str:
    """The CSS class of a text column: whether it wraps."""
    return "words" if any(len(row[column]) > _LONGEST_UNFOLDED for row in rows) else "word"
