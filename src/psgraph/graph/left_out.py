"""What is said where an input has more than the releases: a direction, weights."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["published_as"]

_UNSAID = {
    "direction": ("undirected", "--directed (kind='directed')"),
    "weights": ("unweighted", "--weights W (weights=W)"),
}


def published_as(dropped: Collection[str]) -> str | None:
    """Return what is said where the input has more than is published; None where it has not.

    >>> print(published_as(["direction"]))
    Published as undirected: the input has a direction, which the releases leave out. \
To keep it: --directed (kind='directed').
    """
    found = [name for name in _UNSAID if name in dropped]
    if not found:
        return None
    words = " and ".join(_UNSAID[name][0] for name in found)
    names = " and ".join("a direction" if name == "direction" else name for name in found)
    it = "it" if found == ["direction"] else "them"
    return (
        f"Published as {words}: the input has {names}, which the releases leave out. "
        f"To keep {it}: {', '.join(_UNSAID[name][1] for name in found)}."
    )
