"""Tables for the curator: they hold private values, so only their owner can read them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from psgraph._runtime.durable import write_whole

__all__ = ["write_curator_file"]


def write_curator_file(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV file of mode 0600."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode(), owner_only=True)
