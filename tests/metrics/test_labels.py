from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from psgraph.graph import Roster, Snapshot, SyntheticGraph
from psgraph.metrics import label_assortativity, label_modularity
from psgraph.metrics.groups import METRICS
from psgraph.metrics.metric import GraphFacts, Pair

NODES = 60
TEAMS = [("red", "blue", "green")[node % 3] for node in range(NODES)]
SITES = [("north", "south")[node // 2 % 2] for node in range(NODES)]


def edges(inside: float, *, seed: int, missing: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of nodes, of which a share have the same team."""
    rng = np.random.default_rng(seed)
    u, v = rng.integers(0, NODES, (2, 400))
    same = rng.random(u.size) < inside
    v = np.where(same, v - v % 3 + u % 3, v)
    keys = np.unique(np.minimum(u, v) * NODES + np.maximum(u, v))
    u, v = keys // NODES, keys % NODES
    return u[u != v][missing:], v[u != v][missing:]


def pair(**labels: list[str]) -> Pair:
    roster = Roster(range(NODES), labels=labels)
    original = Snapshot(roster, *edges(0.8, seed=1))
    u, v = edges(0.5, seed=2, missing=9)
    return Pair(GraphFacts(original), GraphFacts(SyntheticGraph(roster, u, v)))


def test_modularity_and_assortativity_by_label_agree_with_networkx():
    graph = pair(team=TEAMS).original.graph
    other = graph.to_networkx()
    groups = [{node for node in other if TEAMS[node] == team} for team in set(TEAMS)]
    assert label_modularity(graph, "team") == pytest.approx(nx.community.modularity(other, groups))
    expected = nx.attribute_assortativity_coefficient(other, "team")
    assert label_assortativity(graph, "team") == pytest.approx(expected)


def test_a_column_that_explains_nothing_does_not_drown_another():
    error = METRICS["label_modularity_error"].compute
    both, team, site = (
        pair(team=TEAMS, site=SITES),
        pair(team=TEAMS),
        pair(site=SITES),
    )
    true = [
        abs(label_modularity(each.original.graph, c))
        for each, c in ((team, "team"), (site, "site"))
    ]
    assert error(site) > 2 * error(team)
    assert error(team) == pytest.approx(
        abs(label_modularity(team.synthetic.graph, "team") - true[0]) / true[0]
    )
    weighted = (error(team) * true[0] + error(site) * true[1]) / sum(true)
    assert error(both) == pytest.approx(weighted)
    assert error(both) < error(team) + 0.1


def test_the_error_of_blocks_is_that_of_pairs_with_twenty_edges():
    found = pair(team=TEAMS)
    counts = []
    for each in (found.original.graph, found.synthetic.graph):
        matrix = {}
        for u, v in zip(each.u.tolist(), each.v.tolist(), strict=True):
            key = tuple(sorted((TEAMS[u], TEAMS[v])))
            matrix[key] = matrix.get(key, 0) + 1
        counts.append(matrix)
    true, made = counts
    assert any(count < 20 for count in true.values())
    errors = [abs(made.get(key, 0) - count) / count for key, count in true.items() if count >= 20]
    assert METRICS["label_block_error"].compute(found) == pytest.approx(np.mean(errors))
