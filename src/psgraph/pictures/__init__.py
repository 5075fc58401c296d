"""Pictures of a release next to its original. For the curator only: they show the original."""

from __future__ import annotations

from psgraph.pictures.pair import draw_pair

__all__ = ["draw_pair"]
