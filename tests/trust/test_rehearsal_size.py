"""A resized stream has the wanted size and the template's degrees, triangles and changes."""

from __future__ import annotations

import numpy as np
import pytest

from psgraph.errors import DataError, InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.streams.demo import demo_stream
from psgraph.trust.rehearsal.size import check_memory, check_size, resize
from psgraph.trust.rehearsal.template import Template, edge_times_of_nodes, shape_of

#: Nodes of the wanted stream relative to the template, and its mean degree relative to it.
SIZES = [(2.5, 1.0), (0.5, 1.0), (1.0, 1.5), (1.0, 0.5), (2.0, 1.5)]


@pytest.fixture(scope="module")
def template() -> Template:
    return Template.from_snapshots(demo_stream(nodes=600, timestamps=4))


@pytest.fixture(scope="module", params=SIZES, ids=str)
def resized(template: Template, request: pytest.FixtureRequest) -> tuple[Template, int, int]:
    size, degree = request.param
    nodes = round(size * template.nodes)
    edges = round(size * degree * template.edges)
    return resize(template, nodes=nodes, edges=edges), nodes, edges


def test_it_has_the_nodes_and_edges_that_were_asked_for(resized):
    made, nodes, edges = resized
    assert made.nodes == nodes
    assert made.edges == pytest.approx(edges, rel=0.02)
    assert all(len(snapshot.roster) == nodes for snapshot in made.snapshots())


def test_it_is_a_simple_graph_and_every_edge_is_present_at_some_time(resized):
    made, nodes, _ = resized
    assert (made.u < made.v).all()
    assert made.v.max() < nodes
    assert np.unique((made.u << 32) | made.v).size == made.u.size
    assert made.present.any(axis=1).all()


def test_triangles_are_closed_as_often_as_in_the_template(template, resized):
    made, wanted = shape_of(resized[0]).transitivity, shape_of(template).transitivity
    assert made == pytest.approx(wanted, rel=0.2)


def test_as_many_edges_stay_from_one_snapshot_to_the_next(template, resized):
    assert shape_of(resized[0]).kept == pytest.approx(shape_of(template).kept, abs=0.03)


def test_degrees_have_the_same_shape(template, resized):
    def quantiles(stream: Template) -> np.ndarray:
        degrees = edge_times_of_nodes(stream)
        return np.quantile(degrees / degrees.mean(), [0.5, 0.75, 0.9, 0.99])

    assert quantiles(resized[0]) == pytest.approx(quantiles(template), rel=0.5, abs=0.15)


def test_edges_between_copies_hold_a_larger_stream_together(template):
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    made = resize(template, nodes=3 * template.nodes, edges=round(3 * template.edges))
    ones = np.ones(made.u.size)
    graph = coo_array((ones, (made.u, made.v)), shape=(made.nodes, made.nodes))
    _, labels = connected_components(graph, directed=False)
    assert np.bincount(labels).max() > 0.95 * made.nodes


def test_a_template_of_the_wanted_size_stays_as_it_is(template):
    assert resize(template, nodes=template.nodes, edges=round(template.edges)) is template


def test_the_same_seed_gives_the_same_stream(template):
    one, same, other = (resize(template, nodes=700, edges=5_000, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.u, same.u)
    assert np.array_equal(one.present, same.present)
    assert not np.array_equal(one.u, other.u)


def test_a_complete_graph_can_be_asked_for(template):
    made = resize(template, nodes=12, edges=60)
    assert made.nodes == 12
    assert made.edges <= 66


def test_nodes_are_matched_by_id_where_the_roster_changes():
    first = Snapshot(Roster(["b", "c"]), [0], [1])
    second = Snapshot(Roster(["a", "b", "c"]), [1], [2])
    made = Template.from_snapshots([first, second])
    assert (made.nodes, made.u.tolist(), made.v.tolist()) == (3, [1], [2])
    assert made.present.all()


@pytest.mark.parametrize(
    ("nodes", "edges"),
    [(10, 46), (1, 1), (0, 0), (5, -1)],
)
def test_a_size_that_no_graph_has_is_refused(nodes, edges):
    with pytest.raises(InvalidArgument):
        check_size(nodes, edges)


def test_what_does_not_fit_into_memory_is_refused_with_an_estimate(template):
    check_memory(template, edges=10_000, available=10**9)
    with pytest.raises(InvalidArgument, match="GB"):
        check_memory(template, edges=10**9, available=10**9)


def test_a_stream_without_edges_is_refused():
    with pytest.raises(DataError):
        Template.from_snapshots([Snapshot(Roster.range(3), [], [])])
