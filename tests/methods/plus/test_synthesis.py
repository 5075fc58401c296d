"""Which edges of the release before stay."""

from __future__ import annotations

from collections import Counter

import numpy as np

from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.plus.synthesis import old_edges


def numbers(nodes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(1 << 52, size=nodes, dtype=np.uint64)


def complete(roster: Roster) -> SyntheticGraph:
    return SyntheticGraph(roster, *np.triu_indices(len(roster), 1))


def test_edges_that_stay_are_drawn_without_repetition_among_nodes_still_there():
    last = complete(Roster.range(20))
    roster = Roster(range(5, 25))
    drawn = Counter()
    for seed in range(200):
        kept, most = old_edges(last, roster, numbers(20, seed), 0.25)
        pairs = list(zip(*(roster.ids[ends].tolist() for ends in kept), strict=True))
        assert most == round(0.25 * 190)
        assert len(set(pairs)) == len(pairs) == 2 * most
        drawn.update(pairs)
    assert len(drawn) == 15 * 14 // 2
    assert all(5 <= x < y < 20 for x, y in drawn)
    expected = 200 * 2 * round(0.25 * 190) / len(drawn)
    assert max(abs(count - expected) for count in drawn.values()) < 5 * np.sqrt(expected)


def test_an_edge_that_stayed_once_is_offered_before_others_again():
    roster, others = Roster.range(300), Roster(range(40, 300))
    of_nodes = numbers(300)
    (u, v), _ = old_edges(complete(roster), roster, of_nodes, 0.3)
    (x, y), _ = old_edges(complete(roster), others, of_nodes[40:], 0.5)
    first = [pair for pair in zip(u.tolist(), v.tolist(), strict=True) if min(pair) >= 40]
    again = list(zip((x + 40).tolist(), (y + 40).tolist(), strict=True))
    assert again[: len(first)] == first
