"""MkDocs hook: list every command, proof, page of results and notebook, under its own title."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click

from psgraph._version import __version__

ROOT = Path(__file__).parents[2]
FIRST_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def title(path: Path) -> str:
    """The first heading of a Markdown file or notebook."""
    text = path.read_text()
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    found = FIRST_HEADING.search(text)
    return found[1] if found else path.stem


def pages(folder: Path, pattern: str, uri: str) -> list[dict[str, str]]:
    """Entries for the files of a folder, in the order of their titles."""
    found = [path for path in folder.glob(pattern) if path.name != "README.md"]
    entries = [{title(path): f"{uri}/{path.stem}.md"} for path in found]
    return sorted(entries, key=lambda entry: next(iter(entry)).lower())


def extend(items: list[Any]) -> None:
    """Put the pages of a folder behind its README, wherever the navigation has one."""
    for item in items:
        for entry in item.values() if isinstance(item, dict) else ():
            if isinstance(entry, list):
                extend(entry)
    if "proofs/README.md" in items:
        items += pages(ROOT / "proofs", "*.md", "proofs")
    if "results/README.md" in items:
        items += pages(ROOT / "docs/results", "*.md", "results")
    if "examples/README.md" in items:
        items += pages(ROOT / "examples", "*.ipynb", "examples")
    if {"All commands": "reference/commands.md"} in items:
        items += [{name: f"reference/commands/{name}.md"} for name in command_names()]


def command_names() -> list[str]:
    """The commands, in the order in which help lists them."""
    from psgraph.cli import root

    return root.list_commands(click.Context(root))


def on_config(config: Any) -> Any:
    """Complete the navigation of mkdocs.yml, and say which version it is about."""
    extend(config["nav"])
    config["extra"]["release"] = __version__
    config["copyright"] += f" · version {__version__}"
    return config
