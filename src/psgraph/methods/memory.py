"""What memory a method needs that holds all edges of a snapshot, from public numbers."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from psgraph.graph.parts import PART_NODES
from psgraph.methods.base import Method, find_method, method_names

__all__ = ["memory_note"]

# Two positions of 4 bytes, and as much again for the neighbour lists.
_EDGE_BYTES = 16


def memory_note(method: Method[Any, Any], *, nodes: int | None, prepared: bool) -> str | None:
    """Say that a method holds all edges in memory, where that may matter; None elsewhere.

    It may matter for a store, and for a roster of more than one part. How many edges there are is
    private, so the note says how many this machine could hold at best.

    >>> from psgraph.methods.psgraph import PSGraph
    >>> from psgraph.methods.tmf import TmF
    >>> memory_note(TmF(), nodes=1000, prepared=False)
    >>> memory_note(PSGraph(), nodes=10**7, prepared=True)
    >>> print(memory_note(TmF(), nodes=10**7, prepared=False).partition(", at least")[0])
    Method tmf holds all edges of a snapshot in the memory of one machine
    """
    if not method.needs_all_edges or not (prepared or (nodes or 0) > PART_NODES):
        return None
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return (
        f"Method {method.name} holds all edges of a snapshot in the memory of one machine, at "
        f"least {_EDGE_BYTES} bytes for every edge and often several times that. This one has "
        f"{memory / 1e9:.1f} GB: fewer than {memory / _EDGE_BYTES / 1e6:,.0f} million edges fit. "
        f"These methods read it part by part: {', '.join(_in_parts())}."
    )


def _in_parts() -> list[str]:
    """The installed methods that ask for sums over parts; a plug-in that fails is left out."""
    found = []
    for name in method_names():
        with suppress(Exception):
            if not find_method(name).needs_all_edges:
                found.append(name)
    return found
