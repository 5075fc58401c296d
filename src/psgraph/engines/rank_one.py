"""Drawing rank-one blocks: every pair of nodes once, in time proportional to the edges drawn.

Within a block the nodes are put into classes whose weights differ by at most a factor of two.
Between two classes all pairs have nearly the same probability, at most p = rate·(largest
weight)·(largest weight): candidates are found by geometric jumps with p over the grid of pairs,
and each is kept with its own probability divided by p. The jumps visit a pair at most once, so
the edges are independent Bernoulli exactly and there are no duplicates to remove. A pair that
is certain (p ≥ 1) needs no special case: the jump is then one step.

Every block has its own stream of random numbers, a function of the key and the block. A block
of many edges is cut into pieces, rows of its grids, each with its own stream; the pieces depend on
the model only.

Where edges have two sides, first ends and second ends have weights and classes of their own, and
all grids are rectangles; a node's pair with itself is drawn like any other and left out.

Written by hand because no library samples *many* rank-one blocks at once; a multigraph with
repeated edges dropped, the usual shortcut, loses several per cent of the edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.arrays import Floats, Integers, Labels, Positions, Words
from psgraph._runtime.jit import kernel
from psgraph._runtime.kernels import group_nodes
from psgraph.engines.counter_based import exponential, start_stream, uniform
from psgraph.engines.runner import Job
from psgraph.engines.sides import Sides
from psgraph.graph.kind import UNDIRECTED, pack_pair, pack_unordered, triangle, triangle_row

__all__ = ["TASK_EDGES", "Blocks", "block_job", "cuts", "weight_classes"]

TASK_EDGES = 1 << 20
"""Expected edges of one task."""
PIECE_EDGES = 1 << 20
"""Expected edges of one stream of random numbers: changing it changes the graphs drawn."""

Whole = int | np.integer[Any]


@dataclass(frozen=True)
class Blocks:
    """A random graph of rank-one blocks: x in block a and y in block b are joined with
    probability min(1, rate·weight_x·weight_y), independently, for every (a, b, rate) listed.

    Pairs not listed have no edges. A pair (a, a) means the pairs inside block a.

    If edges have two `sides`, (a, b) means the edges from x in block a to y ≠ x in block b, and
    `weights` are listed like degrees per side.
    """

    weights: Floats
    labels: Labels
    heads: Labels
    tails: Labels
    rates: Floats
    sides: Sides | None = None


class Pieces(NamedTuple):
    """What is drawn with one stream: a whole block, or rows of the grid of two of its classes.

    Attributes
    ----------
    block
        The number of the block in its model.
    one, other
        The classes; −1 for all of the block.
    begin, end
        The rows of the grid.
    number
        Of the piece within its block; 0 for a whole block.
    """

    block: Integers
    one: Integers
    other: Integers
    begin: Integers
    end: Integers
    number: Integers


def block_job(
    blocks: Blocks, *, key: int, task_edges: int = TASK_EDGES, piece_edges: int = PIECE_EDGES
) -> Job:
    """Return tasks that draw the edges of some blocks each.

    They give keys in no particular order. The edges of a piece depend on `key` and the piece
    alone, so that tasks can run anywhere, and again.

    Parameters
    ----------
    key
        64 bits from the sealed seed.
    task_edges
        Edges to expect of one task.
    piece_edges
        A block that expects more is cut into pieces.
    """
    communities = int(blocks.labels.max()) + 1 if blocks.labels.size else 0
    sides = blocks.sides or Sides.undirected(blocks.labels.size)
    first, second = sides.split(blocks.weights)
    rows = columns = weight_classes(first, blocks.labels, communities)
    if not sides.alike:
        columns = weight_classes(second, blocks.labels, communities)
    of_first, of_second = sides.sums(blocks.weights, blocks.labels, communities)
    expected = blocks.rates * of_first[blocks.heads] * of_second[blocks.tails]
    grids = Grids(rows, columns, not sides.alike)
    pieces, expected = _pieces(blocks, grids, expected, piece_edges)
    shared = (grids, blocks.heads, blocks.tails, blocks.rates, pieces, key)
    return Job(_draw_blocks, cuts(expected, task_edges), shared)


def cuts(expected: Floats, most: int) -> list[tuple[int, int]]:
    """Cut a list into stretches of about `most` expected edges each.

    >>> cuts(np.array([1.0, 2.0, 5.0, 1.0]), 3)
    [(0, 2), (2, 3), (3, 4)]
    """
    ends = np.append(0.0, expected.cumsum())
    found = [0]
    while found[-1] < expected.size:
        enough = int(np.searchsorted(ends, ends[found[-1]] + most, side="right")) - 1
        found.append(min(max(enough, found[-1] + 1), expected.size))
    return list(pairwise(found))


def _pieces(blocks: Blocks, grids: Grids, expected: Floats, most: int) -> tuple[Pieces, Floats]:
    """Cut the blocks that expect more than `most` edges; returns what each piece expects."""
    rows, columns, ordered = grids
    small = np.flatnonzero(expected <= most)
    nothing = np.zeros(small.size, dtype=np.int64)
    whole = (small, nothing - 1, nothing - 1, nothing, nothing, nothing)
    cut: list[tuple[int, int, int, int, int, int]] = []
    expected_of_cut: list[float] = []
    for block in np.flatnonzero(expected > most).tolist():
        a, b = int(blocks.heads[block]), int(blocks.tails[block])
        number = 0
        for one in range(int(rows.first[a]), int(rows.first[a + 1])):
            begin = one if a == b and not ordered else int(columns.first[b])
            for other in range(begin, int(columns.first[b + 1])):
                chance = float(blocks.rates[block] * rows.tops[one] * columns.tops[other])
                same = one == other and not ordered
                sizes = _class_size(rows, one), _class_size(columns, other)
                for stripe, pairs in _stripes(*sizes, same, chance, most):
                    number += 1
                    cut.append((block, one, other, *stripe, number))
                    expected_of_cut.append(pairs * min(chance, 1.0))
    fields = np.array(cut, dtype=np.int64).reshape(-1, 6).T
    pieces = Pieces(*(np.append(*both) for both in zip(whole, fields, strict=True)))
    return pieces, np.append(expected[small], expected_of_cut)


def _class_size(classes: Classes, number: int) -> int:
    return int(classes.bounds[number + 1] - classes.bounds[number])


def _stripes(
    rows: int, columns: int, same: bool, chance: float, most: int
) -> list[tuple[tuple[int, int], float]]:
    """Cut the grid of two classes into rows with at most about `most` candidates."""
    pairs = float(UNDIRECTED.pairs(rows) if same else rows * columns)
    stripes = int(np.ceil(pairs * min(chance, 1.0) / most))
    if stripes <= 1:
        return [((0, rows), pairs)]
    shares = np.arange(stripes + 1) / stripes
    # Inside one class row r has r pairs.
    ends = (rows * (np.sqrt(shares) if same else shares)).astype(np.int64).tolist()
    ends[-1] = rows
    return [(between, pairs / stripes) for between in pairwise(ends)]


def _draw_blocks(
    between: tuple[int, int],
    grids: Grids,
    heads: Positions,
    tails: Positions,
    rates: Floats,
    pieces: Pieces,
    key: int,
) -> Integers:
    chosen = Pieces(*(field[slice(*between)] for field in pieces))
    return _sample(*grids, heads, tails, rates, chosen, np.uint64(key))


@kernel
def _sample(
    rows: Classes,
    columns: Classes,
    ordered: bool,
    heads: Positions,
    tails: Positions,
    rates: Floats,
    pieces: Pieces,
    key: np.uint64,
) -> Integers:
    """Draw some pieces."""
    keys, found = np.empty(1 << 12, dtype=np.int64), 0
    state = np.empty(4, dtype=np.uint64)
    for piece in range(pieces.block.size):
        block, one, other = pieces.block[piece], pieces.one[piece], pieces.other[piece]
        a, b, rate = heads[block], tails[block], rates[block]
        start_stream(state, key, pack_pair(a, b), pieces.number[piece])
        if one >= 0:
            keys, found = _walk(
                rows, columns, ordered, one, other, pieces.begin[piece], pieces.end[piece], rate,
                state, keys, found,
            )  # fmt: skip
            continue
        for row_class in range(rows.first[a], rows.first[a + 1]):
            first = row_class if a == b and not ordered else columns.first[b]
            for column_class in range(first, columns.first[b + 1]):
                end = rows.bounds[row_class + 1] - rows.bounds[row_class]
                keys, found = _walk(
                    rows, columns, ordered, row_class, column_class, np.int64(0), end, rate,
                    state, keys, found,
                )  # fmt: skip
    return keys[:found].copy()


@kernel
def _walk(
    row_classes: Classes,
    column_classes: Classes,
    ordered: bool,
    one: Whole,
    other: Whole,
    begin: Whole,
    end: Whole,
    rate: float,
    state: Words,
    keys: Integers,
    found: int,
) -> tuple[Integers, int]:
    """Draw rows `begin` to `end` of the grid of two classes: the keys, and how many there are."""
    columns = column_classes.bounds[other + 1] - column_classes.bounds[other]
    same = one == other and not ordered
    chance = min(rate * row_classes.tops[one] * column_classes.tops[other], 1.0)
    if chance <= 0.0:
        return keys, found
    # An exponential variable, scaled and rounded down, is a geometric one.
    stretch = -1.0 / np.log1p(-chance) if chance < 1.0 else 0.0
    # The grid of pairs is walked row by row; inside one class row r has r pairs.
    at = triangle(begin) if same else begin * columns
    pairs = triangle(end) if same else end * columns
    row, column, width = begin, np.int64(-1), begin if same else columns
    while True:
        skip = exponential(state) * stretch
        if skip >= pairs - at:
            return keys, found
        at += 1 + np.int64(skip)
        column += 1 + np.int64(skip)
        if same:
            if column >= width:
                row = triangle_row(at - 1)
                column, width = at - 1 - triangle(row), row
        elif column >= width:
            row += column // width
            column %= width
        here, there = row_classes.bounds[one] + row, column_classes.bounds[other] + column
        wanted = rate * row_classes.weights[here] * column_classes.weights[there]
        if wanted < chance and uniform(state) * chance >= wanted:
            continue
        x, y = row_classes.members[here], column_classes.members[there]
        if x == y:
            continue
        if found == keys.size:
            longer = np.empty(2 * keys.size, dtype=np.int64)
            for done in range(found):  # a slice would take seconds to compile
                longer[done] = keys[done]
            keys = longer
        keys[found] = pack_pair(x, y) if ordered else pack_unordered(x, y)
        found += 1


# ---- nodes of a community in classes of similar weight ----


class Classes(NamedTuple):
    """Nodes of positive weight by community and, within it, by class of similar weights.

    Attributes
    ----------
    members, weights
        The nodes by class, and their weights.
    first
        For every community the number of its first class.
    bounds
        For every class where its nodes begin.
    tops
        The largest weight of every class.
    """

    members: Positions
    weights: Floats
    first: Integers
    bounds: Integers
    tops: Floats


class Grids(NamedTuple):
    """Between which classes the pairs of nodes are: those of first ends and of second ends.

    Attributes
    ----------
    rows, columns
        The same classes, if both ends are alike.
    ordered
        Whether edges have two sides. If not, the grid of a class with itself is a triangle.
    """

    rows: Classes
    columns: Classes
    ordered: bool


def weight_classes(weights: Floats, labels: Positions, communities: int) -> Classes:
    """Sort nodes of positive weight into classes whose weights differ by a factor of two."""
    nodes = np.flatnonzero(weights > 0)
    exponents = np.frexp(weights[nodes])[1].astype(np.int64)
    lowest = exponents.min(initial=0)
    span = int(exponents.max(initial=0) - lowest) + 1
    slots = labels[nodes] * np.int64(span) + (exponents - lowest)
    slots, nodes = group_nodes(slots, nodes)
    owners, members = slots // span, nodes.astype(np.int32)
    new = np.ones(slots.size, dtype=bool)
    new[1:] = slots[1:] != slots[:-1]
    begins = np.flatnonzero(new)
    begins = begins[~_joined(begins, members, owners, weights, labels, communities)]
    tops = np.maximum.reduceat(weights[members], begins) if begins.size else np.empty(0)
    first = np.searchsorted(owners[begins], np.arange(communities + 1))
    return Classes(members, weights[members], first, np.append(begins, slots.size), tops)


def _joined(
    begins: Integers,
    members: Positions,
    owners: Integers,
    weights: Floats,
    labels: Positions,
    communities: int,
) -> NDArray[np.bool_]:
    """Return which classes to merge with the previous one: the light ones of a community, while
    together they weigh little.

    Fewer classes mean fewer jumps that find nothing; the price is candidates that are dropped,
    at most a quarter more.
    """
    if not begins.size:
        return np.zeros(0, dtype=bool)
    owner = owners[begins]
    total = np.bincount(labels, weights=weights, minlength=communities)[owner]
    first_of_owner = np.searchsorted(owners, owner)
    heads_so_far = np.append(begins[1:], owners.size) - first_of_owner
    light = heads_so_far * np.maximum.reduceat(weights[members], begins) <= 0.25 * total
    joined = np.zeros(begins.size, dtype=bool)
    joined[1:] = light[1:] & light[:-1] & (owner[1:] == owner[:-1])
    return joined
