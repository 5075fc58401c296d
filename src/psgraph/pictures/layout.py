"""Node positions: one disc per community, with the nodes of highest degree in its centre.

The nodes of a two-sided graph are in two columns instead, sorted by community and degree.

A spring layout of a graph with hubs is a hairball, and two hairballs cannot be compared. Here a
position depends on the original only, so a node has the same position in every picture, and two
pictures differ only in their edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats
from psgraph.metrics.communities import find_communities
from psgraph.metrics.degrees import node_degrees

if TYPE_CHECKING:
    from psgraph.graph import Graph

__all__ = ["Layout", "arrange"]


#: Further communities, or those with less than this share of the nodes, share one last disc.
_MOST_COMMUNITIES, _SMALLEST_SHARE = 8, 0.02
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
#: Space between two discs, in units of the mean radius.
_GAP = 0.14
#: Width and height of a column of nodes, in a picture that is 2 wide and high; and the share of the
#: height that nodes without an edge get at most.
_COLUMN, _HEIGHT, _LEAST = 0.42, 1.94, 0.12


@dataclass(frozen=True)
class Layout:
    """Node positions in the square from −1 to 1, and communities in descending order of size.

    `labels` start at 0; −1 is the last disc, for nodes outside the large communities. `centres` and
    `radii` describe the discs, in the order 0, 1, …, −1; a two-sided graph has none.
    """

    positions: Floats
    labels: NDArray[np.int64]
    centres: Floats
    radii: Floats


def arrange(graph: Graph) -> Layout:
    """Lay out a graph: communities packed as discs, sunflower patterns inside. Deterministic.

    The two sides of a two-sided graph are columns on the left and on the right.

    Examples
    --------
    >>> from psgraph.streams.demo import demo_stream
    >>> layout = arrange(demo_stream(nodes=300, timestamps=1)[0])
    >>> layout.positions.shape, bool((abs(layout.positions) <= 1).all())
    ((300, 2), True)
    """
    labels = _communities(graph)
    if graph.kind.two_sided:
        positions = np.concatenate(_columns(graph, labels))
        return Layout(positions, labels, np.empty((0, 2)), np.empty(0))
    groups = [np.flatnonzero(labels == label) for label in range(labels.max(initial=-1) + 1)]
    if (labels < 0).any():
        groups.append(np.flatnonzero(labels < 0))
    radii = np.sqrt([float(group.size) for group in groups])
    centres = _pack(radii, _ties(graph, labels, len(groups)))
    degree = node_degrees(graph)
    positions = np.zeros((len(graph.roster), 2))
    for group, centre, radius in zip(groups, centres, radii, strict=True):
        # Highest degree first: a sunflower fills its disc from the centre outwards.
        order = group[np.argsort(-degree[group], kind="stable")]
        step = np.arange(group.size)
        distance = radius * np.sqrt((step + 0.5) / group.size)
        angle = step * _GOLDEN_ANGLE
        positions[order] = centre + distance[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)
    low = np.min(centres - radii[:, None], axis=0, initial=-1.0)
    high = np.max(centres + radii[:, None], axis=0, initial=1.0)
    middle, extent = (low + high) / 2, (high - low).max() / 2
    return Layout(
        (positions - middle) / extent, labels, (centres - middle) / extent, radii / extent
    )


def _columns(graph: Graph, labels: NDArray[np.int64]) -> list[Floats]:
    """Positions of the nodes of each side: communities from the top, each by descending degree.

    A community has the same height on both sides, so that its edges lead straight across. Nodes
    outside the large communities come next, and those without an edge last.
    """
    degree = node_degrees(graph)
    bands = np.where(labels < 0, labels.max(initial=-1) + 1, labels)
    bands[degree == 0] = bands.max(initial=0) + 1
    sides = np.split(np.arange(labels.size), [graph.roster.offset])
    sizes = np.array(
        [np.bincount(bands[side], minlength=bands.max(initial=0) + 1) for side in sides]
    )
    heights = (sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1)).mean(axis=0)
    isolated = heights[-1] if (degree == 0).any() else 0.0
    if isolated > _LEAST:  # however many they are, there is nothing to see
        heights[:-1] *= (1 - _LEAST) / max(1 - isolated, 1e-9)
        heights[-1] = _LEAST
    heights *= _HEIGHT / max(heights.sum(), 1e-9)
    tops = _HEIGHT / 2 - np.append(0.0, heights.cumsum()[:-1])
    found = []
    for side, outwards in zip(sides, (-1, 1), strict=True):
        positions = np.empty((side.size, 2))
        for band, (top, height) in enumerate(zip(tops, heights, strict=True)):
            inside = np.flatnonzero(bands[side] == band)
            inside = inside[np.argsort(-degree[side[inside]], kind="stable")]
            across = max(1, ceil(np.sqrt(inside.size * _COLUMN / max(height, 1e-9))))
            row, place = np.divmod(np.arange(inside.size), across)
            rows = max(1, ceil(inside.size / across))
            # The largest nodes are at the outer edge, where they hide no other.
            positions[inside, 0] = outwards * (1 - _COLUMN * (place + 0.5) / across)
            positions[inside, 1] = top - 0.97 * height * (row + 0.5) / rows
        found.append(positions)
    return found


def _communities(graph: Graph) -> NDArray[np.int64]:
    """Louvain communities, largest first; −1 for small or surplus ones."""
    n = len(graph.roster)
    if not graph.u.size:
        return np.full(n, -1)
    found = find_communities(graph)
    sizes = np.bincount(found)
    by_size = np.argsort(-sizes, kind="stable")[:_MOST_COMMUNITIES]
    large = by_size[sizes[by_size] >= max(2, _SMALLEST_SHARE * n)]
    number = np.full(sizes.size, -1)
    number[large] = np.arange(large.size)
    return number[found]


def _ties(graph: Graph, labels: NDArray[np.int64], count: int) -> Floats:
    """The number of edges between any two discs, as a symmetric matrix."""
    index = np.where(labels < 0, count - 1, labels)
    ties = np.zeros((count, count))
    np.add.at(ties, (index[graph.u], index[graph.v]), 1.0)
    return ties + ties.T


def _pack(radii: Floats, ties: Floats) -> Floats:
    """Centres of discs that touch without overlapping, strongly connected ones side by side.

    Each disc in turn goes to the position, touching two earlier ones, that is closest to the discs
    it has edges to and to the middle.
    """
    room = radii + _GAP * radii.mean() / 2 if radii.size else radii
    centres = np.zeros((radii.size, 2))
    placed: list[int] = []
    for new in np.argsort(-radii, kind="stable").tolist():
        if len(placed) == 1:
            centres[new] = (room[placed[0]] + room[new], 0.0)
        elif placed:
            candidates = np.array(
                [
                    position
                    for first, second in combinations(placed, 2)
                    for position in _touching(centres, room, first, second, room[new])
                ]
            )
            apart = np.hypot(*(candidates[:, None] - centres[placed]).transpose(2, 0, 1))
            free = (apart >= room[placed] + room[new] - 1e-9).all(axis=1)
            middle = np.average(centres[placed], axis=0, weights=radii[placed] ** 2)
            pull = apart @ (ties[new, placed] / max(ties[new, placed].sum(), 1.0))
            cost = np.hypot(*(candidates - middle).T) + 0.5 * pull
            centres[new] = candidates[free][np.argmin(cost[free].round(9))]
        placed.append(new)
    return centres


def _touching(
    centres: Floats, room: Floats, first: int, second: int, radius: float
) -> list[Floats]:
    """The two positions where a disc touches two others, if they are close enough."""
    between = centres[second] - centres[first]
    distance = float(np.hypot(*between))
    one, other = room[first] + radius, room[second] + radius
    if distance > one + other:
        return []
    along = (distance**2 + one**2 - other**2) / (2 * distance)
    across = np.sqrt(max(one**2 - along**2, 0.0))
    direction = between / distance
    normal = np.array([-direction[1], direction[0]])
    foot = centres[first] + along * direction
    return [foot + across * normal, foot - across * normal]
