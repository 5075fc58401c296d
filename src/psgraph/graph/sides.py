"""The sides of an edge: out and in of directed graphs, left and right of two-sided ones.

Degrees and sums of weights of each side, over all of its nodes, including those without an edge.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.kind import DIRECTED, TWO_SIDED, Kind

if TYPE_CHECKING:
    from psgraph.graph.graphs import Graph

__all__ = ["SIDES", "edge_weights", "side_degrees", "side_names", "side_sums", "side_words"]

#: The sides by name: the kind of graph that has it, and which of its two sides it is.
SIDES: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "out": (DIRECTED.name, 0),
        "in": (DIRECTED.name, 1),
        "left": (TWO_SIDED.name, 0),
        "right": (TWO_SIDED.name, 1),
    }
)


def side_names(kind: Kind) -> tuple[str, ...]:
    """The names of the sides of a kind; one without a name if both ends are alike.

    >>> from psgraph.graph.kind import DIRECTED, UNDIRECTED
    >>> side_names(DIRECTED), side_names(UNDIRECTED)
    (('out', 'in'), ('',))
    """
    return tuple(name for name, (owner, _) in SIDES.items() if owner == kind.name) or ("",)


def side_words(name: str, noun: str) -> str:
    """The degrees, or something else, of a side in words.

    >>> side_words("out", "degrees"), side_words("left", "degrees"), side_words("", "degrees")
    ('out-degrees', 'degrees on the left', 'degrees')
    """
    if not name:
        return noun
    return f"{noun} on the {name}" if SIDES[name][0] == TWO_SIDED.name else f"{name}-{noun}"


def side_degrees(graph: Graph) -> tuple[Integers, ...]:
    """The degrees of the nodes of each side, in roster order; one array if ends are alike.

    Directed: out- and in-degrees of all nodes. Two-sided: degrees of the nodes on the left, and of
    those on the right. O(n + m).

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> side_degrees(SyntheticGraph(Roster.range(3), [0, 0, 1], [1, 2, 0], kind=DIRECTED))
    (array([2, 1, 0]), array([1, 1, 1]))
    """
    return side_sums(graph)


def side_sums(graph: Graph, *, weighted: bool = False) -> tuple[Integers, ...]:
    """The edges of the nodes of each side, or the sums of their weights, exactly."""
    nodes, offset = len(graph.roster), graph.roster.offset
    sums = [np.zeros(nodes, dtype=np.int64) for _ in range(2)]
    for read in graph.parts.edges():
        pairs = read()
        for total, ends in zip(sums, pairs, strict=True):
            if not weighted:
                total += np.bincount(ends, minlength=nodes)
            else:
                assert pairs.weight is not None
                np.add.at(total, ends, pairs.weight)
    first, second = sums
    if graph.kind.sides == 1:
        return (first + second,)
    return (first[:offset], second[offset:]) if graph.kind.two_sided else (first, second)


def edge_weights(graph: Graph) -> Integers:
    """The weights of all edges; ones if it has none."""
    return np.ones(graph.u.size, dtype=np.int64) if graph.weight is None else graph.weight
