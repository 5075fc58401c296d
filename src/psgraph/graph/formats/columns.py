"""The names that the columns of an edge table may go by; case does not matter."""

from __future__ import annotations

from collections.abc import Sequence

from psgraph.errors import DataError

__all__ = ["ENDS", "HEADER_WORDS", "TIMES", "find_column", "find_ends", "list_names"]

ENDS = (
    ("u", "v"),
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("fromnodeid", "tonodeid"),
    ("source_subreddit", "target_subreddit"),
)
TIMES = ("time", "timestamp", "date", "datetime")
HEADER_WORDS = frozenset(
    [*(end for pair in ENDS for end in pair), *TIMES, "t", "label", "id", "node", "until"]
)


def find_column(names: Sequence[str], *wanted: str) -> int | None:
    """Return the index of the one column with one of the wanted names; refuse two.

    >>> find_column(["U", "V", "TIMESTAMP"], *TIMES)
    2
    """
    found = [index for index, name in enumerate(names) if name.strip().lower() in wanted]
    if len(found) > 1:
        raise DataError(
            f"columns {list_names([names[index] for index in found])} mean the same\nKeep one."
        )
    return found[0] if found else None


def find_ends(names: Sequence[str]) -> tuple[int, int] | None:
    """Return the indices of the two id columns, by the first pair of names that is complete."""
    for heads, tails in ENDS:
        head, tail = find_column(names, heads), find_column(names, tails)
        if head is not None and tail is not None:
            return head, tail
    return None


def list_names(names: Sequence[str]) -> str:
    """Format column names for a message, shortened when there are many.

    >>> list_names(["t", "u"]), list_names([])
    ("'t', 'u'", 'none')
    """
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown}, … ({len(names)} in all)" if len(names) > 12 else shown or "none"
