"""What is said where an input has more than the releases: a direction, weights, two sides."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["FEATURES", "published_as"]

_UNSAID = {  # what the releases are, what they leave out, how to keep it
    "direction": ("undirected", "a direction", "--directed (kind='directed')"),
    "weights": ("unweighted", "weights", "--weights W (weights=W)"),
    "sides": (
        "edges between alike nodes",
        "two sides",
        "--left A --right B (left=…, right=…)",
    ),
}

FEATURES = tuple(_UNSAID)


def published_as(dropped: Collection[str]) -> str | None:
    """Return what is said where the input has more than is published; None where it has not.

    >>> print(published_as(["direction"]))
    Published as undirected: the input has a direction, which the releases leave out. \
To keep it: --directed (kind='directed').
    """
    found = [name for name in _UNSAID if name in dropped]
    if not found:
        return None
    words, names, options = zip(*(_UNSAID[name] for name in found), strict=True)
    it = "it" if found == ["direction"] else "them"
    return (
        f"Published as {' and '.join(words)}: the input has {' and '.join(names)}, which the "
        f"releases leave out. To keep {it}: {', '.join(options)}."
    )
