"""MkDocs hook: pages and links across the whole repository.

The pages under `docs/` link to files beside `docs/`, so that they work in a checkout. This hook
brings the Markdown files at the root, `proofs/` and `examples/` into the site, and points links to
where they are in it. The README is the front page. A link to a file that is not part of the site,
such as source code, becomes plain text.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
AT_THE_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "PRIVACY.md": "PRIVACY.md",
    "SECURITY.md": "SECURITY.md",
    "LICENSE": "LICENSE.txt",
}
FOLDERS = ("proofs", "examples")
SERVED = {".md", ".csv", ".ipynb", ".parquet", ".py", ".service", ".yaml"}

FENCE = re.compile(r"^(```+)[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
IMAGE_TAG = re.compile(r'<img src="([^"]+)"([^>]*?)/?>')
PLAIN_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^)\s]+)\)")
#: What the front page says in its own way: the name, and what psgraph does in one sentence.
FRONT = re.compile(r"\A# .*?\n+\*\*[^*]+\*\* ", re.DOTALL)
TARGET = re.compile(r"\]\(([^)\s]+)\)")


def brought_in() -> dict[str, str]:
    """Map the path of every file outside `docs/` that is in the site to its place there."""
    found = {name: uri for name, uri in AT_THE_ROOT.items() if (ROOT / name).exists()}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in SERVED and ".ipynb_checkpoints" not in path.parts:
                name = path.relative_to(ROOT).as_posix()
                found[name] = (
                    name.removesuffix(".ipynb") + ".md" if path.suffix == ".ipynb" else name
                )
    return found


def place_in_site(name: str) -> str | None:
    """Where a file of the repository is in the site, or None if it is not there."""
    if (ROOT / name).is_dir():
        name = posixpath.join(name, "README.md")
    if name.startswith("docs/"):
        return name.removeprefix("docs/") if (ROOT / name).exists() else None
    return brought_in().get(name)


def path_in_repository(uri: str) -> str:
    """The path in the repository of a page of the site."""
    places = {place: name for name, place in brought_in().items()}
    return places.get(uri, f"docs/{uri}")


def move_target(target: str, uri: str) -> str | None:
    """The target of a link, as seen from page `uri` of the site; None if it leads out of it."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return target
    path, mark, anchor = target.partition("#")
    folder = posixpath.dirname(path_in_repository(uri))
    name = posixpath.normpath(posixpath.join(folder, path))
    place = place_in_site(name)
    if place is None:
        if not (ROOT / name).exists():
            return target  # the strict build reports it
        return None
    return posixpath.relpath(place, posixpath.dirname(uri) or ".") + mark + anchor


def move_links(text: str, uri: str) -> str:
    """Rewrite the links and images of Markdown without fenced blocks."""

    def image(found: re.Match[str]) -> str:
        attributes = dict(re.findall(r'(\w+)="([^"]*)"', found[2]))
        width = f'{{ width="{attributes["width"]}" }}' if "width" in attributes else ""
        return f"![{attributes.get('alt', '')}]({found[1]}){width}"

    def link(found: re.Match[str]) -> str:
        return found[0] if move_target(found[2], uri) is not None else found[1]

    def target(found: re.Match[str]) -> str:
        return f"]({move_target(found[1], uri) or found[1]})"

    return TARGET.sub(target, PLAIN_LINK.sub(link, IMAGE_TAG.sub(image, text)))


def outside_fences(text: str, change: Any) -> str:
    """Apply `change` to everything but fenced blocks."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])


def on_files(files: Any, config: Any) -> Any:
    """Add the files from outside `docs/`. Notebooks become pages in another hook."""
    for name, uri in brought_in().items():
        if not name.endswith(".ipynb"):
            files.append(File.generated(config, uri, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point the links of a page to files of the site."""
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]  # the tabs are enough there
        page.meta["template"] = "home.html"
        markdown = FRONT.sub("", markdown, count=1)
    return outside_fences(markdown, lambda text: move_links(text, uri))


#: The explainer is a page without a theme. In the site it gets a way back; in a checkout there are
#: no such pages.
EXPLAINER = "explainer/index.html"
AROUND = {
    "../": "psgraph",
    "../explanation/promise/": "The promise in plain language",
    "../explanation/how-psgraph-works/": "How PSGraph works",
    "../explanation/how-psgraph-plus-works/": "How PSGraph+ works",
}


def on_post_build(config: Any, **_: Any) -> None:
    """Put links to the site above the explainer."""
    path = Path(config["site_dir"]) / EXPLAINER
    links = "".join(f'<a href="{target}">{text}</a>' for target, text in AROUND.items())
    bar = f'<main>\n<nav class="site" aria-label="Documentation">{links}</nav>\n'
    path.write_text(path.read_text().replace("<main>\n", bar, 1))
