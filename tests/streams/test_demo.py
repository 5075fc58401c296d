"""The demo stream: the same every time, with the structure it promises."""

from __future__ import annotations

import datetime
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import InvalidArgument
from psgraph.metrics import assortativity, clustering_coefficients, node_degrees
from psgraph.streams.demo import demo_stream


def edge_keys(snapshot):
    return set(zip(snapshot.u.tolist(), snapshot.v.tolist(), strict=True))


def test_same_arguments_same_stream():
    first, second = demo_stream(), demo_stream()
    assert first == second
    assert [snapshot.time for snapshot in first] == [snapshot.time for snapshot in second]
    assert demo_stream(seed=8)[0] != first[0]


def test_times_are_first_days_of_consecutive_months():
    times = [datetime.date.fromisoformat(s.time) for s in demo_stream(nodes=300, timestamps=30)]
    assert all(time.day == 1 for time in times)
    months = [12 * time.year + time.month for time in times]
    assert months == list(range(months[0], months[0] + 30))


@given(st.integers(300, 2500), st.integers(1, 14), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_one_change_larger_than_the_number_of_nodes(nodes, timestamps, seed):
    stream = demo_stream(nodes=nodes, timestamps=timestamps, seed=seed)
    assert len(stream) == timestamps
    steps = np.diff([snapshot.u.size for snapshot in stream])
    rosters = np.array([len(snapshot.roster) for snapshot in stream])
    change = 2 * timestamps // 3
    for index, (step, roster) in enumerate(zip(steps, rosters[1:], strict=True), start=1):
        if index == change:
            assert step > 1.3 * roster
        else:
            assert abs(step) < 0.3 * roster
    assert rosters[0] == nodes
    assert (np.diff(rosters) >= 0).all()
    assert all(not snapshot.roster.from_edges for snapshot in stream)


def test_slow_churn_and_growth():
    stream = demo_stream()
    for index, (before, after) in enumerate(itertools.pairwise(stream), start=1):
        kept = len(edge_keys(before) & edge_keys(after)) / before.u.size
        assert 0.93 < kept < 0.99
        if index != 8:
            assert 1.0 < after.u.size / before.u.size < 1.03
    assert len(stream[-1].roster) > len(stream[0].roster)


def test_communities_hubs_and_the_merger_are_there():
    from sknetwork.clustering import Louvain, get_modularity

    stream = demo_stream()
    first, last = stream[0], stream[-1]
    modularity = []
    for snapshot in (first, last):
        matrix = snapshot_matrix(snapshot)
        labels = Louvain(random_state=0).fit_predict(matrix)
        modularity.append(get_modularity(matrix, labels))
    assert modularity[0] > 0.3
    assert modularity[1] < modularity[0] - 0.02
    degree = node_degrees(first)
    assert 12 <= degree.mean() <= 20
    assert degree.max() > 10 * degree.mean()
    assert assortativity(first) < -0.1
    assert clustering_coefficients(first).transitivity > 0.05


def snapshot_matrix(snapshot):
    from scipy import sparse

    n = len(snapshot.roster)
    half = sparse.csr_matrix((np.ones(snapshot.u.size), (snapshot.u, snapshot.v)), shape=(n, n))
    return half + half.T


@pytest.mark.parametrize("arguments", [{"nodes": 299}, {"nodes": -1}, {"timestamps": 0}])
def test_impossible_sizes_are_refused(arguments):
    with pytest.raises(InvalidArgument):
        demo_stream(**arguments)
