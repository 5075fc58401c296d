"""A Markov chain over dendrograms that converges to the exponential mechanism.

A step picks a branching y other than the root, uniformly. With its sibling k and its children a
and b there are three ways to join a, b and k: the current one, and those in which k replaces a or
b. One of the latter is proposed, each with probability ½, and accepted with probability
min(1, exp(rate·Δ)), where Δ is the gain in log-likelihood. The chain is reversible and reaches
every tree, so its stationary distribution has weights exp(rate·log-likelihood).

**After finitely many steps the distribution is close to that, but how close is not known**; also,
acceptance is decided in floating point. The result is therefore not proven to be ε-private, and
`DendrogramWalk` says so. The number of steps is fixed by the caller, whatever the edges are.

A step changes two branchings, x above y; the sum of the edges they separate stays the same, so one
count decides: edges between k and one of a and b, found by listing the lightest of the three. The
leaves are kept in an order in which each subtree is contiguous (see `dendrogram`), and half of the
accepted moves keep it as it is; the others exchange two adjacent ranges below x. On average that
writes no more than half the mean depth of a leaf per step, sequentially.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from psgraph._runtime.arrays import Floats, Integers, Positions, Words
from psgraph._runtime.jit import kernel
from psgraph.methods.privhrg.dendrogram import (
    DEGREE,
    EDGES,
    FIRST,
    LEFT,
    PARENT,
    RIGHT,
    SIZE,
    Dendrogram,
    Layout,
    Whole,
    edges_across,
    edges_between,
)
from psgraph.privacy.mechanism import Mechanism, changed_edges
from psgraph.privacy.randomness import Cursor, bit_width, ran_out, random_bits, uniform_below
from psgraph.privacy.samplers import Sampler

__all__ = ["DendrogramWalk", "likelihood_sensitivity", "log_likelihood", "walk_dendrogram"]


@dataclass(frozen=True)
class DendrogramWalk(Mechanism[Dendrogram]):
    """A dendrogram that fits the edges, by `steps` steps of a Markov chain from `tree`.

    The stationary distribution has weights exp(ε·log-likelihood / 2ΔU).

    Parameters
    ----------
    tree
        Where to start: public or already released.
    starts, neighbours
        The adjacency lists, private: those of x are ``neighbours[starts[x]:starts[x + 1]]``.
    steps
        A public number.

    Notes
    -----
    Privacy: **not proven.** It would be ε for one edge at the stationary distribution, which
    finitely many steps don't reach, and in exact arithmetic. proofs/privhrg.md.
    """

    tree: Dendrogram
    starts: Integers
    neighbours: Positions
    steps: int

    name = "Markov chain"
    proof = "proofs/privhrg.md"
    proven = False
    sensitivity = 1

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tree.left.shape

    def distance(self, other: Self) -> int:
        same = np.array_equal(self.tree.left, other.tree.left)
        self.same_public("tree", same and np.array_equal(self.tree.right, other.tree.right))
        self.same_public("steps", self.steps == other.steps)
        return changed_edges(self.starts, self.neighbours, other.starts, other.neighbours)

    def draw(self, sampler: Sampler, epsilon: Fraction) -> Dendrogram:
        sensitivity = likelihood_sensitivity(self.tree.leaves)
        rate = float(epsilon) / (2 * sensitivity) if sensitivity else 0.0
        return walk_dendrogram(
            sampler, self.tree, self.starts, self.neighbours, steps=self.steps, rate=rate
        )


def likelihood_sensitivity(leaves: int) -> float:
    """ΔU, how much one edge can move the log-likelihood of any dendrogram.

    One edge moves one branching, most if it is the only edge among as many pairs as a branching
    can separate, A = ⌊n/2⌋·⌈n/2⌉: by ln A + (A − 1)·ln(1 + 1/(A − 1)).

    >>> round(likelihood_sensitivity(4), 4), likelihood_sensitivity(2)
    (2.2493, 0.0)
    """
    pairs = (leaves // 2) * ((leaves + 1) // 2)
    if pairs < 2:
        return 0.0
    return math.log(pairs) + (pairs - 1) * math.log1p(1 / (pairs - 1))


def walk_dendrogram(
    sampler: Sampler,
    tree: Dendrogram,
    starts: Integers,
    neighbours: Positions,
    *,
    steps: int,
    rate: float,
) -> Dendrogram:
    """Return the tree after `steps` steps with weights exp(rate·log-likelihood).

    Parameters
    ----------
    tree
        Where to start: must not depend on the edges.
    starts, neighbours
        The private adjacency lists: those of node x are ``neighbours[starts[x]:starts[x + 1]]``.
    """
    if tree.leaves < 3:  # there is one tree only
        return tree
    layout = Layout.of(tree)
    edges_across(layout, starts, neighbours)
    fits = branching_fits(layout)
    spare = np.empty(tree.leaves, dtype=np.int32)
    sampler.run(
        steps,
        lambda done, w, p: _walk(
            layout.table,
            fits,
            layout.order,
            layout.position,
            spare,
            tree.root,
            starts,
            neighbours,
            rate,
            done,
            steps,
            w,
            p,
        ),
    )
    return layout.tree()


def branching_fits(layout: Layout) -> Floats:
    """The log-likelihood of each branching of a counted layout; zero for leaves."""
    fits = np.zeros(len(layout.table))
    _fill_fits(layout.table, layout.order.size, fits)
    return fits


def log_likelihood(tree: Dendrogram, starts: Integers, neighbours: Positions) -> float:
    """Σ e·ln(e/N) + (N − e)·ln(1 − e/N) over the branchings: private, for a mechanism's use."""
    layout = Layout.of(tree)
    edges_across(layout, starts, neighbours)
    return float(branching_fits(layout).sum())


@kernel
def _fit(edges: Whole, pairs: Whole) -> float:
    """The log-likelihood of one branching with the best probability, edges/pairs."""
    if edges == 0 or edges == pairs:
        return 0.0
    share = edges / pairs
    return float(edges * np.log(share) + (pairs - edges) * np.log1p(-share))


@kernel
def _fill_fits(table: Integers, leaves: int, fits: Floats) -> None:
    for node in range(leaves, 2 * leaves - 1):
        pairs = table[table[node, LEFT], SIZE] * table[table[node, RIGHT], SIZE]
        fits[node] = _fit(table[node, EDGES], pairs)


@kernel
def _walk(
    table: Integers,
    fits: Floats,
    order: Positions,
    position: Positions,
    spare: Positions,
    root: int,
    starts: Integers,
    neighbours: Positions,
    rate: float,
    done: int,
    steps: int,
    words: Words,
    cursor: Cursor,
) -> tuple[int, Cursor]:
    leaves = order.size
    choices = leaves - 2
    width = bit_width(choices)
    while done < steps:
        # All that is random about a step is drawn before anything is touched.
        y, after = uniform_below(choices, width, words, cursor)
        second, after = random_bits(1, words, after)
        draw, after = random_bits(53, words, after)
        if ran_out(words, after):
            break
        cursor = after
        done += 1
        y += leaves
        if y >= root:
            y += 1
        x = table[y, PARENT]
        k = table[x, RIGHT] if table[x, LEFT] == y else table[x, LEFT]
        stays, goes = table[y, LEFT], table[y, RIGHT]
        if second:
            stays, goes = goes, stays

        # Edges between k and the one that stays, by listing the lightest of the three.
        weight_k = table[k, DEGREE] + table[k, SIZE]
        weight_stays = table[stays, DEGREE] + table[stays, SIZE]
        weight_goes = table[goes, DEGREE] + table[goes, SIZE]
        if weight_goes < min(weight_k, weight_stays):
            joined = table[x, EDGES] - edges_between(
                goes, k, table, order, position, starts, neighbours
            )
        elif weight_stays < weight_k:
            joined = edges_between(stays, k, table, order, position, starts, neighbours)
        else:
            joined = edges_between(k, stays, table, order, position, starts, neighbours)
        apart = table[x, EDGES] + table[y, EDGES] - joined

        size = table[stays, SIZE] + table[k, SIZE]
        fit_y = _fit(joined, table[stays, SIZE] * table[k, SIZE])
        fit_x = _fit(apart, size * table[goes, SIZE])
        exponent = rate * (fit_x + fit_y - fits[x] - fits[y])
        if exponent < 0 and draw * 2.0**-53 >= np.exp(exponent):
            continue
        _rearrange(x, y, k, stays, goes, table, order, position, spare)
        table[y, SIZE] = size
        table[y, DEGREE] = table[stays, DEGREE] + table[k, DEGREE]
        table[y, EDGES], table[x, EDGES] = joined, apart
        fits[y], fits[x] = fit_y, fit_x
    return done, cursor


@kernel
def _rearrange(
    x: Whole,
    y: Whole,
    k: Whole,
    stays: Whole,
    goes: Whole,
    table: Integers,
    order: Positions,
    position: Positions,
    spare: Positions,
) -> None:
    """Join `stays` and k under y, with `goes` beside y; move as few leaves as possible.

    If `goes` is at the outside (goes stays k, or k stays goes) nothing has to move. If it is
    between the others it is swapped with the smaller of them.
    """
    y_first = table[x, LEFT] == y
    in_between = (table[y, RIGHT] == goes) == y_first
    first, last = (stays, k) if y_first else (k, stays)
    goes_first = not y_first
    if not in_between:
        goes_first = y_first
    elif table[stays, SIZE] < table[k, SIZE]:
        # stays goes k → goes (stays k), or k goes stays → (k stays) goes
        goes_first = y_first
        _exchange(
            stays if y_first else goes, goes if y_first else stays, table, order, position, spare
        )
    else:
        # stays goes k → (stays k) goes, or k goes stays → goes (k stays)
        _exchange(goes if y_first else k, k if y_first else goes, table, order, position, spare)
    table[y, LEFT], table[y, RIGHT] = first, last
    table[y, FIRST] = table[first, FIRST]
    table[x, LEFT], table[x, RIGHT] = (goes, y) if goes_first else (y, goes)
    table[goes, PARENT] = x
    table[k, PARENT] = y
    before, now = table[x, FIRST], table[table[x, LEFT], FIRST]
    above = x
    while above >= 0 and before != now and table[above, FIRST] == before:
        table[above, FIRST] = now
        above = table[above, PARENT]


@kernel
def _exchange(
    one: Whole,
    other: Whole,
    table: Integers,
    order: Positions,
    position: Positions,
    spare: Positions,
) -> None:
    """Swap two adjacent ranges of leaves."""
    begin = position[table[one, FIRST]]
    middle = begin + table[one, SIZE]
    end = middle + table[other, SIZE]
    for at in range(begin, middle):
        spare[at - begin] = order[at]
    shift = middle - begin
    for at in range(middle, end):
        leaf = order[at]
        order[at - shift] = leaf
        position[leaf] = at - shift
    for at in range(begin, middle):
        leaf = spare[at - begin]
        order[at + end - middle] = leaf
        position[leaf] = at + end - middle
