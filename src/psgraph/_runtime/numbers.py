"""Numbers with their nouns."""

from __future__ import annotations

__all__ = ["count"]


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> count(1, "timestamp"), count(1234, "timestamp"), count(2, "community", "communities")
    ('1 timestamp', '1,234 timestamps', '2 communities')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
