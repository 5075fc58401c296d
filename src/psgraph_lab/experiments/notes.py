"""What people wrote about results: ``notes.toml`` beside them.

``[experiments]`` holds a reading of a figure by the name of its experiment, ``[statements]`` an
explanation by the name of a statement of the paper. Both go onto the pages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from psgraph.errors import DataError

__all__ = ["Notes", "read_notes"]

NAME = "notes.toml"


@dataclass(frozen=True)
class Notes:
    """Texts in Markdown, by name."""

    experiments: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)


def read_notes(directory: Path) -> Notes:
    """The notes in a directory; none if there is no file."""
    path = directory / NAME
    if not path.exists():
        return Notes()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        parts = [_texts(content.pop(part, {})) for part in ("experiments", "statements")]
    except (OSError, ValueError):
        raise DataError(
            f"{path} can't be read\n"
            "It is TOML with tables [experiments] and [statements], each of names and texts."
        ) from None
    return Notes(*parts)


def _texts(part: object) -> dict[str, str]:
    if not isinstance(part, dict) or not all(isinstance(text, str) for text in part.values()):
        raise ValueError
    return {str(name): text.strip() for name, text in part.items()}
