"""The numbering of undirected pairs of blocks, by the names it had before `graph.kind` owned it."""

from __future__ import annotations

from psgraph.graph.kind import UNDIRECTED

__all__ = ["cell_of", "pair_count", "pair_of"]

pair_count = UNDIRECTED.cell_count
cell_of = UNDIRECTED.cell_of
pair_of = UNDIRECTED.pair_of
