"""Hand-written notes on results: ``notes.toml`` in the same directory.

``[experiments]`` holds an interpretation of each figure, by experiment; ``[statements]`` an
explanation of a verdict, by statement id. Both appear on the pages.
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
    """Markdown texts, by name."""

    experiments: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)


def read_notes(directory: Path) -> Notes:
    """Read the notes in a directory; empty if there are none."""
    path = directory / NAME
    if not path.exists():
        return Notes()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        parts = [_texts(content.pop(part, {})) for part in ("experiments", "statements")]
    except (OSError, ValueError):
        raise DataError(
            f"{path} can't be read\n"
            "It must be TOML with tables [experiments] and [statements], both of names and texts."
        ) from None
    return Notes(*parts)


def _texts(part: object) -> dict[str, str]:
    if not isinstance(part, dict) or not all(isinstance(text, str) for text in part.values()):
        raise ValueError
    return {str(name): text.strip() for name, text in part.items()}
