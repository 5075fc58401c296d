"""PSGraph as a whole: defined on every input, and every switch does what it says."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from psgraph.errors import InvalidArgument
from psgraph.graph import Roster, Snapshot
from psgraph.methods.base import Method
from psgraph.methods.private import PrivateEdges
from psgraph.methods.psgraph import PSGraph, PSGraphMeasurement, PSGraphState
from psgraph.methods.psgraph.method import capped_degrees
from psgraph.methods.queries import degrees
from psgraph.methods.registry import find_method
from psgraph.methods.steps.consistency import norm_sub
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.privacy.mechanisms.sparse import NoisyCounts

from .streams import ENGINE, asking, budget, hubs, step

SWITCHES = st.fixed_dictionaries(
    {
        "threshold": st.sampled_from(["0.01", "1", "100"]),
        "fusion": st.booleans(),
        "postprocess": st.booleans(),
        "always_repartition": st.booleans(),
        "supernode_size": st.sampled_from([1, 3, 20]),
        "choice_constant": st.sampled_from(["tight", "reference"]),
        "between": st.sampled_from(["printed", "symmetric"]),
    }
)


@st.composite
def streams(draw: st.DrawFn) -> list[Snapshot]:
    """Snapshots over rosters that grow, shrink, vanish and return."""
    snapshots = []
    for _ in range(draw(st.integers(1, 4))):
        roster = Roster(sorted(draw(st.sets(st.integers(0, 25), max_size=20))))
        nodes = len(roster)
        edges = []
        if nodes > 1:
            node = st.integers(0, nodes - 1)
            edges = draw(st.lists(st.tuples(node, node), max_size=4 * nodes))
        ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
        snapshots.append(Snapshot(roster, ends[:, 0], ends[:, 1]))
    return snapshots


@given(
    streams(), SWITCHES, st.sampled_from(["0.001", "0.2", "1", "40", "100000"]), st.integers(0, 9)
)
@settings(max_examples=120)
def test_defined_on_every_stream(stream, switches, epsilon, seed):
    method = PSGraph(**switches)
    state = None
    for index, snapshot in enumerate(stream):
        money = budget(epsilon, seed=100 * seed + index)
        measurement = method.measure(asking(snapshot, money), state)
        assert money.remaining == 0
        state = method.update(state, measurement)
        graph = method.synthesise(state, None, np.random.default_rng(seed), ENGINE)
        nodes = len(snapshot.roster)
        assert graph.roster == snapshot.roster
        if switches["postprocess"]:
            assert graph.edge_count == min(max(state.noisy_edge_count, 0), nodes * (nodes - 1) // 2)
        for values in (
            state.fused_inner_degrees,
            state.fused_outer_degrees,
            state.community_edges,
        ):
            assert np.isfinite(values).all()
            assert (values >= 0).all()
        assert state.labels.size == nodes
        assert state.found == (measurement.found)
        if switches["always_repartition"]:
            assert state.found


@pytest.mark.parametrize(
    "snapshot",
    [
        Snapshot(Roster.range(0), [], []),
        Snapshot(Roster.range(1), [], []),
        Snapshot(Roster.range(2), [0], [1]),
        Snapshot(Roster.range(60), [], []),
        Snapshot(Roster.range(15), *np.triu_indices(15, 1)),
    ],
    ids=["no nodes", "one node", "one edge", "no edges", "complete"],
)
@pytest.mark.parametrize("epsilon", ["0.0001", "1", "1000"])
def test_extreme_graphs(snapshot, epsilon):
    method = PSGraph()
    state = None
    for seed in range(3):
        state = step(method, snapshot, state, epsilon=epsilon, seed=seed)
        graph = method.synthesise(state, None, np.random.default_rng(seed), ENGINE)
        assert graph.roster == snapshot.roster


@pytest.mark.parametrize(("noisy", "edges"), [(-40, 0), (10**9, 45), (45, 45), (7, 7)])
def test_an_impossible_edge_count_is_clipped(noisy, edges):
    method = PSGraph()
    state = dataclasses.replace(
        step(method, hubs(10, 20, seed=1), epsilon="9"), noisy_edge_count=noisy
    )
    assert method.synthesise(state, None, np.random.default_rng(1), ENGINE).edge_count == edges


# ---- budgets ----


@pytest.mark.parametrize("epsilon", ["0.001", "0.02", "0.2", "3"])
def test_the_epsilon_of_a_timestamp_is_split_as_in_the_paper(epsilon):
    whole = Fraction(epsilon)
    edge = min(Fraction(1, 100), whole / 2)
    rest = whole - edge
    snapshot = hubs(300, 900, seed=2)
    method = PSGraph(threshold=10**9)
    first, second = budget(epsilon), budget(epsilon)
    state = method.update(None, method.measure(asking(snapshot, first), None))
    method.measure(asking(snapshot, second), state)
    assert [(c.label, c.epsilon, c.sensitivity) for c in first.trace] == [
        ("edges", edge, 1),
        ("super-graph edges", rest / 4, 1),
        ("community choice", rest / 4, 1),
        ("inner degrees", rest / 2, 2),
        ("outer degrees", rest / 4, 2),
        ("community edges", rest / 4, 1),
    ]
    assert [(c.label, c.epsilon, c.sensitivity) for c in second.trace] == [
        ("edges", edge, 1),
        ("inner degrees", rest, 2),
        ("outer degrees", rest / 2, 2),
        ("community edges", rest / 2, 1),
    ]
    assert first.spent == second.spent == whole


@pytest.mark.parametrize("epsilon", ["0.2", "1/3"])
def test_the_plan_is_what_happens(epsilon):
    method = PSGraph(threshold=10**9)
    snapshot = hubs(300, 900, seed=2)
    planned = method.plan(WEventPrivacy(epsilon, window=1), nodes=300)
    traces = {}
    first, second = budget(epsilon), budget(epsilon)
    state = method.update(None, method.measure(asking(snapshot, first), None))
    traces["communities found again"] = first.trace
    method.measure(asking(snapshot, second), state)
    traces["communities kept"] = second.trace
    for case, trace in traces.items():
        rows = [
            (row.label, row.epsilon, row.sensitivity, row.noise)
            for row in planned
            if row.case == case
        ]
        assert rows == [(c.label, c.epsilon, c.sensitivity, c.mechanism) for c in trace]


def test_neighbours_leave_the_same_trace():
    snapshot = hubs(200, 600, seed=4)
    fewer = Snapshot(snapshot.roster, snapshot.u[1:], snapshot.v[1:])
    traces = []
    for graph in (snapshot, fewer):
        money = budget("1", seed=3)
        PSGraph().measure(asking(graph, money), None)
        traces.append([(c.mechanism, c.label, c.epsilon, c.sensitivity) for c in money.trace])
    assert traces[0] == traces[1]


# ---- switches ----


def run(method: PSGraph, stream, *, epsilon: str = "1", seed: int = 5) -> list[PSGraphState]:
    states: list[PSGraphState] = []
    for index, snapshot in enumerate(stream):
        state = states[-1] if states else None
        states.append(step(method, snapshot, state, epsilon=epsilon, seed=seed + index))
    return states


CALM = [hubs(400, 1200, seed=7)] * 4


def test_calm_streams_keep_their_communities():
    states = run(PSGraph(), CALM)
    assert [state.found for state in states] == [True, False, False, False]
    for state in states[1:]:
        assert np.array_equal(state.labels, states[0].labels)


def test_always_repartition():
    assert all(state.found for state in run(PSGraph(always_repartition=True), CALM))


def test_a_jump_in_the_edge_count_finds_communities_again():
    stream = [CALM[0], hubs(400, 12_000, seed=1), hubs(400, 12_000, seed=1)]
    assert [state.found for state in run(PSGraph(), stream)] == [True, True, False]


@pytest.mark.parametrize(
    ("threshold", "change", "kept"),
    [
        ("1", 50, True),
        ("1", 51, False),
        ("1", -50, True),
        ("1", -51, False),
        ("0.01", 0, True),
        ("0.01", 1, False),
        ("100", 5000, True),
        ("100", 5001, False),
        ("1/3", 16, True),
        ("1/3", 17, False),
    ],
)
def test_the_threshold_is_a_multiple_of_the_number_of_nodes(threshold, change, kept):
    method = PSGraph(threshold=threshold)
    state = step(method, hubs(50, 100, seed=1), epsilon="5")
    assert method._keeps(state, state.noisy_edge_count + change, Roster.range(50)) is kept


def test_there_must_be_communities_to_keep():
    method = PSGraph(threshold=10**6)
    empty = step(method, Snapshot(Roster.range(0), [], []))
    assert step(method, CALM[0], empty, seed=2).found


def test_postprocessing_off_leaves_the_edge_count_free():
    state = run(PSGraph(), CALM, epsilon="2")[-1]
    rng = np.random.default_rng(1)
    drawn = PSGraph(postprocess=False).synthesise(state, None, rng, ENGINE)
    repaired = PSGraph().synthesise(state, None, np.random.default_rng(1), ENGINE)
    assert repaired.edge_count == state.noisy_edge_count
    assert drawn.edge_count != state.noisy_edge_count


# ---- fusion ----


def measurement(
    *, inner, outer, found: bool, epsilon: Fraction, roster: Roster | None = None
) -> PSGraphMeasurement:
    """A measurement of nodes in one large community and one node apart."""
    nothing = np.zeros(0, dtype=np.int64)
    nodes = len(inner)
    labels = np.zeros(nodes, dtype=np.int32)
    return PSGraphMeasurement(
        roster=Roster.range(nodes) if roster is None else roster,
        noisy_edge_count=0,
        found=found,
        labels=labels,
        noisy_inner_degrees=np.array(inner),
        noisy_outer_degrees=np.array(outer),
        noisy_community_edges=NoisyCounts(0, np.inf, nothing, nothing),
        degree_epsilon=epsilon,
    )


def test_fusion_weights_are_two_thirds_then_one_half():
    """After a timestamp that found communities (half the epsilon) the new value weighs 2/3."""
    zeros = [0] * 9
    method, rest = PSGraph(), Fraction(19, 100)
    first = measurement(inner=[8, *zeros], outer=[0] * 10, found=True, epsilon=rest / 2)
    later = measurement(inner=[2, *zeros], outer=[0] * 10, found=False, epsilon=rest)
    one = method.update(None, first)
    assert one.fused_inner_degrees[0] == 8
    two = method.update(one, later)
    assert two.fused_inner_degrees[0] == pytest.approx(2 * 2 / 3 + 8 / 3)
    three = method.update(two, later)
    assert three.fused_inner_degrees[0] == pytest.approx(2 / 2 + (2 * 2 / 3 + 8 / 3) / 2)
    assert two.degree_epsilon == three.degree_epsilon == rest


def test_found_communities_break_the_fusion():
    zeros = [0] * 9
    method = PSGraph()
    first = measurement(inner=[8, *zeros], outer=[0] * 10, found=True, epsilon=Fraction(1))
    again = measurement(inner=[2, *zeros], outer=[0] * 10, found=True, epsilon=Fraction(1))
    assert method.update(method.update(None, first), again).fused_inner_degrees[0] == 2


def test_fusion_off_takes_the_consistent_degrees():
    snapshot = CALM[0]
    method = PSGraph(fusion=False)
    state = step(method, snapshot)
    drawn = method.measure(asking(snapshot, seed=8), state)
    assert not drawn.found
    inner, outer = capped_degrees(
        norm_sub(drawn.noisy_inner_degrees), norm_sub(drawn.noisy_outer_degrees), drawn.labels
    )
    after = method.update(state, drawn)
    assert np.array_equal(after.fused_inner_degrees, inner)
    assert np.array_equal(after.fused_outer_degrees, outer)
    fused = PSGraph().update(state, drawn)
    assert not np.array_equal(fused.fused_inner_degrees, inner)


def test_fusion_follows_the_ids_when_the_roster_changes():
    method = PSGraph()
    before = measurement(
        inner=[6, 0, 0, 4],
        outer=[0] * 4,
        found=True,
        epsilon=Fraction(1),
        roster=Roster(["a", "b", "c", "d"]),
    )
    state = dataclasses.replace(
        method.update(None, before), fused_inner_degrees=np.array([3.0, 0.0, 0.0, 1.0])
    )
    after = measurement(
        inner=[1, 1, 1],
        outer=[0] * 3,
        found=False,
        epsilon=Fraction(1),
        roster=Roster(["a", "d", "x"]),  # b and c left, x is new
    )
    fused = method.update(state, after).fused_inner_degrees
    assert fused == pytest.approx([2.0, 1.0, 1.0])


def test_fusion_reduces_the_noise():
    truth = degrees(PrivateEdges(CALM[0], ENGINE))
    errors = {}
    for fusion in (True, False):
        state = run(PSGraph(fusion=fusion), CALM * 2, epsilon="1", seed=40)[-1]
        total = state.fused_inner_degrees + state.fused_outer_degrees
        errors[fusion] = np.abs(total - truth).mean()
    assert errors[True] < 0.8 * errors[False]


# ---- repeatability ----


def test_synthesis_is_determined_by_state_and_seed():
    method = PSGraph()
    state = run(method, CALM[:2])[-1]
    one, same, other = (
        method.synthesise(state, None, np.random.default_rng(seed), ENGINE) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_measuring_is_determined_by_the_seed():
    def labels(seed: int) -> list[int]:
        return step(PSGraph(), CALM[0], seed=seed).labels.tolist()

    assert labels(3) == labels(3)
    assert labels(3) != labels(4)


def test_update_does_not_change_its_arguments():
    method = PSGraph()
    state = step(method, CALM[0])
    drawn = method.measure(asking(CALM[0], seed=2), state)

    def frozen() -> list[bytes]:
        values = [*vars(state).values(), *vars(drawn).values()]
        return [value.tobytes() for value in values if isinstance(value, np.ndarray)]

    before = frozen()
    method.update(state, drawn)
    method.synthesise(state, None, np.random.default_rng(1), ENGINE)
    assert frozen() == before


# ---- parameters ----


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0},
        {"threshold": "-1"},
        {"threshold": "nan"},
        {"threshold": "many"},
        {"supernode_size": 0},
        {"supernode_size": -3},
        {"supernode_size": True},
        {"choice_constant": "loose"},
        {"between": "neither"},
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_before_data_is_touched(wrong):
    with pytest.raises(InvalidArgument):
        PSGraph(**wrong)


def test_parameters_rebuild_the_method():
    method = PSGraph(
        threshold="1/3",
        fusion=False,
        postprocess=False,
        always_repartition=True,
        supernode_size=7,
        choice_constant="reference",
        between="symmetric",
    )
    assert PSGraph(**method.parameters()).parameters() == method.parameters()


def test_it_is_registered_and_follows_the_protocol():
    assert find_method("psgraph") is PSGraph
    assert isinstance(PSGraph(), Method)
    with pytest.raises(InvalidArgument, match="no method called 'magic'"):
        find_method("magic")


def test_summary():
    state = step(PSGraph(), CALM[0])
    assert dict(PSGraph().summary(state)) == {
        "noisy_edges": state.noisy_edge_count,
        "communities": state.communities,
        "communities_found": True,
    }
