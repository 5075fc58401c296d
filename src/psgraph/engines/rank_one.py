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

    Pairs not listed have no edges. A pair (a, a) means the unordered pairs inside block a.
    """

    weights: Floats
    labels: Labels
    heads: Labels
    tails: Labels
    rates: Floats


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
    classes = weight_classes(blocks.weights, blocks.labels, communities)
    totals = np.bincount(blocks.labels, weights=blocks.weights, minlength=communities)
    expected = blocks.rates * totals[blocks.heads] * totals[blocks.tails]
    pieces, expected = _pieces(blocks, classes, expected, piece_edges)
    shared = (classes, blocks.heads, blocks.tails, blocks.rates, pieces, key)
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


def _pieces(blocks: Blocks, classes: Classes, expected: Floats, most: int) -> tuple[Pieces, Floats]:
    """Cut the blocks that expect more than `most` edges; returns what each piece expects."""
    small = np.flatnonzero(expected <= most)
    nothing = np.zeros(small.size, dtype=np.int64)
    whole = (small, nothing - 1, nothing - 1, nothing, nothing, nothing)
    cut: list[tuple[int, int, int, int, int, int]] = []
    expected_of_cut: list[float] = []
    for block in np.flatnonzero(expected > most).tolist():
        a, b = int(blocks.heads[block]), int(blocks.tails[block])
        number = 0
        for one in range(int(classes.first[a]), int(classes.first[a + 1])):
            begin = one if a == b else int(classes.first[b])
            for other in range(begin, int(classes.first[b + 1])):
                chance = blocks.rates[block] * classes.tops[one] * classes.tops[other]
                for rows, pairs in _stripes(classes.bounds, one, other, float(chance), most):
                    number += 1
                    cut.append((block, one, other, *rows, number))
                    expected_of_cut.append(pairs * min(float(chance), 1.0))
    columns = np.array(cut, dtype=np.int64).reshape(-1, 6).T
    pieces = Pieces(*(np.append(*both) for both in zip(whole, columns, strict=True)))
    return pieces, np.append(expected[small], expected_of_cut)


def _stripes(
    bounds: Integers, one: int, other: int, chance: float, most: int
) -> list[tuple[tuple[int, int], float]]:
    """Cut the grid of two classes into rows with at most about `most` candidates."""
    rows, columns = (int(bounds[at + 1] - bounds[at]) for at in (one, other))
    pairs = float(UNDIRECTED.pairs(rows) if one == other else rows * columns)
    stripes = int(np.ceil(pairs * min(chance, 1.0) / most))
    if stripes <= 1:
        return [((0, rows), pairs)]
    shares = np.arange(stripes + 1) / stripes
    # Inside one class row r has r pairs.
    ends = (rows * (np.sqrt(shares) if one == other else shares)).astype(np.int64).tolist()
    ends[-1] = rows
    return [(between, pairs / stripes) for between in pairwise(ends)]


def _draw_blocks(
    between: tuple[int, int],
    classes: Classes,
    heads: Positions,
    tails: Positions,
    rates: Floats,
    pieces: Pieces,
    key: int,
) -> Integers:
    chosen = Pieces(*(column[slice(*between)] for column in pieces))
    return _sample(*classes, heads, tails, rates, *chosen, np.uint64(key))


@kernel
def _sample(
    members: Positions,
    weights: Floats,
    first: Integers,
    bounds: Integers,
    tops: Floats,
    heads: Positions,
    tails: Positions,
    rates: Floats,
    block: Integers,
    one: Integers,
    other: Integers,
    begin: Integers,
    end: Integers,
    number: Integers,
    key: np.uint64,
) -> Integers:
    """Draw some pieces; the six arrays from `block` on are `Pieces`."""
    keys, found = np.empty(1 << 12, dtype=np.int64), 0
    state = np.empty(4, dtype=np.uint64)
    for piece in range(block.size):
        a, b, rate = heads[block[piece]], tails[block[piece]], rates[block[piece]]
        start_stream(state, key, pack_pair(a, b), number[piece])
        if one[piece] >= 0:
            keys, found = _walk(
                members, weights, bounds, tops, one[piece], other[piece], begin[piece],
                end[piece], rate, state, keys, found,
            )  # fmt: skip
            continue
        for row_class in range(first[a], first[a + 1]):
            for column_class in range(row_class if a == b else first[b], first[b + 1]):
                rows = bounds[row_class + 1] - bounds[row_class]
                keys, found = _walk(
                    members, weights, bounds, tops, row_class, column_class, np.int64(0),
                    rows, rate, state, keys, found,
                )  # fmt: skip
    return keys[:found].copy()


@kernel
def _walk(
    members: Positions,
    weights: Floats,
    bounds: Integers,
    tops: Floats,
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
    columns = bounds[other + 1] - bounds[other]
    same = one == other
    chance = min(rate * tops[one] * tops[other], 1.0)
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
        here, there = bounds[one] + row, bounds[other] + column
        wanted = rate * weights[here] * weights[there]
        if wanted < chance and uniform(state) * chance >= wanted:
            continue
        if found == keys.size:
            longer = np.empty(2 * keys.size, dtype=np.int64)
            for done in range(found):  # a slice would take seconds to compile
                longer[done] = keys[done]
            keys = longer
        keys[found] = pack_unordered(members[here], members[there])
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
