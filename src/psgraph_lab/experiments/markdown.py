"""A Markdown page with the blocks of `psgraph.reports.page.Page`, as GitHub renders it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Literal, Protocol

from psgraph._runtime.durable import write_whole

__all__ = ["Document", "Markdown", "plain_blocks"]

_SPECIAL = re.compile(r"([\\`*_\[\]<>|$~])")
_MARKS = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"`([^`]*)`"), r"\1"),
    (re.compile(r"(\*\*|__)(.+?)\1"), r"\2"),
    (re.compile(r"(?<![\w*])\*([^*]+)\*(?![\w*])"), r"\1"),
)


class Document(Protocol):
    """The blocks that every page has, in Markdown and in HTML."""

    def heading(self, text: str, *, level: Literal[2, 3] = 2) -> None: ...
    def paragraph(self, text: str, *, kind: Literal["plain", "lead", "note"] = "plain") -> None: ...
    def bullets(self, items: Sequence[str]) -> None: ...
    def text(self, content: str) -> None: ...
    def facts(self, pairs: Sequence[tuple[str, str]]) -> None: ...
    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        numeric: Collection[int] = (),
        caption: str = "",
    ) -> None: ...
    def details(self, summary: str) -> AbstractContextManager[None]: ...


class Markdown:
    """A sequence of blocks. Text is escaped; only `verbatim` is not.

    Examples
    --------
    >>> page = Markdown("Results")
    >>> page.table(("method", "a|b"), [("tmf", "1 * 2")], numeric=(1,))
    >>> print(page.markdown())
    # Results
    <BLANKLINE>
    | method | a\\|b |
    | :--- | ---: |
    | tmf | 1 \\* 2 |
    <BLANKLINE>
    """

    def __init__(self, title: str, *, subtitle: str = "") -> None:
        self._blocks = [f"# {_escaped(title)}"]
        if subtitle:
            self._blocks.append(_escaped(subtitle))

    def heading(self, text: str, *, level: Literal[2, 3] = 2) -> None:
        """Start a section, or a subsection with ``level=3``."""
        self._blocks.append(f"{'#' * level} {_escaped(text)}")

    def paragraph(self, text: str, *, kind: Literal["plain", "lead", "note"] = "plain") -> None:
        """Text; a note in italics."""
        self._blocks.append(f"_{_escaped(text)}_" if kind == "note" else _escaped(text))

    def bullets(self, items: Sequence[str]) -> None:
        """A list of points."""
        self._blocks.append("\n".join(f"- {_escaped(item)}" for item in items))

    def text(self, content: str) -> None:
        """Preformatted text, for commands and listings."""
        longest = max((len(run) for run in re.findall("`+", content)), default=0)
        fence = "`" * max(3, longest + 1)
        self._blocks.append(f"{fence}\n{content}\n{fence}")

    def facts(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Names with their values."""
        self._blocks.append(
            "\n".join(f"- **{_escaped(name)}**: {_escaped(value)}" for name, value in pairs)
        )

    def table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        numeric: Collection[int] = (),
        caption: str = "",
    ) -> None:
        """A table with its caption above."""
        if caption:
            self._blocks.append(f"**{_escaped(caption)}**")
        marks = ["---:" if column in numeric else ":---" for column in range(len(columns))]
        lines = [[_escaped(cell) for cell in row] for row in (columns, *rows)]
        lines.insert(1, marks)
        self._blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))

    def picture(self, name: str, *, alt: str) -> None:
        """A picture in the same directory."""
        self._blocks.append(f"![{_escaped(alt)}]({name})")

    def verbatim(self, text: str) -> None:
        """Hand-written Markdown, unchanged."""
        self._blocks.append(text.strip())

    @contextmanager
    def details(self, summary: str) -> Iterator[None]:
        """Collapse what is added inside the context."""
        self._blocks.append(f"<details><summary>{_escaped(summary)}</summary>")
        yield
        self._blocks.append("</details>")

    def markdown(self) -> str:
        """The whole page."""
        return "\n\n".join(self._blocks) + "\n"

    def write(self, path: Path) -> Path:
        """Write the page, replacing an earlier one atomically."""
        write_whole(path, self.markdown().encode(errors="replace"))
        return path


def plain_blocks(text: str) -> Iterator[str | list[str]]:
    """Simple Markdown as plain paragraphs and lists, for a page without markup.

    Emphasis, code and links lose their markup; the lines of a paragraph are joined.

    >>> list(plain_blocks("Some *words*\\nand `code`.\\n\\n- one\\n- **two**"))
    ['Some words and code.', ['one', 'two']]
    """
    for block in re.split(r"\n\s*\n", text.strip()):
        items = re.split(r"(?:^|\n)[-*] +", block.strip())
        if items[0].strip():
            yield _plain(items[0])
        if len(items) > 1:
            yield [_plain(item) for item in items[1:]]


def _plain(text: str) -> str:
    joined = " ".join(text.split())
    for mark, kept in _MARKS:
        joined = mark.sub(kept, joined)
    return joined


def _escaped(text: str) -> str:
    """Text on one line, with special characters escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
