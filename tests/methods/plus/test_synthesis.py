"""Which edges of the release before stay."""

from __future__ import annotations

from collections import Counter

import numpy as np

from psgraph.graph import Roster, SyntheticGraph
from psgraph.methods.plus.synthesis import old_edges


def test_edges_that_stay_are_drawn_without_repetition_among_nodes_still_there():
    u, v = np.triu_indices(20, 1)
    last = SyntheticGraph(Roster.range(20), u, v)
    roster = Roster(range(5, 25))
    drawn = Counter()
    for seed in range(200):
        kept = old_edges(last, roster, 0.25, np.random.default_rng(seed))
        pairs = list(zip(*(roster.ids[ends].tolist() for ends in kept), strict=True))
        assert len(set(pairs)) == len(pairs) == round(0.25 * 190)
        drawn.update(pairs)
    assert len(drawn) == 15 * 14 // 2
    assert all(5 <= x < y < 20 for x, y in drawn)
    expected = 200 * round(0.25 * 190) / len(drawn)
    assert max(abs(count - expected) for count in drawn.values()) < 5 * np.sqrt(expected)
