"""Small graphs, and targets made from them, for the tests of PSGraph+."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from psgraph.graph.kind import Edges
from psgraph.methods.plus.realisation import Target

CLASSES = 12
NONE = (np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))


def graph(pairs: list[tuple[int, int]]) -> Edges:
    """Sorted edges from pairs in any order."""
    ordered = sorted({(min(pair), max(pair)) for pair in pairs})
    ends = np.array(ordered, dtype=np.int32).reshape(-1, 2)
    return Edges(ends[:, 0].copy(), ends[:, 1].copy())


def random_graph(nodes: int, edge_count: int, *, seed: int, tail: float = 0.0) -> Edges:
    """A graph with about `edge_count` edges; with `tail` low numbers have the higher degrees."""
    rng = np.random.default_rng(seed)
    weights = (1.0 + np.arange(nodes)) ** -tail
    weights /= weights.sum()
    ends = rng.choice(nodes, size=(edge_count, 2), p=weights)
    return graph([(int(x), int(y)) for x, y in ends if x != y])


def complete(nodes: int) -> Edges:
    u, v = np.triu_indices(nodes, 1)
    return Edges(u.astype(np.int32), v.astype(np.int32))


def star(nodes: int) -> Edges:
    return Edges(np.zeros(nodes - 1, dtype=np.int32), np.arange(1, nodes, dtype=np.int32))


def degrees(edges: Edges, nodes: int) -> NDArray[np.int64]:
    return np.bincount(edges.u, minlength=nodes) + np.bincount(edges.v, minlength=nodes)


def degree_labels(edges: Edges, nodes: int, *, hubs: int = 0) -> NDArray[np.int32]:
    """One class per octave of degree; the largest nodes have a label of their own."""
    degree = degrees(edges, nodes)
    labels = np.clip(np.log2(np.maximum(degree, 1)), 0, CLASSES - 1).astype(np.int32)
    largest = np.argsort(-degree, kind="stable")[:hubs]
    labels[largest] = CLASSES + np.arange(largest.size)
    return labels


def block_counts(edges: Edges, labels: NDArray[np.int32]) -> NDArray[np.int64]:
    """Edges by pair of labels, in the upper triangle."""
    size = int(labels.max(initial=0)) + 1
    one, other = labels[edges.u], labels[edges.v]
    counts = np.zeros((size, size), dtype=np.int64)
    np.add.at(counts, (np.minimum(one, other), np.maximum(one, other)), 1)
    return counts


def target_of(edges: Edges, nodes: int, *, hubs: int = 0) -> Target:
    """The target that `edges` meets exactly."""
    labels = degree_labels(edges, nodes, hubs=hubs)
    counts = block_counts(edges, labels)
    a, b = np.nonzero(counts)
    order = np.lexsort((-a, -b, b < CLASSES))
    a, b = a[order], b[order]
    return Target(
        degrees=degrees(edges, nodes),
        labels=labels,
        block_a=a.astype(np.int32),
        block_b=b.astype(np.int32),
        quotas=counts[a, b],
        edge_count=edges.u.size,
    )


def assert_simple(edges: Edges, nodes: int) -> None:
    assert edges.u.dtype == edges.v.dtype == np.int32
    assert ((edges.u >= 0) & (edges.u < edges.v) & (edges.v < nodes)).all()
    assert (np.diff(edges.u.astype(np.int64) * nodes + edges.v) > 0).all()


def pairs_of(edges: Edges) -> set[tuple[int, int]]:
    return set(zip(edges.u.tolist(), edges.v.tolist(), strict=True))
