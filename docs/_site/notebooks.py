"""MkDocs hook: show the notebooks of `examples/` with the outputs that are stored in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def joined(text: str | list[str]) -> str:
    """A multi-line string of the notebook format."""
    return text if isinstance(text, str) else "".join(text)


def fenced(text: str, language: str) -> str:
    """Text in a fence that is longer than any inside it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`+", text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}\n"


def boxed(html: str) -> str:
    """HTML as it is, without blank lines, which would end it for Markdown."""
    return '<div class="notebook-output">\n' + re.sub(r"\n\s*\n", "\n", html) + "\n</div>\n"


def outputs(cell: dict[str, Any]) -> Iterator[str]:
    """The stored outputs of a code cell as Markdown, each in its richest form."""
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream":
            yield fenced(COLOURS.sub("", joined(output["text"])), "text")
            continue
        data = output.get("data", {})
        if "image/svg+xml" in data:
            yield boxed(joined(data["image/svg+xml"]))
        elif "image/png" in data:
            content = joined(data["image/png"]).replace("\n", "")
            yield boxed(
                f'<img alt="Output of the cell above" src="data:image/png;base64,{content}">'
            )
        elif "text/html" in data:
            yield boxed(joined(data["text/html"]))
        elif "text/plain" in data:
            yield fenced(joined(data["text/plain"]), "text")


def page(path: Path) -> str:
    """A notebook as Markdown."""
    note = f"*This page shows `{path.relative_to(ROOT).as_posix()}` with its stored outputs.*\n"
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = joined(cell["source"]).strip()
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
        elif cell["cell_type"] == "code" and source:
            parts += [fenced(source, "python"), *outputs(cell)]
    return "\n".join([*parts[:1], note, *parts[1:]])


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every notebook."""
    for path in sorted((ROOT / "examples").glob("*.ipynb")):
        uri = f"examples/{path.stem}.md"
        files.append(File.generated(config, uri, content=page(path)))
    return files
