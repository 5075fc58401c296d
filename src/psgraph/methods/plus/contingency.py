"""Random tables of non-negative integers with given sums of rows and columns.

If things of some kinds are put into boxes at random, each box with as many as it holds, the numbers
of each kind in each box are such a table. So the ends of edges between two groups of nodes can be
dealt to ranges of nodes without a list of all of them, with nothing lost: tables first, and then
one pair of ranges after the other gives the same random matching.

Tables are drawn from counter-based streams with additions, multiplications and divisions only,
so that every machine and every later version draws the same ones. NumPy promises that neither of
its generators nor of its distributions.
"""

from __future__ import annotations

import numpy as np

from psgraph._runtime.arrays import Integers, Words
from psgraph._runtime.jit import kernel
from psgraph.engines.counter_based import start_stream, uniform

__all__ = ["fitted", "hypergeometric", "random_table", "stream"]

NEGLIGIBLE = 1e-18  # of the largest probability


def stream(key: int, block: int, piece: int = 0) -> Words:
    """Return the state of the stream of random numbers of one piece of a block."""
    state = np.empty(4, dtype=np.uint64)
    start_stream(state, np.uint64(key), block, piece)
    return state


@kernel
def hypergeometric(state: Words, good: int, bad: int, draws: int) -> int:
    """How many of `draws` things are good if they are drawn from `good` and `bad` ones.

    Probabilities are relative to that of the mode: those of the next numbers follow by ratios, in
    both directions until they are negligible. O(standard deviation).

    >>> hypergeometric(stream(1, 2), 5, 0, 3), hypergeometric(stream(1, 2), 50, 50, 10)
    (3, 6)
    """
    low, high = max(0, draws - bad), min(good, draws)
    if low >= high:
        return low
    mode = int((draws + 1.0) * (good + 1.0) / (good + bad + 2.0))
    mode = min(max(mode, low), high)
    total, weight, number = 1.0, 1.0, mode
    while number < high and weight > NEGLIGIBLE:
        weight *= float(good - number) / (number + 1.0)
        weight *= float(draws - number) / float(bad - draws + number + 1)
        total += weight
        number += 1
    weight, number = 1.0, mode
    while number > low and weight > NEGLIGIBLE:
        weight *= number / float(good - number + 1)
        weight *= float(bad - draws + number) / float(draws - number + 1)
        total += weight
        number -= 1
    left = uniform(state) * total - 1.0
    weight, number = 1.0, mode
    while left >= 0.0 and number < high and weight > NEGLIGIBLE:
        weight *= float(good - number) / (number + 1.0)
        weight *= float(draws - number) / float(bad - draws + number + 1)
        left -= weight
        number += 1
    if left < 0.0:
        return number
    weight, number = 1.0, mode
    while left >= 0.0 and number > low and weight > NEGLIGIBLE:
        weight *= number / float(good - number + 1)
        weight *= float(bad - draws + number) / float(draws - number + 1)
        left -= weight
        number -= 1
    return number


@kernel
def random_table(state: Words, rows: Integers, columns: Integers) -> Integers:
    """A random table with these sums of rows and columns, which must have the same total.

    >>> table = random_table(stream(1, 2), np.array([3, 4]), np.array([5, 1, 1]))
    >>> table.sum(axis=1), table.sum(axis=0)
    (array([3, 4]), array([5, 1, 1]))
    """
    table = np.zeros((rows.size, columns.size), dtype=np.int64)
    left, total = columns.copy(), columns.sum()
    for row in range(rows.size):
        draws, rest = rows[row], total
        for column in range(columns.size):
            if draws == 0:
                break
            taken = hypergeometric(state, left[column], rest - left[column], draws)
            table[row, column] = taken
            rest -= left[column]
            left[column] -= taken
            draws -= taken
        total -= rows[row]
    return table


@kernel
def fitted(state: Words, quotas: Integers, stubs: Integers, single: int) -> Integers:
    """Change quotas of pairs of labels as little as it takes to use all stubs of every label.

    Labels that don't have enough stubs lose edges at random. The stubs that are left over then are
    joined at random, whatever their labels.

    Parameters
    ----------
    quotas
        Edges wanted between labels a ≤ b.
    stubs
        Ends of edges that every label has. If their sum is odd, one is not used.
    single
        Labels from this one on stand for a single node, which can't be joined with itself. A stub
        of such a label may be left over.
    """
    quotas, labels = quotas.copy(), stubs.size
    free = stubs.copy()
    for a in range(labels):
        for b in range(a, labels):
            if a == b and a >= single:
                quotas[a, a] = 0
            free[a] -= quotas[a, b]
            free[b] -= quotas[a, b]
    for a in range(labels):
        surplus, ends = -free[a], stubs[a] - free[a]
        for b in range(labels):
            if surplus <= 0:
                break
            low, high = min(a, b), max(a, b)
            edges = quotas[low, high]
            own = 2 * edges if a == b else edges
            removed = hypergeometric(state, own, ends - own, surplus)
            ends -= own
            surplus -= removed
            removed = (removed + 1) // 2 if a == b else removed
            quotas[low, high] -= removed
            free[a] += removed
            free[b] += removed
    count = free.sum()
    pool, at = np.empty(count, dtype=np.int32), 0
    for a in range(labels):
        for _ in range(free[a]):
            pool[at] = a
            at += 1
    for last in range(count - 1, 0, -1):
        other = int(uniform(state) * (last + 1))
        pool[last], pool[other] = pool[other], pool[last]
    for at in range(0, count - 1, 2):
        low, high = min(pool[at], pool[at + 1]), max(pool[at], pool[at + 1])
        if low < single or (low != high and quotas[low, high] == 0):
            quotas[low, high] += 1
    return quotas
