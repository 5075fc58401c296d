"""From reruns to predictions: corrections, intervals, refusals; scales and noise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import psgraph as pg
from psgraph.graph import Roster, SyntheticGraph
from psgraph.metrics.metric import GraphFacts
from psgraph.trust.calibration import (
    Calibration,
    Correction,
    MethodCalibration,
    Shift,
    load_calibration,
    method_calibration,
)
from psgraph.trust.intervals import edge_margin, estimate_statistics, settled_variance
from psgraph.trust.prediction import from_scale, predict_errors, to_scale
from psgraph.trust.quantities import ERRORS, STATISTICS, Errors
from psgraph.trust.reruns import Bootstrap, Repetition
from psgraph.trust.verdicts import judge

GOOD = Correction(
    shift=np.log(2.0),
    power=1.0,
    overall=(-np.log(2.0), np.log(3.0)),
    timestamp=(-np.log(4.0), np.log(4.0)),
    coverage=0.9,
    timestamp_coverage=0.9,
    ratio=1.0,
)


def bootstrap(error: float = 0.1, statistic: float = 100.0) -> Bootstrap:
    def errors(value: float) -> dict[str, np.ndarray]:
        return dict.fromkeys(ERRORS, np.full(2, value))

    def statistics(value: float) -> dict[str, np.ndarray]:
        return {
            name: np.full(2, value if info.scale == "count" else 0.5)
            for name, info in STATISTICS.items()
        }

    one = Repetition(errors(error), statistics(statistic))
    return Bootstrap(statistics(120.0), (one, one), 2)


def with_error(correction: Correction, name: str = "density_error") -> MethodCalibration:
    return MethodCalibration({name: correction}, {})


def test_a_correction_multiplies():
    found = predict_errors(bootstrap(0.1), with_error(GOOD))["density_error"]
    assert found.status == "calibrated"
    assert found.overall.value == pytest.approx(0.2)
    assert (found.overall.low, found.overall.high) == pytest.approx((0.1, 0.6))
    assert found.over_time[0].high == pytest.approx(0.8)
    assert found.rerun == pytest.approx(0.1)


def test_without_a_power_the_prediction_is_that_of_the_method_alone():
    """Where reruns say nothing, what is left is how large the error of the method usually is."""
    constant = replace(GOOD, shift=np.log(0.7), power=0.0)
    for rerun in (0.01, 0.4):
        found = predict_errors(bootstrap(rerun), with_error(constant))["density_error"]
        assert found.overall.value == pytest.approx(0.7)


def test_where_higher_is_better_the_shortfall_is_predicted():
    name = "eigenvector_overlap"
    found = predict_errors(bootstrap(0.9), with_error(GOOD, name))[name]
    assert found.overall.value == pytest.approx(0.8)
    assert (found.overall.low, found.overall.high) == pytest.approx((0.4, 0.9))


@pytest.mark.parametrize(
    "poor",
    [
        {"coverage": 0.79},
        {"ratio": 2.1},
        {"ratio": 0.49},
        {"overall": (-3.0, 3.0)},
    ],
)
def test_what_failed_the_check_is_refused(poor):
    found = predict_errors(bootstrap(), with_error(replace(GOOD, **poor)))["density_error"]
    assert found.status == "unpredictable"
    assert found.overall is None
    assert found.shown() == "cannot be predicted for this method"


def test_single_timestamps_can_fail_alone():
    poor = replace(GOOD, timestamp_coverage=0.7)
    found = predict_errors(bootstrap(), with_error(poor))["density_error"]
    assert found.overall is not None
    assert found.over_time == (None, None)


def test_a_metric_without_factors_is_not_predicted():
    """Its reruns may be too optimistic; the metrics that were checked are not doubted for it."""
    found = predict_errors(bootstrap(0.1), with_error(GOOD))
    assert (found["clustering_error"].status, found["clustering_error"].overall) == (
        "unpredictable",
        None,
    )
    assert found["density_error"].status == "calibrated"


def statistics_of(shift: Shift | None, statistic: float = 100.0) -> dict:
    calibration = None if shift is None else MethodCalibration({}, {"edges": shift})
    release = pg.Publisher(pg.TmF(), pg.WEventPrivacy("4", window=2)).publish(
        pg.Snapshot(Roster.range(40), range(39), range(1, 40))
    )
    certificates = [release.certificate] * 2
    return estimate_statistics(bootstrap(statistic=statistic), calibration, pg.TmF(), certificates)


def test_the_true_value_lies_where_reruns_came_from():
    """Reruns lose a sixth of the edges, so the release has probably lost edges as well."""
    shift = Shift(share=1.0, middle=0.0, low=-1.0, high=1.0, coverage=0.9)
    found = statistics_of(shift)["edges"].ranges[0]
    assert found.value == pytest.approx(120.5**2 / 100.5 - 0.5)
    assert found.low < found.value < found.high


def test_no_more_nodes_have_a_higher_degree_than_a_lower_one():
    """Where reruns disagree on a few hubs, their interval ends with that of smaller degrees."""
    reruns = bootstrap()
    released = {**reruns.released, "degree_at_least_64": np.full(2, 2.0)}
    wide = Shift(share=0.0, middle=0.0, low=-1.0, high=9.0, coverage=0.9)
    narrow = replace(wide, high=1.0)
    shifts = {"degree_curve_from_16": narrow, "degree_curve_from_64": wide}
    found = estimate_statistics(
        replace(reruns, released=released), MethodCalibration({}, shifts), pg.TmF(), []
    )
    hubs, before = found["degree_at_least_64"].ranges[0], found["degree_at_least_32"].ranges[0]
    assert hubs.high == before.high
    assert hubs.low < hubs.value <= hubs.high


def test_a_statistic_that_failed_is_refused():
    shift = Shift(share=1.0, middle=0.0, low=-1.0, high=1.0, coverage=0.5)
    found = statistics_of(shift)["edges"]
    assert (found.status, found.ranges) == ("unpredictable", (None, None))


def test_the_noise_scale_gives_the_narrower_interval_and_says_so():
    shift = Shift(1.0, 0.0, -9.0, 9.0, 0.9, noise_form="edges", noise_coverage=0.9)
    found = statistics_of(shift)["edges"]
    assert found.source == "from the noise scale"
    assert found.ranges[0].value == 120
    assert found.others[0].high > found.ranges[0].high


def test_the_margin_of_the_edge_count_is_that_of_its_noise():
    """A tenth of Laplace noise of scale b lies beyond b·ln 10."""
    method, guarantee = pg.TmF(), pg.WEventPrivacy("4", window=2)
    release = pg.Publisher(method, guarantee).publish(
        pg.Snapshot(Roster.range(40), range(39), range(1, 40))
    )
    (charge,) = [each for each in release.certificate.charges if each.label == "edges"]
    assert charge.epsilon == Fraction(4, 2) / 10
    margin = edge_margin(method, [release.certificate], np.array([39.0]), "edges")
    assert margin[0] == pytest.approx(float(1 / charge.epsilon) * np.log(10))


def test_the_variance_of_a_filter_follows_from_its_steps():
    """Simulated: a random walk, measured with noise, filtered in its steady state."""
    rng = np.random.default_rng(0)
    drift, noise = 4.0, 100.0
    truth = np.cumsum(rng.normal(0, np.sqrt(drift), 20_000))
    settled = (np.sqrt(drift**2 + 4 * drift * noise) - drift) / 2
    gain = (settled + drift) / (settled + drift + noise)
    estimate, level = np.empty(truth.size), 0.0
    for at, reading in enumerate(truth + rng.normal(0, np.sqrt(noise), truth.size)):
        level += gain * (reading - level)
        estimate[at] = level
    seen = settled_variance(np.array([noise]), np.diff(estimate))[0]
    assert seen == pytest.approx(np.mean((estimate - truth)[100:] ** 2), rel=0.1)


@pytest.mark.parametrize("scale", ["log", "count", "logit", "atanh", "none"])
def test_scales_are_inverted(scale):
    values = np.array([0.1, 0.5, 0.9])
    assert from_scale(to_scale(values, scale), scale) == pytest.approx(values)


def test_degree_errors_are_those_of_nodes_by_published_degree():
    truth = SyntheticGraph(Roster.range(8), [0, 0, 0, 1], [1, 2, 3, 2])
    made = SyntheticGraph(Roster.range(8), [0, 0, 0, 0, 5], [1, 2, 3, 4, 6])
    found = Errors().compute(GraphFacts(truth), GraphFacts(made))
    assert found["degree_error_from_4"] == pytest.approx(1 / 4)
    # Degrees 1 at nodes 1 to 6 against 2, 2, 1, 0, 0, 0.
    assert found["degree_error_from_1"] == pytest.approx(5 / 6)
    assert np.isnan(found["degree_error_from_16"])


def test_the_calibration_file_is_read_back_unchanged():
    shipped = load_calibration()
    assert Calibration.from_json(shipped.to_json()) == shipped
    assert len(shipped.methods) == 7


def test_factors_hold_for_default_parameters_only():
    assert method_calibration(pg.TmF()) is not None
    assert method_calibration(pg.TmF(count_share="0.3")) is None


def test_learning_and_checking_use_different_streams():
    shipped = load_calibration()
    assert not set(shipped.learned_from) & set(shipped.checked_on)
    assert len(shipped.learned_from) == len(shipped.checked_on) == 8


def test_a_wide_interval_is_unclear_and_a_narrow_one_is_not():
    question = "How often are neighbours of a node neighbours themselves?"
    answers = {}
    for ends in ((-0.1, 0.1), (-2.0, 2.0)):
        errors = predict_errors(
            bootstrap(0.15), with_error(replace(GOOD, overall=ends), "clustering_error")
        )
        statistics = statistics_of(None)
        calibrated = {name: replace(each, status="calibrated") for name, each in errors.items()}
        (verdict,) = [each for each in judge(calibrated, statistics) if each.question == question]
        answers[ends] = verdict.answer
    assert answers == {(-0.1, 0.1): "roughly", (-2.0, 2.0): "unclear"}
