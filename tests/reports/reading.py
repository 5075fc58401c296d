"""Reading a page as a browser would, and refusing what no page may have."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "hr", "link", "input"}
ADDRESSES = {"src", "href", "srcset", "action", "data", "poster", "background", "ping"}


class Reader(HTMLParser):
    """Elements, text and attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.outline: list[str] = []  # without what is inside of drawings
        self.texts: list[str] = []
        self.headings: list[str] = []
        self.banners: list[str] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        assert len(given) == len(attrs), f"an attribute of <{tag}> stands there twice"
        self.elements.append((tag, given))
        if not any(name == "svg" for name, _ in self._open):
            self.outline.append(tag)
        if tag not in VOID:
            self._open.append((tag, given))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        opened, _ = self._open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"

    def handle_data(self, data: str) -> None:
        inside = [tag for tag, _ in self._open]
        if "style" in inside:
            return
        self.texts.append(data)
        if inside and inside[-1] in ("h1", "h2", "h3"):
            self.headings.append(data)
        if self._open and self._open[-1][1].get("class") == "banner":
            self.banners.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


def checked(html: str) -> Reader:
    """A page that stands alone, is whole, and says in words what its pictures show."""
    page = Reader(html)
    tags = Counter(tag for tag, _ in page.elements)
    assert html.startswith("<!doctype html>")
    assert ("html", {"lang": "en"}) in page.elements
    assert tags["main"] == tags["h1"] == tags["title"] == 1
    forbidden = {"script", "link", "iframe", "object", "embed", "form", "base", "foreignobject"}
    assert not tags.keys() & forbidden
    plain = re.sub(r"data:image/png;base64,[\w+/=]*", "", html)
    assert not re.search(r"https?:|//[a-z]|@import|javascript:", plain, re.IGNORECASE)
    ids = [given["id"] for _, given in page.elements if "id" in given]
    assert len(ids) == len(set(ids))
    for tag, given in page.elements:
        assert not [name for name in given if name.startswith("on")], f"<{tag}> has a handler"
        for name in ADDRESSES & given.keys():
            local = given[name].startswith("#") and given[name][1:] in ids
            assert local or given[name].startswith("data:image/png;base64,"), given[name][:40]
        for reference in re.findall(r"url\(#([^)]+)\)", " ".join(given.values())):
            assert reference in ids
        if tag == "img":
            assert given["alt"].strip()
        if tag == "svg":
            assert given["role"] == "img"
            assert given["aria-label"].strip()
            assert "viewbox" in given
    assert tags["figure"] >= tags["figcaption"]
    return page
