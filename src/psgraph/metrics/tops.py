"""The nodes that matter most, by degree on a side or by PageRank: are they the same in a release?

Scores are compared after rounding, and among nodes of equal score those that come first in the
roster are chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers
from psgraph.graph.kind import DIRECTED
from psgraph.graph.sides import SIDES, side_degrees, side_sums, side_words
from psgraph.metrics.metric import Metric, Pair

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = [
    "highest",
    "in_common",
    "pagerank",
    "pagerank_overlap",
    "rounded_scores",
    "top_count",
    "top_overlaps",
]

_DAMPING = 0.85  # as in the paper of Brin and Page, and in networkx
_MOST_STEPS, _CLOSE = 500, 1e-12  # ends when the scores, which sum to 1, move by less in all
#: Scores that agree to this many digits of the largest are tied, so that the last bits of a
#: floating-point sum don't decide which of two equivalent nodes comes first.
_DIGITS = 9
_FEWEST = 5


def highest(scores: Floats | Integers, wanted: int) -> NDArray[np.intp]:
    """Positions of the highest scores in ascending order; of equal scores, the first ones. O(n).

    >>> highest(np.array([1, 3, 2, 2]), 2)
    array([1, 2])
    """
    if not scores.size or wanted < 1:
        return np.empty(0, dtype=np.intp)
    wanted = min(wanted, scores.size)
    least = np.partition(scores, scores.size - wanted)[scores.size - wanted]
    above = np.flatnonzero(scores > least)
    return np.sort(np.append(above, np.flatnonzero(scores == least)[: wanted - above.size]))


def rounded_scores(scores: Floats) -> Floats:
    """Scores relative to the largest, in which differences by rounding errors are gone."""
    return np.round(scores / scores.max(), _DIGITS) if scores.size else scores


def top_count(nodes: int) -> int:
    """How many nodes of a side are its top: 1 %, at least five, at most all.

    >>> top_count(1_899), top_count(309), top_count(3)
    (18, 5, 3)
    """
    return min(max(_FEWEST, nodes // 100), nodes)


def pagerank(graph: Graph) -> Floats:
    r"""PageRank of every node of a directed graph, in roster order; the scores sum to 1.

    .. math:: r_v = \frac{1 - d}{n} + d \Big(\sum_{u \to v} \frac{r_u}{a_u}
                    + \frac{1}{n} \sum_{a_u = 0} r_u\Big), \qquad d = 0.85

    with a the out-degrees. Weights don't count. Power iteration: O(n + m) for each of about 170
    steps at most.

    Examples
    --------
    >>> from psgraph.graph import Roster, SyntheticGraph
    >>> from psgraph.graph.kind import DIRECTED
    >>> pagerank(SyntheticGraph(Roster.range(3), [0, 1], [2, 2], kind=DIRECTED)).round(3)
    array([0.213, 0.213, 0.574])
    """
    nodes = len(graph.roster)
    if not nodes:
        return np.empty(0)
    out, _ = side_degrees(graph)
    idle = out == 0
    shares = 1.0 / np.maximum(out, 1)
    rank = np.full(nodes, 1.0 / nodes)
    for _ in range(_MOST_STEPS):
        arriving = np.bincount(graph.v, weights=(rank * shares)[graph.u], minlength=nodes)
        spread = (1 - _DAMPING + _DAMPING * float(rank[idle].sum())) / nodes
        before, rank = rank, spread + _DAMPING * arriving
        if float(np.abs(rank - before).sum()) < _CLOSE:
            break
    return rank


def in_common(true: NDArray[np.intp], made: NDArray[np.intp]) -> float:
    r"""The share of the original's top that the release has in its top too; 1 without nodes.

    .. math:: |N \cap \hat{N}| \,/\, |N|
    """
    return float(np.isin(true, made).mean()) if true.size else 1.0


def _top_pages(graph: Graph) -> NDArray[np.intp]:
    return highest(rounded_scores(pagerank(graph)), top_count(len(graph.roster)))


pagerank_overlap = Metric(
    "pagerank_overlap",
    unit="%",
    better="higher",
    reading="The share of the original's nodes of highest PageRank (1 %, at least five) that are "
    "also among those of the release. Chance alone gives about 1 %.",
    compute=lambda pair: in_common(*pair.both(_top_pages)),
    kinds=frozenset({DIRECTED.name}),
    breaks_ties=True,
    title="PageRank overlap",
)


def _degrees_or_strengths(graph: Graph) -> tuple[Integers, ...]:
    """Of flows the numbers of rows, which take the place of degrees."""
    return side_sums(graph, weighted=graph.kind.flows)


def _top_overlap(name: str) -> Metric:
    kind, side = SIDES[name]

    def compute(pair: Pair) -> float:
        degrees = (each[side] for each in pair.both(_degrees_or_strengths))
        return in_common(*(highest(each, top_count(each.size)) for each in degrees))

    return Metric(
        f"top_{name}_overlap",
        unit="%",
        better="higher",
        reading=f"The share of the nodes with the original's highest {side_words(name, 'degrees')} "
        "(of flows: sums of rows; 1 %, at least five) that are also among those of the release. "
        "Chance alone gives about 1 %.",
        compute=compute,
        kinds=frozenset({kind}),
        breaks_ties=True,
    )


#: The overlap of the nodes of highest degree on each side, by the name of the side.
top_overlaps: Mapping[str, Metric] = MappingProxyType({name: _top_overlap(name) for name in SIDES})
