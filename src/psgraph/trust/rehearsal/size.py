"""Whether a rehearsal of some size fits into the memory of this machine."""

from __future__ import annotations

import os

from psgraph.errors import InvalidArgument
from psgraph.trust.rehearsal.template import Template

__all__ = ["check_memory", "estimated_bytes"]

_PER_EDGE = 600  # bytes of resizing, per edge that ever occurs
_PER_EDGE_AND_TIMESTAMP = 24  # bytes of the snapshots and of when edges are present
_PER_SNAPSHOT_EDGE = 400  # bytes of a method and of the metrics


def estimated_bytes(template: Template, *, edges: int) -> float:
    """About how much memory a rehearsal with `edges` edges per snapshot takes."""
    ever = template.u.size * edges / template.edges
    present = _PER_EDGE_AND_TIMESTAMP * template.timestamps
    return ever * (_PER_EDGE + present) + _PER_SNAPSHOT_EDGE * edges


def check_memory(template: Template, *, edges: int, available: int | None = None) -> None:
    """Refuse a rehearsal that would not fit into memory, before any work is done."""
    needed = estimated_bytes(template, edges=edges)
    if available is None:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > available:
        raise InvalidArgument(
            f"a rehearsal with {edges:,} edges and {template.timestamps} timestamps takes about "
            f"{needed / 1e9:,.0f} GB of memory, and this machine has {available / 1e9:,.0f} GB\n"
            "Rehearse at a tenth of the size with the same mean degree, or with fewer timestamps."
        )
