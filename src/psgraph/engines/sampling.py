"""Sampling rank-one blocks: every pair of nodes once, in time proportional to the edges drawn.

Within a block the nodes are put into classes whose weights differ by at most a factor of two.
Between two classes all pairs have nearly the same probability, at most p = rate·(largest
weight)·(largest weight): candidates are found by geometric jumps with p over the grid of pairs,
and each is kept with its own probability divided by p. The jumps visit a pair at most once, so
the edges are independent Bernoulli exactly and there are no duplicates to remove. A pair that
is certain (p ≥ 1) needs no special case: the jump is then one step.

Written by hand because no library samples *many* rank-one blocks at once; a multigraph with
repeated edges dropped, the usual shortcut, loses several per cent of the edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from psgraph._runtime.jit import kernel
from psgraph._runtime.sorting import group_nodes
from psgraph.engines.base import Blocks

__all__ = ["sample_block_keys"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Positions = NDArray[np.int32]
Run = Callable[..., Iterator[Integers]]


def sample_block_keys(
    blocks: Blocks, *, bits: int, rng: np.random.Generator, run: Run = map
) -> Integers:
    """The edges drawn, as keys ``u << bits | v`` with u < v, in no particular order.

    Parameters
    ----------
    run
        How to call a function on several inputs: `map`, or that of a pool of threads. The blocks
        are drawn in two halves with a stream of random numbers each, so that the graph is the
        same either way.
    """
    communities = int(blocks.labels.max()) + 1 if blocks.labels.size else 0
    members, classes, bounds, tops = _classes(blocks.weights, blocks.labels, communities)
    weights = blocks.weights[members]
    totals = np.bincount(blocks.labels, weights=blocks.weights, minlength=communities)
    expected = np.append(0.0, blocks.rates * totals[blocks.heads] * totals[blocks.tails]).cumsum()
    pairs = blocks.labels.size * (blocks.labels.size - 1) / 2

    def draw(half: tuple[int, int], stream: np.random.Generator) -> Integers:
        begin, end = half
        room = int(min(expected[end] - expected[begin], pairs) * 1.05) + 1024
        return _sample(
            weights,
            members,
            classes,
            bounds,
            tops,
            blocks.heads[begin:end],
            blocks.tails[begin:end],
            blocks.rates[begin:end],
            bits,
            np.empty(room, dtype=np.int64),
            stream,
        )

    middle = int(np.searchsorted(expected[1:], expected[-1] / 2))
    halves = [(0, middle), (middle, blocks.rates.size)]
    return np.concatenate(list(run(draw, halves, rng.spawn(2))))


def _classes(
    weights: Floats, labels: Positions, communities: int
) -> tuple[Positions, Integers, Integers, Floats]:
    """Sort nodes of positive weight into classes.

    Returns the nodes by class; for every community the number of its first class; for every
    class where its nodes begin; and the largest weight of every class.
    """
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
    return members, first, np.append(begins, slots.size), tops


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


@kernel
def _sample(
    weights: Floats,
    members: Positions,
    first: Integers,
    bounds: Integers,
    tops: Floats,
    heads: Positions,
    tails: Positions,
    rates: Floats,
    bits: int,
    keys: Integers,
    rng: np.random.Generator,
) -> Integers:
    found = 0
    for block in range(rates.size):
        a, b, rate = heads[block], tails[block], rates[block]
        for one in range(first[a], first[a + 1]):
            for other in range(one if a == b else first[b], first[b + 1]):
                rows = bounds[one + 1] - bounds[one]
                columns = bounds[other + 1] - bounds[other]
                same = one == other
                pairs = rows * (rows - 1) // 2 if same else rows * columns
                chance = min(rate * tops[one] * tops[other], 1.0)
                if chance <= 0.0:
                    continue
                # An exponential variable, scaled and rounded down, is a geometric one.
                stretch = -1.0 / np.log1p(-chance) if chance < 1.0 else 0.0
                # The grid of pairs is walked row by row; inside one class row r has r pairs.
                at, row, column, width = 0, 1 if same else 0, -1, 1 if same else columns
                while True:
                    skip = rng.standard_exponential() * stretch
                    if skip >= pairs - at:
                        break
                    at += 1 + int(skip)
                    column += 1 + int(skip)
                    if same:
                        if column >= width:
                            row = int((1.0 + np.sqrt(8.0 * at - 7.0)) / 2.0)
                            while row * (row - 1) // 2 > at - 1:
                                row -= 1
                            while (row + 1) * row // 2 <= at - 1:
                                row += 1
                            column, width = at - 1 - row * (row - 1) // 2, row
                    elif column >= width:
                        row += column // width
                        column %= width
                    here, there = bounds[one] + row, bounds[other] + column
                    wanted = rate * weights[here] * weights[there]
                    if wanted < chance and rng.random() * chance >= wanted:
                        continue
                    x, y = members[here], members[there]
                    if found == keys.size:
                        longer = np.empty(2 * keys.size, dtype=np.int64)
                        for done in range(found):  # a slice would take seconds to compile
                            longer[done] = keys[done]
                        keys = longer
                    low, high = (x, y) if x < y else (y, x)
                    keys[found] = (np.int64(low) << bits) | np.int64(high)
                    found += 1
    return keys[:found]
