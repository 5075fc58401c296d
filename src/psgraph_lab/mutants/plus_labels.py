"""Mutants of PSGraph+ with public labels: what is asked about them, and what decides on them."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np

from psgraph_lab.mutants.mutant import Edit, Mutant, Swap
from psgraph_lab.mutants.truth import remembering, true_snapshot

__all__ = ["PLUS_LABELS"]

METHOD = "psgraph.methods.plus.method"
PLUS = f"{METHOD}:PSGraphPlus"
QUERIES = "psgraph.methods.plus.label_queries"


def _pooled_by_truth(real: Any) -> Any:
    """Keep the labels that have an odd number of edges inside them."""

    def measure(private: Any, book: Any, shares: Any) -> Any:
        snapshot, codes = true_snapshot(private), book.codes(private.roster)
        same = codes[snapshot.u] == codes[snapshot.v]
        inside = np.bincount(codes[snapshot.u][same], minlength=book.count)
        pooled = np.where(inside[codes] % 2 == 1, codes, book.count - 1).astype(codes.dtype)
        seen = SimpleNamespace(
            codes=lambda _roster: pooled,
            count=book.count,
            patterns=book.patterns,
            cell_patterns=book.cell_patterns,
        )
        return real(private, seen, shares)

    return measure


def _used_by_truth(real: Any) -> Any:
    """Use labels if most edges are between nodes of the same label in the original."""

    def update(self: Any, state: Any, measurement: Any) -> Any:
        after = real(self, state, measurement)
        if getattr(after, "labels", None) is None:  # also a state of another kind of graph
            return after
        codes = after.labels.book.codes(after.roster)
        same = codes[self._truth.u] == codes[self._truth.v]
        used = bool(2 * np.count_nonzero(same) > same.size)
        return dataclasses.replace(after, labels=dataclasses.replace(after.labels, used=used))

    return update


PLUS_LABELS = (
    Mutant(
        "the query of edges between labels is not charged",
        "psgraph-plus",
        (
            Edit(
                f"{METHOD}:measure_labels",
                "private.ask(LabelEdges(codes, book.count), epsilon=shares.label_edges)",
                "LabelEdges(codes, book.count).answer(private._edges)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "edges by agreement of labels are counted at both ends",
        "psgraph-plus",
        (Edit(f"{QUERIES}:AgreeingEdges.answer", "return counts", "return 2 * counts"),),
        ("replay", "enumeration"),
    ),
    Mutant(
        "labels are pooled by true counts",
        "psgraph-plus",
        (Swap(f"{METHOD}:measure_labels", _pooled_by_truth),),
        ("replay",),
    ),
    Mutant(
        "the true graph decides whether labels are used",
        "psgraph-plus",
        (Swap(f"{PLUS}.measure", remembering), Swap(f"{PLUS}.update", _used_by_truth)),
        ("replay",),
    ),
    Mutant(
        "the true edge count decides what labels cost",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Edit(
                f"{PLUS}._buy",
                "edges = float(noisy_edges if state is None else state.edge_count)",
                "edges = float(self._truth.u.size)",
            ),
        ),
        ("replay",),
    ),
    Mutant(
        "the true edge count decides whether labels are followed",
        "psgraph-plus",
        (
            Swap(f"{PLUS}.measure", remembering),
            Edit(
                f"{PLUS}._buy",
                "known is not None and known.swings",
                "known is not None and self._truth.u.size % 2 == 0 and known.swings",
            ),
        ),
        ("replay",),
    ),
)
