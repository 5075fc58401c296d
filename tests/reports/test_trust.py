"""How far to trust this: the page and the section, for any kind of prediction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import psgraph as pg
from psgraph.graph import Snapshot
from psgraph.publication.verification import verify
from psgraph.reports.public import public_page
from psgraph.reports.trust import trust_page
from psgraph.trust.expected import ExpectedErrors

from .reading import checked


def predicted(snapshots: list[Snapshot], **parameters: str) -> ExpectedErrors:
    with pg.Publisher(pg.TmF(**parameters), pg.WEventPrivacy("4", window=5)) as publisher:
        releases = list(publisher.publish_all(snapshots))
    return pg.expected_errors(releases, repetitions=1)


@pytest.fixture(scope="module")
def found(stream: list[Snapshot]) -> ExpectedErrors:
    return predicted(stream[:3])


def test_every_question_has_a_verdict_and_bands_are_described(found):
    page = checked(trust_page(found).html())
    for verdict in found.verdicts:
        assert verdict.question in page.text
    assert "Which single edges exist? Never." in page.text
    assert "Band: 90 % interval" in page.text


def test_one_release_is_drawn(stream):
    page = checked(trust_page(predicted(stream[:1])).html())
    assert "There is only one release." in page.text


def test_what_can_not_be_predicted_says_so_instead_of_a_number(found):
    errors = {
        name: replace(each, status="unpredictable", overall=None)
        for name, each in found.errors.items()
    }
    statistics = {
        name: replace(each, status="unpredictable", ranges=(None,) * 3)
        for name, each in found.statistics.items()
    }
    text = checked(trust_page(replace(found, errors=errors, statistics=statistics)).html()).text
    assert text.count("cannot be predicted for this method") >= len(errors)


def test_a_method_without_calibration_is_marked(stream):
    text = checked(trust_page(predicted(stream[:2], count_share="0.2")).html()).text
    assert "Not calibrated." in text
    assert "Can be answered" not in text


def test_the_public_report_has_the_section_where_predictions_are_given(
    publications: dict[str, Path],
):
    path = publications["tmf"]
    expected = pg.expected_errors(path, repetitions=1)
    with_it = checked(public_page(path, verify(path), expected=expected).html())
    without = checked(public_page(path, verify(path)).html())
    assert "How far to trust this" in with_it.headings
    assert "How far to trust this" not in without.headings
