"""The queries about public labels: edges by agreement, and edges by pair of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers, Labels
from psgraph.methods.plus.label_blocks import LabelReadings
from psgraph.methods.plus.label_book import LabelBook
from psgraph.methods.plus.shares import Shares
from psgraph.methods.private import PrivateSnapshot
from psgraph.methods.queries import BlockEdges
from psgraph.privacy.query import CountsQuery

if TYPE_CHECKING:
    from psgraph.methods.private import PrivateEdges

__all__ = ["AgreeingEdges", "LabelEdges", "measure_labels"]


@dataclass(frozen=True, eq=False)
class AgreeingEdges(CountsQuery):
    """P: edges by the pattern of agreement of their ends, those without any agreement included.

    Privacy: an edge has one pattern, whose count it moves by 1; labels are part of the public
    roster, and the book is made from the first one.
    """

    labels: Labels
    book: LabelBook

    label = "edges by agreement of labels"
    sensitivity = 1
    proof = "proofs/psgraph-plus.md"
    subject = "the edges between nodes of the same label"

    def shape(self, nodes: int) -> tuple[int, ...]:
        del nodes
        return (self.book.patterns,)

    def answer(self, edges: PrivateEdges) -> Integers:
        counts = np.zeros(self.book.patterns, dtype=np.int64)
        cells = LabelEdges(self.labels, self.book.count).answer(edges)
        np.add.at(counts, self.book.cell_patterns, cells)
        return counts


@dataclass(frozen=True, eq=False)
class LabelEdges(BlockEdges):
    """B: the edges between labels, every pair of them.

    Privacy: an edge is in one cell, which it moves by 1; labels are part of the public roster.
    """

    label = "edges between labels"
    subject = "the edges between two labels"
    kinds = frozenset({"undirected"})


def measure_labels(
    private: PrivateSnapshot, book: LabelBook, shares: Shares
) -> LabelReadings | None:
    """Ask P and B; None where neither is bought.

    Privacy: each costs its share for one edge. `book` must come from public rosters.
    proofs/psgraph-plus.md.
    """
    if not shares.agreement:
        return None
    codes = book.codes(private.roster)
    noisy_agreement = private.ask(AgreeingEdges(codes, book), epsilon=shares.agreement)
    noisy_edges = None
    if shares.label_edges:
        noisy_edges = private.ask(LabelEdges(codes, book.count), epsilon=shares.label_edges)
    return LabelReadings(noisy_agreement, noisy_edges)
