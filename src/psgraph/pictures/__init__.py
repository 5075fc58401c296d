"""Pictures of releases next to their original. For the curator only: they show the original."""

from __future__ import annotations

from psgraph.pictures.side_by_side import draw_side_by_side

__all__ = ["draw_side_by_side"]
