"""Jumps of the released edge count void predictions, for every method, and are said to."""

from __future__ import annotations

import numpy as np
import pytest

import psgraph as pg
from psgraph.graph import Snapshot
from psgraph.metrics import compare
from psgraph.reports.curator import predicted_data
from psgraph.reports.trust import trust_page
from psgraph.trust.expected import ExpectedErrors, expected_errors
from psgraph.trust.jumps import find_jumps, predicted_timestamps
from tests.reports.reading import checked

WINDOW = 4


def with_part(stream: list[Snapshot], at: int, share: float = 0.02) -> list[Snapshot]:
    """The stream with a snapshot that covers only a part of its period."""
    full = stream[at]
    stays = np.random.default_rng(0).random(full.u.size) < share
    part = Snapshot(full.roster, full.u[stays], full.v[stays], time=full.time)
    return [*stream[:at], part, *stream[at + 1 :]]


def published(method: pg.Method, stream: list[Snapshot]) -> list[pg.Release]:
    with pg.Publisher(method, pg.WEventPrivacy("1", window=WINDOW), seed=3) as publisher:
        return list(publisher.publish_all(stream))


@pytest.fixture(scope="module")
def stream() -> list[Snapshot]:
    return list(pg.demo_stream(nodes=400, timestamps=12))


@pytest.fixture(scope="module", params=[pg.PSGraphPlus, pg.PSGraph, pg.TmF])
def partial(request, stream) -> tuple[ExpectedErrors, dict]:
    """Predictions for a stream whose first period is partial, and the same beside the truth."""
    originals = with_part(stream, 0)
    releases = published(request.param(), originals)
    found = expected_errors(releases, repetitions=1)
    comparison = compare(originals, [release.graph for release in releases])
    return found, predicted_data(comparison, found)


def test_nothing_is_predicted_around_a_part_period(partial):
    found, _ = partial
    (jump,) = found.jumps
    assert (jump.timestamp, jump.hidden) == (1, range(WINDOW))
    assert found.predicted == tuple(range(WINDOW, 12))
    for each in found.errors.values():
        assert set(each.over_time[:WINDOW]) == {None}
    for each in found.statistics.values():
        assert set(each.ranges[:WINDOW]) == {None}
        assert each.released[0] is not None or each.info.name in ("edge_growth", "persisting_edges")
    assert any(each is not None for each in found.statistics["edges"].ranges[WINDOW:])
    assert "timestamps 0–3" in found.notes[0]


def test_what_is_predicted_after_a_part_period_is_true(partial):
    """Over all timestamps the true errors are several times larger: most intervals miss them."""
    _, data = partial
    judged = [each for each in data["errors"].values() if each["predicted"] is not None]
    inside = [
        each["predicted"]["low"] <= each["true"] <= each["predicted"]["high"] for each in judged
    ]
    assert len(judged) >= 3
    assert sum(inside) >= len(judged) - 1


def test_no_question_is_answered_where_most_timestamps_are_near_a_jump(stream):
    found = expected_errors(published(pg.TmF(), with_part(stream[:6], 2)), repetitions=1)
    assert len(found.jumps) == 2
    assert found.predicted == (0,)
    assert {each.answer for each in found.verdicts} == {"unknown", "never"}


def test_releases_that_are_all_near_a_jump_have_a_page_without_predictions(stream):
    found = expected_errors(published(pg.TmF(), with_part(stream[:3], 0)), repetitions=1)
    assert found.predicted == ()
    assert all(each.overall is None for each in found.errors.values())
    assert {each.answer for each in found.verdicts} == {"unknown", "never"}
    assert found._repr_html_()
    assert "are not made" in checked(trust_page(found).html()).text


@pytest.mark.parametrize(
    ("edges", "margin", "window", "predicted"),
    [
        ([100, 290, 870, 300], 0, 3, (0, 1, 2, 3)),  # at most threefold
        ([100, 301, 302, 303], 0, 3, (3,)),
        ([100, 100, 301, 302], 0, 1, (0, 3)),  # both sides of a jump, whatever the window
        ([100, 301, 302, 303], 150, 3, (0, 1, 2, 3)),  # noise explains it
        ([100, 301, 302, 303], np.nan, 3, (3,)),  # of unknown noise
        ([0, 2, 0, 900], 0, 2, (0, 1)),  # hardly any edges are no level to jump from
    ],
)
def test_the_rule(edges, margin, window, predicted):
    jumps = find_jumps(np.array(edges, dtype=float), np.full(len(edges), margin), window)
    assert predicted_timestamps(jumps, len(edges)) == predicted
