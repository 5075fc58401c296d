"""The estimators: filters, degree distribution, wanted degrees, mixing, hub rows, clustering."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from psgraph.graph import Roster
from psgraph.methods.plus.clustering import Clustering, Unclustered
from psgraph.methods.plus.curve import ON_A_SIDE, cholesky, fit_curve, gram, solve
from psgraph.methods.plus.degrees import degree_step
from psgraph.methods.plus.grid import degree_grid, log_likelihood, moments_inside, thresholds
from psgraph.methods.plus.hubs import NoisyHubs, advance, hub_count, with_hubs
from psgraph.methods.plus.mixing import (
    CELLS,
    CLASSES,
    class_mixing,
    degree_classes,
    integer_blocks,
    rake,
)
from psgraph.methods.plus.nodes import Drift, Nodes, laplace_update, measured_nodes
from psgraph.methods.plus.readings import SizeReadings
from psgraph.methods.plus.schedule import shares_of
from psgraph.methods.plus.shares import Components, Occasion
from psgraph.methods.plus.tracking import Track, laplace_variance
from psgraph.methods.plus.triangles import Cap
from psgraph.methods.plus.wanted import exact_sum, ranked, wanted_degrees
from psgraph.privacy.accountant import Accountant
from psgraph.privacy.guarantee import WEventPrivacy

NEVER = Track.unseen(CELLS, drift=0.0025)


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def laplace(rng, size, scale):
    ratio = np.exp(-1 / scale)
    return rng.geometric(1 - ratio, size) - rng.geometric(1 - ratio, size)


def power_law(rng, nodes, exponent=1.4):
    return np.minimum(rng.random(nodes) ** (-1 / exponent), nodes - 1).astype(np.int64)


# ---- tracking ----


def test_the_variance_of_discrete_laplace_noise(rng):
    assert laplace(rng, 200_000, 3.0).var() == pytest.approx(laplace_variance(3.0), rel=0.02)


def test_a_track_of_a_constant_is_better_than_a_single_observation(rng):
    track, errors = Track.start(0.5, variance=1.0, drift=0.0025), []
    for _ in range(200):
        track = track.observe(np.array([0.3]) + rng.normal(0, 0.1, 1), 0.01, np.ones(1))
        errors.append(track.level[0] - 0.3)
    assert np.std(errors[50:]) < 0.05


def test_noise_alone_does_not_look_like_drift(rng):
    track = Track.start(0.5, variance=0.01, drift=0.0025)
    for _ in range(300):
        track = track.observe(np.array([0.5]) + rng.normal(0, 0.3, 1), 0.09, np.ones(1))
    assert track.drift < 0.0025
    assert track.variance[0] < 0.01


def test_a_jump_is_absorbed_at_once():
    track = Track.start(0.1, variance=1e-4, drift=1e-4)
    after = track.observe(np.array([0.9]), 1e-4, np.ones(1))
    assert after.level[0] == pytest.approx(0.9, abs=0.01)


def test_noise_beyond_what_is_possible_is_no_jump():
    track = Track.start(0.1, variance=0.01, drift=1e-4)
    assert track.observe(np.array([-9.0]), 1.0, np.ones(1)).level[0] > -0.3


def test_entries_seen_for_the_first_time_take_the_observation():
    track = Track.unseen(1, drift=0.01).observe(np.array([0.4, 0.2]), 0.1, np.ones(2))
    assert track.level.tolist() == [0.4, 0.2]
    assert track.observe(np.zeros(0), 0.1, np.zeros(0)) is track


# ---- degree distribution ----


@pytest.mark.parametrize("scale", [0.2, 3.0, 40.0])
def test_likelihood_and_moments_of_a_cell_are_sums_over_its_degrees(scale):
    grid, noisy = degree_grid(300), np.array([-5.0, 0, 3, 40, 299, 400])
    likelihood = log_likelihood(grid, noisy, scale)
    means, variances = (
        np.broadcast_to(moment, likelihood.shape) for moment in moments_inside(grid, noisy, scale)
    )
    flat = grid.width / scale < 0.05
    for row, y in enumerate(noisy):
        for cell, (low, high) in enumerate(zip(grid.low, grid.high, strict=True)):
            degrees = np.arange(low, high)
            weights = np.exp(-(np.abs(y - degrees) - np.abs(y - degrees).min()) / scale)
            exact = np.log(weights.mean()) - np.abs(y - degrees).min() / scale
            assert likelihood[row, cell] == pytest.approx(exact, abs=1e-9)
            if not flat[cell]:
                mean = np.average(degrees, weights=weights)
                assert means[row, cell] == pytest.approx(mean, abs=1e-6)
                variance = np.average((degrees - mean) ** 2, weights=weights)
                assert variances[row, cell] == pytest.approx(variance, abs=1e-4)


@pytest.mark.parametrize("nodes", [1, 2, 3, 50, 4000])
def test_cells_cover_every_degree_and_break_at_every_threshold(nodes):
    grid = degree_grid(nodes)
    assert grid.low[0] == 0
    assert grid.high[-1] == max(nodes, 3)
    assert (grid.low[1:] == grid.high[:-1]).all()
    assert set(thresholds(nodes)) <= set(grid.low.tolist())


def fit(rng, degrees, *, scale, curve_scale, before=None, **more):
    nodes = degrees.size
    shares = np.array([(degrees >= k).mean() for k in thresholds(nodes)])
    noise = laplace(rng, shares.size, curve_scale) / nodes
    return fit_curve(
        degrees + laplace(rng, nodes, scale),
        scale=scale,
        curve=shares + noise,
        curve_variance=np.full(shares.size, laplace_variance(curve_scale) / nodes**2),
        mean_degree=float(degrees.mean()),
        mean_variance=1e-4,
        before=before,
        **more,
    )


@pytest.mark.parametrize(("scale", "curve_scale"), [(0.5, 500.0), (60.0, 3.0)])
def test_the_fit_follows_whichever_source_is_good(rng, scale, curve_scale):
    degrees = power_law(rng, 3000)
    found = fit(rng, degrees, scale=scale, curve_scale=curve_scale)
    assert found.shares.size >= 20
    for k in (1, 2, 3, 5, 10, 20):
        assert found.shares[k - 1] == pytest.approx((degrees >= k).mean(), abs=0.03)


def test_degrees_of_a_side_that_is_alike_are_evidence_as_far_as_they_count():
    def found(*weights):
        rng = np.random.default_rng(8)
        degrees, noise = power_law(rng, 400), laplace(rng, 400, 2.0)
        more = [{}, *({"alike": (degrees + noise, weight)} for weight in weights)]
        fits = [
            fit(np.random.default_rng(1), degrees, scale=2.0, curve_scale=80.0, **each)
            for each in more
        ]
        return [each.density for each in fits]

    alone, nothing, much = found(0.0, 1.0)
    assert np.array_equal(alone, nothing)
    assert not np.allclose(alone, much, atol=1e-3)


def test_where_estimates_say_little_the_fitted_tail_reaches_further(rng):
    degrees, state = power_law(rng, 400), rng.bit_generator.state
    short = fit(rng, degrees, scale=20.0, curve_scale=40.0)
    rng.bit_generator.state = state
    long = fit(rng, degrees, scale=20.0, curve_scale=40.0, resolved=ON_A_SIDE)
    assert long.shares.size > short.shares.size
    assert np.array_equal(long.shares[: short.shares.size], short.shares)


def test_the_fitted_curve_never_rises(rng):
    found = fit(rng, power_law(rng, 500), scale=8.0, curve_scale=20.0)
    assert (np.diff(found.shares) <= 1e-12).all()
    assert found.density.sum() == pytest.approx(1)


def test_a_fit_continues_on_a_larger_roster(rng):
    first = fit(rng, power_law(rng, 300), scale=4.0, curve_scale=8.0)
    larger = fit(rng, power_law(rng, 900), scale=4.0, curve_scale=8.0, before=first)
    smaller = fit(rng, power_law(rng, 100), scale=4.0, curve_scale=8.0, before=larger)
    assert smaller.log_density.size == degree_grid(100).low.size


def test_hopeless_noise_resolves_nothing(rng):
    assert fit(rng, power_law(rng, 40), scale=5e3, curve_scale=5e3).shares.size <= 2


def test_small_linear_algebra_is_that_of_numpy(rng):
    rows, weights = rng.normal(size=(11, 9)), rng.normal(size=11)
    rows[:, :2] = rows[4:8, 7:] = 0  # ends that are left out
    assert np.allclose(gram(rows, weights), rows.T @ np.diag(weights) @ rows)
    matrix = rows.T @ rows + np.eye(9)
    factor = cholesky(matrix)
    assert np.allclose(factor, np.linalg.cholesky(matrix).T)
    side = rng.normal(size=(9, 2))
    assert np.allclose(solve(factor, side), np.linalg.solve(matrix, side))


# ---- nodes ----


@pytest.mark.parametrize(
    ("mean", "variance", "noisy", "scale"),
    [(10, 4, 13, 2), (10, 400, -50, 5), (100, 1, 300, 10), (1000, 1e4, 800, 2)],
)
def test_the_update_with_laplace_noise_is_exact(mean, variance, noisy, scale):
    x = np.linspace(-3000, 5000, 1_600_001)
    log_weight = -0.5 * (x - mean) ** 2 / variance - np.abs(noisy - x) / scale
    weight = np.exp(log_weight - log_weight.max())
    expected = np.average(x, weights=weight)
    found, spread, _ = laplace_update(float(mean), float(variance), float(noisy), float(scale))
    assert found == pytest.approx(expected, abs=1e-3)
    assert spread == pytest.approx(np.average((x - expected) ** 2, weights=weight), rel=1e-3)


def filtered(rng, degrees_over_time, *, scale, resets=True):
    nodes, roster, curve = Nodes.start(), Roster.range(degrees_over_time[0].size), None
    for timestamp, degrees in enumerate(degrees_over_time):
        nodes = nodes.joined(roster, rng)
        noisy = degrees + laplace(rng, degrees.size, scale)
        curve = fit(rng, degrees, scale=scale, curve_scale=20.0, before=curve)
        nodes = measured_nodes(
            nodes,
            noisy,
            scale=scale,
            timestamp=timestamp,
            curve=curve,
            resets=resets,
        )
    return nodes


def test_degrees_that_stay_are_known_better_from_each_release(rng):
    degrees = power_law(rng, 1500)
    errors = [
        np.abs(nodes.degrees - degrees).mean()
        for nodes in (filtered(rng, [degrees] * count, scale=4.0) for count in (1, 8))
    ]
    assert errors[1] < 0.7 * errors[0]


def test_drift_is_learned_from_how_degrees_change(rng):
    calm = power_law(rng, 1500)
    wild = [np.maximum(calm + rng.normal(0, 0.5 * calm).astype(np.int64), 0) for _ in range(6)]
    still = filtered(rng, [calm] * 6, scale=2.0)
    moving = filtered(rng, wild, scale=2.0)
    level = np.array([30.0])
    assert moving.drift.known
    assert moving.drift.variance(level)[0] > 10 * still.drift.variance(level)[0]


def test_a_node_that_was_replaced_is_followed(rng):
    degrees = power_law(rng, 1500)
    replaced = degrees.copy()
    replaced[np.argmax(degrees)] = 1
    largest = int(np.argmax(degrees))
    nodes = filtered(rng, [degrees] * 4 + [replaced], scale=2.0)
    assert nodes.degrees[largest] < 20


def test_nodes_keep_their_estimates_while_they_are_away(rng):
    nodes = filtered(rng, [power_law(rng, 60)], scale=2.0)
    other = nodes.joined(Roster(range(100, 130)), rng)
    half = other.joined(Roster(range(30, 110)), rng)
    back = half.joined(Roster.range(60), rng)
    assert np.array_equal(back.degrees, nodes.degrees)
    assert np.array_equal(back.ties[:60], nodes.ties)
    assert back.away == Roster(range(60, 130))


def test_nodes_never_measured_have_the_level_of_new_nodes(rng):
    nodes = filtered(rng, [power_law(rng, 60)], scale=2.0)
    nodes = nodes.joined(Roster.range(61), rng)
    assert nodes.degrees[60] == nodes.fresh_mean


def test_resets_are_bounded():
    assert replace(Drift.start(), resets=1e9).reset == 0.98


# ---- wanted degrees ----


@pytest.mark.parametrize("edges", [1, 40, 200, 1225])
def test_wanted_degrees_have_the_right_sum(rng, edges):
    estimates = rng.random(50) * 9
    order = ranked(estimates, rng.random(50))
    degrees = wanted_degrees(
        estimates,
        order,
        shares=np.linspace(1, 0.1, 6),
        total=2 * edges,
        largest=49,
        sure_scale=None,
        rng=rng,
    )
    assert degrees.sum() == 2 * edges
    assert degrees.min() >= 0
    assert degrees.max() <= 49


def test_who_is_large_comes_from_the_nodes_and_how_many_are_from_the_curve(rng):
    true = np.sort(power_law(rng, 2000))[::-1]
    estimates = true + rng.normal(0, 0.3, 2000)
    shares = np.array([(true >= k).mean() for k in range(1, 30)])
    degrees = wanted_degrees(
        estimates,
        ranked(estimates, rng.random(2000)),
        shares=shares,
        total=2 * int(true.sum() // 2),
        largest=1999,
        sure_scale=0.1,
        rng=rng,
    )
    assert np.abs(np.sort(degrees)[::-1] - true).mean() < 0.3
    assert np.corrcoef(degrees, true)[0, 1] > 0.99


def test_nobody_drops_to_zero_unless_it_must(rng):
    degrees = exact_sum(np.array([5, 1, 1, 1, 1, 1]), 8, rng, largest=5)
    assert degrees.min() == 1
    assert exact_sum(np.ones(6, dtype=np.int64), 2, rng, largest=5).sum() == 2


def test_an_odd_sum_is_never_returned(rng):
    assert exact_sum(np.array([2, 2, 2]), 7, rng, largest=2).sum() % 2 == 0


# ---- mixing and hub rows ----


def measured_shares(rng, variance: float) -> Track:
    shares = rng.random(CELLS)
    return Track(shares / shares.sum(), np.full(CELLS, variance), 0.0025)


def test_raking_meets_the_stubs(rng):
    degrees = power_law(rng, 800)
    classes = degree_classes(degrees)
    mixing = class_mixing(degrees, classes, measured_shares(rng, 1e-9), int(degrees.sum() // 2))
    assert np.abs(mixing.matrix.sum(axis=1) - mixing.stubs).sum() < 2e-3 * degrees.sum()
    assert np.allclose(mixing.matrix, mixing.matrix.T)


def test_mixing_is_followed_where_it_is_known_and_neutral_where_it_is_noise(rng):
    degrees = power_law(rng, 800)
    classes, edges = degree_classes(degrees), int(degrees.sum() // 2)
    neutral = class_mixing(degrees, classes, NEVER, edges).matrix
    apart = [
        np.abs(class_mixing(degrees, classes, track, edges).matrix - neutral).sum()
        for track in (measured_shares(rng, variance) for variance in (1e-9, 1e-4, 1.0))
    ]
    assert apart[0] > 1.2 * apart[1] > 10 * apart[2]


def test_no_cell_holds_more_edges_than_pairs_of_nodes():
    sizes = np.array([1, 3])
    raked = rake(np.array([[9.0, 9.0], [9.0, 9.0]]), np.array([3.0, 5.0]), sizes)
    assert raked[0, 0] == 0
    assert raked[0, 1] <= 3


def test_pairs_are_rounded_alike_whatever_their_labels_are():
    matrix = np.full((14, 14), 0.5)
    identities = np.arange(14, dtype=np.uint64) + np.uint64(100)
    swapped = identities.copy()
    swapped[[12, 13]] = identities[[13, 12]]
    found, other = (
        {
            (min(keys[a], keys[b]), max(keys[a], keys[b])): quota
            for a, b, quota in zip(*integer_blocks(matrix, keys, 5, classes=CLASSES), strict=True)
        }
        for keys in (identities, swapped)
    )
    assert found == other
    assert found


def test_rounding_at_random_keeps_the_mean():
    matrix = np.full((12, 12), 0.3)
    keys = np.arange(12, dtype=np.uint64)
    drawn = [integer_blocks(matrix, keys, seed, classes=CLASSES)[2].sum() for seed in range(300)]
    assert np.mean(drawn) == pytest.approx(0.3 * 66 + 0.15 * 12, rel=0.05)


def test_hub_rows_come_first_and_the_largest_hub_before_the_others():
    matrix = np.full((15, 15), 3.0)
    a, b, _ = integer_blocks(matrix, np.arange(15, dtype=np.uint64), 1, classes=CLASSES)
    row = [max(y, 0) if x < CLASSES else x for x, y in zip(a, b, strict=True)]
    singles = [label for label in row if label >= CLASSES]
    assert row[: len(singles)] == singles == sorted(singles)


def hub_case(rng):
    degrees = np.sort(rng.integers(5, 15, 400))[::-1].copy()
    degrees[:16] = 40
    classes = degree_classes(degrees)
    return degrees, classes, class_mixing(degrees, classes, NEVER, int(degrees.sum() // 2))


def noisy_hubs(hubs, *, to_class, between, noise):
    cells = [to_class] * (hubs * CLASSES) + [between] * (hubs * (hubs - 1) // 2)
    return NoisyHubs(np.array(cells), hubs, noise)


def measured_rows(case, hubs, noisy):
    degrees, classes, mixing = case
    new = np.full(hubs.size, -1)
    return advance(None, new, hubs, mixing, degrees, classes, kept=1.0, noisy=noisy)


def test_measured_hub_rows_show_in_the_mixing(rng):
    degrees, classes, mixing = case = hub_case(rng)
    hubs = np.arange(hub_count(400))
    vague = noisy_hubs(hubs.size, to_class=0, between=0, noise=1e12)
    exact = noisy_hubs(hubs.size, to_class=1, between=0, noise=1e-6)
    expected, found = (
        with_hubs(measured_rows(case, hubs, noisy), mixing, degrees, classes).matrix
        for noisy in (vague, exact)
    )
    assert found[CLASSES, CLASSES + 1] < 0.2 * expected[CLASSES, CLASSES + 1]
    assert np.array_equal(found, found.T)


def test_pairs_of_hubs_are_carried_over_wherever_the_hubs_are_now(rng):
    degrees, classes, mixing = case = hub_case(rng)
    hubs = np.arange(5)
    noisy = NoisyHubs(np.array([1] * (5 * CLASSES) + list(range(10))), 5, 1e-9)
    rows = measured_rows(case, hubs, noisy)
    still = np.array([3, -1, 0])  # 10 pairs row by row: hubs 0 and 3 have number 2
    after = advance(rows, still, hubs[:3], mixing, degrees, classes, kept=0.5, noisy=None)
    assert after.pair_deviation[1] == 0.5 * rows.pair_deviation[2]
    assert after.pair_deviation[[0, 2]].tolist() == [0, 0]


def test_hub_rows_fade_and_are_dropped(rng):
    degrees, classes, mixing = hub_case(rng)
    hubs = np.arange(16)
    noisy = noisy_hubs(16, to_class=0, between=0, noise=1.0)
    rows = advance(None, np.full(16, -1), hubs, mixing, degrees, classes, kept=0.4, noisy=noisy)
    steps = 0
    while rows is not None:
        rows = advance(rows, hubs, hubs, mixing, degrees, classes, kept=0.4, noisy=None)
        steps += 1
    assert steps == 3  # 0.4, 0.16, 0.064


# ---- edge count ----


@pytest.mark.parametrize(("edges", "nodes", "found"), [("0.01", "10", 300), ("10", "0.01", 200)])
def test_the_edge_count_follows_the_better_of_two_readings(edges, nodes, found):
    """200 edges were read, and degrees that add up to 300."""
    first = shares_of(Components(), Accountant(WEventPrivacy("1", window=5)), Occasion())
    shares = replace(first, edges=Fraction(edges), nodes=Fraction(nodes), curve=Fraction(0))
    degrees = np.full(100, 6)
    sizes = SizeReadings(Roster.range(100), shares, 1, 200, None, None, degrees)
    step = degree_step(None, sizes, resets=True, use_curve=True)
    assert step.edge_count == pytest.approx(found, rel=0.03)


# ---- clustering ----


def plain(triangles: int, wedges: int = 30_000) -> Unclustered:
    return Unclustered(1000, wedges, triangles, 40)


def target(clustering: Clustering, transitivity: float = 0.05, kept=0.0, steady=0.0) -> float:
    return clustering.target(transitivity, kept=kept, steady=steady)


def test_good_triangle_counts_decide_the_target():
    found = Clustering.start()
    for _ in range(4):
        found = found.measured(3000, plain(500), epsilon=50.0)
    assert target(found) == pytest.approx(0.3, rel=0.1)


def test_a_drowned_triangle_count_leaves_the_target_near_the_usual_excess():
    found = Clustering.start().measured(90_000, plain(500), epsilon=0.01)
    assert target(found) == pytest.approx(2.5 * 0.05, rel=0.2)


def test_a_dense_graph_is_expected_to_have_few_more_triangles_than_its_degrees_imply():
    found = Clustering.start().measured(90_000, plain(4000), epsilon=0.01)
    assert target(found, 0.4) == pytest.approx(0.4, rel=0.1)


def test_a_capped_count_decides_the_target_where_the_ladder_would_drown():
    counted = {"noisy": 4000, "plain": plain(50), "epsilon": 0.05}
    capped = Clustering.start().measured(**counted, cap=Cap(9, 0.8))
    assert capped.excess == pytest.approx(100, rel=0.3)
    assert Clustering.start().measured(**counted).excess < 10


def test_the_target_follows_the_degrees_half_of_the_way_unless_edges_stay():
    found = Clustering.start().measured(1500, plain(500), epsilon=50.0)
    assert target(found, 0.02) == pytest.approx(target(found, 0.05) * 0.4**0.5)
    assert target(found, 0.02, steady=1.0) == target(found, 0.05, steady=1.0)


def test_triangles_kept_from_the_last_graph_are_not_multiplied_again():
    found = Clustering.start().measured(1500, plain(500), epsilon=50.0)
    wanted = target(found)
    assert target(found, wanted, kept=1.0) == pytest.approx(wanted)


def test_half_of_the_level_is_remembered_when_degrees_imply_fewer_triangles():
    found = Clustering.start().measured(1500, plain(500), epsilon=50.0)
    nothing = found.measured(0, plain(50), epsilon=1e-6)  # a count that says nothing
    assert nothing.excess == pytest.approx(found.excess * 10**0.5, rel=0.15)


def test_a_graph_without_triangles_is_believed_to_have_none():
    found = Clustering.start()
    for _ in range(3):
        found = found.measured(0, plain(500), epsilon=1.0)
    assert found.excess < 1 / 10


def test_without_a_count_there_is_no_target():
    assert target(Clustering.start()) is None


def test_a_graph_without_wedges_says_nothing_about_clustering():
    start = Clustering.start()
    assert start.measured(5, plain(0, wedges=0), epsilon=1.0) is start
