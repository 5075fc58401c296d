"""Public labels: whether a release connects groups of nodes as the original does.

The labels are columns of the roster (`psgraph.graph.labels`), so these metrics have a value only
where it has some. With several columns the error of blocks is the mean over them; other errors are
summed over them, relative to the sum of the true values. A node without a label agrees with no
other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from psgraph._runtime.arrays import Integers
from psgraph.graph.label_blocks import block_counts
from psgraph.metrics.communities import modularity
from psgraph.metrics.degrees import node_degrees
from psgraph.metrics.metric import GAMMA, Group, Metric, Pair

if TYPE_CHECKING:
    from collections.abc import Callable

    from psgraph.graph import Graph, Roster

__all__ = ["LABELS", "label_assortativity", "label_groups", "label_modularity"]

FEWEST_EDGES = 20  # of a pair of labels whose relative error means anything


def label_groups(roster: Roster, column: str) -> Integers:
    """Return a number for the label of each node; a node without one is a group by itself.

    >>> from psgraph.graph import Roster
    >>> roster = Roster(range(5), labels={"team": ["red", None, "blue", "red", None]})
    >>> label_groups(roster, "team")
    array([1, 2, 0, 1, 3])
    """
    assert roster.labels is not None
    index = roster.labels.columns.index(column)
    groups = roster.labels.codes[:, index].astype(np.int64)
    missing = groups < 0
    known = len(roster.labels.values[index])
    groups[missing] = known + np.arange(np.count_nonzero(missing))
    return groups


def label_modularity(graph: Graph, column: str) -> float:
    """Return the modularity of the labels of a column; see `psgraph.metrics.modularity`."""
    return modularity(graph, label_groups(graph.roster, column))


def label_assortativity(graph: Graph, column: str) -> float:
    r"""Newman's assortativity coefficient of the labels of a column, 0 if it is not defined.

    .. math:: r = \frac{\sum_c e_{cc} - \sum_c a_c^2}{1 - \sum_c a_c^2}

    with :math:`e_{cc}` the share of edges inside label *c* and :math:`a_c` its share of all ends.
    1: all edges are inside labels; 0: as many as at random.
    """
    return _assortativity(graph, label_groups(graph.roster, column))


def _assortativity(graph: Graph, groups: Integers) -> float:
    ends = 2 * int(graph.u.size)
    if not ends:
        return 0.0
    sums = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    np.add.at(sums, groups, node_degrees(graph))
    by_chance = sum(value * value for value in sums.tolist()) / ends**2
    return modularity(graph, groups) / (1 - by_chance) if by_chance < 1 else 0.0


def _mean(pair: Pair, of: Callable[[Pair, str], float | None]) -> float | None:
    """The mean over all label columns; None if there is none, or none has a value."""
    found = [of(pair, column) for column in pair.original.graph.roster.label_columns]
    values = [value for value in found if value is not None]
    return sum(values) / len(values) if values else None


def _relative(pair: Pair, of: Callable[[Graph, Integers], float]) -> float | None:
    """The distance over all label columns, relative to the sum of their true values.

    So a column that explains nothing, whose true value is about 0, does not drown the others.
    """
    apart = size = 0.0
    roster = pair.original.graph.roster
    for column in roster.label_columns:
        groups = label_groups(roster, column)
        true, made = (of(each.graph, groups) for each in (pair.original, pair.synthetic))
        apart, size = apart + abs(made - true), size + abs(true)
    return apart / max(GAMMA, size) if roster.label_columns else None


def _block_error(pair: Pair, column: str) -> float | None:
    roster = pair.original.graph.roster
    truth, found = (
        block_counts(each, roster, column) for each in (pair.original.graph, pair.synthetic.graph)
    )
    upper = np.triu_indices(truth.shape[0])
    true, made = truth[upper], found[upper]
    many = true >= FEWEST_EDGES
    if not many.any():
        return None
    return float((np.abs(made - true)[many] / true[many]).mean())


LABELS = Group(
    "Public labels",
    (
        Metric(
            "label_modularity_error",
            unit="%",
            better="lower",
            reading="Relative error of the modularity of the public labels: how much more often "
            "than at random edges join nodes of the same label. 100 %: the release connects "
            "labels at random.",
            compute=lambda pair: _relative(pair, modularity),
        ),
        Metric(
            "label_assortativity_error",
            unit="%",
            better="lower",
            reading="Relative error of the assortativity by label: the same on a scale on which 1 "
            "means that all edges are inside labels.",
            compute=lambda pair: _relative(pair, _assortativity),
        ),
        Metric(
            "label_block_error",
            unit="%",
            better="lower",
            reading="Mean relative error of the number of edges between two labels, over the "
            f"pairs of labels that have at least {FEWEST_EDGES} in the original.",
            compute=lambda pair: _mean(pair, _block_error),
        ),
    ),
)
"""The metrics of public labels; they have no value where the roster has no labels."""
